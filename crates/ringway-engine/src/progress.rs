//! Counters of a running loop that other threads may read.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use ringway_traffic::report::Sample;

/// What a loop has done so far.
///
/// Thread-safety: the loop is the only writer, so counting is a load and a store without a lock prefix; readers see
/// each word whole, not all of one moment. Aligned so that two loops never share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct Progress {
    packets: AtomicU64,
    bytes: AtomicU64,
    bursts: AtomicU64,
    first_ns: AtomicU64,
    last_ns: AtomicU64,
    min_space: AtomicU32,
}

impl Progress {
    /// Nothing done.
    pub fn new() -> Self {
        Self {
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            bursts: AtomicU64::new(0),
            first_ns: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
            min_space: AtomicU32::new(u32::MAX),
        }
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.packets.load(Relaxed)
    }

    /// When the first packet came, or sending began; `None` before.
    pub fn first_ns(&self) -> Option<u64> {
        Some(self.first_ns.load(Relaxed)).filter(|&ns| ns > 0)
    }

    /// When the last packet came, or the last one was gone; 0 before.
    pub fn last_ns(&self) -> u64 {
        self.last_ns.load(Relaxed)
    }

    /// The sum over `all` at `now_ns`. Starts a new interval of `min_space`.
    pub fn sample(all: &[Self], now_ns: u64) -> Sample {
        let sum = |field: fn(&Self) -> &AtomicU64| all.iter().map(|p| field(p).load(Relaxed)).sum();
        let space = all.iter().map(|p| p.min_space.swap(u32::MAX, Relaxed)).min();
        Sample {
            time_ns: now_ns,
            packets: sum(|p| &p.packets),
            bytes: sum(|p| &p.bytes),
            bursts: sum(|p| &p.bursts),
            min_space: space.filter(|&space| space < u32::MAX),
        }
    }

    /// Whether a packet came or sending began, and when, over `all`.
    pub fn started_ns(all: &[Self]) -> Option<u64> {
        all.iter().filter_map(Self::first_ns).min()
    }

    /// When the last packet of `all` came or was gone.
    pub fn ended_ns(all: &[Self]) -> u64 {
        all.iter().map(Self::last_ns).max().unwrap_or(0)
    }

    pub(super) fn start(&self, now_ns: u64) {
        if self.first_ns.load(Relaxed) == 0 {
            self.first_ns.store(now_ns, Relaxed);
        }
    }

    pub(super) fn end(&self, now_ns: u64) {
        self.last_ns.store(now_ns, Relaxed);
    }

    /// Counts one burst.
    pub(super) fn count(&self, packets: u64, bytes: u64, now_ns: u64) {
        for (word, n) in [(&self.packets, packets), (&self.bytes, bytes), (&self.bursts, 1)] {
            word.store(word.load(Relaxed) + n, Relaxed);
        }
        self.start(now_ns);
        self.end(now_ns);
    }

    /// Takes back what was counted but never left.
    pub(super) fn uncount(&self, packets: u64, bytes: u64) {
        self.packets.store(self.packets.load(Relaxed).saturating_sub(packets), Relaxed);
        self.bytes.store(self.bytes.load(Relaxed).saturating_sub(bytes), Relaxed);
    }

    /// Notes the free slots of the ring.
    pub(super) fn space(&self, free: u32) {
        if free < self.min_space.load(Relaxed) {
            self.min_space.store(free, Relaxed);
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_two_loops() {
        let all = [Progress::new(), Progress::new()];
        assert_eq!((Progress::started_ns(&all), Progress::ended_ns(&all)), (None, 0));
        all[1].count(10, 600, 7);
        all[1].count(5, 300, 9);
        all[0].count(1, 60, 8);
        all[0].space(3);
        let sample = Progress::sample(&all, 20);
        assert_eq!((sample.packets, sample.bytes, sample.bursts, sample.min_space), (16, 960, 3, Some(3)));
        assert_eq!((Progress::started_ns(&all), Progress::ended_ns(&all)), (Some(7), 9));
        assert_eq!(Progress::sample(&all, 21).min_space, None);
        all[0].uncount(2, 100);
        assert_eq!(all[0].packets(), 0);
    }
}
