//! The sending half of a socket, with the slots of its ring.

use super::in_flight::InFlight;
use super::sender::{Room, Sender};
use crate::abi::cursor;
use crate::abi::layout::MAX_CHAIN;
use crate::count::{DropReason, Field, RingStats};
use crate::ring::RingView;
/// The sending half of a socket, with the slots of a tx ring.
#[derive(Debug)]
pub(super) struct TxHalf {
    pub(super) sender: Option<Sender>,
    pub(super) in_flight: InFlight,
    /// First slot that has not come back from the kernel, and first not sent. Those between are lent.
    pub(super) done: u32,
    pub(super) sent: u32,
    /// Descriptors put up and not taken by the kernel.
    pub(super) left: u32,
    /// Tests keep completions back with it.
    #[cfg(test)]
    pub(super) withhold: bool,
}

impl TxHalf {
    pub(super) fn new(bufs: u32) -> Self {
        Self {
            sender: None,
            in_flight: InFlight::new(bufs),
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
        self.in_flight.clear();
        (self.done, self.left) = (self.sent, 0);
    }

    /// Collects what the kernel is done with; returns how many slots came back.
    #[inline]
    pub(super) fn collect(&mut self, ring: &RingView) -> u32 {
        let Some(sender) = &mut self.sender else { return 0 };
        #[cfg(test)]
        if self.withhold {
            return 0;
        }
        let ready = sender.rings.done.ready();
        let mut back = 0;
        for i in 0..ready {
            let buf = sender.umem.buf(sender.rings.done.peek_addr(i));
            if buf.is_some_and(|b| self.in_flight.back(b, self.done, ring)) {
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
    pub(super) fn frame(&self, ring: &RingView, head: u32) -> Result<u32, u32> {
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
    #[inline]
    pub(super) fn put_all(&mut self, ring: &RingView, head: u32, mtu: u32, stats: &RingStats) -> (u64, u64) {
        let (mut frames, mut bytes) = (0, 0);
        while self.sent != head {
            let (slots, put) = match (self.frame(ring, head), &mut self.sender) {
                (Ok(slots), Some(sender)) => {
                    let put = match sender.room(slots, self.left == 0) {
                        Room::Yes => sender.put(ring, self.sent, slots, mtu, Some(&mut self.in_flight)),
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

    /// Slots that are not sent come back before lent ones.
    #[inline]
    pub(super) fn skip(&mut self, ring: &RingView, slots: u32) {
        for _ in 0..slots {
            if self.sent != self.done {
                self.in_flight.exchange(self.sent, self.done, ring);
            }
            self.sent = ring.next(self.sent);
            self.done = ring.next(self.done);
        }
    }

    /// Takes back what the interface refuses to send; returns frames and bytes.
    #[cold]
    pub(super) fn withdraw(&mut self, ring: &RingView) -> (u64, u64) {
        let (mut frames, mut bytes) = (0, 0);
        let Self { sender: Some(sender), in_flight, done, .. } = self else { return (0, 0) };
        let umem = sender.umem;
        sender.rings.tx.give_up(|d| {
            frames += u64::from(!d.more);
            bytes += u64::from(d.len);
            if umem.buf(d.addr).is_some_and(|b| in_flight.back(b, *done, ring)) {
                *done = ring.next(*done);
            }
        });
        self.left = 0;
        (frames, bytes)
    }
}
