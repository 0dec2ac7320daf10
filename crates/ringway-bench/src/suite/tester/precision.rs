//! `clock`, `rate-error`, `lateness`, `latency`: how exact.

use std::time::Duration;

use super::place::{Job, Place, at, everywhere, exactly, over, trial};
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_tester::bed::RealTestBed;
use ringway_tester::ports::RealClock;
use ringway_tester::trial::result::TrialResult;

/// Trials in a row that may be disturbed.
const ATTEMPTS: u32 = 20;

/// Shortest trial of a rate, seconds: 50 ns are a millionth of it.
const SHORTEST: f64 = 0.05;

const RATES: [(u64, &str); 3] = [(10_000, "10 kpps"), (100_000, "100 kpps"), (1_000_000, "1 Mpps")];

/// More single frames a second than a veth takes.
const VETH: u64 = 100_000;

const RATE_ERROR: &str = "deviation of the mean rate, from the first departure to the last, by the benchmark's clock: case clock comes on top. Only \
                          trials in which every frame left: after one that was disturbed comes one of half the length";

const LATENESS: &str =
    "from when a frame is due to when it is handed over, at 1 Mpps; pauses of the sending thread included";

const LATENCY: &str = "from the stamp of departure to that of arrival at 100 kpps: what a device's latency is measured on top of";

/// A figure of a trial.
type Figure = fn(&TrialResult) -> u64;

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let mut cases = vec![
        Case::new("clock", Unit::Ppm)
            .frame(0)
            .note("deviation of the calibrated counter from the kernel's raw monotonic clock")
            .system("ringway-clock", move || clock(bed)),
    ];
    cases.extend(RATES.map(|(pps, variant)| {
        let case = Case::new("rate-error", Unit::Ppm).variant(variant).cores(2).note(RATE_ERROR);
        let places = if pps > VETH { &Place::ALL[..2] } else { &Place::ALL };
        over(places, case, move |place| rate_error(bed, place, pps))
    }));
    let lateness: [(&str, Figure); 3] =
        [("p50", |t| t.lateness.p50_ns), ("p90", |t| t.lateness.p90_ns), ("p99", |t| t.lateness.p99_ns)];
    cases.extend(lateness.map(|(variant, of)| {
        let case = Case::new("lateness", Unit::Ns).variant(variant).cores(2).note(LATENESS);
        everywhere(case, move |place| nanoseconds(bed, place, 1_000_000, of))
    }));
    let latency: [(&str, Figure); 2] = [("p50", |t| t.latency.p50_ns), ("p99", |t| t.latency.p99_ns)];
    cases.extend(latency.map(|(variant, of)| {
        let case = Case::new("latency", Unit::Ns).variant(variant).cores(2).note(LATENCY);
        everywhere(case, move |place| nanoseconds(bed, place, 100_000, of))
    }));
    cases
}

fn clock(bed: Bed<'_>) -> Result<Sample, Fault> {
    let ppm = RealClock::new().deviation_ppm(Duration::from_secs_f64(bed.seconds));
    Ok(Sample::of(ppm.abs()))
}

fn nanoseconds(bed: Bed<'_>, place: Place, pps: u64, of: Figure) -> Result<Sample, Fault> {
    let order = at(pps, bed.seconds).with_latency();
    let job: Job<'_, _> = &|rig| trial(bed, rig, &order);
    place.with(bed, job).map(|trial| Sample::of(of(&trial) as f64))
}

fn rate_error(bed: Bed<'_>, place: Place, pps: u64) -> Result<Sample, Fault> {
    place.with(bed, &|rig| {
        let trial = undisturbed(bed, rig, pps)?;
        Ok(Sample::of((trial.offered_fps / trial.intended_fps - 1.0).abs() * 1e6))
    })
}

/// A trial without a fault.
fn undisturbed(bed: Bed<'_>, rig: &mut RealTestBed, pps: u64) -> Result<TrialResult, Fault> {
    let mut seconds = bed.seconds;
    let mut why = String::new();
    for _ in 0..ATTEMPTS {
        let trial = trial(bed, rig, &exactly(pps, seconds))?;
        let Some(fault) = trial.faults.first() else { return Ok(trial) };
        why = fault.to_string();
        seconds = (seconds / 2.0).max(SHORTEST.min(bed.seconds));
    }
    Err(Fault::Failed(format!("{ATTEMPTS} trials in a row were invalid, the last because {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::tester::place::tried;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn rates_times_and_the_clock_are_measured() {
        let lab = Err(LabError::NotRoot);
        let signals = Signals::new();
        let bed = Bed::new(&lab, 0.01, &signals);
        assert!(clock(bed).unwrap().value < 1000.0);
        assert!(tried(|| nanoseconds(bed, Place::Pipe, 10_000, |t| t.latency.p50_ns)).value > 0.0);
        // However late the 10 frames are, all leave.
        assert!(tried(|| rate_error(bed, Place::Pipe, 1000)).value.is_finite());
        signals.stop();
        assert!(matches!(rate_error(bed, Place::Pipe, 1000), Err(Fault::Failed(_))));
    }
}
