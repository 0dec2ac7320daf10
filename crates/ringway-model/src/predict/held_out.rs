//! Predicted against measured.

use serde::Serialize;

use super::Curve;
use crate::fit::errors::{Compared, Errors};
use crate::model::{Caches, Interval};
use crate::sweep::{Measured, Point, Sweep, Swept, results};

/// How a point was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// From points around it, without itself.
    Between,
    /// From points on one side of it only, without itself.
    Beyond,
    /// It is one of the points of the curve.
    Fitted,
}

/// A point with what was predicted and measured, in packets a second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// The load.
    pub point: Point,
    /// How it was predicted.
    pub kind: Kind,
    /// Predicted.
    pub predicted: f64,
    /// Measured.
    pub measured: Interval,
    /// predicted / measured - 1.
    pub error: f64,
}

/// Predictions for a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// What was swept.
    pub swept: Swept,
    /// The curve through all points that it may use, as an equation.
    pub curve: String,
    /// The points.
    pub rows: Vec<Predicted>,
    /// Errors of points between others.
    pub between: Option<Errors>,
    /// Errors of points beyond all others.
    pub beyond: Option<Errors>,
}

/// Predicts each point from all others. Its time is that of the points times the points of a curve, so of thousands of points every `n`th is left
/// out, [`MOST_LEFT_OUT`] in all.
///
/// # Errors
/// When there are too few points.
pub fn leave_one_out(sweep: &Sweep) -> Result<Prediction, String> {
    let found = results(sweep);
    let caches = caches(sweep);
    let step = found.len().div_ceil(MOST_LEFT_OUT).max(1);
    let all: Vec<&Measured> = found.iter().collect();
    let curve = fit(sweep, &all, caches.as_ref())?;
    let row = |k: usize| {
        let others: Vec<&Measured> =
            found.iter().enumerate().filter(|(n, _)| *n != k).map(|(_, m)| m).collect();
        let curve = Curve::fit(sweep.spec.swept, &others, caches.as_ref())?;
        Some(predicted(sweep.spec.swept, &found[k], &curve, kind(sweep.spec.swept, &found[k], &others)))
    };
    let rows: Vec<Predicted> = (0..found.len()).step_by(step).filter_map(row).collect();
    if rows.is_empty() {
        return Err(few(sweep));
    }
    Ok(prediction(sweep, &curve, rows))
}

/// Predicts all points from those with some values.
///
/// # Errors
/// When no point has such a value, or these are too few.
pub fn from_part(sweep: &Sweep, values: &[f64]) -> Result<Prediction, String> {
    let (swept, found, caches) = (sweep.spec.swept, results(sweep), caches(sweep));
    let near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-3 * b.abs();
    let is_part = |m: &Measured| values.iter().any(|&v| near(swept.of(&m.point), v));
    let part: Vec<&Measured> = found.iter().filter(|m| is_part(m)).collect();
    let curve = fit(sweep, &part, caches.as_ref())?;
    let row = |m: &Measured| {
        let how = if is_part(m) { Kind::Fitted } else { kind(swept, m, &part) };
        predicted(swept, m, &curve, how)
    };
    let rows = found.iter().map(row).collect();
    Ok(prediction(sweep, &curve, rows))
}

/// Predicts loads that were not measured, with a whole core: packets a second.
///
/// # Errors
/// When there are too few points.
pub fn at(sweep: &Sweep, values: &[f64]) -> Result<Vec<(Point, f64)>, String> {
    let found = results(sweep);
    let curve = fit(sweep, &found.iter().collect::<Vec<_>>(), caches(sweep).as_ref())?;
    let plain = sweep.spec.points.first().copied().unwrap_or_default();
    let tied = sweep.spec.points.iter().all(|p| p.routes == p.flows);
    let point = |value: f64| {
        let point = sweep.spec.swept.with(&plain, value);
        let routes = if tied && sweep.spec.swept == Swept::Flows { point.flows } else { point.routes };
        Point { routes, ..point }
    };
    Ok(values.iter().map(|&v| point(v)).map(|p| (p, curve.pps(&p, 1.0))).collect())
}

/// Most points that are left out in turn.
pub const MOST_LEFT_OUT: usize = 100;

/// The caches of the machine, with latencies in nanoseconds that are usual.
fn caches(sweep: &Sweep) -> Option<Caches> {
    Some(Caches::usual(&sweep.caches).ok()?.times(1.0 / sweep.clock.ticks_per_ns()))
}

fn fit(sweep: &Sweep, points: &[&Measured], caches: Option<&Caches>) -> Result<Curve, String> {
    Curve::fit(sweep.spec.swept, points, caches).ok_or_else(|| few(sweep))
}

fn few(sweep: &Sweep) -> String {
    let more = match sweep.spec.swept {
        Swept::Rate => "one above the maximum rate",
        Swept::Flows | Swept::Routes => "one with several flows",
        Swept::Size | Swept::Burst => "two with different values",
    };
    format!(
        "too few points of this sweep over {} are measured: a curve needs at least {more}",
        sweep.spec.swept
    )
}

fn kind(swept: Swept, m: &Measured, others: &[&Measured]) -> Kind {
    let value = swept.of(&m.point);
    let below = others.iter().any(|o| swept.of(&o.point) <= value);
    let above = others.iter().any(|o| swept.of(&o.point) >= value);
    if below && above { Kind::Between } else { Kind::Beyond }
}

fn predicted(swept: Swept, m: &Measured, curve: &Curve, kind: Kind) -> Predicted {
    // What was offered in fact, and the share of the core that the thread had.
    let point = Point { offered: m.point.offered.map(|_| m.offered_pps), ..m.point };
    let measured = if swept == Swept::Rate { m.passed_pps } else { m.max_pps() };
    let predicted = curve.pps(&point, m.share);
    let error = Compared { predicted, measured: measured.value }.relative();
    Predicted { point: m.point, kind, predicted, measured, error }
}

fn prediction(sweep: &Sweep, curve: &Curve, rows: Vec<Predicted>) -> Prediction {
    let errors = |kind: Kind| {
        let of = rows.iter().filter(|r| r.kind == kind);
        let all: Vec<_> =
            of.map(|r| Compared { predicted: r.predicted, measured: r.measured.value }).collect();
        Errors::of(&all)
    };
    Prediction {
        swept: sweep.spec.swept,
        curve: curve.describe(),
        between: errors(Kind::Between),
        beyond: errors(Kind::Beyond),
        rows,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sweep::file::tests::sweep;

    const SIZES: [(f64, f64); 5] =
        [(64.0, 1032.0), (128.0, 1064.0), (512.0, 1256.0), (1024.0, 1512.0), (1518.0, 1759.0)];

    #[test]
    fn sizes_of_a_known_truth_are_predicted_without_error() {
        let found = leave_one_out(&sweep(Swept::Size, &SIZES)).unwrap();
        let kinds: Vec<Kind> = found.rows.iter().map(|r| r.kind).collect();
        assert_eq!(kinds, [Kind::Beyond, Kind::Between, Kind::Between, Kind::Between, Kind::Beyond]);
        assert!(found.rows.iter().all(|r| r.error.abs() < 1e-9), "{found:?}");
        assert_eq!((found.between.unwrap().points, found.beyond.unwrap().points), (3, 2));
    }

    #[test]
    fn a_part_predicts_the_rest_and_values_that_were_not_measured() {
        let mut sizes = SIZES;
        sizes[2].1 *= 1.1;
        let found = from_part(&sweep(Swept::Size, &sizes), &[64.0, 1518.0]).unwrap();
        assert_eq!(found.rows.iter().filter(|r| r.kind == Kind::Fitted).count(), 2);
        assert!((found.between.unwrap().worst - 0.1).abs() < 1e-9, "{found:?}");
        assert_eq!(found.beyond, None);
        let at = at(&sweep(Swept::Size, &SIZES), &[256.0]).unwrap();
        assert!((at[0].0.size, (at[0].1 - 1e9 / 1128.0).abs() < 1e-3) == (256, true));
    }

    #[test]
    fn too_few_points_are_refused_with_the_cure() {
        let e = leave_one_out(&sweep(Swept::Size, &SIZES[..1])).unwrap_err();
        assert!(e.contains("at least two with different values"), "{e}");
        assert!(from_part(&sweep(Swept::Size, &SIZES), &[99.0]).is_err());
        assert!(at(&sweep(Swept::Rate, &[(1e5, 1000.0)]), &[1e6]).unwrap_err().contains("above the maximum"));
    }

    #[test]
    fn thousands_of_points_take_no_longer_than_sorting_them() {
        let points: Vec<(f64, f64)> =
            (0..8000).map(|k| (64.0 + f64::from(k % 1400), 1000.0 + f64::from(k % 1400))).collect();
        let found = leave_one_out(&sweep(Swept::Size, &points)).unwrap();
        assert!(found.rows.len() <= MOST_LEFT_OUT && found.between.unwrap().worst < 1e-6);
    }

    #[test]
    fn rates_with_overload_are_predicted() {
        let mut rates = sweep(Swept::Rate, &[2e5, 5e5, 9e5, 1.2e6, 1.5e6, 2e6].map(|r| (r, 1000.0)));
        let truth = crate::model::Overload { packet: 1000.0, dropped: 150.0 };
        for (runs, point) in rates.runs.iter_mut().zip(&rates.spec.points) {
            for run in runs {
                let offered = point.offered.unwrap();
                (run.offered, run.passed) = (offered as u64, truth.out(offered, 0.8e9) as u64);
                // The thread had 80 % of its core.
                (run.run_ns, run.wait_ns) = (800_000_000, 200_000_000);
            }
        }
        let found = leave_one_out(&rates).unwrap();
        assert!(found.rows.iter().all(|r| r.error.abs() < 0.02), "{found:?}");
        assert!(found.curve.contains("a packet too many costs 150"), "{}", found.curve);
    }
}
