//! Programs between an interface and the stack by filters of traffic control, where the kernel has no tcx (before Linux 6.6).
//!
//! A filter outlives the process that made it. So its program ought to do nothing once its owner is gone. [`Filter::attach`]
//! takes programs that jump into a program array ([`Jump`](super::jump::Jump)), which the kernel empties with its last descriptor
//! or pin. The next owner, and [`remove_dead`], remove filters whose array is empty.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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

/// Names of filters. The second tells that the discipline was made for filters of Ringway.
const NAME: &str = "ringway_host";
const NAME_MAKER: &str = "ringway_host, with its clsact";

/// Filters of Ringway at one interface, at most.
const MOST: u32 = 64;

/// The side of an interface at which a filter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What the stack is given.
    Ingress,
    /// What the stack sends.
    Egress,
}

impl Side {
    const BOTH: [Self; 2] = [Self::Ingress, Self::Egress];

    fn parent(self) -> u32 {
        match self {
            Self::Ingress => INGRESS,
            Self::Egress => EGRESS,
        }
    }
}

/// A filter at an interface. Dropping it removes it, and the discipline if that was made for filters of Ringway.
#[derive(Debug)]
pub struct Filter {
    tc: Tc,
    side: Side,
    handle: u32,
    maker: bool,
    kept: AtomicBool,
}

impl Filter {
    /// Attaches `program`, of `BPF_PROG_TYPE_SCHED_CLS`, to an interface of the present network namespace.
    pub fn attach(program: BorrowedFd<'_>, ifindex: u32, side: Side) -> io::Result<Self> {
        let tc = Tc { netlink: Netlink::route()?, ifindex };
        let mut filter = Self { tc, side, handle: 0, maker: false, kept: AtomicBool::new(false) };
        let mut tries = 3;
        loop {
            filter.maker |= filter.tc.make_clsact()?;
            filter.maker |= filter.tc.sweep() | filter.tc.has_maker();
            match filter.tc.add(program, side, filter.maker) {
                // Its last user may just have removed the discipline.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) && tries > 1 => tries -= 1,
                Err(e) => {
                    filter.keep();
                    filter.tc.leave(filter.maker);
                    return Err(e);
                }
                Ok(handle) => {
                    filter.handle = handle;
                    return Ok(filter);
                }
            }
        }
    }

    /// Leaves it where it is when this is dropped; once its program array is empty, [`remove_dead`] removes it.
    pub fn keep(&self) {
        self.kept.store(true, Relaxed);
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        if *self.kept.get_mut() {
            return;
        }
        // What fails here is left for the next owner, who sweeps.
        let _ = self.tc.remove(self.side, self.handle);
        self.maker |= self.tc.sweep();
        self.tc.leave(self.maker);
    }
}

/// Removes filters whose program arrays are empty from an interface of the present network namespace, and the discipline if it was
/// made for them and has no other filter.
pub fn remove_dead(ifindex: u32) -> io::Result<()> {
    let mut tc = Tc { netlink: Netlink::route()?, ifindex };
    let maker = tc.sweep();
    tc.leave(maker);
    Ok(())
}

/// Filters at the ingress of an interface of the present network namespace that are not Ringway's.
pub fn of_others(ifindex: u32) -> io::Result<usize> {
    let mut tc = Tc { netlink: Netlink::route()?, ifindex };
    match tc.filters(Side::Ingress) {
        // there is no queueing discipline with a place for them
        Err(e) if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOENT | libc::EOPNOTSUPP)) => Ok(0),
        Err(e) => Err(e),
        Ok(all) => Ok(all.iter().filter(|m| is_filter(m) && decode(m).is_none()).count()),
    }
}

/// Numbers of the programs that filters of Ringway at the ingress of an interface of the present network namespace jump to.
pub fn programs_behind(ifindex: u32) -> io::Result<Vec<u32>> {
    let mut tc = Tc { netlink: Netlink::route()?, ifindex };
    let behind = |found: Found| {
        let array = bpf::only_map_of(found.program)?;
        bpf::prog_id(bpf::program_in(array.as_fd())?.as_fd())
    };
    Ok(tc.found(Side::Ingress).into_iter().filter_map(|found| behind(found).ok()).collect())
}

/// Traffic control of an interface.
#[derive(Debug)]
struct Tc {
    netlink: Netlink,
    ifindex: u32,
}

impl Tc {
    /// Makes the discipline; false when there is one.
    fn make_clsact(&mut self) -> io::Result<bool> {
        let mut body = tcmsg(self.ifindex, CLSACT_HANDLE, CLSACT, 0);
        put(&mut body, TCA_KIND, b"clsact\0");
        match self.netlink.ask(libc::RTM_NEWQDISC, CREATE, &body) {
            Err(e) if e.raw_os_error() == Some(libc::EEXIST) => Ok(false),
            made => made.map(|_| true),
        }
    }

    /// Removes the discipline, if it was made for filters of Ringway and has none any more.
    fn leave(&mut self, maker: bool) {
        if maker && Side::BOTH.into_iter().all(|side| self.filters(side).is_ok_and(|all| all.is_empty())) {
            let body = tcmsg(self.ifindex, CLSACT_HANDLE, CLSACT, 0);
            let _ = self.netlink.ask(libc::RTM_DELQDISC, 0, &body);
        }
    }

    /// Adds a filter by the first handle that is free, which it returns.
    fn add(&mut self, program: BorrowedFd<'_>, side: Side, maker: bool) -> io::Result<u32> {
        let name = if maker { NAME_MAKER } else { NAME };
        let mut options = Vec::new();
        put(&mut options, TCA_BPF_FD, &program.as_raw_fd().to_ne_bytes());
        put(&mut options, TCA_BPF_NAME, &[name.as_bytes(), b"\0"].concat());
        put(&mut options, TCA_BPF_FLAGS, &DIRECT.to_ne_bytes());
        for handle in 1..=MOST {
            let mut body = tcmsg(self.ifindex, handle, side.parent(), INFO);
            put(&mut body, TCA_KIND, b"bpf\0");
            put(&mut body, TCA_OPTIONS, &options);
            match self.netlink.ask(libc::RTM_NEWTFILTER, CREATE, &body) {
                Err(e) if e.raw_os_error() == Some(libc::EEXIST) => {}
                Err(e) => return Err(e),
                Ok(_) => return Ok(handle),
            }
        }
        Err(io::Error::from_raw_os_error(libc::ENOSPC))
    }

    /// Removes filters of owners that are gone; whether the discipline was made for one of them.
    fn sweep(&mut self) -> bool {
        let mut maker = false;
        for side in Side::BOTH {
            for found in self.found(side).into_iter().filter(|found| is_dead(found.program)) {
                maker |= self.remove(side, found.handle).is_ok() && found.maker;
            }
        }
        maker
    }

    /// Whether a filter tells that the discipline was made for filters of Ringway. All that come later tell it too, so that the last
    /// one removes it.
    fn has_maker(&mut self) -> bool {
        Side::BOTH.into_iter().any(|side| self.found(side).iter().any(|found| found.maker))
    }

    fn remove(&mut self, side: Side, handle: u32) -> io::Result<()> {
        let body = tcmsg(self.ifindex, handle, side.parent(), INFO);
        self.netlink.ask(libc::RTM_DELTFILTER, 0, &body).map(drop)
    }

    /// Filters of Ringway at one side.
    fn found(&mut self, side: Side) -> Vec<Found> {
        self.filters(side).unwrap_or_default().iter().filter_map(decode).collect()
    }

    /// All filters at one side, of any maker.
    fn filters(&mut self, side: Side) -> io::Result<Vec<Message>> {
        self.netlink.ask(libc::RTM_GETTFILTER, DUMP, &tcmsg(self.ifindex, 0, side.parent(), 0))
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

/// Whether a message is of a filter: of each chain one comes first that has no handle.
fn is_filter(m: &Message) -> bool {
    u32_at(&m.body, 8).is_some_and(|handle| handle != 0)
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
