//! What a sweep says of its points: medians with 95 % intervals over the runs that count.

use serde::Serialize;

use super::run::outliers;
use super::{Point, Run, Sweep};
use crate::fit::{blocks, median};
use crate::model::{Costs, Interval};

/// A point with what was measured there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// The load.
    pub point: Point,
    /// Nanoseconds of the thread a packet, without what its rounds had in common with all points.
    pub ns: Interval,
    /// Packets a second that came out.
    pub passed_pps: Interval,
    /// Packets a second offered.
    pub offered_pps: f64,
    /// How busy the thread was, 0 to 1.
    pub load: f64,
    /// Of the time that the thread wanted it had so much, 0 to 1.
    pub share: f64,
    /// Packets a wake-up of the thread.
    pub batch: f64,
    /// Runs that count.
    pub runs: usize,
    /// Runs that do not.
    pub outliers: usize,
    /// Ticks a packet by group, where the thread was sampled.
    pub costs: Option<Costs>,
}

impl Measured {
    /// (1): packets a second of a core that does nothing else.
    #[must_use]
    pub fn max_pps(&self) -> Interval {
        let pps = |ns: f64| 1e9 / ns;
        Interval { value: pps(self.ns.value), low: pps(self.ns.high), high: pps(self.ns.low) }
    }
}

/// Whether rounds of a machine that others share are made comparable. With fewer points a round says nothing of the machine.
const ENOUGH_POINTS: usize = 4;

/// The points of a sweep in its order. A point without a run that counts has what its other runs say, and zero runs; one without any is left out. The time is that of sorting the runs.
#[must_use]
pub fn results(sweep: &Sweep) -> Vec<Measured> {
    let good: Vec<Vec<&Run>> = sweep.runs.iter().map(|runs| counted(runs)).collect();
    let or_all = |k: usize| match good[k].is_empty() {
        true => sweep.runs[k].iter().filter(|run| run.passed > 0).collect(),
        false => good[k].clone(),
    };
    let factors = factors(&good);
    let of = |k: usize| {
        let measured = of_point(&sweep.spec.points[k], &or_all(k), &factors, sweep.clock.ticks_per_ns())?;
        let runs = good[k].len();
        Some(Measured { runs, outliers: sweep.runs[k].len() - runs, ..measured })
    };
    (0..good.len()).filter_map(of).collect()
}

/// Runs that are no outliers.
fn counted(runs: &[Run]) -> Vec<&Run> {
    let bad = outliers(runs);
    let is_bad = |k: &usize| bad.binary_search(k).is_ok();
    runs.iter().enumerate().filter(|(k, _)| !is_bad(k)).map(|(_, run)| run).collect()
}

/// What each round has in common, as a factor of its costs.
fn factors(points: &[Vec<&Run>]) -> Vec<f64> {
    let rounds = points.iter().flatten().map(|r| r.round as usize + 1).max().unwrap_or(0);
    // A round of a hostile file may have any number.
    let runs: usize = points.iter().map(Vec::len).sum();
    if points.len() < ENOUGH_POINTS || rounds > runs {
        return Vec::new();
    }
    let mut table: Vec<Vec<(usize, f64)>> = vec![Vec::new(); rounds];
    for (k, point) in points.iter().enumerate() {
        for run in point {
            table[run.round as usize].extend(run.ns().map(|ns| (k, ns)));
        }
    }
    let complete = table.iter().map(|round| if round.len() * 2 > points.len() { &round[..] } else { &[] });
    blocks::factors(&complete.map(<[_]>::to_vec).collect::<Vec<_>>())
}

fn of_point(point: &Point, runs: &[&Run], factors: &[f64], ticks_per_ns: f64) -> Option<Measured> {
    let factor = |run: &Run| factors.get(run.round as usize).copied().unwrap_or(1.0);
    let costs: Vec<f64> = runs.iter().filter_map(|run| Some(run.ns()? / factor(run))).collect();
    let ns = Interval::median(&costs)?;
    let middle = |of: fn(&Run) -> f64| median(runs.iter().map(|run| of(run)).collect()).unwrap_or(0.0);
    let passed: Vec<f64> = runs.iter().map(|run| run.passed_pps()).collect();
    Some(Measured {
        point: *point,
        ns,
        passed_pps: Interval::median(&passed)?,
        offered_pps: middle(Run::offered_pps),
        load: middle(Run::load),
        share: middle(Run::share),
        batch: middle(Run::batch),
        runs: 0,
        outliers: 0,
        costs: groups(runs, ns.value * ticks_per_ns),
    })
}

/// The total by the samples of all runs.
fn groups(runs: &[&Run], total: f64) -> Option<Costs> {
    let mut samples: Vec<(String, u64)> = Vec::new();
    for (group, n) in runs.iter().flat_map(|run| &run.samples) {
        match samples.iter_mut().find(|s| s.0 == *group) {
            Some(known) => known.1 += n,
            None => samples.push((group.clone(), *n)),
        }
    }
    samples.iter().any(|s| s.1 > 0).then(|| Costs::of_samples(total, samples))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file::tests::sweep;
    use crate::sweep::spec::Swept;

    const SIZES: [(f64, f64); 5] =
        [(64.0, 1000.0), (128.0, 1010.0), (512.0, 1030.0), (1024.0, 1060.0), (1518.0, 1100.0)];

    #[test]
    fn outliers_do_not_count_and_rounds_are_made_alike() {
        let mut sizes = sweep(Swept::Size, &SIZES);
        // One round is slower as a whole, and one run by itself.
        for runs in &mut sizes.runs {
            runs[2].middle_ns *= 1.15;
        }
        sizes.runs[3][4].middle_ns *= 1.5;
        let results = results(&sizes);
        for (m, (size, ns)) in results.iter().zip(SIZES) {
            assert_eq!(f64::from(m.point.size), size);
            assert!((m.ns.value - ns).abs() < 1e-6 && m.ns.half() < 1e-6, "{m:?}");
        }
        assert_eq!((results[3].runs, results[3].outliers, results[0].runs), (4, 1, 5));
        assert!((results[0].max_pps().value - 1e6).abs() < 1.0);
    }

    #[test]
    fn groups_share_the_total_and_points_without_runs_are_left_out() {
        let mut sizes = sweep(Swept::Size, &SIZES[..2]);
        sizes.runs[0][0].samples = vec![("RX".into(), 10), ("TX".into(), 20)];
        sizes.runs[0][1].samples = vec![("RX".into(), 10)];
        sizes.runs[1].clear();
        let results = results(&sizes);
        assert_eq!(results.len(), 1);
        // Disturbed runs are better than none, and are marked.
        let starved = Run { wait_ns: u64::from(u32::MAX), ..sizes.runs[0][2].clone() };
        sizes.runs[1].push(starved);
        let disturbed = super::results(&sizes);
        assert_eq!((disturbed[1].runs, disturbed[1].outliers, disturbed[1].ns.value), (0, 1, 1000.0));
        let costs = results[0].costs.clone().unwrap();
        assert_eq!((costs.total(), costs.get("TX")), (2000.0, Some(1000.0)));
    }

    #[test]
    fn any_number_of_a_round_is_borne() {
        let mut sizes = sweep(Swept::Size, &SIZES);
        sizes.runs[0][0].round = u32::MAX;
        assert_eq!(results(&sizes).len(), 5);
    }
}
