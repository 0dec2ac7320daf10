//! The receiver of host rings at an interface's egress, for as long as this process has it open.
//!
//! tcx has links, which end with their process (Linux 6.6). Before, a filter of clsact stands
//! there, which does not. So its program is but a jump into a program array, which the kernel
//! empties when the process is gone. The filter that is left passes all, and the next owner removes
//! it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::{Error, Result};
use crate::filter::Gate;
use crate::sys::bpf;
use crate::sys::clsact::{Filter, Side};
use crate::sys::jump::Jump;

/// What holds the receiver there.
#[derive(Debug)]
pub(super) enum Egress {
    Tcx {
        link: OwnedFd,
    },
    /// The filter goes before what it jumps through: this, or the gate of the port.
    Clsact {
        filter: Filter,
        jump: Option<Jump>,
    },
}

impl Egress {
    /// Attaches `receiver`, or the gate before it, for the port `name`.
    pub(super) fn attach(
        receiver: BorrowedFd<'_>,
        gate: Option<&Gate>,
        ifindex: u32,
        name: &str,
    ) -> Result<Self> {
        let program = gate.map_or(receiver, Gate::entry);
        match bpf::link(program, ifindex, libbpf_sys::BPF_TCX_EGRESS, 0) {
            Ok(link) => Ok(Self::Tcx { link }),
            Err(e) if bpf::is_unknown_hook(&e) => Self::by_filter(receiver, gate, ifindex, name),
            Err(e) => {
                Err(Error::io(name, "attaching the tcx program failed", e).cure_if_denied("run as root"))
            }
        }
    }

    /// The way without tcx.
    pub(super) fn by_filter(
        receiver: BorrowedFd<'_>,
        gate: Option<&Gate>,
        ifindex: u32,
        name: &str,
    ) -> Result<Self> {
        let failed = |e| {
            Error::io(name, "attaching the program by clsact failed", e).cure(
                "host rings need Linux 6.6, or CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF and no `ingress` queueing discipline",
            )
        };
        let jump = match gate {
            Some(_) => None,
            None => Some(Jump::to(receiver, libbpf_sys::BPF_TCX_EGRESS).map_err(failed)?),
        };
        let program = gate.map(Gate::entry).or(jump.as_ref().map(|j| j.entry.as_fd())).unwrap_or(receiver);
        let filter = Filter::attach(program, ifindex, Side::Egress).map_err(failed)?;
        Ok(Self::Clsact { filter, jump })
    }

    /// A descriptor by which another process keeps it there; `None` for one behind a gate. A filter then stays when this is dropped,
    /// and passes all once no process has its array.
    pub(super) fn share(&self) -> io::Result<Option<OwnedFd>> {
        match self {
            Self::Tcx { link } => link.try_clone().map(Some),
            Self::Clsact { filter, jump: Some(jump) } => {
                let array = jump.array.try_clone()?;
                filter.keep();
                Ok(Some(array))
            }
            Self::Clsact { jump: None, .. } => Ok(None),
        }
    }

    /// For the description of the port.
    pub(super) fn way(&self) -> &'static str {
        match self {
            Self::Tcx { .. } => "tcx",
            Self::Clsact { .. } => "clsact (no tcx before Linux 6.6)",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::sys::net;
    use crate::sys::netlink::{DUMP, Netlink, u32_at};

    const LOOPBACK: u32 = 1;
    const TCX_DROP: i32 = 2;

    /// Takes all: r0 = 2; exit.
    fn taker() -> OwnedFd {
        let code = [
            libbpf_sys::bpf_insn { code: 0xb7, imm: TCX_DROP, ..Default::default() },
            libbpf_sys::bpf_insn { code: 0x95, ..Default::default() },
        ];
        let (kind, attach) = (libbpf_sys::BPF_PROG_TYPE_SCHED_CLS, libbpf_sys::BPF_TCX_EGRESS);
        bpf::load(kind, attach, 0, &code).unwrap()
    }

    fn by_filter() -> Egress {
        Egress::by_filter(taker().as_fd(), None, LOOPBACK, "test").unwrap()
    }

    /// Whether a datagram reaches its receiver by the loopback interface.
    fn passes() -> bool {
        let [to, from] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        to.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        // Of a frame that is dropped the stack may tell.
        let _ = from.send_to(b"?", to.local_addr().unwrap());
        to.recv(&mut [0]).is_ok()
    }

    fn eventually(what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        }
    }

    /// Queueing disciplines and filters at the egress of the loopback interface.
    fn left() -> [usize; 2] {
        let mut body = [0; 20]; // struct tcmsg
        body[4] = LOOPBACK as u8;
        let mut netlink = Netlink::route().unwrap();
        let disciplines = netlink.ask(libc::RTM_GETQDISC, DUMP, &body).unwrap();
        body[12..16].copy_from_slice(&0xffff_fff3_u32.to_ne_bytes());
        let filters = netlink.ask(libc::RTM_GETTFILTER, DUMP, &body).unwrap_or_default();
        let clsact = |m: &&crate::sys::netlink::Message| m.body.windows(6).any(|w| w == b"clsact");
        // The kernel also tells of each priority, without a handle.
        let filters = filters.iter().filter(|m| u32_at(&m.body, 8) != Some(0));
        [disciplines.iter().filter(clsact).count(), filters.count()]
    }

    /// Runs `test` in a network namespace whose loopback interface is up.
    fn alone(test: impl FnOnce() + Send) {
        if !crate::sys::is_root() {
            return eprintln!("SKIPPED: attaching programs needs root");
        }
        let up = || {
            let mut body = [0; 16]; // struct ifinfomsg
            body[4] = LOOPBACK as u8;
            (body[8], body[12]) = (libc::IFF_UP as u8, libc::IFF_UP as u8);
            Netlink::route()?.ask(libc::RTM_NEWLINK, 0, &body)?;
            test();
            Ok(())
        };
        net::in_private_netns(up).unwrap();
    }

    #[test]
    fn a_filter_takes_as_long_as_its_owner_lives() {
        alone(|| {
            assert!(passes());
            let egress = by_filter();
            assert!(!passes());
            assert_eq!(left(), [1, 1]);
            drop(egress);
            assert!(passes());
            assert_eq!(left(), [0, 0], "the discipline was made for it");
        });
    }

    /// What a killed owner leaves: its descriptors are closed, and nothing else is done.
    #[test]
    fn the_filter_of_a_killed_owner_passes_all_and_goes_with_the_next() {
        alone(|| {
            let Egress::Clsact { filter, jump } = by_filter() else { unreachable!() };
            std::mem::forget(filter);
            drop(jump);
            eventually("the filter passes all", passes);
            assert_eq!(left(), [1, 1]);
            let [one, two] = [by_filter(), by_filter()];
            assert_eq!(left(), [1, 2], "the dead one is gone, two may live beside each other");
            drop(one);
            assert!(!passes());
            assert_eq!(left(), [1, 1], "what others use stays");
            drop(two);
            assert_eq!(
                left(),
                [0, 0],
                "the last one knows that the discipline was made for filters of Ringway"
            );
        });
    }

    #[test]
    fn a_filter_takes_as_long_as_one_of_its_owners_lives() {
        alone(|| {
            let egress = by_filter();
            let heir = egress.share().unwrap().unwrap();
            drop(egress);
            assert!(!passes());
            drop(heir);
            eventually("the filter passes all", passes);
            assert_eq!(left(), [1, 1]);
            drop(by_filter());
            assert_eq!(left(), [0, 0], "the next one removes it");
        });
    }

    #[test]
    fn a_discipline_of_others_stays() {
        alone(|| {
            crate::sys::bpf_probe::clsact(LOOPBACK).unwrap();
            drop(by_filter());
            assert_eq!(left(), [1, 0]);
        });
    }
}
