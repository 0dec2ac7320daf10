//! What this machine and an interface can do for packet I/O, and what to do about what they can't.
//!
//! Each feature is tried by using it, not guessed from a version: a map is made, a program loaded and run, a socket
//! bound. What needs an interface is tried on one in a private network namespace; an interface of the machine is only
//! asked. So probing changes nothing that runs, and leaves nothing behind but kernel modules that the kernel loads on
//! first use (`af_packet`, `veth`, `sch_ingress`) where they are not built in. It takes some 100 ms.
//! What its driver does is tried when it is asked for: [`Interface::try_zero_copy`], [`Interface::try_native`].
//!
//! Results are plain data. A [`Check`] has a stable id, a [`Status`], what was found, and the cure.
//!
//! | on | ids |
//! | --- | --- |
//! | user | `user`, `cap-net-raw`, `cap-net-admin`, `cap-bpf`, `cap-perfmon`, `cap-sys-admin` |
//! | limits | `memlock`, `nofile`, `unprivileged-bpf`, `bpf-jit`, `seccomp`, `lockdown` |
//! | eBPF | `bpf-call`, `bpf-array`, `bpf-ringbuf`, `bpf-syscall-program`, `bpf-loop`, `bpf-types` |
//! | programs | `xdp-program`, `bpf-programs` (Ringway's own), `bpf-tracepoint`, `live-frames` |
//! | hooks | `xdp-generic`, `xdp-native`, `tcx`, `clsact` |
//! | AF_XDP | `xdp-socket`, `xdp-umem`, `xdp-umem-array`, `xdp-unaligned` |
//! | AF_XDP, bound | `xdp-need-wakeup`, `xdp-multi-buffer`, `xdp-tx-budget` |
//! | AF_PACKET | `packet-socket`, `packet-ring`, `packet-vnet-header`, `packet-fanout` |
//! | the rest | `memfd`, `bpffs`, `private-netns` |
//! | an interface | `if-link`, `if-ethernet`, `if-queues`, `if-mtu`, `if-host`, `if-ports`, `if-tc` |
//! | its XDP | `if-native-xdp`, `if-zero-copy`, `if-xdp-free`, `if-takes-frames` |
//! | its offloads | `if-offloads`, `if-vlan-filter`, `if-peer-offloads` (veth only) |
//! | its rings | `if-rings`, where the device has some |
//!
//! ```
//! use ringway::probe::{self, Machine};
//! let machine = Machine::probe();
//! let lo = probe::interface("lo")?;
//! let choice = probe::choose(&machine.checks, &lo.checks());
//! for step in &choice.steps {
//!     println!("not {}: {}", step.backend.name(), step.reason);
//! }
//! # Ok::<(), ringway::Error>(())
//! ```

mod attempt;
mod cap;
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
mod programs;
mod rights;
mod settings;
mod trial;

pub use crate::nic::{Attached, Hook};
pub use check::{Check, Status};
pub(crate) use choose::choose_but;
pub use choose::{Backend, Choice, Step, choose};
pub use fix::Fix;
pub use interface::{Interface, Peer, interface, xdp_features};
pub use link::{NextHop, next_hop};
pub use programs::programs;
pub use rights::{Rights, capabilities};
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
        if crate::sys::is_root() {
            for id in ["bpf-call", "bpf-array", "memfd", "packet-socket", "packet-ring"] {
                let c = machine.checks.iter().find(|c| c.id == id).unwrap();
                assert_eq!(c.status, Status::Ok, "{c:?}");
            }
        }
    }
}
