//! What the rings of a `packet:` port share.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::nic::{self, LOOK_NS};
use crate::sys::net::Interface;
use crate::sys::packet::take_drops;
use crate::sys::time;

/// Longest frame, without metadata, that is received or sent. IP packets have 65,535 bytes at most.
pub(super) const MAX_FRAME: usize = 65_535 + 14 + 4 * 4;

/// What the rings of a port share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) name: String,
    pub(super) interface: Interface,
    pub(super) looked_ns: AtomicU64,
}

impl Core {
    /// Fails when the interface is gone. Looks at most ten times a second.
    pub(super) fn look(&self) -> Result<()> {
        let now = time::monotonic_ns();
        if now.saturating_sub(self.looked_ns.load(Relaxed)) < LOOK_NS {
            return Ok(());
        }
        self.looked_ns.store(now, Relaxed);
        self.look_now().map(drop)
    }

    /// Whether the link is up; fails when the interface is gone.
    pub(super) fn look_now(&self) -> Result<bool> {
        self.interface.link_up().map_err(|e| nic::gone(&self.name, e))
    }
}

/// Frames that the kernel dropped because a ring or the memory of its socket was full. It counts a super-frame as one.
///
/// The kernel tells their number once, to the first caller, from any thread. The ring's counters
/// have one writer, so others leave the number here until the ring is synced.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) socket: Arc<OwnedFd>,
    pub(super) untold: AtomicU64,
}

impl Lost {
    pub(super) fn new(socket: Arc<OwnedFd>) -> Arc<Self> {
        Arc::new(Self { socket, untold: AtomicU64::new(0) })
    }

    /// How many are not in the ring's counters yet.
    pub(super) fn ask(&self) -> u64 {
        let new = take_drops(&self.socket);
        self.untold.fetch_add(new, Relaxed) + new
    }

    /// Puts them there.
    pub(super) fn tell(&self, stats: &RingStats) {
        let lost = self.untold.swap(0, Relaxed) + take_drops(&self.socket);
        stats.count(Field::In, lost);
        stats.drop(DropReason::RingFull, lost);
    }
}
