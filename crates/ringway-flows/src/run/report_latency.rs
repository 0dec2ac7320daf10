//! A latency as reports have it.

use serde::Serialize;

use crate::shard::Latency;

/// A latency, in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyReport {
    /// How often it was measured.
    pub count: u64,
    /// Its mean.
    pub mean_us: f64,
    /// Half of them are at most this long.
    pub p50_us: u32,
    /// 90 of 100.
    pub p90_us: u32,
    /// 99 of 100.
    pub p99_us: u32,
    /// 999 of 1000.
    pub p99_9_us: u32,
    /// The longest.
    pub max_us: u32,
}

impl LatencyReport {
    pub(super) fn new(latency: &Latency) -> Self {
        Self {
            count: latency.count(),
            mean_us: latency.mean(),
            p50_us: latency.percentile(0.5),
            p90_us: latency.percentile(0.9),
            p99_us: latency.percentile(0.99),
            p99_9_us: latency.percentile(0.999),
            max_us: latency.max(),
        }
    }
}
