//! Small bursts and frames longer than a buffer go out by AF_XDP in copy mode, from the same
//! buffers. So does everything while the interface takes no live frames, as on a veth whose other
//! end does not run NAPI.
//!
//! Order: live frames and socket buffers go into one first-in-first-out queue on a tap with one
//! queue. They also do on a veth with one queue whose TCP segmentation is off (attaching XDP to the
//! peer turns it off). On another veth with one queue they meet only in the receiver's softirq.
//! With more queues they may overtake each other at any time, so small bursts are live frames too.
//! See drivers/net/veth.c, `veth_skb_is_eligible_for_gro`. When to change from one way to the other
//! is for [`super::tx`] to say.

use std::os::fd::OwnedFd;
use std::time::Duration;

use super::core::Core;
use crate::abi::cursor;
use crate::backend::xdp::{KERNEL_CHAIN, Room, Sender};
use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::ring::RingView;
use crate::sys::xsk::{Wanted, Xsk, ZeroCopy};
use ringway_nic::kernel_half::LIVE_MAX;

/// How often the interface is asked, in ns.
const ASK_NS: u64 = 100_000_000;

/// Descriptors of the socket's rings.
const RING: u32 = 2048;

/// Frames put up, the slots that they lie in, and their bytes.
#[derive(Debug, Default)]
struct Up {
    slots: u32,
    frames: u32,
    bytes: u64,
}

/// The small-burst path of one tx ring.
#[derive(Debug)]
pub(super) struct Small {
    sender: Option<Sender>,
    mtu: u32,
    /// Completions not collected yet. The kernel copied the bytes within the call, so there is nothing to learn from them
    /// but that their ring must not fill up.
    uncollected: u32,
    /// What was put up and the kernel did not say that it took.
    up: Up,
    asked_ns: u64,
    /// Whether the interface was there when it was last asked.
    there: bool,
    /// Whether live frames and socket buffers are put into one queue.
    same_queue: bool,
    /// Whether the driver allows it at all.
    possible: bool,
    /// Whether it matters what the interface says.
    asks: bool,
    /// Whether frames of one ring may go both ways.
    mixes: bool,
    /// Whether the interface takes live frames.
    live: bool,
    ring: u32,
    /// Made when the port is opened, for it belongs to the namespace of the thread that makes it; taken when it is bound.
    unbound: Option<OwnedFd>,
    stats: RingStats,
}

impl Small {
    pub(super) fn new(core: &Core, ring: u32, stats: RingStats) -> Self {
        let unbound = if possible(core) { Xsk::socket().ok() } else { None };
        Self {
            sender: None,
            mtu: 0,
            uncollected: 0,
            up: Up::default(),
            asked_ns: 0,
            there: false,
            same_queue: false,
            possible: unbound.is_some(),
            asks: unbound.is_some() || core.opener.is_none() && core.cfg.host == 0,
            mixes: core.interface.queues().1 == 1,
            live: true,
            ring,
            unbound,
            stats,
        }
    }

    /// Binds the socket when the port is opened, as the process may give up the rights for that before it sends. Not with several
    /// queues: the interface could not have fewer then.
    pub(super) fn bind_early(&mut self, core: &Core, now: u64) {
        if self.mixes {
            self.usable(core, now);
        }
    }

    /// Whether this way may be used now beside live frames. Binds the socket when it first may.
    #[inline]
    pub(super) fn usable(&mut self, core: &Core, now: u64) -> bool {
        if self.asks && now - self.asked_ns > ASK_NS {
            self.ask(core, now);
        }
        self.there && self.possible && (self.mixes || !self.live) && core.is_opener()
    }

    /// Whether this is the only way now. [`usable`](Self::usable) finds it out.
    #[inline]
    pub(super) fn alone(&self) -> bool {
        !self.live
    }

    #[cold]
    fn ask(&mut self, core: &Core, now: u64) {
        self.asked_ns = now;
        // Of an interface that is gone there is no MTU; live frames find that out and tell.
        let mtu = core.interface.mtu();
        self.there = mtu.is_ok();
        self.same_queue = core.driver != "veth" || !core.interface.tso();
        self.mtu = mtu.unwrap_or(0);
        self.live = core.takes_live();
        // A socket on a queue keeps `ethtool -L` from taking the queue away: none where none is used.
        if self.there && (self.mixes || !self.live) && core.is_opener() {
            self.open(core);
        }
    }

    /// Whether live frames that follow at once stay behind.
    pub(super) fn same_queue(&self) -> bool {
        self.same_queue
    }

    fn open(&mut self, core: &Core) {
        if let Some(fd) = self.unbound.take() {
            let want = Wanted {
                ifindex: core.cfg.ifindex,
                queue: self.ring,
                ring: RING,
                receive: false,
                zero_copy: ZeroCopy::No,
            };
            let umem = core.region.shared().umem(false);
            let mut unbound = Some(fd);
            let make = || unbound.take().map_or_else(|| core.interface.inside(Xsk::socket), Ok);
            let socket = Xsk::when_free(make, &umem, &want, Duration::ZERO).ok();
            self.sender = socket.map(|s| Sender { fd: s.fd, rings: s.tx, umem });
            // Without AF_XDP, or with another socket on the queue, live frames do the work.
            self.possible = self.sender.is_some();
        }
    }

    /// Whether a frame of `slots` slots can be sent this way.
    pub(super) fn takes(&self, slots: u32) -> bool {
        self.sender.as_ref().is_some_and(|s| s.takes(slots))
    }

    /// Sends frames of `each` slots from `sent` on, `count` slots in all. Moves `sent` past what went out or was dropped
    /// by name, at least one frame unless the result is false: what is left has to wait.
    #[inline]
    pub(super) fn send(
        &mut self,
        core: &Core,
        ring: &RingView,
        sent: &mut u32,
        count: u32,
        each: u32,
    ) -> Result<bool> {
        let Some(sender) = &mut self.sender else { return Ok(false) };
        let (mut frames, mut bytes, mut at, mut bad) = (0, 0, *sent, None);
        while frames * each < count {
            match sender.room(each, frames == 0) {
                Room::Yes => {}
                Room::Later if frames == 0 => return Ok(false),
                Room::Later => break,
                Room::Refused => {
                    bad = Some(DropReason::DeviceRefused);
                    break;
                }
            }
            match sender.put(ring, at, each, self.mtu, None) {
                Ok(n) => bytes += u64::from(n),
                Err(why) => {
                    bad = Some(why);
                    break;
                }
            }
            frames += 1;
            at = cursor::add(at, each, ring.num());
        }
        if frames > 0 {
            self.uncollected += frames * each;
            self.up = Up { slots: frames * each, frames, bytes };
            if !self.go_on(core, ring, sent)? {
                return Ok(false);
            }
        }
        if let Some(why) = bad {
            self.stats.count(Field::In, 1);
            self.stats.drop(why, 1);
            at = cursor::add(at, each, ring.num());
        }
        *sent = at;
        Ok(true)
    }

    /// Whether frames that were put up wait. Nothing else may be sent before [`go_on`](Self::go_on)
    /// moved past them. Before Linux 6.17 the kernel shows what it took when it has taken all, so
    /// frames that seem to wait may have left.
    #[inline]
    pub(super) fn holds(&self, core: &Core) -> bool {
        self.up.slots > 0 && core.is_opener()
    }

    /// Takes back what is put up, for another process has sent it since. Where the kernel shows late what it took, frames may have
    /// left twice.
    pub(super) fn take_back(&mut self, core: &Core) {
        if !self.holds(core) {
            return;
        }
        self.up = Up::default();
        self.uncollected = 0;
        if let Some(sender) = &mut self.sender {
            sender.rings.tx.give_up(|_| ());
            sender.rings.done.release_all();
        }
    }

    /// Has the kernel take what is put up, and moves `sent` past it. False: it still waits.
    pub(super) fn go_on(&mut self, core: &Core, ring: &RingView, sent: &mut u32) -> Result<bool> {
        let Some(sender) = &mut self.sender else { return Ok(true) };
        let s = sender.send();
        if s.lost > 0 {
            self.up.frames -= (s.lost as u32).min(self.up.frames);
            self.up.bytes = self.up.bytes.saturating_sub(s.lost_bytes);
            self.stats.count(Field::In, s.lost);
            self.stats.drop(DropReason::DeviceFull, s.lost);
        }
        if s.refused {
            self.withdraw();
        } else if s.left > 0 {
            // The kernel takes nothing while its ring of sent frames is full.
            self.uncollected = 0;
            sender.rings.done.release_all();
            return Ok(false);
        } else if self.uncollected > RING / 2 {
            self.uncollected = 0;
            sender.rings.done.release_all();
        }
        let up = std::mem::take(&mut self.up);
        self.stats.sent(up.frames.into(), up.bytes);
        *sent = cursor::add(*sent, up.slots, ring.num());
        if s.refused {
            core.look_now()?;
        }
        Ok(true)
    }

    /// Gives up what the interface refuses.
    #[cold]
    fn withdraw(&mut self) {
        let Some(sender) = &mut self.sender else { return };
        let (mut left, mut bytes) = (0, 0);
        sender.rings.tx.give_up(|d| {
            left += u32::from(!d.more);
            bytes += u64::from(d.len);
        });
        sender.rings.done.release_all();
        self.uncollected = 0;
        left = left.min(self.up.frames);
        self.up.frames -= left;
        self.up.bytes = self.up.bytes.saturating_sub(bytes);
        self.stats.count(Field::In, left.into());
        self.stats.drop(DropReason::DeviceRefused, left.into());
    }
}

impl Core {
    /// Longest frame that the port can send.
    pub(super) fn max_frame(&self) -> u32 {
        let chains = possible(self) && self.interface.queues().1 == 1;
        let most = if chains { KERNEL_CHAIN * self.cfg.buf_size } else { LIVE_MAX };
        most.min(self.interface.mtu().unwrap_or(1500) + 18)
    }
}

/// Whether the kernel copies a frame within the call that sends it, as it does for these drivers. Only the process that opened the
/// port has a socket.
fn possible(core: &Core) -> bool {
    core.cfg.host == 0 && core.opener.is_some() && matches!(core.driver.as_str(), "veth" | "tun")
}
