//! The books of one stream.

use super::counts::{Arrivals, Gap, Received};
use crate::trial::marks::Marks;
use ringway_traffic::latency::Latencies;

/// How far behind the highest number a frame is still told from a duplicate.
pub const WINDOW: u64 = 4096;

/// Words of the bitmap of a stream.
const WORDS: usize = (WINDOW / 64) as usize;

/// Equal parts in which the latencies of [`Arrivals`] are recorded at most.
const LATENCY_PARTS: u64 = 2048;

/// Picoseconds in a nanosecond.
pub(super) const NS: u64 = 1000;

/// One stream. The bit of number `n` is `n % WINDOW`, valid for `next - WINDOW <= n < next`.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// One above the highest number seen.
    pub(super) next: u64,
    pub(super) counts: Received,
    /// Highest number below the window that never came.
    pub(super) older_missing: Option<u64>,
    pub(super) last_at: Option<u64>,
    /// Latency of the last frame, and the sum of the changes from one to the next.
    pub(super) last_latency: Option<u64>,
    pub(super) changes_ps: u128,
    pub(super) gap: Gap,
    pub(super) latencies: Option<Box<Latencies>>,
    pub(super) bits: [u64; WORDS],
}

impl Stream {
    pub(super) fn new() -> Self {
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
    pub(super) fn pass(&mut self, marks: &Marks, seq: u64) {
        let mut mark = marks.next(self.next);
        while mark < seq {
            self.skip_to(mark);
            self.slide(mark);
            self.set(mark);
            self.next = mark + 1;
            mark = marks.next(self.next);
        }
    }

    pub(super) fn frame(&mut self, seq: u64, at_ps: u64, latency_ps: i64) {
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

    pub(super) fn arrivals(&mut self, a: &Arrivals) {
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
    pub(super) fn change(&mut self, (from, to): (u64, u64)) {
        let before = self.last_latency.replace(to).unwrap_or(from);
        self.changes_ps += u128::from(before.abs_diff(from)) + u128::from(from.abs_diff(to));
    }

    /// Frames arrived from `from` until `to`, with `gap` between them at most.
    pub(super) fn arrive(&mut self, from: u64, to: u64, gap: u64) {
        let before = self.last_at.map_or(0, |last| from.saturating_sub(last));
        for (ps, until_ps) in [(before, from), (gap, to)] {
            if ps > self.gap.ps {
                self.gap = Gap { ps, until_ps };
            }
        }
        self.last_at = Some(to);
    }

    /// Records `n` latencies on a line, in parts short against the whole.
    pub(super) fn record(&mut self, (from, to): (u64, u64), n: u64) {
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
    pub(super) fn skip_to(&mut self, seq: u64) {
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
    pub(super) fn enter(&mut self, seq: u64) {
        if !self.set(seq) && seq >= WINDOW {
            self.older_missing = self.older_missing.max(Some(seq - WINDOW));
        }
        self.next = seq + 1;
    }

    /// Clears the bits of the numbers from `next` up to and including `seq`, which come into the window.
    /// Numbers that leave it without having been seen are missing for good.
    pub(super) fn slide(&mut self, seq: u64) {
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
    pub(super) fn set(&mut self, seq: u64) -> bool {
        let word = &mut self.bits[word(seq)];
        let was = *word & 1 << (seq % 64) != 0;
        *word |= 1 << (seq % 64);
        was
    }

    /// Highest number below `next` that never came.
    pub(super) fn last_missing(&self) -> Option<u64> {
        let low = self.next.saturating_sub(WINDOW);
        let missing = |&n: &u64| self.bits[word(n)] & 1 << (n % 64) == 0;
        self.older_missing.max((low..self.next).rev().find(missing))
    }
}

fn word(seq: u64) -> usize {
    (seq % WINDOW / 64) as usize
}
