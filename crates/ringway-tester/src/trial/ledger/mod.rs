//! The receiver's books: what arrived, per stream, in bounded memory.

mod counts;
mod stream;
#[cfg(test)]
mod tests;

pub use counts::{Arrivals, Gap, Received};
pub use stream::WINDOW;
use stream::{NS, Stream};

use super::marks::Marks;
use super::rate::SECOND;
use ringway_traffic::latency::Latencies;

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

    /// Frames that need not be waited for: those received, and marked ones before them.
    #[must_use]
    pub fn accounted(&self) -> u64 {
        self.streams.iter().map(|stream| stream.counts.unique + self.marks.below(stream.next)).sum()
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

/// Seconds as a number, for showing.
#[must_use]
pub fn seconds(ps: u64) -> f64 {
    ps as f64 / SECOND as f64
}
