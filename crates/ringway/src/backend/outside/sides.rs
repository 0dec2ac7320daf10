//! The two sides of a ring, over what a backend outside the crate does.

use std::os::fd::BorrowedFd;

use super::{Receive, Transmit};
use crate::count::{DropReason, Field, RingStats};
use crate::error::{Error, Result};
use crate::ring::{RingView, Room, RxSync, SentFrames, TxSync};

/// The receiving side.
#[derive(Debug)]
pub(super) struct RxSide {
    backend: Box<dyn Receive>,
    /// End of the frames that the program was given.
    tail: u32,
    /// A failure that came with frames: the next sync returns it.
    failed: Option<Error>,
    stats: RingStats,
}

impl RxSide {
    pub(super) fn new(backend: Box<dyn Receive>, stats: RingStats) -> Self {
        Self { backend, tail: 0, failed: None, stats }
    }

    /// Counts the frames in slots up to `end`, and passes them. A wrong chain goes along: the reader counts it as `bad_slot`. A chain
    /// without an end is counted here, and its slots are free again.
    fn deliver(&mut self, ring: &RingView, end: u32) {
        let (mut frames, mut bytes) = (0, 0);
        while self.tail != end {
            let (slots, len) = ring.measure(self.tail, end).unwrap_or_else(|slots| (slots, 0));
            let next = crate::abi::cursor::add(self.tail, slots, ring.num());
            if next == end && ring.slot(ring.prev(end)).more() {
                self.stats.count(Field::In, 1);
                self.stats.drop(DropReason::BadSlot, 1);
                break;
            }
            self.tail = next;
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
        if let Some(e) = self.failed.take() {
            return Err(e);
        }
        let mut room = Room::over(ring, self.tail, ring.prev(head), &self.stats);
        let received = self.backend.receive(&mut room);
        let (begin, end) = (self.tail, room.at());
        self.deliver(ring, end);
        match received {
            Err(e) if begin == self.tail => Err(e),
            received => {
                self.failed = received.err();
                Ok(self.tail)
            }
        }
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        // A sleeper must not sleep on a failure that waits to be returned.
        Ok(self.failed.is_some() || self.backend.arm()?)
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
        let mut frames = SentFrames::over(ring, &mut self.sent, head, &self.stats);
        let sent = self.backend.transmit(&mut frames);
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
