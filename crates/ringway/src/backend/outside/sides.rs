//! The two sides of a ring, over what a backend outside the crate does.

use std::os::fd::BorrowedFd;

use super::{Receive, Transmit};
use crate::count::{Field, RingStats};
use crate::error::Result;
use crate::ring::{RingView, Room, RxSync, SentFrames, TxSync};

/// The receiving side.
#[derive(Debug)]
pub(super) struct RxSide {
    backend: Box<dyn Receive>,
    /// End of the frames that the program was given.
    tail: u32,
    stats: RingStats,
}

impl RxSide {
    pub(super) fn new(backend: Box<dyn Receive>, stats: RingStats) -> Self {
        Self { backend, tail: 0, stats }
    }

    /// Counts the whole frames in slots up to `end`, and passes them. Slots of a frame that is not whole are free again.
    fn deliver(&mut self, ring: &RingView, end: u32) {
        let (mut frames, mut bytes) = (0, 0);
        while let Ok((slots, len)) = ring.measure(self.tail, end) {
            self.tail = crate::abi::cursor::add(self.tail, slots, ring.num());
            frames += 1;
            bytes += len as u64;
        }
        self.stats.count(Field::In, frames);
        self.stats.count(Field::Out, frames);
        self.stats.count(Field::Bytes, bytes);
    }
}

impl RxSync for RxSide {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let mut room = Room::over(ring, self.tail, ring.prev(head));
        let received = self.backend.receive(&mut room);
        let end = room.at();
        self.deliver(ring, end);
        received.map(|()| self.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.backend.arm()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.backend.fd()
    }
}

/// The sending side.
#[derive(Debug)]
pub(super) struct TxSide {
    backend: Box<dyn Transmit>,
    /// First slot that the backend did not take over.
    sent: u32,
    stats: RingStats,
}

impl TxSide {
    pub(super) fn new(backend: Box<dyn Transmit>, stats: RingStats) -> Self {
        Self { backend, sent: 0, stats }
    }
}

impl TxSync for TxSide {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let mut frames = SentFrames::over(ring, self.sent, head, &self.stats);
        let sent = self.backend.transmit(&mut frames);
        self.sent = frames.first();
        sent.map(|()| ring.prev(self.sent))
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.backend.arm()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.backend.fd()
    }

    fn waits(&self) -> bool {
        self.backend.waits()
    }
}
