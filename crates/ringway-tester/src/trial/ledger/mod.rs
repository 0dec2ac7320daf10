//! The receiver's books: what arrived, per stream, in bounded memory.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::marks::Marks;
use super::rate::SECOND;
use ringway_traffic::latency::Latencies;

/// How far behind the highest number a frame is still told from a duplicate.
pub const WINDOW: u64 = 4096;

/// Words of the bitmap of a stream.
const WORDS: usize = (WINDOW / 64) as usize;

/// Equal parts in which the latencies of [`Arrivals`] are recorded at most.
const LATENCY_PARTS: u64 = 2048;

/// Picoseconds in a nanosecond.
const NS: u64 = 1000;

/// What arrived of one stream, or of all.
///
/// Always `received = unique + duplicated + stale`. Loss is what the sender counted less `unique`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Frames with a valid tag, each copy counted.
    pub received: u64,
    /// Different frames among them.
    pub unique: u64,
    /// Copies of frames that were there already.
    pub duplicated: u64,
    /// Frames with a number lower than the highest seen (RFC 4737).
    pub reordered: u64,
    /// Frames more than [`WINDOW`] behind: late or doubled, not known which.
    pub stale: u64,
    /// Frames whose tag or payload was changed on the way.
    pub corrupted: u64,
    /// Frames of a stream that belongs to another port.
    pub misdirected: u64,
    /// Frames that came after counting had ended.
    pub late: u64,
    /// Frames that had been sent before the trial began.
    #[serde(default)]
    pub stragglers: u64,
    /// Frames of others.
    pub foreign: u64,
    /// Frames that arrived before they were sent, by the clock: a fault of the clock, never of the network.
    pub negative: u64,
}

impl std::ops::AddAssign for Received {
    fn add_assign(&mut self, other: Self) {
        self.received += other.received;
        self.unique += other.unique;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.stale += other.stale;
        self.corrupted += other.corrupted;
        self.misdirected += other.misdirected;
        self.late += other.late;
        self.stragglers += other.stragglers;
        self.foreign += other.foreign;
        self.negative += other.negative;
    }
}

/// Frames of one stream that arrived in order, told at once: `received` of the numbers `first..first + span`.
///
/// `first` is above every number of the stream that arrived before. The entry does not say which numbers are
/// missing, so their order and doubles can't be found out later. So a source enters the last [`WINDOW`]
/// frames, at least, of a stretch that has holes one by one, or in pieces without holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Stream.
    pub stream: u16,
    /// Lowest number that may have arrived.
    pub first: u64,
    /// Numbers covered.
    pub span: u64,
    /// Frames that arrived.
    pub received: u64,
    /// When the first and the last arrived, picoseconds.
    pub at_ps: (u64, u64),
    /// Latency of the first and the last, picoseconds; that of the others lies in between, on a line.
    pub latency_ps: (u64, u64),
    /// Longest time between two of them.
    pub gap_ps: u64,
    /// Highest of the missing numbers.
    pub last_missing: Option<u64>,
}

/// The gap between arrivals that was the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Its length, picoseconds.
    pub ps: u64,
    /// When it ended, picoseconds of the trial's clock.
    pub until_ps: u64,
}

/// One stream. The bit of number `n` is `n % WINDOW`, valid for `next - WINDOW <= n < next`.
#[derive(Clone, Debug)]
struct Stream {
    /// One above the highest number seen.
    next: u64,
    counts: Received,
    /// Highest number below the window that never came.
    older_missing: Option<u64>,
    last_at: Option<u64>,
    /// Latency of the last frame, and the sum of the changes from one to the next.
    last_latency: Option<u64>,
    changes_ps: u128,
    gap: Gap,
    latencies: Option<Box<Latencies>>,
    bits: [u64; WORDS],
}

/// Books of all streams that are meant for one receiver.
///
/// ```
/// use ringway_tester::trial::ledger::Ledger;
/// let mut ledger = Ledger::new(0, 1);
/// for (seq, at) in [(0, 10), (2, 30), (1, 40), (1, 50)] {
///     ledger.frame(0, seq, at, 5);
/// }
/// let got = ledger.stream(0);
/// assert_eq!((got.unique, got.reordered, got.duplicated), (3, 1, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Ledger {
    first_stream: u16,
    streams: Vec<Stream>,
    other: Received,
    opens_ps: u64,
    closes_ps: u64,
    /// Numbers of frames that are no test frames, and how many of these came.
    marks: Marks,
    extra: u64,
}

impl Ledger {
    /// Empty books for `streams` streams from number `first_stream` on.
    #[must_use]
    pub fn new(first_stream: u16, streams: u16) -> Self {
        let streams = (0..streams).map(|_| Stream::new()).collect();
        Self {
            first_stream,
            streams,
            other: Received::default(),
            opens_ps: 0,
            closes_ps: u64::MAX,
            marks: Marks::default(),
            extra: 0,
        }
    }

    /// Counts frames with these numbers apart: they are neither received nor missing.
    #[must_use]
    pub fn with_marks(mut self, marks: Marks) -> Self {
        self.marks = marks;
        self
    }

    /// Records latencies too.
    #[must_use]
    pub fn with_latencies(mut self) -> Self {
        self.streams.iter_mut().for_each(|stream| stream.latencies = Some(Box::new(Latencies::new())));
        self
    }

    /// What is sent before `opens_ps` is a straggler of an earlier trial, what arrives after `closes_ps` late. Tags tell whole
    /// nanoseconds, and what leaves at once does not seem to have left before: frames of the same nanosecond are no stragglers.
    pub fn span(&mut self, opens_ps: u64, closes_ps: u64) {
        (self.opens_ps, self.closes_ps) = (opens_ps / NS * NS, closes_ps);
    }

    /// A frame with a valid tag, `latency_ps` old; negative when it arrived before it was sent.
    pub fn frame(&mut self, stream: u16, seq: u64, at_ps: u64, latency_ps: i64) {
        if at_ps > self.closes_ps {
            self.other.late += 1;
            return;
        }
        if at_ps.saturating_add_signed(latency_ps.saturating_neg()) < self.opens_ps {
            self.other.stragglers += 1;
            return;
        }
        match self.index(stream) {
            Some(_) if self.marks.contains(seq) => self.extra += 1,
            Some(k) => {
                self.streams[k].pass(&self.marks, seq);
                self.streams[k].frame(seq, at_ps, latency_ps);
            }
            None => self.other.misdirected += 1,
        }
    }

    /// Frames in order, at once.
    pub fn arrivals(&mut self, a: &Arrivals) {
        if a.at_ps.1 > self.closes_ps {
            self.other.late += a.received;
            return;
        }
        match self.index(a.stream) {
            Some(k) if a.received > 0 => self.streams[k].arrivals(a),
            Some(_) => {}
            None => self.other.misdirected += a.received,
        }
    }

    /// A frame that is no test frame.
    pub fn foreign(&mut self) {
        self.other.foreign += 1;
    }

    /// A test frame that was changed on the way.
    pub fn corrupted(&mut self) {
        self.other.corrupted += 1;
    }

    /// Frames with marked numbers that arrived, copies too.
    #[must_use]
    pub fn extra(&self) -> u64 {
        self.extra
    }

    /// Frames of a stream that need not be waited for: those received, and marked ones before them.
    #[must_use]
    pub fn accounted(&self, stream: u16) -> u64 {
        self.index(stream).map_or(0, |k| {
            let stream = &self.streams[k];
            stream.counts.unique + self.marks.below(stream.next)
        })
    }

    /// What arrived of one stream.
    #[must_use]
    pub fn stream(&self, stream: u16) -> Received {
        self.index(stream).map_or_else(Received::default, |k| self.streams[k].counts)
    }

    /// What arrived in all.
    #[must_use]
    pub fn total(&self) -> Received {
        self.streams.iter().fold(self.other, |mut sum, stream| {
            sum += stream.counts;
            sum
        })
    }

    /// Highest number of a stream that is missing below the highest seen.
    #[must_use]
    pub fn last_missing(&self, stream: u16) -> Option<u64> {
        self.streams[self.index(stream)?].last_missing()
    }

    /// One above the highest number seen of a stream.
    #[must_use]
    pub fn next(&self, stream: u16) -> u64 {
        self.index(stream).map_or(0, |k| self.streams[k].next)
    }

    /// Longest gap between arrivals of a stream.
    #[must_use]
    pub fn gap(&self, stream: u16) -> Gap {
        self.index(stream).map_or_else(Gap::default, |k| self.streams[k].gap)
    }

    /// Latencies of a stream, if they are recorded.
    #[must_use]
    pub fn latencies(&self, stream: u16) -> Option<&Latencies> {
        self.streams[self.index(stream)?].latencies.as_deref()
    }

    /// Jitter of a stream, nanoseconds: mean change of latency from one frame to the next.
    #[must_use]
    pub fn jitter_ns(&self, stream: u16) -> f64 {
        let Some(stream) = self.index(stream).map(|k| &self.streams[k]) else { return 0.0 };
        let changes = stream.counts.unique.saturating_sub(1).max(1);
        stream.changes_ps as f64 / NS as f64 / changes as f64
    }

    fn index(&self, stream: u16) -> Option<usize> {
        let k = usize::from(stream.checked_sub(self.first_stream)?);
        (k < self.streams.len()).then_some(k)
    }
}

impl Stream {
    fn new() -> Self {
        Self {
            next: 0,
            counts: Received::default(),
            older_missing: None,
            last_at: None,
            last_latency: None,
            changes_ps: 0,
            gap: Gap::default(),
            latencies: None,
            bits: [0; WORDS],
        }
    }

    /// Marked numbers before `seq` are not missing.
    fn pass(&mut self, marks: &Marks, seq: u64) {
        let mut mark = marks.next(self.next);
        while mark < seq {
            self.skip_to(mark);
            self.slide(mark);
            self.set(mark);
            self.next = mark + 1;
            mark = marks.next(self.next);
        }
    }

    fn frame(&mut self, seq: u64, at_ps: u64, latency_ps: i64) {
        self.counts.received += 1;
        if seq >= self.next {
            self.skip_to(seq);
            self.enter(seq);
        } else if seq + WINDOW < self.next {
            self.counts.stale += 1;
            return;
        } else if self.set(seq) {
            self.counts.duplicated += 1;
            return;
        } else {
            self.counts.reordered += 1;
        }
        self.counts.unique += 1;
        self.arrive(at_ps, at_ps, 0);
        match u64::try_from(latency_ps) {
            Ok(ps) => {
                self.latencies.iter_mut().for_each(|l| l.record(ps / NS));
                self.change((ps, ps));
            }
            Err(_) => self.counts.negative += 1,
        }
    }

    fn arrivals(&mut self, a: &Arrivals) {
        let end = a.first + a.span;
        self.skip_to(a.first);
        self.slide(end - 1);
        // Where holes are is not known: none of these numbers counts as missing by its bit.
        for seq in a.first.max(end.saturating_sub(WINDOW))..end {
            self.set(seq);
        }
        self.older_missing = self.older_missing.max(a.last_missing);
        self.next = end;
        self.counts.received += a.received;
        self.counts.unique += a.received;
        self.arrive(a.at_ps.0, a.at_ps.1, a.gap_ps);
        self.record(a.latency_ps, a.received);
        self.change(a.latency_ps);
    }

    /// Latencies went from one value to another, in one direction.
    fn change(&mut self, (from, to): (u64, u64)) {
        let before = self.last_latency.replace(to).unwrap_or(from);
        self.changes_ps += u128::from(before.abs_diff(from)) + u128::from(from.abs_diff(to));
    }

    /// Frames arrived from `from` until `to`, with `gap` between them at most.
    fn arrive(&mut self, from: u64, to: u64, gap: u64) {
        let before = self.last_at.map_or(0, |last| from.saturating_sub(last));
        for (ps, until_ps) in [(before, from), (gap, to)] {
            if ps > self.gap.ps {
                self.gap = Gap { ps, until_ps };
            }
        }
        self.last_at = Some(to);
    }

    /// Records `n` latencies on a line, in parts short against the whole.
    fn record(&mut self, (from, to): (u64, u64), n: u64) {
        let Some(latencies) = &mut self.latencies else { return };
        let parts = if from / NS == to / NS { 1 } else { n.min(LATENCY_PARTS) };
        for k in 0..parts {
            let [low, high] = [k, k + 1].map(|k| (u128::from(n) * u128::from(k) / u128::from(parts)) as u64);
            // The frame in the middle of the part.
            let at = u128::from((low + high - 1) / 2);
            let along = |span: u64| (u128::from(span) * at / u128::from(n.max(2) - 1)) as u64;
            let ps = if to >= from { from + along(to - from) } else { from - along(from - to) };
            latencies.record_n(ps / NS, high - low);
        }
    }

    /// The numbers from `next` up to `seq` did not come in their turn.
    fn skip_to(&mut self, seq: u64) {
        if let Some(last) = seq.checked_sub(1)
            && seq > self.next
        {
            self.slide(last);
            self.older_missing =
                self.older_missing.max(seq.checked_sub(WINDOW + 1).filter(|&n| n >= self.next));
            self.next = seq;
        }
    }

    /// The number `next` has come.
    fn enter(&mut self, seq: u64) {
        if !self.set(seq) && seq >= WINDOW {
            self.older_missing = self.older_missing.max(Some(seq - WINDOW));
        }
        self.next = seq + 1;
    }

    /// Clears the bits of the numbers from `next` up to and including `seq`, which come into the window.
    /// Numbers that leave it without having been seen are missing for good.
    fn slide(&mut self, seq: u64) {
        if seq - self.next >= WINDOW {
            self.older_missing = self.last_missing();
            self.bits.fill(0);
            return;
        }
        for n in self.next..=seq {
            let (at, bit) = (word(n), 1 << (n % 64));
            if n >= WINDOW && self.bits[at] & bit == 0 {
                self.older_missing = self.older_missing.max(Some(n - WINDOW));
            }
            self.bits[at] &= !bit;
        }
    }

    /// Sets a bit and returns what it was.
    fn set(&mut self, seq: u64) -> bool {
        let word = &mut self.bits[word(seq)];
        let was = *word & 1 << (seq % 64) != 0;
        *word |= 1 << (seq % 64);
        was
    }

    /// Highest number below `next` that never came.
    fn last_missing(&self) -> Option<u64> {
        let low = self.next.saturating_sub(WINDOW);
        let missing = |&n: &u64| self.bits[word(n)] & 1 << (n % 64) == 0;
        self.older_missing.max((low..self.next).rev().find(missing))
    }
}

fn word(seq: u64) -> usize {
    (seq % WINDOW / 64) as usize
}

/// Seconds as a number, for showing.
#[must_use]
pub fn seconds(ps: u64) -> f64 {
    ps as f64 / SECOND as f64
}
