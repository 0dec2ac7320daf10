//! Small bursts and frames longer than a buffer go out by AF_XDP in copy mode, from the same buffers.
//!
//! Order: on a tap with one queue, and on a veth with one queue whose TCP segmentation is off (attaching XDP to the peer
//! turns it off), live frames and socket buffers are put into one first-in-first-out queue. On another veth with one
//! queue they meet only in the receiver's softirq. With more queues they may overtake each other at any time, and only
//! live frames are used. See drivers/net/veth.c, `veth_skb_is_eligible_for_gro`. When to change from one way to the
//! other is for [`super::tx`] to say.

use std::os::fd::OwnedFd;

use super::Core;
use super::object::LIVE_MAX;
use super::tx::SMALL;
use crate::cursor;
use crate::error::Result;
use crate::ring::RingView;
use crate::slot::Slot;
use crate::stats::{DropReason, Field, RingStats};
use crate::sys::xsk::{Kick, XskTx};

/// Buffers of one frame that the kernel puts into one socket buffer (MAX_SKB_FRAGS, the first one is linear).
const KERNEL_CHAIN: u32 = 17;

/// How often the interface is asked, in ns.
const ASK_NS: u64 = 100_000_000;

/// Kicks without progress before what is left stays in the ring.
const PATIENCE: u32 = 64;

/// The small-burst path of one tx ring.
#[derive(Debug)]
pub(super) struct Small {
    socket: Option<XskTx>,
    /// Made when the port is opened, for it belongs to the namespace of the thread that makes it; taken on first use.
    unbound: Option<OwnedFd>,
    /// Whether the driver and the queues allow it at all.
    possible: bool,
    /// Whether live frames and socket buffers are put into one queue.
    same_queue: bool,
    /// Whether the interface was there when it was last asked.
    there: bool,
    asked_ns: u64,
    mtu: u32,
    stats: RingStats,
}

impl Small {
    pub(super) fn new(core: &Core, stats: RingStats) -> Self {
        let unbound = if possible(core) { XskTx::socket().ok() } else { None };
        Self {
            socket: None,
            possible: unbound.is_some(),
            unbound,
            same_queue: false,
            there: false,
            asked_ns: 0,
            mtu: 0,
            stats,
        }
    }

    /// Whether this way may be used now. Binds the socket on first use.
    pub(super) fn usable(&mut self, core: &Core, now: u64) -> bool {
        if !self.possible {
            return false;
        }
        if now - self.asked_ns > ASK_NS {
            self.asked_ns = now;
            // Of an interface that is gone there is no MTU; live frames find that out and tell.
            let mtu = core.interface.mtu();
            self.there = mtu.is_ok();
            self.same_queue = core.driver != "veth" || !core.interface.tso();
            self.mtu = mtu.unwrap_or(0);
        }
        self.there && self.open(core)
    }

    /// Whether live frames that follow at once stay behind.
    pub(super) fn same_queue(&self) -> bool {
        self.same_queue
    }

    fn open(&mut self, core: &Core) -> bool {
        if let Some(fd) = self.unbound.take() {
            let s = core.region.shared();
            let len = s.layout.bufs as usize * s.layout.buf_size as usize;
            let bufs = s.mem.at(s.layout.buf_ofs, len).as_ptr();
            self.socket = XskTx::new(fd, core.cfg.ifindex, 0, bufs, len, s.layout.buf_size).ok();
            // Without AF_XDP, or with another socket on the queue, live frames do the work.
            self.possible = self.socket.is_some();
        }
        self.possible
    }

    /// Longest frame that the port can send, were the MTU no limit.
    pub(super) fn max_frame(core: &Core) -> u32 {
        if possible(core) { KERNEL_CHAIN * core.cfg.buf_size } else { LIVE_MAX }
    }

    /// Whether a frame of `slots` slots can be sent this way.
    pub(super) fn takes(&self, slots: u32) -> bool {
        slots == 1 || (slots <= KERNEL_CHAIN && self.socket.as_ref().is_some_and(|s| s.multi))
    }

    /// Sends frames of `each` slots from `sent` on, `count` slots in all and [`SMALL`] frames at most. Moves `sent`
    /// past what went out or was dropped by name; false when the rest has to wait.
    pub(super) fn send(
        &mut self,
        core: &Core,
        ring: &RingView,
        sent: &mut u32,
        count: u32,
        each: u32,
    ) -> Result<bool> {
        let Some(socket) = &mut self.socket else { return Ok(false) };
        let start = *sent;
        let (mut one, mut many);
        let frames: &mut [_] = if count == each {
            one = [Ok(0)];
            &mut one
        } else {
            many = [Ok(0); SMALL as usize];
            &mut many[..(count / each) as usize]
        };
        let mut good = 0;
        for (k, fate) in frames.iter_mut().enumerate() {
            let at = cursor::add(start, k as u32 * each, ring.num());
            *fate = put(socket, ring, at, each, self.mtu);
            good += usize::from(fate.is_ok());
        }
        let (lost, refused) = kick_all(socket, good > 0, &self.stats);
        let left = if socket.waiting() > 0 { socket.withdraw().div_ceil(each) as usize } else { 0 };
        let gone = good - left.min(good);
        let passed = self.count(frames, gone, refused);
        self.stats.count(Field::Out, (gone as u64).saturating_sub(lost));
        *sent = cursor::add(start, passed * each, ring.num());
        if refused {
            core.look_now()?;
        }
        Ok(passed * each == count)
    }

    /// Counts frames up to the first that has to wait; returns how many they are. The first `gone` good ones went out;
    /// the interface refused the others, or they wait.
    fn count(&self, frames: &[std::result::Result<u32, DropReason>], gone: usize, refused: bool) -> u32 {
        let mut went = 0;
        for (k, fate) in frames.iter().enumerate() {
            match *fate {
                Err(why) => self.stats.drop(why, 1),
                Ok(bytes) if went < gone => {
                    went += 1;
                    self.stats.count(Field::Bytes, u64::from(bytes));
                }
                Ok(_) if refused => self.stats.drop(DropReason::DeviceRefused, 1),
                Ok(_) => return k as u32,
            }
            self.stats.count(Field::In, 1);
        }
        frames.len() as u32
    }
}

/// Whether the driver and its queues let the two ways meet in one queue.
fn possible(core: &Core) -> bool {
    core.cfg.host == 0 && core.interface.queues().1 == 1 && matches!(core.driver.as_str(), "veth" | "tun")
}

/// Puts up one frame of `slots` slots, each read once, or names why not. Nothing is put up for a bad one.
fn put(
    socket: &mut XskTx,
    ring: &RingView,
    at: u32,
    slots: u32,
    mtu: u32,
) -> std::result::Result<u32, DropReason> {
    if slots > 1 {
        return put_chain(socket, ring, at, slots, mtu);
    }
    let s = ring.slot(at);
    if !ring.valid(s) {
        return Err(DropReason::BadSlot);
    }
    fits(s.len.into(), mtu)?;
    if socket.put(address(ring, s), s.len.into(), false) {
        Ok(s.len.into())
    } else {
        Err(DropReason::NoMemory)
    }
}

/// The same for several slots.
#[cold]
fn put_chain(
    socket: &mut XskTx,
    ring: &RingView,
    at: u32,
    slots: u32,
    mtu: u32,
) -> std::result::Result<u32, DropReason> {
    let mut parts = [Slot::from_word(0); KERNEL_CHAIN as usize];
    let parts = parts.get_mut(..slots as usize).ok_or(DropReason::TooLong)?;
    for (k, part) in parts.iter_mut().enumerate() {
        *part = ring.slot(cursor::add(at, k as u32, ring.num()));
        if !ring.valid(*part) || part.len == 0 {
            return Err(DropReason::BadSlot);
        }
    }
    let bytes = parts.iter().map(|p| u32::from(p.len)).sum();
    fits(bytes, mtu)?;
    let last = parts.len() - 1;
    let put = parts.iter().enumerate().all(|(k, p)| socket.put(address(ring, *p), p.len.into(), k < last));
    if put { Ok(bytes) } else { Err(DropReason::NoMemory) }
}

/// 14 bytes of header at least; 14 and 4 of a VLAN tag beyond the MTU at most, as the interface counts it.
fn fits(bytes: u32, mtu: u32) -> std::result::Result<(), DropReason> {
    match bytes {
        ..14 => Err(DropReason::TooShort),
        b if b > mtu + 18 => Err(DropReason::TooLong),
        _ => Ok(()),
    }
}

/// Where a buffer starts in the socket's memory.
fn address(ring: &RingView, s: Slot) -> u64 {
    u64::from(s.buf) * u64::from(ring.buf_size())
}

/// Makes the kernel send what is put up. Returns how many frames it took and lost, and whether it refuses the rest.
fn kick_all(socket: &mut XskTx, any: bool, stats: &RingStats) -> (u64, bool) {
    let (mut lost, mut idle, mut before) = (0, 0, u32::MAX);
    while any && idle <= PATIENCE {
        match socket.kick() {
            Ok(Kick::Done) => break,
            Ok(Kick::Lost) => {
                lost += 1;
                stats.drop(DropReason::DeviceFull, 1);
            }
            Ok(Kick::Again) => {}
            Err(_) => return (lost, true),
        }
        let now = socket.waiting();
        idle = if now < before { 0 } else { idle + 1 };
        before = now;
        if now == 0 {
            break;
        }
    }
    (lost, false)
}
