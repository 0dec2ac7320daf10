//! The tester measured by itself: its sender joined to its receiver with no device between.
//!
//! A device's result that comes near what the tester can do may be the tester's. So each size is flooded a few times, the sender never
//! waiting, and then crossed by a slow stream whose latency is the least that the tester can tell.

use serde::{Deserialize, Serialize};

use super::measure::Results;
use super::settings::Settings;
use crate::benchmark::stop::Stop;
use ringway_tester::trial::bed::TestBed;
use ringway_tester::trial::fault::TesterFault;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::pauses::Pauses;
use ringway_tester::trial::rate::{MILLISECOND, Rate, SECOND};
use ringway_tester::trial::result::TrialResult;
use ringway_tester::trial::spec::TrialSpec;
use ringway_traffic::latency::LatencySummary;

/// Share of the tester's own limit above which a result is flagged.
pub const NEAR: f64 = 0.9;

/// Speed of a link that no sender keeps up with, bits a second.
const FLOOD_BITS: u64 = 10_000_000_000_000;

/// Floods of each size, the median of which counts, and how long one is.
const FLOODS: usize = 3;
const FLOOD_PS: u64 = 300 * MILLISECOND;

/// The slow stream: a tenth of the limit, at most so many frames a second, for so long.
const SLOW_FPS: u64 = 100_000;
const SLOW_PS: u64 = 500 * MILLISECOND;

/// Most tries of the slow stream: on a machine that is never quiet the last one has to do.
const SLOW_TRIES: u32 = 4;

/// Wait for stragglers.
const WAIT_PS: u64 = 50 * MILLISECOND;

/// What the tester can do by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Ports and what serves them.
    pub ports: Vec<(String, String)>,
    /// Each size.
    pub sizes: Vec<SelfTestAt>,
    /// Pauses of the sending loops.
    pub tx_pauses: Pauses,
    /// Pauses of the receiving loops.
    pub rx_pauses: Pauses,
}

/// What it can do at one size. Rates are frames a second, each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfTestAt {
    /// Sizes.
    pub size: Mix,
    /// Sent when the sender never waited.
    pub sent_fps: f64,
    /// Received of that: the tester's limit.
    pub received_fps: f64,
    /// Rate of the slow stream.
    pub latency_fps: f64,
    /// Its latency, first bit to first bit: it measures nothing shorter.
    pub latency: LatencySummary,
    /// What was wrong with the slow stream each time that it was tried; nothing when it is sound.
    pub faults: Vec<TesterFault>,
    /// The device's throughput as a share of the limit, if there is one.
    pub throughput_share: Option<f64>,
    /// The share is above [`NEAR`].
    pub near_limit: bool,
}

/// Measures the tester over a bed without a device. `go_on` is asked meanwhile; when it says no, it is over.
///
/// # Errors
/// When it was ended, or a port failed.
pub fn run(
    bed: &mut dyn TestBed,
    ports: Vec<(String, String)>,
    settings: &Settings,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<SelfTest, Stop> {
    let (sizes, tx_pauses, rx_pauses) = Default::default();
    let mut found = SelfTest { ports, sizes, tx_pauses, rx_pauses };
    for size in &settings.sizes {
        let floods = (0..FLOODS)
            .map(|_| found.trial(bed, &TrialSpec::at(size, size.line(FLOOD_BITS), FLOOD_PS, WAIT_PS), go_on))
            .collect::<Result<Vec<_>, _>>()?;
        let (sent_fps, received_fps) = median(&floods);
        let (slow, latency_fps) = found.slow(bed, size, (received_fps, settings.trials.catch_up), go_on)?;
        found.sizes.push(SelfTestAt {
            size: size.clone(),
            sent_fps,
            received_fps,
            latency_fps,
            latency: slow.latency,
            faults: slow.faults,
            throughput_share: None,
            near_limit: false,
        });
    }
    Ok(found)
}

/// How long it takes, seconds.
#[must_use]
pub fn seconds(settings: &Settings) -> f64 {
    let each = FLOODS as u64 * (FLOOD_PS + WAIT_PS) + SLOW_PS + WAIT_PS;
    settings.sizes.len() as f64 * each as f64 / SECOND as f64
}

/// Frames a second of each direction, sent and received, of the flood in the middle.
fn median(floods: &[TrialResult]) -> (f64, f64) {
    let each = |t: &TrialResult, fps: f64| fps / t.streams.len().max(1) as f64;
    let mut rates: Vec<_> =
        floods.iter().map(|t| (each(t, t.offered_fps), each(t, t.forwarded_fps))).collect();
    rates.sort_by(|a, b| a.1.total_cmp(&b.1));
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

impl SelfTest {
    fn trial(
        &mut self,
        bed: &mut dyn TestBed,
        order: &TrialSpec,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<TrialResult, Stop> {
        let trial = bed.run(order, &mut |_| go_on())?;
        if trial.interrupted() {
            return Err(Stop::Interrupted);
        }
        self.tx_pauses.merge(&trial.tx_pauses);
        self.rx_pauses.merge(&trial.rx_pauses);
        Ok(trial)
    }

    /// The slow stream and its rate; again while the tester itself stood still.
    fn slow(
        &mut self,
        bed: &mut dyn TestBed,
        size: &Mix,
        (limit_fps, catch_up): (f64, u64),
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(TrialResult, f64), Stop> {
        let fps = ((limit_fps / 10.0) as u64).clamp(1, SLOW_FPS);
        let rate = if size.is_fixed() { Rate::new(fps, 1) } else { size.pps(fps) };
        let order = TrialSpec { catch_up, ..TrialSpec::at(size, rate, SLOW_PS, WAIT_PS).with_latency() };
        let mut trial = self.trial(bed, &order, go_on)?;
        for _ in 1..SLOW_TRIES {
            if trial.faults.is_empty() {
                break;
            }
            trial = self.trial(bed, &order, go_on)?;
        }
        Ok((trial, fps as f64))
    }

    /// Notes how near the results of a device come to the limits.
    pub fn compare(&mut self, results: &Results) {
        for at in &mut self.sizes {
            let throughput = results.throughput.iter().find(|t| t.size == at.size);
            let share = throughput.map(|t| t.fps / at.received_fps).filter(|share| share.is_finite());
            (at.throughput_share, at.near_limit) = (share, share.is_some_and(|share| share > NEAR));
        }
    }

    /// What readers have to know of it, a line each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let near = self.sizes.iter().filter(|at| at.near_limit).map(|at| {
            let percent = 100.0 * at.throughput_share.unwrap_or(0.0);
            format!("size {}: {percent:.0} % of what the tester does without a device: its limit, or the device's", at.size)
        });
        let stood = self.sizes.iter().filter(|at| !at.faults.is_empty());
        let stood = stood.map(|at| {
            format!("size {}: the latency of the self-test is of a tester that was held up", at.size)
        });
        near.chain(stood).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc2544::report::tests::report;
    use ringway_tester::device::VirtualTestBed;
    use ringway_tester::trial::loops::{Live, Watch};
    use ringway_tester::trial::maximum::Maximum;

    /// A modelled device that listens to who wants it to end.
    #[derive(Debug)]
    struct Modelled(VirtualTestBed);

    impl TestBed for Modelled {
        fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> ringway::Result<TrialResult> {
            let mut trial = self.0.run(order, watch)?;
            if !watch(Live::default()) {
                trial.faults.push(TesterFault::Interrupted);
            }
            Ok(trial)
        }

        fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
            self.0.pause(ps, go_on)
        }
    }

    fn measured(device: &str, mut go_on: impl FnMut() -> bool) -> Result<SelfTest, Stop> {
        let sizes = vec![Mix::fixed(64), Mix::fixed(256)];
        let settings = Settings { sizes, ..Settings::new(Maximum::Link(1_000_000_000)) };
        let mut bed = Modelled(VirtualTestBed::new(device.parse().unwrap(), None, true));
        run(&mut bed, Vec::new(), &settings, &mut go_on)
    }

    fn self_test(device: &str) -> SelfTest {
        measured(device, || true).unwrap()
    }

    #[test]
    fn the_limit_is_that_of_what_lies_between() {
        let found = self_test("switch:pps=2M,buffer=64,latency=3us");
        for at in &found.sizes {
            assert!((at.received_fps - 2e6).abs() < 2e3, "{at:?}");
            assert!(at.sent_fps > 1e9, "{at:?}");
            assert!((3000..6000).contains(&at.latency.p50_ns), "{at:?}");
            assert_eq!((at.latency_fps, &at.faults[..]), (1e5, &[][..]));
        }
        let settings = Settings { sizes: vec![Mix::fixed(64)], ..Settings::new(Maximum::Link(1)) };
        assert!((seconds(&settings) - 1.6).abs() < 1e-9);
    }

    #[test]
    fn results_near_the_limit_are_flagged() {
        for (device, near) in [("switch:pps=1050k,buffer=64", true), ("switch:pps=4M,buffer=64", false)] {
            let mut found = self_test(device);
            found.compare(&report("1M").results);
            assert_eq!(
                (found.sizes[0].near_limit, found.sizes[1].throughput_share),
                (near, None),
                "{device}"
            );
            assert_eq!(found.warnings().len(), usize::from(near));
        }
    }

    #[test]
    fn it_ends_when_told() {
        assert!(matches!(measured("switch:pps=2M,buffer=64", || false), Err(Stop::Interrupted)));
    }
}
