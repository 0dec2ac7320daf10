//! Sending: the buffers of filled slots are lent to the kernel until it says that it is done with them.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use super::Core;
use super::loans::Loans;
use super::queue::Queue;
use super::sender::{Room, Sender, Sent};
use crate::abi::cursor;
use crate::abi::layout::MAX_CHAIN;
use crate::count::{DropReason, Field, RingStats};
use crate::error::{Error, Result};
use crate::nic::LOOK_NS;
use crate::ring::{RingView, TxSync};
use crate::sys::fd::always_ready;
use crate::sys::time;

/// How long a full ring may stand still before the socket is made anew, in ns.
const STALL_NS: u64 = 500_000_000;

/// The sending half of a socket, with the slots of a tx ring.
#[derive(Debug)]
pub(super) struct TxHalf {
    pub(super) sender: Option<Sender>,
    loans: Loans,
    /// First slot that has not come back from the kernel, and first not sent. Those between are lent.
    done: u32,
    sent: u32,
    /// Descriptors put up and not taken by the kernel.
    left: u32,
    /// Tests keep completions back with it.
    #[cfg(test)]
    pub(super) withhold: bool,
}

impl TxHalf {
    pub(super) fn new(bufs: u32) -> Self {
        Self {
            sender: None,
            loans: Loans::new(bufs),
            done: 0,
            sent: 0,
            left: 0,
            #[cfg(test)]
            withhold: false,
        }
    }

    pub(super) fn connect(&mut self, sender: Sender) {
        self.sender = Some(sender);
    }

    /// The kernel lets go of everything.
    pub(super) fn disconnect(&mut self) {
        self.sender = None;
        self.loans.clear();
        (self.done, self.left) = (self.sent, 0);
    }

    /// Collects what the kernel is done with; returns how many slots came back.
    fn collect(&mut self, ring: &RingView) -> u32 {
        let Some(sender) = &mut self.sender else { return 0 };
        #[cfg(test)]
        if self.withhold {
            return 0;
        }
        let ready = sender.rings.done.ready();
        let mut back = 0;
        for i in 0..ready {
            let buf = sender.umem.buf(sender.rings.done.peek_addr(i));
            if buf.is_some_and(|b| self.loans.back(b, self.done, ring)) {
                self.done = ring.next(self.done);
                back += 1;
            }
        }
        if ready > 0 {
            sender.rings.done.release(ready);
        }
        back
    }

    /// Slots of the frame that starts at `sent`; `Err` when it has no end or too many.
    #[inline]
    fn frame(&self, ring: &RingView, head: u32) -> std::result::Result<u32, u32> {
        if !ring.slot(self.sent).more() {
            return Ok(1);
        }
        let mut slots = 1;
        while slots < ring.dist(self.sent, head) {
            slots += 1;
            if !ring.slot(cursor::add(self.sent, slots - 1, ring.num())).more() {
                return if slots <= MAX_CHAIN { Ok(slots) } else { Err(slots) };
            }
        }
        Err(slots)
    }

    /// Puts frames up to `head` up for sending, or drops them by name; returns frames and bytes put up.
    fn put_all(&mut self, ring: &RingView, head: u32, mtu: u32, stats: &RingStats) -> (u64, u64) {
        let (mut frames, mut bytes) = (0, 0);
        while self.sent != head {
            let (slots, put) = match (self.frame(ring, head), &mut self.sender) {
                (Ok(slots), Some(sender)) => {
                    let put = match sender.room(slots, self.left == 0) {
                        Room::Yes => sender.put(ring, self.sent, slots, mtu, Some(&mut self.loans)),
                        Room::Later => break,
                        Room::Refused => Err(DropReason::DeviceRefused),
                    };
                    (slots, put)
                }
                (Err(slots), _) => (slots, Err(DropReason::BadSlot)),
                (Ok(slots), None) => (slots, Err(DropReason::DeviceRefused)),
            };
            match put {
                Ok(n) => {
                    (frames, bytes) = (frames + 1, bytes + u64::from(n));
                    self.left += slots;
                    self.sent = cursor::add(self.sent, slots, ring.num());
                }
                Err(why) => {
                    stats.count(Field::In, 1);
                    stats.drop(why, 1);
                    self.skip(ring, slots);
                }
            }
        }
        (frames, bytes)
    }

    /// Slots that are not sent come back before those that are lent.
    fn skip(&mut self, ring: &RingView, slots: u32) {
        for _ in 0..slots {
            if self.sent != self.done {
                self.loans.exchange(self.sent, self.done, ring);
            }
            self.sent = ring.next(self.sent);
            self.done = ring.next(self.done);
        }
    }

    /// Takes back what the interface refuses to send; returns frames and bytes.
    #[cold]
    fn withdraw(&mut self, ring: &RingView) -> (u64, u64) {
        let (mut frames, mut bytes) = (0, 0);
        let Self { sender: Some(sender), loans, done, .. } = self else { return (0, 0) };
        let umem = sender.umem;
        sender.rings.tx.give_up(|d| {
            frames += u64::from(!d.more);
            bytes += u64::from(d.len);
            if umem.buf(d.addr).is_some_and(|b| loans.back(b, *done, ring)) {
                *done = ring.next(*done);
            }
        });
        self.left = 0;
        (frames, bytes)
    }
}

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

    fn fd(&self) -> RawFd {
        self.ready.as_raw_fd()
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
