//! Latencies: percentiles and a histogram.

use std::fmt;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::units::duration;

/// Longest latency told apart, nanoseconds: one minute.
pub const MAX_NS: u64 = 60_000_000_000;

const BAR: u64 = 40;

/// Records latencies in nanoseconds with three significant digits, in about 220 kB of memory.
///
/// ```
/// use ringway_traffic::latency::Latencies;
///
/// let mut latencies = Latencies::new();
/// (1..=1000).for_each(|us| latencies.record(us * 1000));
/// let summary = latencies.summary();
/// assert_eq!(summary.count, 1000);
/// assert!((499_000..=501_000).contains(&summary.p50_ns));
/// println!("{summary}");
/// ```
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    above_limit: u64,
}

impl Latencies {
    /// An empty record.
    pub fn new() -> Self {
        // Bounds and digits are constants the histogram accepts.
        let histogram = Histogram::new_with_bounds(1, MAX_NS, 3).expect("valid bounds");
        Self { histogram, above_limit: 0 }
    }

    /// Adds one latency. Those above [`MAX_NS`] are counted as `MAX_NS` and apart.
    pub fn record(&mut self, ns: u64) {
        self.above_limit += u64::from(ns > MAX_NS);
        self.histogram.saturating_record(ns.min(MAX_NS));
    }

    /// Adds one latency `n` times.
    pub fn record_n(&mut self, ns: u64, n: u64) {
        self.above_limit += if ns > MAX_NS { n } else { 0 };
        self.histogram.saturating_record_n(ns.min(MAX_NS), n);
    }

    /// Adds all latencies of another record, as of another thread.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, the one thing that could fail.
        self.histogram.add(&other.histogram).expect("same bounds");
        self.above_limit += other.above_limit;
    }

    /// Percentiles and histogram so far.
    pub fn summary(&self) -> LatencySummary {
        let at = |quantile| self.histogram.value_at_quantile(quantile);
        LatencySummary {
            count: self.histogram.len(),
            min_ns: self.histogram.min(),
            mean_ns: self.histogram.mean(),
            stdev_ns: self.histogram.stdev(),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            p99_99_ns: at(0.9999),
            max_ns: self.histogram.max(),
            above_limit: self.above_limit,
            buckets: self.buckets(),
        }
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latency that a share of all does not exceed, nanoseconds.
    pub fn quantile(&self, share: f64) -> u64 {
        self.histogram.value_at_quantile(share)
    }

    /// Counts by powers of two, from the lowest to the highest that is not empty.
    fn buckets(&self) -> Vec<Bucket> {
        let mut counts = [0; 64];
        for value in self.histogram.iter_recorded() {
            counts[value.value_iterated_to().max(1).ilog2() as usize] += value.count_at_value();
        }
        let used = |power: &usize| counts[*power] > 0;
        let (Some(first), Some(last)) = ((0..64).find(used), (0..64).rfind(used)) else { return Vec::new() };
        let from = |power: usize| if power == 0 { 0 } else { 1 << power };
        (first..=last)
            .map(|power| Bucket { from_ns: from(power), below_ns: 2 << power, count: counts[power] })
            .collect()
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

/// Percentiles and histogram of latencies; serialises for `--json` and displays as text. All zero if none were
/// recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Number of latencies.
    pub count: u64,
    /// Shortest.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stdev_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 90 % are not longer.
    pub p90_ns: u64,
    /// 99 % are not longer.
    pub p99_ns: u64,
    /// 99.9 % are not longer.
    pub p99_9_ns: u64,
    /// 99.99 % are not longer.
    #[serde(default)]
    pub p99_99_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// How many were above [`MAX_NS`].
    pub above_limit: u64,
    /// Histogram by powers of two.
    pub buckets: Vec<Bucket>,
}

/// One bar of the histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Shortest latency in it.
    pub from_ns: u64,
    /// Just above the longest.
    pub below_ns: u64,
    /// Number of latencies.
    pub count: u64,
}

impl fmt::Display for LatencySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [min, p50, p90, p99, p99_9, max] =
            [self.min_ns, self.p50_ns, self.p90_ns, self.p99_ns, self.p99_9_ns, self.max_ns].map(duration);
        write!(f, "latency of {}: min {min}, p50 {p50}, p90 {p90}, p99 {p99}, ", self.count)?;
        write!(f, "p99.9 {p99_9}, max {max}, mean {}", duration(self.mean_ns.round() as u64))?;
        if self.above_limit > 0 {
            write!(f, " ({} above {})", self.above_limit, duration(MAX_NS))?;
        }
        let highest = self.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(1);
        for bucket in &self.buckets {
            let bar = "#".repeat((bucket.count * BAR).div_ceil(highest) as usize);
            let (from, below) = (duration(bucket.from_ns), duration(bucket.below_ns));
            write!(f, "\n{from:>11} .. {below:>11} {:>10} {bar}", bucket.count)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::new();
        values.iter().for_each(|&ns| latencies.record(ns));
        latencies
    }

    fn near(value: u64, expected: u64) -> bool {
        value.abs_diff(expected) * 1000 <= expected
    }

    #[test]
    fn percentiles_to_three_digits() {
        let summary = of(&(1..=100_000).map(|n| n * 10).collect::<Vec<_>>()).summary();
        assert_eq!((summary.count, summary.min_ns), (100_000, 10));
        assert!(near(summary.p50_ns, 500_000) && near(summary.p90_ns, 900_000));
        assert!(near(summary.p99_ns, 990_000) && near(summary.p99_9_ns, 999_000));
        assert!(near(summary.max_ns, 1_000_000) && near(summary.mean_ns as u64, 500_005));
        assert_eq!(summary.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), summary.count);
    }

    #[test]
    fn text() {
        let summary = of(&[600, 600, 600, 3_000]).summary();
        let text = summary.to_string();
        let mut lines = text.lines();
        assert_eq!(
            lines.next().unwrap(),
            "latency of 4: min 600 ns, p50 600 ns, p90 3.001 us, p99 3.001 us, p99.9 3.001 us, max 3.001 us, \
             mean 1.200 us"
        );
        let bars =
            [("512 ns", "1.024 us", 3, 40), ("1.024 us", "2.048 us", 0, 0), ("2.048 us", "4.096 us", 1, 14)];
        for (from, below, count, bar) in bars {
            let expected = format!("{from:>11} .. {below:>11} {count:>10} {}", "#".repeat(bar));
            assert_eq!(lines.next().unwrap(), expected);
        }
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn nothing_recorded() {
        let summary = Latencies::new().summary();
        assert_eq!(summary, LatencySummary::default());
        assert!(summary.to_string().starts_with("latency of 0: min 0 ns"));
    }

    #[test]
    fn extremes_are_kept_and_counted() {
        let summary = of(&[0, 1, MAX_NS, u64::MAX]).summary();
        assert_eq!((summary.count, summary.above_limit, summary.min_ns), (4, 1, 0));
        assert!(near(summary.max_ns, MAX_NS));
        assert_eq!(summary.buckets[0], Bucket { from_ns: 0, below_ns: 2, count: 2 });
        assert!(summary.to_string().contains("(1 above 60.000 s)"));
    }

    #[test]
    fn merge_equals_recording_together() {
        let mut one = of(&[5, 70, 900]);
        one.merge(&of(&[1_000, u64::MAX]));
        assert_eq!(one.summary(), of(&[5, 70, 900, 1_000, u64::MAX]).summary());
    }

    #[test]
    fn json() {
        let json = serde_json::to_value(of(&[600]).summary()).unwrap();
        assert_eq!((&json["p99_9_ns"], &json["buckets"][0]["from_ns"]), (&600.into(), &512.into()));
    }
}
