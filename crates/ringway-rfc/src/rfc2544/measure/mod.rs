//! The tests: which trials they run, and what follows from them.

mod back_to_back;
mod burst;
mod latency;
mod loss;
mod recovery;
mod reset;
mod spread;
#[cfg(test)]
mod tests;
mod throughput;
mod variants;

use serde::{Deserialize, Serialize};

pub use back_to_back::BackToBack;
pub use burst::Burst;
pub use latency::{Latency, LatencyAt};
pub use loss::{Loss, LossAt};
pub use recovery::Recovery;
pub use reset::Reset;
pub use spread::Spread;
pub use throughput::Throughput;
pub use variants::{Varied, run_all};

use super::session::Session;
use super::settings::{Settings, Test};
use super::updates::SETTLE_PS;
use crate::benchmark::stop::Stop;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::variant::{Modifier, Variant};

/// A frame size whose result is not there, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Test.
    pub test: Test,
    /// Sizes.
    pub size: Mix,
    /// Why.
    pub reason: String,
}

/// What all tests found, one entry for each frame size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// RFC 2544, 26.1.
    pub throughput: Vec<Throughput>,
    /// 26.2 and RFC 8219.
    pub latency: Vec<Latency>,
    /// 26.3.
    pub loss: Vec<Loss>,
    /// 26.4 and RFC 9004.
    pub back_to_back: Vec<BackToBack>,
    /// Bursts of a fixed length.
    pub burst: Vec<Burst>,
    /// 26.5.
    pub recovery: Vec<Recovery>,
    /// 26.6 and RFC 6201.
    pub reset: Vec<Reset>,
    /// What is not there.
    pub missing: Vec<Missing>,
}

impl Results {
    /// Whether the tester was at its limit in some of it.
    #[must_use]
    pub fn limited(&self) -> bool {
        let lossy = self.loss.iter().flat_map(|l| &l.loads).any(|at| at.limited);
        lossy || self.throughput.iter().any(|t| t.limited)
    }

    /// These tests have no result at this size.
    fn miss(&mut self, tests: &[Test], size: &Mix, reason: &str) {
        let missing = |&test: &Test| Missing { test, size: size.clone(), reason: reason.to_owned() };
        self.missing.extend(tests.iter().map(missing));
    }
}

/// Runs the tests of the settings, size by size. What is done stays in `results`, also when it ends early.
///
/// # Errors
/// When the user ends it, a port fails or the journal can't be written. A size whose trials stay invalid is noted in
/// `results` and left out.
pub fn run(session: &mut Session<'_>, results: &mut Results) -> Result<(), Stop> {
    let settings = session.settings();
    let wants = |test| settings.tests.contains(&test);
    let sizes = session.variant().sizes(&settings.sizes);
    for (k, size) in sizes.iter().enumerate() {
        let size = match size {
            Ok(size) => size,
            Err((size, reason)) => {
                results.miss(&settings.tests, size, reason);
                continue;
            }
        };
        if wants(Test::Burst) {
            keep(burst::run(session, size), Test::Burst, size, &mut results.missing, &mut results.burst)?;
        }
        if wants(Test::Loss) {
            keep(loss::run(session, size), Test::Loss, size, &mut results.missing, &mut results.loss)?;
        }
        let needs = [Test::Throughput, Test::Latency, Test::BackToBack, Test::Recovery];
        let needed = needs.into_iter().any(wants) || (wants(Test::Reset) && k == 0);
        if !needed {
            continue;
        }
        let found = throughput::run(session, size);
        keep(found, Test::Throughput, size, &mut results.missing, &mut results.throughput)?;
        let throughput = results.throughput.last().filter(|t| t.size == *size);
        let Some((load, limited)) = throughput.and_then(|t| Some((t.load?, t.limited))) else {
            let skipped = |t: &Test| needs[1..].contains(t) || (*t == Test::Reset && k == 0);
            let skipped: Vec<Test> = settings.tests.iter().copied().filter(skipped).collect();
            results.miss(&skipped, size, "there is no throughput to measure at");
            continue;
        };
        dependent(session, size, (load, limited), k == 0, results)?;
    }
    Ok(())
}

/// Tests that need the throughput: a load, and whether the tester was the limit.
fn dependent(
    session: &mut Session<'_>,
    size: &Mix,
    (load, limited): (Load, bool),
    first: bool,
    results: &mut Results,
) -> Result<(), Stop> {
    let settings = session.settings();
    let wants = |test| settings.tests.contains(&test);
    let missing = &mut results.missing;
    if wants(Test::Latency) {
        keep(latency::run(session, size, load, limited), Test::Latency, size, missing, &mut results.latency)?;
    }
    if wants(Test::BackToBack) {
        keep(
            back_to_back::run(session, size, load),
            Test::BackToBack,
            size,
            missing,
            &mut results.back_to_back,
        )?;
    }
    if wants(Test::Recovery) {
        keep(recovery::run(session, size, load), Test::Recovery, size, missing, &mut results.recovery)?;
    }
    if wants(Test::Reset) && first {
        keep(reset::run(session, size, load), Test::Reset, size, missing, &mut results.reset)?;
    }
    Ok(())
}

/// Keeps a result. One that was invalid is noted; everything else ends the run.
fn keep<T>(
    result: Result<T, Stop>,
    test: Test,
    size: &Mix,
    missing: &mut Vec<Missing>,
    kept: &mut Vec<T>,
) -> Result<(), Stop> {
    match result {
        Ok(result) => kept.push(result),
        Err(Stop::Unreliable(reason)) => missing.push(Missing { test, size: size.clone(), reason }),
        Err(stop) => return Err(stop),
    }
    Ok(())
}

/// Trials that a benchmark is expected to run, also for variants, and how long they take with waits and
/// pauses, picoseconds.
#[must_use]
pub fn estimate(settings: &Settings) -> (u64, u64) {
    let each = settings.trials.wait_ps + settings.trials.pause_ps;
    let halvings = |range: u64, step: u64| u64::from((range / step.max(1)).max(1).ilog2()) + 1;
    let goal = settings.trials.search.goals.first().map_or(settings.trials.trial_ps, |g| g.final_ps);
    let wants = |test| settings.tests.contains(&test);
    let (mut trials, mut time) = (0, 0);
    let mut add = |n: u64, length: u64| {
        trials += n;
        time += n * (length + each);
    };
    let searching = [Test::Throughput, Test::Latency, Test::BackToBack, Test::Recovery];
    for (k, size) in settings.sizes.iter().enumerate() {
        if wants(Test::Burst) {
            add(1, settings.burst_ps);
        }
        if wants(Test::Loss) {
            add(
                (1_000_000 / u64::from(settings.loss_step.0.max(1))).min(1000) / 2 + 2,
                settings.trials.trial_ps,
            );
        }
        if searching.into_iter().any(wants) || (wants(Test::Reset) && k == 0) {
            add(
                halvings(1_000_000, settings.trials.search.resolution.0.into()),
                settings.trials.search.short_ps,
            );
            add(1, goal);
        }
        if wants(Test::Latency) {
            let loads = settings.latency_loads.len() as u64;
            add(loads.saturating_sub(1) + u64::from(settings.latency_repeats), settings.latency_ps);
        }
        if wants(Test::BackToBack) {
            let most = settings.trials.maximum.rate(size).frames_in(settings.burst_limit_ps);
            add(
                halvings(most, settings.burst_step) * u64::from(settings.burst_repeats),
                settings.burst_limit_ps / 4,
            );
        }
        if wants(Test::Recovery) {
            add(settings.recovery_repeats.into(), 2 * settings.trials.trial_ps);
        }
    }
    if wants(Test::Reset) {
        add(1, settings.reset_ps);
    }
    let settling = |v: &&Variant| matches!(v.modifier, Some(Modifier::Routes(_)));
    let settle_ps = SETTLE_PS * settings.variants.iter().filter(settling).count() as u64;
    let runs = 1 + settings.variants.len() as u64;
    (trials * runs, time * runs + trials * settle_ps)
}
