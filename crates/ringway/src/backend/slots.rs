//! The slots of an rx ring that a sync fills by copying frames into them.

use crate::abi::Slot;
use crate::abi::layout::{MAX_CHAIN, NS_MOREFRAG};
use crate::count::{DropReason, Field, RingStats};
use crate::ring::RingView;
use ringway_wire::offload::Segments;

/// The slots being filled, and what was counted since the sync began.
#[derive(Debug, Default)]
pub(super) struct Slots {
    pub(super) tail: u32,
    /// End of the free ones.
    pub(super) end: u32,
    frames_in: u64,
    frames_out: u64,
    bytes: u64,
}

/// Whether a frame is settled, delivered or dropped by name, or has to wait for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Settled,
    Waits,
}

impl Slots {
    /// Slots for `len` bytes, or why there will never be enough.
    #[inline]
    pub(super) fn need(ring: &RingView, len: usize) -> Result<u32, DropReason> {
        if len <= ring.buf_size() as usize {
            return Ok(1);
        }
        let need = len.div_ceil(ring.buf_size() as usize) as u32;
        if need > MAX_CHAIN || need >= ring.num() { Err(DropReason::TooLong) } else { Ok(need) }
    }

    #[inline]
    pub(super) fn has(&self, ring: &RingView, need: u32) -> bool {
        ring.dist(self.tail, self.end) >= need
    }

    /// Puts a finished frame into slots, or drops it.
    #[inline]
    pub(super) fn place(&mut self, ring: &RingView, bytes: &[u8], stats: &RingStats) -> Fate {
        match Self::need(ring, bytes.len()) {
            Err(why) => self.drop(stats, why),
            Ok(need) if !self.has(ring, need) => return Fate::Waits,
            Ok(_) => self.put(ring, bytes),
        }
        Fate::Settled
    }

    /// Passes slots on with a frame, for which there is room. A program that lost a slot's buffer
    /// gets the slots up to that one, which is empty. It finds the frame bad and counts a drop, not
    /// a delivery.
    #[inline]
    pub(super) fn put(&mut self, ring: &RingView, bytes: &[u8]) {
        let size = ring.buf_size() as usize;
        let (first, rest) = bytes.split_at(bytes.len().min(size));
        self.frames_in += 1;
        self.frames_out += 1;
        self.bytes += bytes.len() as u64;
        if self.put_part(ring, first, !rest.is_empty()) && !rest.is_empty() {
            let last = rest.len().div_ceil(size) - 1;
            let mut parts = rest.chunks(size).enumerate();
            while parts.next().is_some_and(|(k, part)| self.put_part(ring, part, k < last)) {}
        }
    }

    #[inline]
    fn put_part(&mut self, ring: &RingView, part: &[u8], more: bool) -> bool {
        let flags = if more { NS_MOREFRAG } else { 0 };
        let slot = Slot { len: part.len() as u16, flags, ..ring.slot(self.tail) };
        let good = ring.valid(slot);
        if good {
            ring.write(slot, part);
        }
        ring.set_slot(self.tail, if good { slot } else { Slot::from_word(0) });
        self.tail = ring.next(self.tail);
        good
    }

    /// The same for a frame of `len` bytes that fits one buffer, which `write` writes right there.
    #[inline]
    pub(super) fn put_with<T>(&mut self, ring: &RingView, len: usize, write: impl FnOnce(&mut [u8]) -> T) {
        let slot = Slot { len: len as u16, flags: 0, ..ring.slot(self.tail) };
        let good = ring.valid(slot);
        if good {
            ring.fill(slot, write);
        }
        ring.set_slot(self.tail, if good { slot } else { Slot::from_word(0) });
        self.tail = ring.next(self.tail);
        self.frames_in += 1;
        self.frames_out += 1;
        self.bytes += len as u64;
    }

    /// The same for a segment.
    pub(super) fn put_segment(&mut self, ring: &RingView, segments: &Segments<'_>, index: usize) {
        self.put_with(ring, segments.len(index), |buf| segments.write(index, buf));
    }

    pub(super) fn drop(&mut self, stats: &RingStats, why: DropReason) {
        self.frames_in += 1;
        stats.drop(why, 1);
    }

    pub(super) fn count(&mut self, stats: &RingStats) {
        stats.count(Field::In, std::mem::take(&mut self.frames_in));
        stats.count(Field::Out, std::mem::take(&mut self.frames_out));
        stats.count(Field::Bytes, std::mem::take(&mut self.bytes));
    }
}
