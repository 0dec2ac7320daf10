//! Receiving: the program in the kernel fills slots; a sync tells it which are free again and looks how far it came.
//!
//! The words through which both sides meet travel between two processor caches. When a reader that is faster than the
//! sender looks after each frame, that traffic slows the sender down to a third. So a sync that would find a few
//! frames in a dense stream waits a little first, [`PAUSE_MAX_NS`] at most, and finds a burst.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

use super::core::Core;
use crate::abi::handshake;
use crate::error::Result;
use crate::ring::{Finisher, RingView, RxSync};
use crate::sys::{bpf::Bell, time};
use ringway_nic::kernel_half::ctl;

/// Syncs that find nothing between two looks at the clock.
const IDLE_SYNCS: u32 = 64;

/// Longest pause before a look, in ns: what a dense stream pays in latency.
const PAUSE_MAX_NS: u64 = 16_000;

/// A look that finds fewer frames than the first is not worth a pause (the stream is thin); one that finds more than
/// the second needs none.
const DENSE: std::ops::Range<u32> = 4..64;

/// The receiving side of one queue, or of one CPU for host rings.
#[derive(Debug)]
pub(super) struct EbpfRx {
    core: Arc<Core>,
    bell: Arc<Bell>,
    /// Number of the ring among all of the port.
    ring: u32,
    tail: u32,
    armed: bool,
    idle: u32,
    pause_ns: u64,
    finisher: Finisher,
}

impl EbpfRx {
    pub(super) fn new(core: Arc<Core>, rx: u32, raw: bool) -> Self {
        let bell = core.loaded.bells[rx as usize].clone();
        let ring = core.cfg.tx_rings + rx;
        // What the host sends has unfinished checksums whatever the driver.
        let finisher = Finisher::new(if core.cfg.host == 0 { &core.driver } else { "veth" }, raw);
        Self { core, bell, ring, tail: 0, armed: false, idle: 0, pause_ns: 0, finisher }
    }

    /// Chooses the pause before the next look by what this one found.
    fn moderate(&mut self, found: u32) {
        self.pause_ns = match found {
            n if n < DENSE.start => 0,
            n if n < DENSE.end => (self.pause_ns * 2).clamp(500, PAUSE_MAX_NS),
            _ => self.pause_ns / 2,
        };
    }
}

impl RxSync for EbpfRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let core = &self.core;
        if self.armed {
            self.armed = false;
            handshake::withdraw(core.ctl(self.ring, ctl::WISH));
            self.bell.drain();
        }
        core.ctl(self.ring, ctl::HEAD).store(head, Release);
        if self.pause_ns > 0 {
            time::pause(self.pause_ns);
        }
        let tail = handshake::observe(core.tail(self.ring));
        if tail == self.tail {
            self.pause_ns = 0;
            self.idle += 1;
            if self.idle >= IDLE_SYNCS {
                self.idle = 0;
                core.look()?;
            }
        } else if tail < ring.num() {
            self.idle = 0;
            self.moderate(ring.dist(self.tail, tail));
            self.finisher.finish(ring, self.tail, tail);
            self.tail = tail;
        }
        Ok(self.tail)
    }

    fn resume(&mut self, _: &RingView, tail: u32) {
        (self.tail, self.idle, self.pause_ns) = (tail, 0, 0);
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.core.look()?;
        self.armed = true;
        let now = handshake::wish(self.core.tail(self.ring), self.core.ctl(self.ring, ctl::WISH));
        Ok(now != self.tail)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
