//! `ringway vale port`: ports that stay until they are deleted.

use std::path::Path;

use clap::Subcommand;
use ringway::switch::{PortAccess, Switch, SwitchPort, is_router};
use serde_json::{Value, json};

use super::settings::Conf;
use super::{PortOf, access};
use crate::console::{Console, note};
use crate::failure::Failure;
use crate::router::add as router;

/// Make, change and remove ports
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Add(Add),
    Set(Set),
    Conf(Conf),
    Del(Del),
}

impl Command {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        match self {
            Self::Add(add) => add.run(console),
            Self::Set(set) => set.run(console),
            Self::Conf(conf) => conf.run(console),
            Self::Del(del) => del.run(console),
        }
    }
}

/// Make ports, which stay until they are deleted
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Whoever has access to a port sends, receives and polls with no capability at all. For another user than root all directories \
above the switches must be searchable; a warning names one that is not. Either all the ports are made or, when one can't be, none.

Keys of --json, a line for each port: switch, port, number, owner, uid, group, gid, mode (octal, as text).

Examples:
  ringway vale port add vale0:p1
  ringway vale port add vale0:p{4..99}             # as bash reads it
  ringway vale port add vale0:p2 --owner alice
  ringway vale port add vale0:p3 --group netops    # mode 660")]
pub(super) struct Add {
    /// The ports as SWITCH:PORT; the name of a port has 1 to 31 letters, digits, _ or -
    #[arg(value_name = "SWITCH:PORT", required = true)]
    ports: Vec<PortOf>,

    #[command(flatten)]
    to: To,
}

/// Change who may open a port
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is not named stays as it is, and so do number, settings and counters. All that a user of the port can hold is made again, also \
when nothing changes: a process that has the port open loses it at its next sync, with what it had not read yet.

Keys of --json: those of ringway vale port add.

Examples:
  ringway vale port set vale0:p1 --owner bob
  ringway vale port set vale0:p1 --group netops --mode 660")]
pub(super) struct Set {
    /// The port as SWITCH:PORT
    #[arg(value_name = "SWITCH:PORT")]
    port: PortOf,

    #[command(flatten)]
    to: To,
}

/// Who may open a port.
#[derive(Debug, clap::Args)]
struct To {
    /// User that owns it, by name or number
    #[arg(long, value_name = "USER", value_parser = access::user)]
    owner: Option<u32>,

    /// Its group, by name or number
    #[arg(long, value_name = "GROUP", value_parser = access::group)]
    group: Option<u32>,

    /// Who may open it: 600 its owner, 660 its group too, 666 everybody; with --group 660 unless told otherwise
    #[arg(long, value_parser = access::mode)]
    mode: Option<u32>,
}

impl To {
    /// What is to be, given the mode that there is.
    fn access(&self, mode: u32) -> PortAccess {
        let implied = if self.group.is_some() { mode | 0o060 } else { mode };
        PortAccess { uid: self.owner, gid: self.group, mode: self.mode.unwrap_or(implied) }
    }
}

impl Add {
    fn run(&self, console: Console) -> Result<(), Failure> {
        let name = self.ports.first().map_or("", |of| &of.switch);
        if self.ports.iter().any(|of| of.switch != name) {
            return Err(Failure::Usage(
                "name ports of one switch; run the command once for each switch".into(),
            ));
        }
        let switch = Switch::open(name)?;
        let access = self.to.access(PortAccess::default().mode);
        for (n, of) in self.ports.iter().enumerate() {
            if let Err(e) = switch.add_port(&of.port, &access) {
                for made in &self.ports[..n] {
                    if let Err(stays) = switch.del_port(&made.port, true) {
                        note(&format!("ringway: {stays}"));
                    }
                }
                return Err(e.into());
            }
        }
        self.ports.iter().try_for_each(|of| tell(&switch, of, "made", console))?;
        self.ports.iter().for_each(warn_of_interface);
        Ok(())
    }
}

/// Says how an interface becomes a port, when there is one of that name.
fn warn_of_interface(of: &PortOf) {
    let PortOf { switch, port } = of;
    if Path::new("/sys/class/net").join(port).exists() {
        note(&format!(
            "{switch}:{port} is a port for programs. To make the interface {port} a port: `ringway vale port del {switch}:{port}`, \
             then `ringway vale add {switch}:{port}`"
        ));
    }
}

impl Set {
    fn run(&self, console: Console) -> Result<(), Failure> {
        if self.to.owner.is_none() && self.to.group.is_none() && self.to.mode.is_none() {
            return Err(Failure::Usage("nothing to set: name --owner, --group or --mode".into()));
        }
        let switch = Switch::open(&self.port.switch)?;
        let mode = find(&switch, &self.port)?.access.mode;
        switch.set_access(&self.port.port, &self.to.access(mode))?;
        tell(&switch, &self.port, "changed", console)
    }
}

/// Remove a port
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Frames to it are then dropped as no_destination, or go to all when its addresses are forgotten. A port that a process has \
open stays; with --force it goes, and that process is told at its next sync. An interface is no longer promiscuous, wherever it \
is; a warning tells when its network namespace can't be found. With ROUTER:IF the interface is no member any more, and the kernel \
forwards what comes in by it.

Keys of --json: switch, port, number.

Examples:
  ringway vale port del vale0:p1
  ringway vale port del vale0:p1 --force")]
pub(super) struct Del {
    /// The port as SWITCH:PORT
    #[arg(value_name = "SWITCH:PORT")]
    port: PortOf,

    /// Also while a process has it open
    #[arg(long)]
    force: bool,
}

impl Del {
    fn run(&self, console: Console) -> Result<(), Failure> {
        let PortOf { switch: name, port } = &self.port;
        if is_router(name) {
            return router::leave(name, port, console);
        }
        let switch = Switch::open(name)?;
        let number = find(&switch, &self.port)?.number;
        let stays = switch.nics_out_of_reach().into_iter().find(|p| p.name == *port);
        switch.del_port(port, self.force)?;
        let object = json!({ "switch": name, "port": port, "number": number });
        console.result(&format!("{name}:{port}: removed"), &object)?;
        stays.iter().for_each(|p| stays_promiscuous(name, p));
        Ok(())
    }
}

/// Warns of an interface that the switch could not make as it was.
pub(super) fn stays_promiscuous(switch: &str, nic: &SwitchPort) {
    let nic = &nic.name;
    note(&format!(
        "ringway: {switch}:{nic}: the interface stays promiscuous, its network namespace is not found from here; \
         `ip link set {nic} promisc off` there"
    ));
}

/// The port as the switch has it.
fn find(switch: &Switch, of: &PortOf) -> Result<SwitchPort, Failure> {
    Ok(switch.find_port(&of.port)?)
}

/// Says what a port is now, and warns when those whom it is for can't reach it.
fn tell(switch: &Switch, of: &PortOf, done: &str, console: Console) -> Result<(), Failure> {
    let port = find(switch, of)?;
    let mut object = access_keys(&port.access);
    object["switch"] = switch.name().into();
    object["port"] = port.name.as_str().into();
    object["number"] = port.number.into();
    let text =
        format!("{}:{}: {done}, number {}, {}", switch.name(), port.name, port.number, rights(&port.access));
    console.result(&text, &object)?;
    if let Some(why) = access::barrier(&port.access) {
        note(&format!("ringway: {}:{}: {why}", switch.name(), port.name));
    }
    Ok(())
}

/// Owner, group and mode, such as `alice:netops 660`.
pub(super) fn rights(access: &PortAccess) -> String {
    let owner = access.uid.map_or_else(|| "?".to_owned(), access::user_name);
    let group = access.gid.map_or_else(|| "?".to_owned(), access::group_name);
    format!("{owner}:{group} {:03o}", access.mode)
}

/// The same as keys of JSON.
pub(super) fn access_keys(access: &PortAccess) -> Value {
    json!({
        "owner": access.uid.map(access::user_name),
        "uid": access.uid,
        "group": access.gid.map(access::group_name),
        "gid": access.gid,
        "mode": format!("{:03o}", access.mode),
    })
}
