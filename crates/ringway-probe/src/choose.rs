//! Which backend serves an interface best, and why not a better one.

use super::{Check, Status};

/// A way to move frames between an interface and rings, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// AF_XDP, the device writes into the program's buffers.
    XdpZeroCopy,
    /// eBPF programs copy frames between the device and mapped rings.
    Ebpf,
    /// AF_XDP, the kernel copies.
    XdpCopy,
    /// AF_PACKET mapped rings.
    Packet,
}

impl Backend {
    /// All of them, best first.
    pub const ALL: [Self; 4] = [Self::XdpZeroCopy, Self::Ebpf, Self::XdpCopy, Self::Packet];

    /// `xdp-zero-copy`, `ebpf`, `xdp-copy` or `packet`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::XdpZeroCopy => "xdp-zero-copy",
            Self::Ebpf => "ebpf",
            Self::XdpCopy => "xdp-copy",
            Self::Packet => "packet",
        }
    }

    /// What port names of it start with.
    ///
    /// ```
    /// assert_eq!(ringway_probe::Backend::XdpCopy.prefix(), "xdp:");
    /// ```
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::XdpZeroCopy | Self::XdpCopy => "xdp:",
            Self::Ebpf => "ebpf:",
            Self::Packet => "packet:",
        }
    }

    /// Findings that must not be [`Status::Missing`], the most telling ones first.
    fn needs(self) -> &'static [&'static str] {
        match self {
            Self::XdpZeroCopy => &[
                "if-zero-copy",
                "if-ethernet",
                "xdp-socket",
                "xdp-umem",
                "xdp-program",
                "cap-net-admin",
                "if-xdp-free",
            ],
            Self::Ebpf => &[
                "bpf-call",
                "bpf-array",
                "bpf-ringbuf",
                "bpf-types",
                "bpf-programs",
                "cap-net-admin",
                "private-netns",
                "live-frames",
                "if-ethernet",
                "if-native-xdp",
                "if-xdp-free",
            ],
            Self::XdpCopy => {
                &["xdp-socket", "xdp-umem", "xdp-program", "cap-net-admin", "if-ethernet", "if-xdp-free"]
            }
            Self::Packet => &["packet-socket", "packet-ring"],
        }
    }

    /// Findings that must be [`Status::Ok`]: here what is not known counts as not there.
    fn needs_surely(self) -> &'static [&'static str] {
        match self {
            Self::XdpZeroCopy => &["if-zero-copy"],
            _ => &[],
        }
    }

    /// The finding that rules this backend out, if any. What could not be tried rules nothing out, but zero copy.
    #[must_use]
    pub fn obstacle<'a>(self, machine: &'a [Check], interface: &'a [Check]) -> Option<&'a Check> {
        let find = |id: &str| machine.iter().chain(interface).find(|c| c.id == id);
        self.needs().iter().filter_map(|id| find(id)).find(|c| match c.status {
            Status::Missing => true,
            Status::Unknown => self.needs_surely().contains(&c.id),
            Status::Ok | Status::Warn => false,
        })
    }
}

/// A backend that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Which.
    pub backend: Backend,
    /// Why not: the finding in the way.
    pub reason: Check,
}

impl Step {
    /// A backend that is not to be chosen, and why.
    #[must_use]
    pub fn new(backend: Backend, reason: Check) -> Self {
        Self { backend, reason }
    }
}

/// What `auto:` takes for an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The best backend that works; `None` when none does.
    pub backend: Option<Backend>,
    /// The better ones, and why they were not taken.
    pub steps: Vec<Step>,
}

/// Chooses by the findings on the machine ([`Machine`](super::Machine)) and on the interface
/// ([`Interface::checks`](super::Interface::checks)). It does nothing else, so the same findings give the same choice.
///
/// ```
/// use ringway_probe::{Backend, Check, choose};
/// let machine = [Check::new("live-frames", "live frames").missing("refused", "use Linux 5.18 or later")];
/// let interface = [Check::new("if-zero-copy", "zero-copy AF_XDP").missing("driver veth has none", "use a NIC")];
/// let choice = choose(&machine, &interface);
/// assert_eq!(choice.backend, Some(Backend::XdpCopy));
/// assert_eq!(choice.steps[1].reason.to_string(), "live frames: refused");
/// ```
#[must_use]
pub fn choose(machine: &[Check], interface: &[Check]) -> Choice {
    choose_but(machine, interface, &[])
}

/// The same without backends that were tried and refused.
#[must_use]
pub fn choose_but(machine: &[Check], interface: &[Check], refused: &[Step]) -> Choice {
    let mut steps = Vec::new();
    for backend in Backend::ALL {
        let tried = refused.iter().find(|s| s.backend == backend).map(|s| &s.reason);
        match tried.or_else(|| backend.obstacle(machine, interface)) {
            None => return Choice { backend: Some(backend), steps },
            Some(reason) => steps.push(Step { backend, reason: reason.clone() }),
        }
    }
    Choice { backend: None, steps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Findings in which only these are bad.
    fn checks(bad: &[(&'static str, Status)]) -> Vec<Check> {
        let status = |id: &str| bad.iter().find(|b| b.0 == id).map_or(Status::Ok, |b| b.1);
        let ids = Backend::ALL.iter().flat_map(|b| b.needs());
        ids.map(|id| Check { status: status(id), ..Check::new(id, id) }).collect()
    }

    #[test]
    fn made_up_machines() {
        use Backend::{Ebpf, Packet, XdpCopy, XdpZeroCopy};
        use Status::{Missing, Unknown, Warn};
        let veth = ("if-zero-copy", Missing);
        type Case<'a> = (&'a str, &'a [(&'static str, Status)], Option<Backend>, &'a [&'a str]);
        let cases: [Case<'_>; 11] = [
            ("a good NIC", &[], Some(XdpZeroCopy), &[]),
            ("a veth", &[veth], Some(Ebpf), &["if-zero-copy"]),
            (
                "an old kernel does not tell",
                &[("if-zero-copy", Unknown), ("if-native-xdp", Unknown)],
                Some(Ebpf),
                &["if-zero-copy"],
            ),
            (
                "a bridge",
                &[veth, ("if-native-xdp", Missing)],
                Some(XdpCopy),
                &["if-zero-copy", "if-native-xdp"],
            ),
            (
                "Linux 5.15",
                &[veth, ("live-frames", Missing), ("bpf-programs", Missing)],
                Some(XdpCopy),
                &["if-zero-copy", "bpf-programs"],
            ),
            (
                "another XDP program",
                &[("if-xdp-free", Missing)],
                Some(Packet),
                &["if-xdp-free", "if-xdp-free", "if-xdp-free"],
            ),
            (
                "a tun",
                &[veth, ("if-ethernet", Missing)],
                Some(Packet),
                &["if-zero-copy", "if-ethernet", "if-ethernet"],
            ),
            (
                "no eBPF at all",
                &[veth, ("bpf-call", Missing), ("bpf-array", Missing), ("xdp-program", Missing)],
                Some(Packet),
                &["if-zero-copy", "bpf-call", "xdp-program"],
            ),
            (
                "only CAP_NET_RAW",
                &[
                    veth,
                    ("bpf-array", Missing),
                    ("xdp-program", Missing),
                    ("cap-net-admin", Missing),
                    ("live-frames", Unknown),
                ],
                Some(Packet),
                &["if-zero-copy", "bpf-array", "xdp-program"],
            ),
            (
                "no right at all",
                &[
                    veth,
                    ("bpf-array", Missing),
                    ("xdp-socket", Missing),
                    ("packet-socket", Missing),
                    ("packet-ring", Unknown),
                ],
                None,
                &["if-zero-copy", "bpf-array", "xdp-socket", "packet-socket"],
            ),
            ("drawbacks", &[("if-zero-copy", Warn), ("xdp-umem", Warn)], Some(XdpZeroCopy), &[]),
        ];
        for (name, bad, backend, reasons) in cases {
            let all = checks(bad);
            for (machine, interface) in [(&all[..], &[][..]), (&[], &all)] {
                let choice = choose(machine, interface);
                let why: Vec<&str> = choice.steps.iter().map(|s| s.reason.id).collect();
                assert_eq!((choice.backend, &why[..]), (backend, reasons), "{name}");
            }
        }
    }

    #[test]
    fn every_need_is_a_finding() {
        let machine = crate::Machine::probe();
        let lo = crate::interface("lo").unwrap().checks();
        for id in Backend::ALL.iter().flat_map(|b| b.needs()) {
            assert!(machine.checks.iter().chain(&lo).any(|c| c.id == *id), "{id}");
        }
    }

    proptest! {
        /// The choice against the rule said another way: the first backend none of whose needs is missing.
        #[test]
        fn the_best_that_nothing_rules_out(states in prop::collection::vec(0..4u8, 40)) {
            let of = |n: u8| [Status::Ok, Status::Warn, Status::Missing, Status::Unknown][usize::from(n)];
            let mut ids: Vec<&'static str> = Backend::ALL.iter().flat_map(|b| b.needs()).copied().collect();
            ids.sort_unstable();
            ids.dedup();
            let bad: Vec<_> = ids.iter().zip(&states).map(|(id, n)| (*id, of(*n))).collect();
            let status = |id: &str| bad.iter().find(|b| b.0 == id).map(|b| b.1);
            let works = |b: &Backend| {
                let known = *b != Backend::XdpZeroCopy || status("if-zero-copy") != Some(Status::Unknown);
                known && b.needs().iter().all(|id| status(id) != Some(Status::Missing))
            };
            let choice = choose(&checks(&bad), &[]);
            prop_assert_eq!(choice.backend, Backend::ALL.into_iter().find(works));
            let before = choice.backend.map_or(4, |b| b as usize);
            prop_assert_eq!(choice.steps.len(), before);
        }
    }
}
