//! `auto:IF` and bare names: the backend that serves an interface best.

use std::sync::OnceLock;

use crate::error::{Error, ErrorKind, Result};
use crate::name::{NicRings, PortName};
use crate::probe::{self, Backend, Choice, Machine};
use crate::sys::net;

/// What a name stands for.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) name: PortName,
    /// Why not a better backend; empty when there is none, or nothing was to choose.
    pub(crate) why: String,
}

impl Chosen {
    /// The port around the one chosen.
    fn within(self, around: impl FnOnce(Box<PortName>) -> PortName) -> Result<Self> {
        Ok(Self { name: around(Box::new(self.name)), why: self.why })
    }
}

/// Chooses a backend for `auto:` names; other names stand for themselves.
pub(crate) fn choose(name: PortName) -> Result<Chosen> {
    let (interface, rings) = match name {
        PortName::Auto { interface, rings } => (interface, rings),
        PortName::Tap { options, port } => {
            return choose(*port)?.within(|port| PortName::Tap { options, port });
        }
        PortName::Trace { options, port } => {
            return choose(*port)?.within(|port| PortName::Trace { options, port });
        }
        PortName::Fault { options, port } => {
            return choose(*port)?.within(|port| PortName::Fault { options, port });
        }
        name => return Ok(Chosen { name, why: String::new() }),
    };
    if rings == NicRings::Host {
        return Ok(Chosen { name: PortName::Ebpf { interface, rings }, why: String::new() });
    }
    let full = PortName::Auto { interface: interface.clone(), rings }.to_string();
    super::nic::find(&full, &interface)?;
    let found = probe::interface(&interface)?;
    let choice = probe::choose(&machine().checks, &found.checks());
    let Some(best) = choice.backend else { return Err(nothing(&full, &interface, &choice)) };
    // Another port of Ringway takes the frames before a packet socket sees them: its name is the better answer.
    let backend = if best == Backend::Packet && taken(&interface) { Backend::Ebpf } else { best };
    let name = match backend {
        Backend::XdpZeroCopy | Backend::XdpCopy => PortName::Xdp { interface, rings },
        Backend::Ebpf => PortName::Ebpf { interface, rings },
        Backend::Packet => PortName::Packet { interface, rings },
    };
    Ok(Chosen { name, why: reasons(&choice) })
}

/// What the machine can do does not change while a process runs.
fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(Machine::probe)
}

/// Whether a port that takes frames is open on the interface.
fn taken(interface: &str) -> bool {
    let here = net::netns_inode().ok().zip(net::index(interface).ok());
    let takes = |name: &str| !name.ends_with('^') && (name.starts_with("ebpf:") || name.starts_with("xdp:"));
    crate::registry::open_ports().iter().any(|p| Some(p.interface) == here && takes(&p.name))
}

fn reasons(choice: &Choice) -> String {
    let steps: Vec<_> =
        choice.steps.iter().map(|s| format!("not {}: {}", s.backend.name(), s.reason)).collect();
    steps.join("; ")
}

fn nothing(name: &str, interface: &str, choice: &Choice) -> Error {
    let last = choice.steps.last().map_or(String::new(), |s| format!(": {}", s.reason));
    Error::new(ErrorKind::Unsupported, name, format!("no backend works here{last}"))
        .cure(format!("`ringway doctor {interface}` tells what each one lacks"))
}
