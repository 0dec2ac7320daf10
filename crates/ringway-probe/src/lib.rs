#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod attempt;
mod check;
mod choose;
mod feature;
mod findings;
mod fix;
mod interface;
mod kernel;
mod kernel_features;
mod link;
mod namespace;
mod port_programs;
mod programs;
mod rights;
mod settings;
mod trial;

pub use check::{Check, Status};
pub use choose::{Backend, Choice, Step, choose, choose_but};
pub use fix::Fix;
pub use interface::{Interface, Peer, interface, xdp_features};
pub use link::{NextHop, next_hop};
pub use programs::programs;
pub use rights::{Rights, capabilities};
pub use ringway_nic::{Attached, Hook};
pub use trial::Trial;

/// What the machine lets this process do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// Privileges and limits.
    pub rights: Rights,
    /// All findings: on privileges, eBPF, AF_XDP, AF_PACKET and the rest.
    pub checks: Vec<Check>,
}

impl Machine {
    /// Tries everything.
    #[must_use]
    pub fn probe() -> Self {
        let rights = Rights::of_process();
        let mut checks = rights.checks();
        checks.extend(kernel::checks(&rights));
        checks.extend(namespace::checks(&rights));
        Self { rights, checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_findings_are_told_apart_and_cured() {
        let machine = Machine::probe();
        for (n, c) in machine.checks.iter().enumerate() {
            eprintln!("{} {} {} {:?}", c.id, c.status.name(), c, c.cure);
            assert_eq!(c.status == Status::Ok, c.cure.is_none(), "{c:?}");
            assert!(machine.checks[..n].iter().all(|other| other.id != c.id), "{} twice", c.id);
        }
        if ringway_sys::is_root() {
            for id in ["bpf-call", "bpf-array", "memfd", "packet-socket", "packet-ring"] {
                let c = machine.checks.iter().find(|c| c.id == id).unwrap();
                assert_eq!(c.status, Status::Ok, "{c:?}");
            }
        }
    }
}
