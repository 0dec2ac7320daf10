//! Sending: long bursts as live frames made by the program in the kernel, one system call for each sync.
//!
//! A call on live frames costs about 10 us before the first frame, because the kernel makes a pool of pages for it.
//! Below [`SMALL`] frames AF_XDP is faster. Frames sent one way could overtake frames sent the other way just before, so
//! the ways do not alternate: [`EbpfTx::goes_small`] and [`PAUSE`] keep them apart.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use super::core::Core;
use super::small::Small;
use crate::abi::layout::MAX_CHAIN;
use crate::abi::{cursor, handshake};
use crate::count::{DropReason, Field, RingStats};
use crate::error::{Error, ErrorKind, Result};
use crate::ring::{RingView, TxSync};
use crate::sys::fd::always_ready;
use crate::sys::{bpf, time};
use ringway_nic::kernel_half::ctl;

/// Frames from which on a call on live frames is the faster way; fewer go by AF_XDP.
pub(super) const SMALL: u32 = 17;

/// How long after a large burst small ones go as live frames too, in ns, so that a sender of changing bursts does not
/// change its way with each.
const SETTLE_NS: u64 = 100_000_000;

/// How long the first frames of one way wait for the last ones of the other, if those left within [`SETTLE_NS`]. A veth
/// that receives both may hold live frames back to the end of its poll and pass socket buffers on at once. Also
/// how long a sync waits that has no other way while too many pools of pages wait.
const PAUSE: Duration = Duration::from_millis(1);

/// Frames put up for AF_XDP at once, when live frames are no way.
const AT_ONCE: u32 = 256;

/// Length of the frame passed to the program for ring 0 of several: the program learns the ring from the length.
const FRAME_IN: u32 = 64;

/// Lengths that a frame passed in may have: the kernel refuses shorter ones, and copies the bytes of each into 64 pages.
const LENGTHS_IN: std::ops::RangeInclusive<u32> = 14..=512;

/// Whole milliseconds, in the half of a word that another process compares.
fn ms(ns: u64) -> u32 {
    (ns / 1_000_000) as u32
}

/// The sending side of one tx ring.
#[derive(Debug)]
pub(super) struct EbpfTx {
    core: Arc<Core>,
    ring: u32,
    /// First slot not sent.
    sent: u32,
    generation: u32,
    /// When a large burst, live frames, frames by AF_XDP, and frames of several slots were last sent, monotonic ns.
    large_ns: u64,
    live_ns: u64,
    small_ns: u64,
    chain_ns: u64,
    small: Small,
    stats: RingStats,
    ready: Arc<OwnedFd>,
}

impl EbpfTx {
    pub(super) fn new(core: Arc<Core>, ring: u32, stats: RingStats) -> Result<Self> {
        let ready = always_ready().map_err(|e| Error::io(&core.name, "eventfd failed", e))?;
        let mut small = Small::new(&core, ring, stats.clone());
        small.bind_early(&core, time::coarse_ns());
        Ok(Self {
            core,
            ring,
            sent: 0,
            generation: 0,
            large_ns: 0,
            live_ns: 0,
            small_ns: 0,
            chain_ns: 0,
            small,
            stats,
            ready,
        })
    }

    /// Whether frames leave at all: as live frames, or by AF_XDP where no other socket has the queue.
    pub(super) fn can_send(&mut self) -> bool {
        self.small.usable(&self.core, time::coarse_ns()) || !self.small.alone()
    }

    /// The slot after the frames of one slot each that start at `sent`.
    fn plain_until(&self, ring: &RingView, head: u32) -> u32 {
        let mut at = self.sent;
        while at != head && !ring.slot(at).more() {
            at = ring.next(at);
        }
        at
    }

    /// Length of the frame passed to the program. With one ring it is the next frame's, unless that is long: frames of that length
    /// leave as they are.
    fn frame_in(&self, ring: &RingView) -> u32 {
        let len = u32::from(ring.slot(self.sent).len);
        let fits = self.core.cfg.tx_rings == 1 && LENGTHS_IN.contains(&len);
        if fits { len } else { FRAME_IN + self.ring }
    }

    /// Sends the plain slots up to `end` as live frames. False when too many pools of pages wait: then so do the frames.
    fn send_live(&mut self, ring: &RingView, end: u32) -> Result<bool> {
        let core = &self.core;
        self.generation = self.generation.wrapping_add(1);
        core.ctl(self.ring, ctl::START).store(self.sent, Relaxed);
        core.ctl(self.ring, ctl::HEAD).store(end, Relaxed);
        core.ctl(self.ring, ctl::GEN).store(self.generation, Release);
        let from = (core.cfg.host != 0).then_some(core.cfg.ifindex);
        let prog = core
            .loaded
            .prog("tx")
            .ok_or_else(|| Error::new(ErrorKind::Gone, &core.name, "no transmit program"))?;
        let mut stalled = 0;
        while self.sent != end {
            let left = ring.dist(self.sent, end);
            let run = || bpf::run_live(prog, self.frame_in(ring), left, from);
            let ran = if from.is_some() { core.interface.inside(run) } else { run() };
            ran.map_err(|e| core.run_failed(e))?;
            let at = handshake::observe(core.tail(self.ring));
            let moved = if at < ring.num() { ring.dist(self.sent, at) } else { 0 };
            if moved == 0 && core.pools_abound() {
                core.check_taken()?;
                return Ok(false);
            }
            if moved == 0 || moved > left {
                stalled += 1;
                if stalled > 3 {
                    let what = "the transmit program does not advance: something else writes this ring's control block";
                    return Err(Error::new(ErrorKind::Invalid, &core.name, what)
                        .cure("use a tx ring from one thread"));
                }
                continue;
            }
            self.sent = at;
        }
        core.check_taken().map(|()| true)
    }

    /// Whether a burst of `want` frames goes by AF_XDP. After a frame of several slots all do for a while, so that the
    /// ways do not alternate. All do while too many pools of pages wait.
    fn goes_small(&mut self, want: u32, now: u64) -> bool {
        if want >= SMALL {
            self.large_ns = now;
        }
        let chains = self.chain_ns > self.live_ns && now.saturating_sub(self.chain_ns) < SETTLE_NS;
        let calm = now.saturating_sub(self.large_ns) >= SETTLE_NS;
        let usable = self.small.usable(&self.core, now);
        usable && (chains || (calm && want < SMALL) || self.small.alone() || self.core.pools_abound())
    }

    /// Before frames go by AF_XDP: lets live frames that left just before arrive. Returns the time to note.
    fn leave_live(&self, now: u64) -> u64 {
        if self.live_ns > self.small_ns.max(self.chain_ns) && now.saturating_sub(self.live_ns) < SETTLE_NS {
            std::thread::sleep(PAUSE);
        }
        now.max(self.live_ns + 1)
    }

    /// Before live frames go, the other way round; not needed where both are put into one queue.
    fn leave_small(&self, now: u64) -> u64 {
        let other = self.small_ns.max(self.chain_ns);
        if other > self.live_ns && now.saturating_sub(other) < SETTLE_NS && !self.small.same_queue() {
            std::thread::sleep(PAUSE);
        }
        now.max(other + 1)
    }

    /// Tells other processes that have the ring that frames go by AF_XDP now.
    fn tell_small(&self, now: u64) {
        self.core.ctl(self.ring, ctl::SMALL).store(ms(now), Relaxed);
    }

    /// Another process sent since this one did. Whatever way that was, frames of the other way wait first. Live frames of the
    /// process that has no other way follow at once.
    fn others_sent(&mut self) {
        let now = time::coarse_ns();
        let others = self.small_ns.max(self.chain_ns);
        if self.core.is_opener() {
            self.live_ns = now.max(others + 1);
            self.large_ns = now;
        } else if ms(now).wrapping_sub(self.core.ctl(self.ring, ctl::SMALL).load(Relaxed)) <= ms(SETTLE_NS) {
            self.small_ns = now.max(self.live_ns + 1);
        }
    }

    /// Fails where the interface takes only what AF_XDP sends, and this process can't send by it.
    #[cold]
    fn check_way(&self) -> Result<()> {
        if self.core.is_opener() {
            return Ok(());
        }
        let what =
            "the interface takes no live frames, and only the process that opened the port has another way";
        Err(Error::new(ErrorKind::Unsupported, &self.core.name, what).cure(
            "turn GRO on at the other end of the veth (`ethtool -K PEER gro on`), or open a port there first",
        ))
    }

    /// Sends, or drops by name, one frame of several slots.
    fn send_chain(&mut self, ring: &RingView, head: u32, now: u64) -> Result<bool> {
        let (mut slots, mut ended) = (0, false);
        while !ended && slots < ring.dist(self.sent, head) {
            ended = !ring.slot(cursor::add(self.sent, slots, ring.num())).more();
            slots += 1;
        }
        let why = match ended {
            true if slots <= MAX_CHAIN => {
                if self.small.usable(&self.core, now) && self.small.takes(slots) {
                    self.chain_ns = self.leave_live(now);
                    self.tell_small(now);
                    return self.small.send(&self.core, ring, &mut self.sent, slots, slots);
                }
                DropReason::TooLong
            }
            _ => DropReason::BadSlot,
        };
        self.sent = cursor::add(self.sent, slots, ring.num());
        self.stats.count(Field::In, 1);
        self.stats.drop(why, 1);
        Ok(true)
    }
}

impl TxSync for EbpfTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        if self.small.holds(&self.core) && !self.small.go_on(&self.core, ring, &mut self.sent)? {
            return Ok(ring.prev(self.sent));
        }
        let now = time::coarse_ns();
        let mut small = self.goes_small(ring.dist(self.sent, head), now);
        if !small && self.small.alone() && self.sent != head {
            self.check_way()?;
        }
        while self.sent != head {
            let end = self.plain_until(ring, head);
            let count = ring.dist(self.sent, end);
            let went_on = match count {
                0 => {
                    let went_on = self.send_chain(ring, head, now)?;
                    small = self.goes_small(ring.dist(self.sent, head), now);
                    went_on
                }
                _ if small => {
                    self.small_ns = self.leave_live(now);
                    self.tell_small(now);
                    self.small.send(&self.core, ring, &mut self.sent, count.min(AT_ONCE), 1)?
                }
                _ => {
                    self.live_ns = self.leave_small(now);
                    if self.core.pools_abound() {
                        std::thread::sleep(PAUSE);
                    }
                    self.send_live(ring, end)?
                }
            };
            if !went_on {
                break;
            }
        }
        Ok(ring.prev(self.sent))
    }

    fn resume(&mut self, ring: &RingView, tail: u32) {
        let sent = ring.next(tail);
        // The program takes a place to start from with a generation that it has not seen.
        self.generation = self.core.ctl(self.ring, ctl::GEN).load(Relaxed);
        if sent != self.sent {
            self.small.take_back(&self.core);
            self.others_sent();
        }
        self.sent = sent;
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}
