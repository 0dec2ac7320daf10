//! A sweep at work: rounds over all points, outliers again, a stop at any time.

use std::collections::HashMap;
use std::time::Duration;

use ringway_engine::Signals;
use ringway_tester::Fault;

use super::bed::{Bed, Cpus};
use super::measure::{Length, measure};
use super::sampled::sampled;
use crate::group::Groups;
use crate::sweep::run::outliers;
use crate::sweep::{Run, Sweep};

/// More rounds than runs that count, for outliers.
const MORE_ROUNDS: u32 = 2;

/// What a session tells while it measures.
#[derive(Debug)]
pub struct Step<'a> {
    /// Index of the point.
    pub point: usize,
    /// The round.
    pub round: u32,
    /// What was measured.
    pub run: &'a Run,
}

/// Measures what a sweep lacks: each round visits all points that have too few runs that count.
///
/// A sweep that was stopped goes on where it was. `tell` hears of each run, `keep` of each round, so that it can be written down. With `groups` the thread that forwards is
/// sampled.
///
/// # Errors
/// When the device can't be set up, or it fails. What was measured until then is in the sweep.
pub fn run(
    sweep: &mut Sweep,
    groups: Option<&Groups>,
    stop: &Signals,
    mut tell: impl FnMut(&Sweep, &Step<'_>),
    mut keep: impl FnMut(&Sweep) -> Result<(), String>,
) -> Result<(), Fault> {
    let mut beds = Beds { held: HashMap::new(), cpus: cpus(sweep), groups };
    let first = sweep.runs.iter().flatten().map(|r| r.round + 1).max().unwrap_or(0);
    let rounds = sweep.spec.runs.saturating_mul(1 + MORE_ROUNDS).max(1);
    sweep.partial = !complete(sweep);
    for round in first..first.saturating_add(rounds) {
        if stop.stopped() || !sweep.partial {
            break;
        }
        let ended = one_round(sweep, &mut beds, round, stop, &mut tell);
        sweep.partial = !complete(sweep);
        keep(sweep).map_err(Fault::Failed)?;
        // What a stop has broken off is no fault.
        ended.or_else(|e| if stop.stopped() { Ok(()) } else { Err(e) })?;
    }
    Ok(())
}

/// Whether each point has enough runs that count.
fn complete(sweep: &Sweep) -> bool {
    (0..sweep.runs.len()).all(|k| !lacks(sweep, k))
}

/// Whether a point has too few runs that count.
fn lacks(sweep: &Sweep, point: usize) -> bool {
    let runs = &sweep.runs[point];
    (runs.len() - outliers(runs).len()) < sweep.spec.runs as usize
}

fn cpus(sweep: &Sweep) -> Cpus {
    let [generator, device] = sweep.spec.cpus;
    Cpus { generator, device }
}

fn one_round(
    sweep: &mut Sweep,
    beds: &mut Beds<'_>,
    round: u32,
    stop: &Signals,
    tell: &mut impl FnMut(&Sweep, &Step<'_>),
) -> Result<(), Fault> {
    let ms = |n: u32| Duration::from_millis(n.into());
    let length = Length { warm_up: ms(sweep.spec.warm_up_ms), counted: ms(sweep.spec.counted_ms) };
    let n = sweep.runs.len();
    for k in 0..n {
        // Every second round goes backwards: a point does not always follow the same one.
        let k = if round.is_multiple_of(2) { k } else { n - 1 - k };
        if stop.stopped() {
            return Ok(());
        }
        if !lacks(sweep, k) {
            continue;
        }
        let point = sweep.spec.points[k];
        let groups = beds.groups;
        let bed = beds.of(sweep, point.routes)?;
        let run = match groups {
            Some(groups) => sampled(bed, &point, length, stop, groups),
            None => measure(bed, &point, length, stop),
        };
        let Some(run) = run? else { return Ok(()) };
        sweep.runs[k].push(Run { round, ..run });
        if let Some(run) = sweep.runs[k].last() {
            tell(sweep, &Step { point: k, round, run });
        }
    }
    Ok(())
}

/// A device for each number of routes, kept until the sweep ends.
struct Beds<'a> {
    held: HashMap<u32, Bed>,
    cpus: Cpus,
    groups: Option<&'a Groups>,
}

impl Beds<'_> {
    fn of(&mut self, sweep: &Sweep, routes: u32) -> Result<&mut Bed, Fault> {
        let spec = &sweep.spec;
        let routes = if spec.device.is_router() { routes } else { 1 };
        if !self.held.contains_key(&routes) {
            let bed = Bed::new(spec.device, spec.backend, routes, self.cpus)?;
            self.held.insert(routes, bed);
        }
        self.held.get_mut(&routes).ok_or_else(|| Fault::Failed("the device has gone".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Swept;
    use crate::sweep::file::tests::sweep;

    #[test]
    fn points_with_outliers_lack_runs() {
        let mut sizes = sweep(Swept::Size, &[(64.0, 1000.0), (512.0, 1000.0)]);
        assert!(complete(&sizes));
        sizes.runs[1][0].middle_ns = 5000.0;
        assert!(!lacks(&sizes, 0) && lacks(&sizes, 1) && !complete(&sizes));
    }

    #[test]
    fn a_stopped_or_complete_sweep_measures_nothing() {
        let mut sizes = sweep(Swept::Size, &[(64.0, 1000.0)]);
        let never = |_: &Sweep, _: &Step<'_>| panic!("nothing is measured");
        run(&mut sizes, None, &Signals::new(), never, |_| panic!("nothing is new")).unwrap();
        assert!(!sizes.partial);
        sizes.runs[0].clear();
        let stop = Signals::new();
        stop.stop();
        run(&mut sizes, None, &stop, never, |_| panic!("nothing is new")).unwrap();
        assert!(sizes.partial);
    }
}
