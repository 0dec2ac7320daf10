//! Programs at an interface's egress by a filter of traffic control, where the kernel has no tcx (before Linux 6.6).
//!
//! A filter outlives the process that made it. So its program ought to be one that does nothing once its owner is gone:
//! [`Filter::attach`] takes programs that jump into a program array, which the kernel empties with the owner's last
//! descriptor of it. Filters whose array is empty are removed by the next owner.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::bpf;
use super::netlink::{CREATE, DUMP, Message, Netlink, attribute, put, text, u32_at};

/// Attributes of linux/rtnetlink.h and linux/pkt_cls.h.
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;

/// The program's result is the verdict (`TCA_BPF_FLAG_ACT_DIRECT`).
const DIRECT: u32 = 1;

/// Bytes of `struct tcmsg`.
const TCMSG: usize = 20;

/// `TC_H_CLSACT`, which is its own parent, with the handle of the discipline, and its egress side.
const CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;

/// All filters of Ringway have this priority: "RW". In `tcm_info` it stands above the protocol, `ETH_P_ALL`.
const PRIORITY: u32 = 0x5257;
const INFO: u32 = PRIORITY << 16 | (libc::ETH_P_ALL as u16).to_be() as u32;

/// Names of filters. That of the second tells that the discipline was made for it.
const NAME: &str = "ringway_host";
const NAME_MAKER: &str = "ringway_host, with its clsact";

/// Filters of Ringway at one interface, at most.
const MOST: u32 = 64;

/// A filter at the egress of an interface. Dropping it removes it, and the discipline if that was made for it.
#[derive(Debug)]
pub(crate) struct Filter {
    netlink: Netlink,
    ifindex: u32,
    handle: u32,
    maker: bool,
}

impl Filter {
    /// Attaches `program`, of `BPF_PROG_TYPE_SCHED_CLS`, to the egress of an interface of the present network namespace.
    pub(crate) fn attach(program: BorrowedFd<'_>, ifindex: u32) -> io::Result<Self> {
        let netlink = Netlink::route()?;
        let mut filter = Self { netlink, ifindex, handle: 0, maker: false };
        let mut tries = 3;
        loop {
            filter.maker |= filter.make_clsact()?;
            filter.maker |= filter.sweep();
            match filter.add(program) {
                // Its last user may just have removed the discipline.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) && tries > 1 => tries -= 1,
                added => return added.map(|()| filter),
            }
        }
    }

    /// Makes the discipline; false when there is one.
    fn make_clsact(&mut self) -> io::Result<bool> {
        let mut body = tcmsg(self.ifindex, CLSACT_HANDLE, CLSACT, 0);
        put(&mut body, TCA_KIND, b"clsact\0");
        match self.netlink.ask(libc::RTM_NEWQDISC, CREATE, &body) {
            Err(e) if e.raw_os_error() == Some(libc::EEXIST) => Ok(false),
            made => made.map(|_| true),
        }
    }

    /// Adds the filter by the first handle that is free.
    fn add(&mut self, program: BorrowedFd<'_>) -> io::Result<()> {
        let name = if self.maker { NAME_MAKER } else { NAME };
        let mut options = Vec::new();
        put(&mut options, TCA_BPF_FD, &program.as_raw_fd().to_ne_bytes());
        put(&mut options, TCA_BPF_NAME, &[name.as_bytes(), b"\0"].concat());
        put(&mut options, TCA_BPF_FLAGS, &DIRECT.to_ne_bytes());
        for handle in 1..=MOST {
            let mut body = tcmsg(self.ifindex, handle, EGRESS, INFO);
            put(&mut body, TCA_KIND, b"bpf\0");
            put(&mut body, TCA_OPTIONS, &options);
            match self.netlink.ask(libc::RTM_NEWTFILTER, CREATE, &body) {
                Err(e) if e.raw_os_error() == Some(libc::EEXIST) => {}
                Err(e) => return Err(e),
                Ok(_) => {
                    self.handle = handle;
                    return Ok(());
                }
            }
        }
        Err(io::Error::from_raw_os_error(libc::ENOSPC))
    }

    /// Removes filters of owners that are gone; whether the discipline was made for one of them.
    fn sweep(&mut self) -> bool {
        let all = self.filters(EGRESS).unwrap_or_default();
        let dead = all
            .iter()
            .filter_map(decode)
            .filter(|found| found.handle != self.handle && is_dead(found.program));
        let mut maker = false;
        for found in dead.collect::<Vec<_>>() {
            maker |= self.remove(found.handle).is_ok() && found.maker;
        }
        maker
    }

    fn remove(&mut self, handle: u32) -> io::Result<()> {
        let body = tcmsg(self.ifindex, handle, EGRESS, INFO);
        self.netlink.ask(libc::RTM_DELTFILTER, 0, &body).map(drop)
    }

    /// All filters at one side, whoever made them.
    fn filters(&mut self, side: u32) -> io::Result<Vec<Message>> {
        self.netlink.ask(libc::RTM_GETTFILTER, DUMP, &tcmsg(self.ifindex, 0, side, 0))
    }

    fn is_unused(&mut self) -> bool {
        [INGRESS, EGRESS].into_iter().all(|side| self.filters(side).is_ok_and(|all| all.is_empty()))
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // What fails here is left for the next owner, who sweeps.
        let _ = self.remove(self.handle);
        self.maker |= self.sweep();
        if self.maker && self.is_unused() {
            let body = tcmsg(self.ifindex, CLSACT_HANDLE, CLSACT, 0);
            let _ = self.netlink.ask(libc::RTM_DELQDISC, 0, &body);
        }
    }
}

fn tcmsg(ifindex: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    let mut m = vec![0; TCMSG];
    for (at, word) in [(4, ifindex), (8, handle), (12, parent), (16, info)] {
        m[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    }
    m
}

/// A filter of Ringway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    handle: u32,
    program: u32,
    maker: bool,
}

fn decode(m: &Message) -> Option<Found> {
    let attrs = m.body.get(TCMSG..)?;
    let options = attribute(attrs, TCA_OPTIONS)?;
    let name = attribute(options, TCA_BPF_NAME).map(text)?;
    let ours = u32_at(&m.body, 16)? >> 16 == PRIORITY && [NAME, NAME_MAKER].contains(&name.as_str());
    let program = attribute(options, TCA_BPF_ID).and_then(|v| u32_at(v, 0))?;
    let found = Found { handle: u32_at(&m.body, 8)?, program, maker: name == NAME_MAKER };
    ours.then_some(found)
}

/// Whether the program array behind a filter's program is empty.
fn is_dead(program: u32) -> bool {
    let first = bpf::only_map_of(program).map(|array| bpf::program_in(array.as_fd()));
    matches!(first, Ok(Err(e)) if e.raw_os_error() == Some(libc::ENOENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn filters_of_others_are_not_ours() {
        let filter = |info: u32, name: &str| {
            let mut options = Vec::new();
            put(&mut options, TCA_BPF_NAME, &[name.as_bytes(), b"\0"].concat());
            put(&mut options, TCA_BPF_ID, &9u32.to_ne_bytes());
            let mut body = tcmsg(3, 5, EGRESS, info);
            put(&mut body, TCA_OPTIONS, &options);
            decode(&Message { kind: 0, body })
        };
        assert_eq!(filter(INFO, NAME), Some(Found { handle: 5, program: 9, maker: false }));
        assert_eq!(filter(INFO, NAME_MAKER), Some(Found { handle: 5, program: 9, maker: true }));
        assert_eq!(filter(INFO, "other"), None);
        assert_eq!(filter(1 << 16, NAME), None);
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_not(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            decode(&Message { kind: 0, body: bytes });
        }
    }
}
