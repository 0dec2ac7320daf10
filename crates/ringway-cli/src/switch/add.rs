//! `ringway switch add`.

use std::time::Duration;

use clap::Arg;
use ringway::pinned::is_router;
use ringway::probe::{self, Peer};
use ringway::switch::{Module, NicOptions, NicPath, Switch, SwitchSpec};
use serde_json::json;

use super::words::{bytes, duration, seconds};
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::router::{add as router, port::join};

/// Make a switch, or with SWITCH:IF make an interface a port of one
#[derive(Debug, clap::Args)]
#[command(
    after_help = "\
An interface gives all that it receives to the switch: its host's own stack receives nothing from it any more. The kernel alone moves \
frames between interfaces, with no process at all. `ringway switch port del` gives an interface back.

Veths, taps and other software interfaces get in and out by tc, in the kernel's own buffers: containers need no setting, TCP keeps its \
segmentation offload, frames of any MTU pass. NICs with native XDP get in and out by XDP. --path chooses. By XDP a veth's far end must \
run NAPI (`ethtool -K PEER gro on`), and loses segmentation offload.

Each slot of each ring has a buffer of its own: a port of the default size takes 4.5 MiB of kernel memory. --slots and --buffers make it \
small: with --slots 64 --buffers 256 it takes 0.4 MiB, 254 ports less than 100 MiB. Bursts then overflow sooner.

With --host the stack is a port too, called IF^: the host keeps its addresses on the interface, and reaches all ports of the \
switch. All interfaces of the switch must then be in one network namespace. Frames that virtual ports send to \
the host reach processes in the interface's network namespace only.

A router is no switch: `ringway router add` makes one.

Examples:
  ringway switch add vale0
  ringway switch add vale-lab --rings 2 --slots 512 --ageing 1m --quota 1000
  ringway switch add vale1 --module hub
  ringway switch add vale3 --slots 64 --buffers 256  # small ports, for many of them
  ringway switch add vale0:eth1                      # eth1 becomes a port
  ringway switch add vale0:eth2 --host               # and eth2, with its host's stack as eth2^
  ringway switch add vale0:veth7 --path xdp          # frames before the kernel makes buffers of them",
    mut_args(only_for_switches)
)]
pub(super) struct Add {
    /// Its name: vale and up to 11 letters, digits, _ or -; or SWITCH:IF
    #[arg(value_name = "SWITCH[:IF]")]
    switch: String,

    /// Slots of each ring of each port: a power of two, 64 to 4096
    #[arg(long, default_value_t = SwitchSpec::default().slots)]
    slots: u32,

    /// Rings of each direction of each port, 1 to 8; ring i sends to rings i
    #[arg(long, default_value_t = SwitchSpec::default().rings)]
    rings: u32,

    /// Bytes of each buffer, of which each slot has one: a multiple of 64, 256 to 2112; longer frames take several slots
    #[arg(long, value_name = "BYTES", default_value_t = SwitchSpec::default().buf_size)]
    buffers: u32,

    /// How long an address is remembered after its last frame: 32ms or more, such as 300s or 5m; 0: for ever
    #[arg(long, default_value = "300s", value_parser = duration)]
    ageing: Duration,

    /// Addresses learned of one port at most, 1 to 131072
    #[arg(long, default_value_t = SwitchSpec::default().quota)]
    quota: u32,

    /// What decides where frames go: bridge (learns addresses), hub (all to all), or the file of a
    /// module, a compiled eBPF object (docs/modules.md)
    #[arg(long, default_value = "bridge")]
    module: Decider,

    /// With SWITCH:IF: the host's own stack on the interface becomes a port, too
    #[arg(long)]
    host: bool,

    /// A member of the router
    #[arg(long = "nic", value_name = "IF")]
    members: Vec<String>,

    #[command(flatten)]
    router: router::Options,
}

/// Hides the options of routers, which `--module router` still takes: `ringway router add` has them.
fn only_for_switches(arg: Arg) -> Arg {
    let shown = ["switch", "slots", "rings", "buffers", "ageing", "quota", "module", "host", "path"];
    let hidden = !shown.contains(&arg.get_id().as_str());
    arg.hide(hidden)
}

/// What decides where frames go.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decider {
    Router,
    Switch(Module),
}

impl std::str::FromStr for Decider {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "router" { Self::Router } else { Self::Switch(text.parse()?) })
    }
}

impl Add {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        if let Some((switch, interface)) = self.switch.split_once(':') {
            return self.add_nic(switch, interface, console);
        }
        if self.module == Decider::Router {
            if self.host || self.spec() != SwitchSpec::default() {
                return Err(Failure::Usage(
                    errors::command::CONFLICT,
                    "--slots, --rings, --buffers, --ageing, --quota and --host are for switches".into(),
                ));
            }
            return self.router.make(&self.switch, &self.members, console);
        }
        if self.is_for_router() || self.router.names_path() {
            return Err(Failure::Usage(
                errors::command::CONFLICT,
                format!(
                    "{} are for routers, --path is for SWITCH:IF: use `ringway router add` for a router",
                    router::NAMES
                ),
            ));
        }
        if self.host {
            return Err(Failure::Usage(
                errors::command::CONFLICT,
                "--host is for interfaces: name SWITCH:IF, such as vale0:eth1".into(),
            ));
        }
        let switch = Switch::create(&self.switch, &self.spec())?;
        let (name, memory, spec) = (switch.name(), switch.memory(), switch.spec());
        let port_memory = switch.port_memory();
        let object = json!({
            "name": name,
            "slots": spec.slots,
            "rings": spec.rings,
            "buffers": spec.buf_size,
            "ageing": seconds(spec.ageing),
            "quota": spec.quota,
            "module": spec.module.to_string(),
            "memory": memory,
            "port_memory": port_memory,
        });
        let text = format!(
            "{name}: made; {} of kernel memory, and {} for each port",
            bytes(memory),
            bytes(port_memory)
        );
        console.result(&text, &object)?;
        Ok(())
    }

    /// Whether an option is given that only routers have.
    fn is_for_router(&self) -> bool {
        !self.members.is_empty() || self.router.is_for_router()
    }

    fn spec(&self) -> SwitchSpec {
        SwitchSpec {
            slots: self.slots,
            rings: self.rings,
            buf_size: self.buffers,
            ageing: self.ageing,
            quota: self.quota,
            module: match &self.module {
                Decider::Switch(module) => module.clone(),
                Decider::Router => Module::default(),
            },
        }
    }

    fn add_nic(&self, switch: &str, interface: &str, console: Console) -> Result<(), Failure> {
        if self.spec() != SwitchSpec::default() || self.is_for_router() {
            return Err(Failure::Usage(
                errors::command::CONFLICT,
                "options are for making a switch; SWITCH:IF takes --host and --path only".into(),
            ));
        }
        if is_router(switch) {
            return self.add_member(switch, interface, console);
        }
        let open = Switch::open(switch)?;
        let options = NicOptions { host: self.host, path: self.router.nic_path() };
        let number = open.add_nic_with(interface, &options)?;
        let path = open.find_port(interface)?.path.unwrap_or_default();
        let host = if self.host { Some(open.find_port(&format!("{interface}^"))?.number) } else { None };
        let object = json!({ "switch": switch, "port": interface, "number": number, "path": path.to_string(), "host": host });
        let also = host.map_or_else(String::new, |n| format!(", its host {interface}^ number {n}"));
        console.result(
            &format!("{switch}:{interface}: interface added by {path}, number {number}{also}"),
            &object,
        )?;
        if path == NicPath::Xdp
            && let Some(warning) = probe::interface(interface).ok().and_then(|is| unsendable(&is))
        {
            note(&format!("{switch}:{interface}: {warning}"));
        }
        Ok(())
    }
}

impl Add {
    /// The same with the name of a router, as `ringway vale add` has it.
    fn add_member(&self, router: &str, interface: &str, console: Console) -> Result<(), Failure> {
        let refused = |what: &str| Err(Failure::Usage(errors::command::CONFLICT, what.into()));
        if self.router.names_path() {
            return refused(
                "--path of a router is that of all its members: name it when you make the router",
            );
        }
        if self.host {
            return refused("--host is for switches: the host keeps its stack on members of a router");
        }
        join(router, interface, console)
    }
}

/// What is to be said of a veth whose far end does not take what a switch sends, or may not.
fn unsendable(is: &probe::Interface) -> Option<String> {
    let far = match &is.peer {
        Peer::None => return None,
        Peer::Here { name, .. } => name.as_str(),
        _ => "PEER",
    };
    let (what, when) = match is.far_end_polls() {
        Some(true) => return None,
        Some(false) => ("the far end of the veth does not run NAPI", ""),
        None => (
            "Linux before 6.3 does not tell whether the far end of the veth runs NAPI",
            "where it does not, ",
        ),
    };
    Some(format!(
        "{what}; {when}frames to it are dropped as device_refused: `ethtool -K {far} gro on` where the far end is"
    ))
}
