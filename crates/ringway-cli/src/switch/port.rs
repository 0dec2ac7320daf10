//! `ringway switch port`: ports that stay until they are deleted.

use std::path::Path;

use clap::Subcommand;
use ringway::PortName;
use ringway::pinned::is_router;
use ringway::switch::{PortAccess, Switch, SwitchPort};
use serde_json::json;

use super::access::AccessOptions;
use super::memif::{MEMIF, Serve, in_background, memif};
use super::names::{OnePort, PortOf};
use super::set::{Said, Set, Show, find, print};
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::router::port::leave;

/// Make, show, change and remove ports
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  ringway switch port add vale0:p1
  ringway switch port set vale0:p1 --vlan access:20
  ringway switch port del vale0:p1")]
pub(super) enum Command {
    Add(Add),
    Del(Del),
    Set(Set),
    Show(Show),
    Serve(Serve),
    #[command(hide = true)]
    Conf(Set),
}

impl Command {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        match self {
            Self::Add(add) => add.run(console),
            Self::Del(del) => del.run(console),
            Self::Set(set) => set.run(console),
            Self::Show(show) => show.run(console),
            Self::Serve(serve) => serve.run(console),
            Self::Conf(set) => set.run_or_show(console),
        }
    }
}

/// Make ports, which stay until they are deleted
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A user who has access to a port sends, receives and polls with no capability at all. Users other than root must be able to search all \
directories above the switches; a warning names one that they may not. Either all ports are made or, when one can't be, none.

Examples:
  ringway switch port add vale0:p1
  ringway switch port add vale0:p{4..99}             # as bash reads it
  ringway switch port add vale0:p2 --owner alice
  ringway switch port add vale0:p3 --group netops    # mode 660
  ringway switch port add vale0:m1 --memif /run/memif.sock,id=1   # for a program of DPDK or VPP")]
pub(super) struct Add {
    /// The ports as SWITCH:PORT; the name of a port has 1 to 31 letters, digits, _ or -
    #[arg(value_name = "SWITCH:PORT", required = true)]
    ports: Vec<PortOf>,

    #[command(flatten)]
    to: AccessOptions,

    /// Serve the port in the background to a program of DPDK or VPP, as `ringway switch port serve` does
    #[arg(long, value_name = MEMIF, value_parser = memif)]
    memif: Option<PortName>,
}

impl Add {
    fn run(&self, console: Console) -> Result<(), Failure> {
        let name = self.ports.first().map_or("", |of| &of.switch);
        if self.ports.iter().any(|of| of.switch != name) {
            return Err(Failure::Usage(
                errors::command::CONFLICT,
                "name ports of one switch; run the command once for each switch".into(),
            ));
        }
        if self.memif.is_some() && self.ports.len() > 1 {
            let what = "--memif is for one port; run the command once for each port";
            return Err(Failure::Usage(errors::command::CONFLICT, what.into()));
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
        if let Some(memif) = &self.memif
            && let Some(of) = self.ports.first()
            && let Err(failed) = in_background(of, memif, &access)
        {
            if let Err(stays) = switch.del_port(&of.port, true) {
                note(&format!("ringway: {stays}"));
            }
            return Err(failed);
        }
        self.ports.iter().try_for_each(|of| print(&switch, of, Said::Access("made"), console))?;
        self.ports.iter().for_each(warn_of_interface);
        Ok(())
    }
}

/// Says how an interface becomes a port, when there is one of that name.
fn warn_of_interface(of: &PortOf) {
    let PortOf { switch, port } = of;
    if Path::new("/sys/class/net").join(port).exists() {
        note(&format!(
            "{switch}:{port} is a port for programs. To make the interface {port} a port: `ringway switch port del {switch}:{port}`, \
             then `ringway switch add {switch}:{port}`"
        ));
    }
}

/// Remove a port
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Frames to it are then dropped as no_destination, or go to all when its addresses are forgotten. A port that a process has \
open stays; with --force it goes, and that process learns of it at its next sync. An interface is no longer promiscuous, wherever it \
is; a warning says when its network namespace can't be found.

Examples:
  ringway switch port del vale0:p1
  ringway switch port del vale0:p1 --force")]
pub(super) struct Del {
    #[command(flatten)]
    of: OnePort,

    /// Also while a process has it open
    #[arg(long)]
    force: bool,
}

impl Del {
    fn run(&self, console: Console) -> Result<(), Failure> {
        let of = &self.of.port;
        let PortOf { switch: name, port } = of;
        if is_router(name) {
            return leave(name, port, console);
        }
        let switch = Switch::open(name)?;
        let number = find(&switch, of)?.number;
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
    let (nic, index) = (&nic.name, nic.nic.unwrap_or_default());
    note(&format!(
        "ringway: {switch}:{nic}: the interface, number {index}, stays promiscuous, its network namespace is not found from here; \
         `ip link set IF promisc off` there"
    ));
}
