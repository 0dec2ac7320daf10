//! The receiver's view of sequence numbers: loss, duplicates and reordering per stream.

use serde::Serialize;

use super::tag::{MASK, NoTag, Tag};

/// Number of streams a checker follows: stream numbers are below this.
pub const MAX_STREAMS: u16 = 1024;

/// How far behind the highest sequence number a late frame is still told from a duplicate.
pub const WINDOW: u64 = 4096;

/// What one frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Higher than all before it in its stream.
    New,
    /// Seen for the first time, after a higher one.
    Reordered,
    /// Seen before.
    Duplicated,
    /// More than [`WINDOW`] behind: late or duplicated, not known which.
    Stale,
    /// Not a frame of the generator, or of a stream not below [`MAX_STREAMS`].
    Foreign,
    /// Ours, with a changed tag.
    Corrupted,
}

/// Totals of a [`SequenceCheck`], in frames.
///
/// Always `received = unique + duplicated + stale`, and `lost` is what the span between the lowest and the
/// highest number seen has more than `unique`. Frames lost before the first or after the last one seen leave
/// no trace here: compare with the sender's count for those.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Frames with a valid tag.
    pub received: u64,
    /// Different frames among them.
    pub unique: u64,
    /// Frames that never came, so far: a late one is taken off again.
    pub lost: u64,
    /// Frames seen more than once, each extra copy counted.
    pub duplicated: u64,
    /// Frames that came after a higher number.
    pub reordered: u64,
    /// Frames more than [`WINDOW`] behind; they stay counted as lost unless they were duplicates.
    pub stale: u64,
    /// Frames without a tag or of an unknown stream.
    pub foreign: u64,
    /// Frames whose tag was changed on the way.
    pub corrupted: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.received += other.received;
        self.unique += other.unique;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.stale += other.stale;
        self.foreign += other.foreign;
        self.corrupted += other.corrupted;
    }
}

/// Follows the sequence numbers of every stream in bounded memory.
///
/// Per stream it keeps a bitmap of the last [`WINDOW`] numbers, about 560 bytes, allocated when the stream is
/// first seen; with [`MAX_STREAMS`] streams that is less than 600 kB. A stream starts at the first number
/// seen; a sender that starts over with low numbers is [stale](Seen::Stale), so give each run a new checker.
/// One checker must see all frames of a stream: with several receiving threads, steer each stream to one.
///
/// ```
/// use ringway_traffic::{check::{Seen, SequenceCheck}, tag::Tag};
///
/// let mut check = SequenceCheck::new();
/// let mut see = |seq| check.observe_tag(&Tag { stream: 0, seq, time_ns: 0 });
/// assert_eq!((see(0), see(3), see(1), see(1)), (Seen::New, Seen::New, Seen::Reordered, Seen::Duplicated));
/// let counts = check.counts();
/// assert_eq!((counts.received, counts.unique, counts.lost), (4, 3, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SequenceCheck {
    streams: Vec<Option<Box<Stream>>>,
    foreign: u64,
    corrupted: u64,
}

impl SequenceCheck {
    /// A checker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes note of a received frame.
    pub fn observe(&mut self, frame: &[u8]) -> Seen {
        match Tag::find(frame) {
            Ok(tag) => self.observe_tag(&tag),
            Err(NoTag::Foreign) => {
                self.foreign += 1;
                Seen::Foreign
            }
            Err(NoTag::Corrupted) => {
                self.corrupted += 1;
                Seen::Corrupted
            }
        }
    }

    /// Takes note of a tag that was already read, as when the receiver also measures latency.
    pub fn observe_tag(&mut self, tag: &Tag) -> Seen {
        if tag.stream >= MAX_STREAMS {
            self.foreign += 1;
            return Seen::Foreign;
        }
        let (index, seq) = (usize::from(tag.stream), tag.seq & MASK);
        if index >= self.streams.len() {
            self.streams.resize(index + 1, None);
        }
        self.streams[index].get_or_insert_with(|| Box::new(Stream::new(seq))).observe(seq)
    }

    /// Totals over all streams.
    pub fn counts(&self) -> Counts {
        let mut total = Counts { foreign: self.foreign, corrupted: self.corrupted, ..Counts::default() };
        for stream in self.streams.iter().flatten() {
            total += stream.counts();
        }
        total
    }

    /// Totals of one stream, if any of its frames was seen; `foreign` and `corrupted` belong to no stream.
    pub fn stream_counts(&self, stream: u16) -> Option<Counts> {
        self.streams.get(usize::from(stream))?.as_ref().map(|stream| stream.counts())
    }
}

/// One stream. The bit of number `n` is `n % WINDOW`, valid for `next - WINDOW <= n < next`.
#[derive(Clone, Debug)]
struct Stream {
    /// Lowest number counted.
    first: u64,
    /// One above the highest number seen.
    next: u64,
    received: u64,
    duplicated: u64,
    reordered: u64,
    stale: u64,
    bits: [u64; (WINDOW / 64) as usize],
}

impl Stream {
    fn new(first: u64) -> Self {
        Self {
            first,
            next: first,
            received: 0,
            duplicated: 0,
            reordered: 0,
            stale: 0,
            bits: [0; (WINDOW / 64) as usize],
        }
    }

    fn observe(&mut self, seq: u64) -> Seen {
        self.received += 1;
        if seq >= self.next {
            self.forget(seq);
            self.set(seq);
            self.next = seq + 1;
            return Seen::New;
        }
        if seq + WINDOW < self.next {
            self.stale += 1;
            return Seen::Stale;
        }
        if self.set(seq) {
            self.duplicated += 1;
            return Seen::Duplicated;
        }
        self.first = self.first.min(seq);
        self.reordered += 1;
        Seen::Reordered
    }

    /// Clears the bits of the numbers from `next` up to and including `seq`, which come into the window.
    fn forget(&mut self, seq: u64) {
        if seq - self.next >= WINDOW {
            self.bits.fill(0);
            return;
        }
        for seq in self.next..=seq {
            self.bits[Self::word(seq)] &= !(1 << (seq % 64));
        }
    }

    /// Sets a bit and returns what it was.
    fn set(&mut self, seq: u64) -> bool {
        let word = &mut self.bits[Self::word(seq)];
        let was = *word & 1 << (seq % 64) != 0;
        *word |= 1 << (seq % 64);
        was
    }

    fn word(seq: u64) -> usize {
        (seq % WINDOW / 64) as usize
    }

    fn counts(&self) -> Counts {
        let unique = self.received - self.duplicated - self.stale;
        Counts {
            received: self.received,
            unique,
            lost: self.next - self.first - unique,
            duplicated: self.duplicated,
            reordered: self.reordered,
            stale: self.stale,
            ..Counts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{FrameSpec, Template};
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn see(check: &mut SequenceCheck, stream: u16, seq: u64) -> Seen {
        check.observe_tag(&Tag { stream, seq, time_ns: 0 })
    }

    #[test]
    fn frames_of_all_kinds() {
        let mut template = Template::new(&FrameSpec::default()).unwrap();
        let mut check = SequenceCheck::new();
        let mut frame = [0; 60];
        template.write(&mut frame, 7, 0);
        assert_eq!(check.observe(&frame), Seen::New);
        assert_eq!(check.observe(&frame), Seen::Duplicated);
        frame[50] ^= 1;
        assert_eq!(check.observe(&frame), Seen::Corrupted);
        assert_eq!(check.observe(&frame[..59]), Seen::Foreign);
        assert_eq!(see(&mut check, MAX_STREAMS, 0), Seen::Foreign);
        assert_eq!(see(&mut SequenceCheck::new(), 0, u64::MAX), Seen::New);
        let expected =
            Counts { received: 2, unique: 1, duplicated: 1, corrupted: 1, foreign: 2, ..Counts::default() };
        assert_eq!(check.counts(), expected);
    }

    #[test]
    fn edges_of_the_window() {
        let mut check = SequenceCheck::new();
        assert_eq!(see(&mut check, 0, 10_000), Seen::New);
        assert_eq!(see(&mut check, 0, 10_001 - WINDOW), Seen::Reordered);
        assert_eq!(see(&mut check, 0, 10_001 - WINDOW), Seen::Duplicated);
        assert_eq!(see(&mut check, 0, 10_000 - WINDOW), Seen::Stale);
        assert_eq!(check.counts().lost, WINDOW - 2);
        assert_eq!(see(&mut check, 0, 10_000 + WINDOW), Seen::New);
        assert_eq!(see(&mut check, 0, 10_001), Seen::Reordered, "bit of an older number was forgotten");
        assert_eq!(check.stream_counts(0).unwrap().received, 6);
        assert_eq!(check.stream_counts(1), None);
    }

    #[test]
    fn memory_is_as_stated() {
        assert!(size_of::<Stream>() <= 560);
        assert!(usize::from(MAX_STREAMS) * (size_of::<Stream>() + size_of::<usize>()) < 600_000);
    }

    /// The obvious model: remembers every number; the window only decides what is stale.
    #[derive(Default)]
    struct Model {
        seen: HashSet<u64>,
        highest: Option<u64>,
        counts: Counts,
    }

    impl Model {
        fn observe(&mut self, seq: u64) -> Seen {
            self.counts.received += 1;
            let above = self.highest.is_none_or(|highest| seq > highest);
            let seen = match self.highest {
                Some(highest) if seq + WINDOW <= highest => Seen::Stale,
                _ if !self.seen.insert(seq) => Seen::Duplicated,
                _ if above => Seen::New,
                _ => Seen::Reordered,
            };
            self.highest = self.highest.max(Some(seq));
            self.counts.stale += u64::from(seen == Seen::Stale);
            self.counts.duplicated += u64::from(seen == Seen::Duplicated);
            self.counts.reordered += u64::from(seen == Seen::Reordered);
            self.counts.unique = self.seen.len() as u64;
            let span =
                self.seen.iter().max().zip(self.seen.iter().min()).map_or(0, |(max, min)| max - min + 1);
            self.counts.lost = span - self.counts.unique;
            seen
        }
    }

    fn compare(sequence: &[(u16, u64)]) {
        let mut check = SequenceCheck::new();
        let mut models: HashMap<u16, Model> = HashMap::new();
        for &(stream, seq) in sequence {
            assert_eq!(see(&mut check, stream, seq), models.entry(stream).or_default().observe(seq));
        }
        let mut total = Counts::default();
        for (stream, model) in models {
            assert_eq!(check.stream_counts(stream), Some(model.counts));
            total += model.counts;
        }
        assert_eq!(check.counts(), total);
    }

    proptest! {
        /// A stream through a bad network: each frame may be lost, doubled or delayed.
        #[test]
        fn agrees_with_model_after_loss_duplication_and_reordering(
            fates in proptest::collection::vec((0u16..3, 0u8..10, 0u64..40), 1..300),
            base in 0u64..1 << 47,
        ) {
            let mut next = HashMap::new();
            let mut arrivals = Vec::new();
            for (time, &(stream, fate, delay)) in fates.iter().enumerate() {
                let seq = next.entry(stream).or_insert(base);
                let time = time as u64;
                match fate {
                    0 => {}
                    1 => arrivals.extend([(time, stream, *seq), (time + delay, stream, *seq)]),
                    2 => arrivals.push((time + delay, stream, *seq)),
                    _ => arrivals.push((time, stream, *seq)),
                }
                *seq += 1;
            }
            arrivals.sort();
            let sequence: Vec<_> = arrivals.into_iter().map(|(_, stream, seq)| (stream, seq)).collect();
            compare(&sequence);
        }

        /// Wild jumps, many of them across the whole window.
        #[test]
        fn agrees_with_model_on_jumps(sequence in proptest::collection::vec((0u16..2, 0u64..3 * WINDOW), 1..300)) {
            compare(&sequence);
        }

        #[test]
        fn agrees_with_model_near_the_window_edge(steps in proptest::collection::vec((0u64..9, 0u64..6), 1..300)) {
            let mut top = 10 * WINDOW;
            let sequence: Vec<_> = steps
                .iter()
                .map(|&(kind, offset)| {
                    if kind < 4 {
                        top += 1 + offset * offset;
                        return (0, top);
                    }
                    (0, top - if kind < 6 { offset } else { WINDOW - 3 + offset })
                })
                .collect();
            compare(&sequence);
        }
    }
}
