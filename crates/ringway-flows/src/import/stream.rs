//! One direction of a TCP connection: its bytes in their order.

use std::collections::BTreeMap;
use std::ops::Range;

/// Most bytes that may be missing in front of a segment.
const MAX_GAP: u64 = 1 << 20;
/// Most segments that wait for bytes in front of them.
const MAX_EARLY: usize = 256;

/// The bytes of a direction, by their places from the first one on.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The number of the first byte.
    first: u32,
    /// The place behind the last byte that came in order.
    next: u64,
    /// Known bytes, each with the place of its first one, in order.
    known: Vec<(u64, Vec<u8>)>,
    /// Segments that came early.
    early: BTreeMap<u64, Vec<u8>>,
    /// Where the end is, once a FIN said so.
    end: Option<u64>,
    /// Bytes came again as other ones.
    pub(super) differs: bool,
    /// Bytes never came.
    pub(super) lacks: bool,
    /// Segments that were far from all others.
    pub(super) far: u64,
}

impl Stream {
    /// A direction whose SYN has number `initial`.
    pub(super) fn new(initial: u32) -> Self {
        Self { first: initial.wrapping_add(1), ..Self::default() }
    }

    /// The number of the SYN.
    pub(super) fn initial(&self) -> u32 {
        self.first.wrapping_sub(1)
    }

    /// Takes a segment. Gives the places that are known from now on.
    pub(super) fn take(&mut self, seq: u32, data: &[u8], fin: bool) -> Range<u64> {
        let before = self.next;
        let expected = self.first.wrapping_add(self.next as u32);
        let ahead = i64::from(seq.wrapping_sub(expected) as i32);
        let Some(at) = self.next.checked_add_signed(ahead) else {
            self.again(0, data.get(ahead.unsigned_abs() as usize..).unwrap_or(&[]));
            return before..before;
        };
        if at > self.next + MAX_GAP {
            self.far += 1;
            return before..before;
        }
        let last = at + data.len() as u64;
        let data = self.up_to_end(at, data);
        if fin && self.end.is_none() && last >= self.next {
            self.end = Some(last);
        }
        if at > self.next {
            if !data.is_empty() {
                let kept = self.early.entry(at).or_default();
                if kept.len() < data.len() {
                    *kept = data.to_vec();
                }
            }
            if self.early.len() > MAX_EARLY {
                self.skip();
            }
        } else {
            self.add(at, data);
            self.add_early();
        }
        before..self.next
    }

    /// Bytes at a place, as far as they are in front of the end.
    fn up_to_end<'a>(&self, at: u64, data: &'a [u8]) -> &'a [u8] {
        let room = self.end.map_or(usize::MAX, |end| end.saturating_sub(at) as usize);
        &data[..data.len().min(room)]
    }

    /// Bytes that begin at a place up to the next one.
    fn add(&mut self, at: u64, data: &[u8]) {
        let data = self.up_to_end(at, data);
        let old = ((self.next - at) as usize).min(data.len());
        self.again(at, &data[..old]);
        let new = &data[old..];
        if !new.is_empty() {
            self.known.push((self.next, new.to_vec()));
            self.next += new.len() as u64;
        }
    }

    /// Early segments whose time has come.
    fn add_early(&mut self) {
        while let Some(entry) = self.early.first_entry().filter(|entry| *entry.key() <= self.next) {
            let (at, data) = entry.remove_entry();
            self.add(at, &data);
        }
    }

    /// Gives up on the bytes in front of the first early segment.
    fn skip(&mut self) {
        let Some((&at, _)) = self.early.first_key_value() else { return };
        if self.end.is_some_and(|end| end <= at) {
            return self.early.clear();
        }
        self.lacks = true;
        self.next = self.next.max(at);
        self.add_early();
    }

    /// No more segments come. Gives the places that are known because of that.
    pub(super) fn finish(&mut self) -> Range<u64> {
        let before = self.next;
        while !self.early.is_empty() {
            self.skip();
        }
        if let Some(end) = self.end.filter(|end| *end > self.next) {
            self.lacks = true;
            self.next = end;
        }
        before..self.next
    }

    /// Bytes that came before: are they the same? A probe of one byte need not be.
    fn again(&mut self, at: u64, data: &[u8]) {
        if data.len() < 2 {
            return;
        }
        let from = self.known.partition_point(|(start, piece)| start + piece.len() as u64 <= at);
        for (start, piece) in &self.known[from..] {
            let (begin, end) = (at.max(*start), (at + data.len() as u64).min(start + piece.len() as u64));
            if begin >= end {
                break;
            }
            let (old, new) = (begin - start, begin - at);
            let len = (end - begin) as usize;
            self.differs |= piece[old as usize..][..len] != data[new as usize..][..len];
        }
    }

    /// Whether all bytes up to the FIN have come.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| end <= self.next)
    }

    /// The bytes of some places, if all are known.
    pub(super) fn bytes(&self, places: &Range<u64>) -> Option<Vec<u8>> {
        let from = self.known.partition_point(|(start, piece)| start + piece.len() as u64 <= places.start);
        let (mut bytes, mut at) = (Vec::new(), places.start);
        for (start, piece) in &self.known[from..] {
            if at >= places.end || *start > at {
                break;
            }
            let end = places.end.min(start + piece.len() as u64);
            bytes.extend(&piece[(at - start) as usize..(end - start) as usize]);
            at = end;
        }
        (at == places.end).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Segments of a text, in any order and more than once.
        #[test]
        fn bytes_come_in_order(initial: u32, mut segments in prop::collection::vec((0usize..50, 1usize..30), 0..60)) {
            let text: Vec<u8> = (0..50).collect();
            segments.push((0, 50));
            let mut stream = Stream::new(initial);
            let (mut behind, mut seen) = (0, [false; 50]);
            for (at, len) in segments {
                let end = (at + len).min(50);
                let seq = initial.wrapping_add(1).wrapping_add(at as u32);
                let new = stream.take(seq, &text[at..end], end == 50);
                prop_assert_eq!(new.start, behind);
                behind = new.end;
                seen[at..end].fill(true);
                let known = seen.iter().take_while(|seen| **seen).count() as u64;
                prop_assert_eq!(behind, known);
            }
            prop_assert!(stream.is_over() && !stream.differs && !stream.lacks);
            prop_assert_eq!(stream.bytes(&(0..50)), Some(text));
        }
    }

    #[test]
    fn other_bytes_and_missing_ones_are_noticed() {
        let mut stream = Stream::new(u32::MAX);
        assert_eq!(stream.take(0, b"abcd", false), 0..4);
        assert_eq!(stream.take(2, b"cdef", false), 4..6);
        assert!(!stream.differs);
        assert_eq!(stream.take(2, b"xdef", false), 6..6);
        assert!(stream.differs);
        assert_eq!(stream.take(8, b"ij", true), 6..6);
        assert_eq!(stream.finish(), 6..10);
        assert!(stream.lacks && stream.is_over());
        assert_eq!((stream.bytes(&(0..6)), stream.bytes(&(5..9))), (Some(b"abcdef".to_vec()), None));
        assert_eq!(stream.bytes(&(8..10)), Some(b"ij".to_vec()));
        // A FIN in front of bytes that came early.
        let mut closed = Stream::new(0);
        assert_eq!((closed.take(9, b"later", false), closed.take(1, b"ab", true)), (0..0, 0..2));
        assert!(closed.is_over() && closed.finish() == (2..2) && !closed.lacks);
        assert_eq!(stream.take(1 << 22, b"far", false), 10..10);
        assert_eq!(stream.far, 1);
    }
}
