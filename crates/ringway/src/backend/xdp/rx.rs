//! Receiving: the buffers of free slots are lent to the kernel, frames come back in them.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::queue::Queue;
use super::rx_half::RxHalf;
use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::nic::LOOK_NS;
use crate::ring::{Finisher, RingView, RxSync};
use crate::sys::time;

/// The receiving side of one queue.
#[derive(Debug)]
pub(super) struct XdpRx {
    queue: Arc<Queue>,
    stats: RingStats,
    finisher: Finisher,
    looked_ns: u64,
}

impl XdpRx {
    /// The side of a fresh ring. Frames are received from now on.
    pub(super) fn new(queue: Arc<Queue>, stats: RingStats, ring: &RingView, raw: bool) -> Self {
        let finisher = Finisher::new(&queue.core.driver, raw);
        queue.rx().lend(ring, 0);
        Self { queue, stats, finisher, looked_ns: 0 }
    }
}

impl RxSync for XdpRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let Self { queue, stats, finisher, looked_ns } = self;
        queue.check()?;
        let mut half = queue.rx();
        if let Some((fd, _)) = &half.socket {
            queue.look_away(fd.as_fd());
        }
        half.lend(ring, head);
        let first = half.tail;
        let found = half.take(ring, head);
        finisher.finish(ring, first, half.tail);
        stats.count(Field::In, found.frames + found.long + found.odd);
        stats.count(Field::Out, found.frames);
        stats.count(Field::Bytes, found.bytes);
        if found.long + found.odd > 0 {
            stats.drop(DropReason::TooLong, found.long);
            stats.drop(DropReason::BadSlot, found.odd);
        }
        look(queue, stats, looked_ns, &mut half)?;
        Ok(half.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        let Self { queue, stats, looked_ns, .. } = self;
        queue.check()?;
        let mut half = queue.rx();
        look(queue, stats, looked_ns, &mut half)?;
        let Some((fd, rings)) = &half.socket else { return Ok(false) };
        if rings.fill.needs_wakeup() {
            fd.wake_receiver();
        }
        queue.watch(fd.as_fd())?;
        Ok(rings.rx.has_more())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// From time to time: what did the kernel lose, and is the interface still what it was?
fn look(queue: &Queue, stats: &RingStats, looked_ns: &mut u64, half: &mut RxHalf) -> Result<()> {
    let now = time::coarse_ns();
    if now.saturating_sub(*looked_ns) < LOOK_NS {
        return Ok(());
    }
    *looked_ns = now;
    half.fold(stats);
    queue.core.look()
}
