//! Latency (RFC 2544, 26.2; RFC 8219, 7.2 and 7.3): distributions at shares of the throughput.

use serde::{Deserialize, Serialize};

use super::spread::Spread;
use crate::benchmark::stop::Stop;
use crate::rfc2544::session::Session;
use crate::rfc2544::settings::Test;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::{Load, Rate};
use ringway_tester::trial::result::{StreamCounts, TrialResult};
use ringway_tester::trial::spec::TrialSpec;
use ringway_traffic::latency::LatencySummary;

/// Latency of one frame size. Times are from first bit to first bit unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Sizes.
    pub size: Mix,
    /// Mean of the repeats at the throughput, nanoseconds.
    pub mean_ns: f64,
    /// The same from the last bit in to the first bit out (store and forward), where the time of a frame on the wire is known.
    pub stored_mean_ns: Option<f64>,
    /// How often it was measured at the throughput.
    #[serde(default)]
    pub repeated: usize,
    /// Means of the repeats, nanoseconds.
    pub repeats: Spread,
    /// Medians of the repeats: their median, 1st and 99th percentile, nanoseconds.
    pub typical_ns: [u64; 3],
    /// 99.9th percentiles of the repeats: their median, 1st and 99th percentile, nanoseconds.
    pub worst_ns: [u64; 3],
    /// Distributions, from low to full load.
    pub loads: Vec<LatencyAt>,
}

/// Latency at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyAt {
    /// Share of the throughput.
    pub share: Load,
    /// Load.
    pub load: Load,
    /// All directions together.
    pub all: LatencySummary,
    /// Shares of frames, and the latency they do not exceed, nanoseconds.
    pub curve: Vec<(f64, u64)>,
    /// Packet delay variation: 99.9th percentile less the shortest, nanoseconds.
    pub variation_ns: u64,
    /// Mean change from one frame to the next, nanoseconds.
    pub jitter_ns: f64,
    /// Each direction.
    pub directions: Vec<LatencySummary>,
    /// The tester sent less than it should have.
    #[serde(default)]
    pub limited: bool,
}

/// `limited` says that the throughput is what the tester can send, at which it may well fall short.
pub(super) fn run(
    session: &mut Session<'_>,
    size: &Mix,
    throughput: Load,
    limited: bool,
) -> Result<Latency, Stop> {
    let settings = session.settings();
    let max = settings.trials.maximum.rate(size);
    let mut loads = Vec::new();
    let trial_at = |session: &mut Session<'_>, load: Load| -> Result<TrialResult, Stop> {
        let order =
            TrialSpec::at(size, max.at(load), settings.latency_ps, settings.trials.wait_ps).with_latency();
        if limited {
            session.trial_at_limit(Test::Latency, Some(load), &order)
        } else {
            session.trial(Test::Latency, Some(load), &order)
        }
    };
    for &share in settings.latency_loads.iter().filter(|&&share| share < Load::MAX) {
        let load = Load(((u64::from(throughput.0) * u64::from(share.0)) / 1_000_000).max(1) as u32);
        let trial = trial_at(session, load)?;
        loads.push(LatencyAt::of(share, load, &trial));
    }
    let mut repeats = Vec::new();
    for _ in 0..settings.latency_repeats.max(1) {
        repeats.push(trial_at(session, throughput)?);
    }
    if let Some(trial) = repeats.first() {
        loads.push(LatencyAt::of(Load::MAX, throughput, trial));
    }
    Ok(Latency::of(size, &repeats, loads, settings.trials.maximum.bits()))
}

impl Latency {
    fn of(size: &Mix, repeats: &[TrialResult], loads: Vec<LatencyAt>, bits: Option<u64>) -> Self {
        let means = Spread::of(&repeats.iter().map(|t| t.latency.mean_ns).collect::<Vec<_>>());
        let frame_ns = |bits: u64| Rate::line(bits, size.size(0)).offset_ps(1) as f64 / 1000.0;
        let stored = bits.filter(|_| size.is_fixed()).map(|bits| (means.mean - frame_ns(bits)).max(0.0));
        let of = |value: fn(&TrialResult) -> u64| {
            let mut values: Vec<u64> = repeats.iter().map(value).collect();
            values.sort_unstable();
            let at = |percent: usize| values.get((values.len().saturating_sub(1)) * percent / 100).copied();
            [50, 1, 99].map(|percent| at(percent).unwrap_or(0))
        };
        Self {
            size: size.clone(),
            mean_ns: means.mean,
            stored_mean_ns: stored,
            repeated: repeats.len(),
            repeats: means,
            typical_ns: of(|t| t.latency.p50_ns),
            worst_ns: of(|t| t.latency.p99_9_ns),
            loads,
        }
    }
}

impl LatencyAt {
    fn of(share: Load, load: Load, trial: &TrialResult) -> Self {
        let latency = |s: &StreamCounts| s.latency.clone();
        Self {
            share,
            load,
            all: trial.latency.clone(),
            curve: trial.curve.clone(),
            variation_ns: trial.latency.p99_9_ns.saturating_sub(trial.latency.min_ns),
            jitter_ns: trial.jitter_ns,
            directions: trial.streams.iter().map(latency).collect(),
            limited: !trial.faults.is_empty(),
        }
    }
}
