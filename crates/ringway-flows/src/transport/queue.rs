//! What an end of a connection sends, while some of it is not acknowledged: where the bytes come from, and how fast they may go.
//!
//! Bytes are not stored. A piece names their source, and a segment that is sent again is made again.

use super::seq::{before, later, not_after};

/// Pieces that wait, at most. A program that sends more waits until some are acknowledged.
pub(crate) const PIECES: usize = crate::code::MAX_PARTS;

/// Where bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Origin {
    /// A template of the bundle, by its number.
    #[default]
    Template,
    /// The table of random bytes, from a place on.
    Random,
    /// A block of the pool, from its beginning.
    Block,
}

/// Some bytes of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Piece {
    /// Where they come from.
    pub(crate) origin: Origin,
    /// The number of the template, the place, or the number of the block.
    pub(crate) start: u32,
    /// How many there are.
    pub(crate) len: u32,
}

/// The bytes that were not acknowledged, or not sent.
///
/// The order of the fields is theirs in memory: an acknowledgement of a queue with one piece reads one line of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Queue {
    /// The number of the first byte of the first piece.
    base: u32,
    /// The number behind the last byte.
    pub(crate) end: u32,
    /// The number behind the last one that was ever sent: bytes, or FIN.
    pub(crate) max: u32,
    /// Where a fast recovery ends.
    pub(crate) recover: u32,
    /// The congestion window in bytes.
    pub(crate) congestion: u32,
    /// Where slow start ends.
    pub(crate) threshold: u32,
    /// A number whose acknowledgement is timed.
    pub(crate) timed: u32,
    /// When it was sent, in microseconds that wrap around; `None` after something was sent twice (Karn's algorithm).
    pub(crate) timed_at: Option<u32>,
    /// Since when the oldest number waits for its acknowledgement, in microseconds that wrap around.
    pub(crate) since: u32,
    /// The segment at `Conn::una` is to be sent again, now.
    pub(crate) resend: bool,
    first: u8,
    count: u8,
    pieces: [Piece; PIECES],
}

const _: () = assert!(std::mem::offset_of!(Queue, pieces) + size_of::<Piece>() <= 64);

impl Queue {
    /// An empty queue of a connection that goes on at `next`. `congestion` is the first window in bytes.
    #[cfg(test)]
    pub(crate) fn new(next: u32, congestion: u32) -> Self {
        let mut queue = Self::default();
        queue.reset(next, congestion);
        queue
    }

    /// Makes it the empty queue of another connection.
    #[inline]
    pub(crate) fn reset(&mut self, next: u32, congestion: u32) {
        (self.base, self.end, self.max, self.timed) = (next, next, next, next);
        (self.recover, self.threshold, self.congestion) = (next.wrapping_sub(1), u32::MAX, congestion);
        (self.timed_at, self.since, self.resend, self.first, self.count) = (None, 0, false, 0, 0);
    }

    /// Whether another piece has room.
    #[inline]
    pub(crate) const fn has_room(&self) -> bool {
        (self.count as usize) < PIECES
    }

    /// Puts bytes at the end; false when there is no room, or more than 2 GiB would wait.
    #[inline]
    pub(crate) fn push(&mut self, piece: Piece) -> bool {
        if !self.has_room() || (self.end.wrapping_sub(self.base) as u64 + u64::from(piece.len)) >= 1 << 31 {
            return false;
        }
        let at = self.first as usize + self.count as usize;
        self.pieces[if at < PIECES { at } else { at - PIECES }] = piece;
        self.count += 1;
        self.end = self.end.wrapping_add(piece.len);
        true
    }

    /// Forgets pieces all of whose bytes come before `una`; each goes to `gone`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, una: u32, mut gone: impl FnMut(Piece)) {
        while self.count > 0 {
            let piece = self.pieces[self.first as usize];
            let behind = self.base.wrapping_add(piece.len);
            if before(una, behind) {
                return;
            }
            gone(piece);
            self.base = behind;
            // It stays near, so that it compares.
            self.recover = later(self.recover, behind.wrapping_sub(1));
            self.first = if self.first as usize == PIECES - 1 { 0 } else { self.first + 1 };
            self.count -= 1;
        }
    }

    /// The template of the first piece, where it begins at `seq`. The piece may have only a part of it.
    #[inline(always)]
    pub(crate) fn first_template(&self, seq: u32) -> Option<u32> {
        let first = self.pieces[self.first as usize];
        (self.count > 0 && seq == self.base && first.origin == Origin::Template).then_some(first.start)
    }

    /// Gives the sources of `len` bytes from `seq` on, in order: a piece cut short, and its bytes before the part.
    /// All of them must be in the queue.
    #[inline]
    pub(crate) fn sources(&self, seq: u32, len: u32, mut take: impl FnMut(Piece, u32)) {
        let (mut skip, mut left) = (seq.wrapping_sub(self.base), len);
        for k in 0..self.count as usize {
            let piece = self.pieces[(self.first as usize + k) % PIECES];
            if skip >= piece.len {
                skip -= piece.len;
                continue;
            }
            let part = (piece.len - skip).min(left);
            take(Piece { len: part, ..piece }, skip);
            (skip, left) = (0, left - part);
            if left == 0 {
                return;
            }
        }
    }

    /// Bytes that wait from `seq` on.
    #[inline]
    pub(crate) const fn left(&self, seq: u32) -> u32 {
        if before(seq, self.end) { self.end.wrapping_sub(seq) } else { 0 }
    }

    /// A segment was lost: half of what is on its way is what the network takes (RFC 5681, equation 4).
    pub(crate) fn lose(&mut self, una: u32, mss: u32) {
        self.threshold = (self.max.wrapping_sub(una) / 2).max(2 * mss);
    }

    /// Notes that numbers up to `next` were sent; those from `max` on for the first time.
    #[inline]
    pub(crate) fn sent(&mut self, from: u32, next: u32, now_us: u32) {
        if before(self.max, next) {
            if self.timed_at.is_none() && not_after(self.max, from) {
                (self.timed, self.timed_at) = (next, Some(now_us));
            }
            self.max = later(self.max, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(queue: &Queue, seq: u32, len: u32) -> Vec<(u8, u32)> {
        let mut out = Vec::new();
        queue.sources(seq, len, |part, from| {
            for k in from..from + part.len {
                out.push(match part.origin {
                    Origin::Block => (2, part.start * 10_000 + k),
                    Origin::Random => (1, part.start + k),
                    Origin::Template => (0, part.start + k),
                });
            }
        });
        out
    }

    proptest! {
        /// The queue beside a list of its bytes.
        #[test]
        fn pieces_are_the_bytes_of_a_stream(
            start: u32,
            steps in prop::collection::vec((0..4u8, 0..3u8, 0..9_000u32, 1..2_000u32), 1..60),
        ) {
            let (mut queue, mut model) = (Queue::new(start, 1), Vec::new());
            let mut una = start;
            for (what, origin, at, len) in steps {
                if what > 0 {
                    let (origin, code, from) = match origin {
                        0 => (Origin::Template, 0, at),
                        1 => (Origin::Random, 1, at),
                        _ => (Origin::Block, 2, at),
                    };
                    let pushed = queue.push(Piece { origin, start: at, len });
                    if pushed {
                        let base = if code == 2 { from * 10_000 } else { from };
                        model.extend((0..len).map(|k| (code, base + k)));
                    } else {
                        prop_assert!(!queue.has_room());
                    }
                } else {
                    let gone = (at as usize % (model.len() + 1)) as u32;
                    una = una.wrapping_add(gone);
                    model.drain(..gone as usize);
                    queue.acknowledge(una, |_| {});
                }
                prop_assert_eq!(queue.left(una) as usize, model.len());
                let from = if model.is_empty() { 0 } else { at as usize % model.len() };
                let part = (model.len() - from).min(1460);
                let seq = una.wrapping_add(from as u32);
                prop_assert_eq!(bytes(&queue, seq, part as u32), &model[from..from + part]);
            }
        }
    }

    #[test]
    fn a_queue_is_small() {
        assert!(size_of::<Queue>() <= 128, "{}", size_of::<Queue>());
    }

    #[test]
    fn one_number_is_timed_at_a_time() {
        let mut queue = Queue::new(100, 1);
        queue.push(Piece { len: 50, ..Piece::default() });
        queue.sent(100, 120, 7);
        queue.sent(120, 150, 9);
        assert_eq!((queue.timed, queue.timed_at, queue.max), (120, Some(7), 150));
        // Sent again: no number that was sent before is timed.
        queue.timed_at = None;
        queue.sent(100, 150, 11);
        assert_eq!((queue.timed_at, queue.max), (None, 150));
    }
}
