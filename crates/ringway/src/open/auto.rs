//! `auto:IF` and bare names: the backend that serves an interface best.
//!
//! What was found rules backends out; of the others each has its turn, best first, until one opens. A driver is asked for
//! zero copy before anything is attached, since it may reset the device for each program.

use std::sync::OnceLock;

use crate::error::{Error, ErrorKind, Result};
use crate::port::find_interface;
use crate::port::name::{NicRings, PortName};
use crate::sys::net;
use ringway_probe::{self as probe, Backend, Check, Choice, Machine, Step};

/// What a name stands for.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) name: PortName,
    /// What was chosen, if there was a choice.
    backend: Option<Backend>,
    /// Why not a better backend; empty when there is none, or nothing was to choose.
    pub(crate) why: String,
}

impl Chosen {
    /// The port around the one chosen.
    fn within(self, around: impl FnOnce(Box<PortName>) -> PortName) -> Result<Self> {
        Ok(Self { name: around(Box::new(self.name)), ..self })
    }

    /// Whether it is to be opened with zero copy or not at all.
    pub(crate) fn zero_copy(&self) -> bool {
        self.backend == Some(Backend::XdpZeroCopy)
    }

    /// Whether the next best backend has its turn when this one fails so. It has when the interface
    /// or the kernel lacks something, not when the caller does, or somebody else has it.
    fn yields(&self, e: &Error) -> bool {
        match e.kind() {
            ErrorKind::Unsupported | ErrorKind::Io => self.backend.is_some(),
            ErrorKind::LinkDown | ErrorKind::Busy => self.zero_copy(),
            _ => false,
        }
    }
}

/// Has `open` open what the names stand for. When it fails, it tells at which name if at one; a backend that was chosen and
/// can't be had gives way to the next one.
pub(crate) fn with_chosen<T>(
    names: &[PortName],
    open: impl Fn(&[Chosen]) -> std::result::Result<T, (Option<usize>, Error)>,
) -> Result<T> {
    let mut refused: Vec<Vec<Step>> = vec![Vec::new(); names.len()];
    loop {
        let chosen = names.iter().zip(&refused).map(|(n, r)| choose(n.clone(), r));
        let chosen = chosen.collect::<Result<Vec<_>>>()?;
        match open(&chosen) {
            Ok(opened) => return Ok(opened),
            Err((at, e)) => {
                let yields = |at: &usize| chosen[*at].yields(&e);
                let Some((at, backend)) = at.filter(yields).and_then(|at| Some((at, chosen[at].backend?)))
                else {
                    return Err(e);
                };
                let reason = Check::new("if-opens", "opening it")
                    .missing(e.brief(), "open it by its full name, which tells the cure");
                refused[at].push(Step::new(backend, reason));
            }
        }
    }
}

/// Chooses a backend for `auto:` names, none of those `refused` before; other names stand for themselves.
pub(crate) fn choose(name: PortName, refused: &[Step]) -> Result<Chosen> {
    let (interface, rings) = match name {
        PortName::Auto { interface, rings } => (interface, rings),
        PortName::Tap { options, port } => {
            return choose(*port, refused)?.within(|port| PortName::Tap { options, port });
        }
        PortName::Trace { options, port } => {
            return choose(*port, refused)?.within(|port| PortName::Trace { options, port });
        }
        PortName::Fault { options, port } => {
            return choose(*port, refused)?.within(|port| PortName::Fault { options, port });
        }
        name => return Ok(Chosen { name, backend: None, why: String::new() }),
    };
    if rings == NicRings::Host {
        let name = PortName::Ebpf { interface, rings };
        return Ok(Chosen { name, backend: None, why: String::new() });
    }
    let full = PortName::Auto { interface: interface.clone(), rings }.to_string();
    find_interface(&full, &interface)?;
    let mut found = probe::interface(&interface)?;
    // What somebody has attached rules it out, and must not be disturbed.
    if !found.programs.iter().any(|p| p.hook.is_xdp()) && refused.is_empty() {
        found.try_zero_copy(if let NicRings::Queue(q) = rings { q } else { 0 });
    }
    let choice = probe::choose_but(&machine().checks, &found.checks(), refused);
    let Some(best) = choice.backend else { return Err(nothing(&full, &interface, &choice)) };
    // Another port of Ringway takes the frames before a packet socket sees them: its name is the better answer.
    let backend = if best == Backend::Packet && taken(&interface) { Backend::Ebpf } else { best };
    let name = match backend {
        Backend::XdpZeroCopy | Backend::XdpCopy => PortName::Xdp { interface, rings },
        Backend::Ebpf => PortName::Ebpf { interface, rings },
        Backend::Packet => PortName::Packet { interface, rings },
    };
    Ok(Chosen { name, backend: Some(backend), why: reasons(&choice) })
}

/// Refuses packet sockets and host rings of one interface that are opened together.
pub(super) fn refuse_packet_sockets(chosen: &[Chosen]) -> Result<()> {
    let host_rings_of = |name: &str| {
        chosen
            .iter()
            .map(|c| c.name.innermost())
            .any(|n| matches!(n, PortName::Ebpf { interface, rings: NicRings::Host } if interface == name))
    };
    for Chosen { name, why, .. } in chosen {
        let PortName::Packet { interface, .. } = name.innermost() else { continue };
        if host_rings_of(interface) {
            let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
            let what = format!("packet sockets get again what ebpf:{interface}^ gives to the host{why}");
            return Err(Error::new(ErrorKind::Unsupported, name.to_string(), what)
                .cure(format!("use ebpf:{interface}, or leave {interface} to the kernel")));
        }
    }
    Ok(())
}

/// What the machine can do does not change while a process runs.
fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(Machine::probe)
}

/// Whether a port that takes frames is open on the interface.
fn taken(interface: &str) -> bool {
    let Some((netns, index)) = net::netns_inode().ok().zip(net::index(interface).ok()) else { return false };
    let takes = |name: &str| !name.ends_with('^') && (name.starts_with("ebpf:") || name.starts_with("xdp:"));
    crate::count::listed(&[]).iter().any(|p| p.is_on(netns, index) && takes(&p.name))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_had_gives_way_to_the_next_best() {
        if !crate::sys::is_root() {
            eprintln!("SKIP: interfaces can't be opened without root");
            return;
        }
        let names: Vec<PortName> = ["null:", "trace:port=lo"].iter().map(|n| n.parse().unwrap()).collect();
        let refuse = |kind| {
            with_chosen(&names, |chosen| match chosen[1].backend {
                Some(Backend::Packet) => Ok(chosen[1].why.clone()),
                _ => Err((Some(1), Error::new(kind, "xdp:lo", "refused by a test"))),
            })
        };
        let why = refuse(ErrorKind::Unsupported).unwrap();
        assert!(why.contains("not xdp-copy: opening it: refused by a test"), "{why}");
        // Nothing is tried again for what is not the interface's.
        for kind in [ErrorKind::Busy, ErrorKind::Denied, ErrorKind::Invalid] {
            assert_eq!(refuse(kind).unwrap_err().kind(), kind);
        }
        let all = with_chosen(&names, |_| Err::<(), _>((Some(1), Error::new(ErrorKind::Io, "lo", "no"))));
        assert!(all.unwrap_err().to_string().contains("no backend works here: opening it: no"));
        let first =
            with_chosen(&names, |_| Err::<(), _>((Some(0), Error::new(ErrorKind::Io, "null:", "no"))));
        assert_eq!(first.unwrap_err().to_string(), "null:: no", "nothing was chosen for it");
    }
}
