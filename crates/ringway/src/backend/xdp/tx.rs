//! Sending: the buffers of filled slots are lent to the kernel until it says that it is done with them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::core::Core;
use super::queue::Queue;
use super::sender::Sent;
use super::tx_half::TxHalf;
use crate::count::{DropReason, Field, RingStats};
use crate::error::{Error, Result};
use crate::nic::LOOK_NS;
use crate::ring::{RingView, TxSync};
use crate::sys::fd::always_ready;
use crate::sys::time;

/// How long a full ring may stand still before the socket is made anew, in ns.
const STALL_NS: u64 = 500_000_000;

/// The sending side of one queue.
#[derive(Debug)]
pub(super) struct XdpTx {
    queue: Arc<Queue>,
    stats: RingStats,
    ready: Arc<OwnedFd>,
    looked_ns: u64,
    /// When the ring was first seen standing still, 0 while it moves.
    stalled_ns: u64,
}

impl XdpTx {
    pub(super) fn new(queue: Arc<Queue>, stats: RingStats) -> Result<Self> {
        let ready = always_ready().map_err(|e| Error::io(&queue.core.name, "eventfd failed", e))?;
        Ok(Self { queue, stats, ready, looked_ns: 0, stalled_ns: 0 })
    }
}

impl TxSync for XdpTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let Self { queue, stats, looked_ns, stalled_ns, .. } = self;
        queue.check()?;
        let mut half = queue.tx();
        let took = send(&queue.core, stats, &mut half, ring, head);
        let back = half.collect(ring);
        let now = time::coarse_ns();
        if !took || now.saturating_sub(*looked_ns) > LOOK_NS {
            *looked_ns = now;
            queue.core.look_now()?;
        }
        let free = ring.dist(head, ring.prev(half.done));
        if free == 0 && back == 0 && half.loans.out() > 0 {
            drop(half);
            stalled(queue, stats, stalled_ns)?;
            half = queue.tx();
        } else {
            *stalled_ns = 0;
        }
        Ok(ring.prev(half.done))
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

/// Puts frames up and sends them. False when the interface refuses.
fn send(core: &Core, stats: &RingStats, half: &mut TxHalf, ring: &RingView, head: u32) -> bool {
    loop {
        let (frames, bytes) = half.put_all(ring, head, core.mtu(), stats);
        stats.sent(frames, bytes);
        let (Some(sender), true) = (&mut half.sender, half.left > 0) else { return true };
        let sent = sender.send();
        half.left = sent.left;
        if sent.lost > 0 || sent.refused {
            fell_short(stats, half, ring, sent);
        }
        // What is refused is given up, and makes way for the rest.
        if !sent.refused || half.left > 0 || half.sent == head {
            return !sent.refused;
        }
    }
}

/// Counts what did not leave. Under zero copy the driver holds what it was given until its link is back.
#[cold]
fn fell_short(stats: &RingStats, half: &mut TxHalf, ring: &RingView, sent: Sent) {
    stats.unsend(DropReason::DeviceFull, sent.lost, sent.lost_bytes);
    let zero_copy = half.sender.as_ref().is_some_and(|s| s.fd.zero_copy);
    if sent.refused && !zero_copy {
        let (frames, bytes) = half.withdraw(ring);
        stats.unsend(DropReason::DeviceRefused, frames, bytes);
    }
}

/// The kernel gives nothing back though all slots are lent: after a while its rings are taken for lost.
#[cold]
fn stalled(queue: &Queue, stats: &RingStats, since_ns: &mut u64) -> Result<()> {
    let now = time::monotonic_ns();
    if *since_ns == 0 {
        *since_ns = now;
    }
    if now - *since_ns > STALL_NS {
        *since_ns = 0;
        stats.count(Field::Resets, 1);
        queue.core.look_now()?;
        queue.reconnect()?;
    }
    Ok(())
}
