//! Flows and routes: caches, and packets that repeat the flow before them.
//!
//! A packet of the same flow as the one before it costs less: kernels reuse its route, and all that it touches is in the nearest cache. The order of
//! packets says how often that happens, so its part stands apart from the lookups.

use serde::Serialize;

use crate::fit::monotone::Rising;
use crate::model::{Caches, Lookup};
use crate::sweep::{Measured, Point, Swept};

/// Nanoseconds a packet, by working set and order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowCurve {
    swept: Swept,
    /// Nanoseconds of a packet that repeats the flow before it, where that was measured.
    repeat_ns: Option<f64>,
    /// The lookup that fits all other packets, where it says more than their neighbours do.
    lookup: Option<Lookup>,
    #[serde(skip)]
    caches: Option<Caches>,
    /// Over working sets in powers of two: nanoseconds that never fall; with a lookup, what is measured as a factor of its cost.
    shape: Shape,
}

/// What is left to interpolate.
#[derive(Debug, Clone, PartialEq, Serialize)]
enum Shape {
    #[serde(skip)]
    Rising(Rising),
    Factors(Vec<(f64, f64)>),
}

/// Above this part of packets that repeat a flow a point says too little of the others.
const REPEATS: f64 = 0.9;

/// Points from which on two ways to interpolate are tried against each other; most points that are left out for that.
const TRIED: std::ops::RangeInclusive<usize> = 5..=32;

impl FlowCurve {
    /// The curve through measurements; `None` without a point of several flows.
    pub(super) fn fit(swept: Swept, points: &[&Measured], caches: Option<&Caches>) -> Option<Self> {
        let single: Vec<f64> =
            points.iter().filter(|m| m.point.repeats() == 1.0).map(|m| m.ns.value).collect();
        let repeat_ns = if swept == Swept::Flows { crate::fit::median(single) } else { None };
        let seen = points.iter().filter(|m| swept == Swept::Routes || m.point.repeats() < REPEATS);
        let sets: Vec<(f64, f64)> = seen
            .map(|m| (entries(swept, &m.point), without_repeats(repeat_ns, &m.point, m.ns.value)))
            .collect();
        let plain = Self { swept, repeat_ns, lookup: None, caches: None, shape: rising(&sets)? };
        let Some(caches) = caches else { return Some(plain) };
        let with = Self::with_lookup(&plain, caches, &sets);
        Some(with.filter(|_| lookup_is_better(caches, &sets)).unwrap_or(plain))
    }

    /// The same with a lookup.
    fn with_lookup(plain: &Self, caches: &Caches, sets: &[(f64, f64)]) -> Option<Self> {
        let lookup = Lookup::fit(caches, sets)?;
        let shape = factors(&lookup, caches, sets);
        Some(Self { lookup: Some(lookup), caches: Some(caches.clone()), shape, ..plain.clone() })
    }

    /// Nanoseconds a packet.
    pub(super) fn ns(&self, point: &Point) -> f64 {
        let lookups = self.at(entries(self.swept, point));
        match self.repeat_ns.filter(|_| self.swept == Swept::Flows) {
            Some(repeat) => point.repeats() * repeat + (1.0 - point.repeats()) * lookups,
            None => lookups,
        }
    }

    /// Nanoseconds of packets that repeat no flow.
    fn at(&self, entries: f64) -> f64 {
        match (&self.shape, &self.lookup, &self.caches) {
            (Shape::Factors(factors), Some(lookup), Some(caches)) => {
                lookup.at(caches, entries) * between(factors, entries.log2())
            }
            (Shape::Factors(factors), ..) => between(factors, entries.log2()),
            (Shape::Rising(curve), ..) => curve.beyond(entries.log2()),
        }
        .max(1.0)
    }

    /// The curve as an equation.
    pub(super) fn describe(&self) -> String {
        let lookup = self.lookup.map_or("a curve that never falls over log2 of the working set".to_owned(), |l| {
            format!(
                "{:.1} ns + {:.2} accesses x latency of a set of {:.0} bytes an entry, and what is left interpolated",
                l.base, l.accesses, l.entry
            )
        });
        match self.repeat_ns {
            Some(ns) => format!("C = {ns:.1} ns for packets of the flow before them, for others {lookup}"),
            None => format!("C = {lookup}"),
        }
    }
}

/// Entries among which an unpredictable packet chooses.
fn entries(swept: Swept, point: &Point) -> f64 {
    let entries = if swept == Swept::Routes { f64::from(point.routes) } else { point.spread() };
    entries.max(1.0)
}

/// Nanoseconds of the packets that repeat no flow.
fn without_repeats(repeat_ns: Option<f64>, point: &Point, ns: f64) -> f64 {
    match (repeat_ns, point.repeats()) {
        (Some(repeat), part) if part < REPEATS => ((ns - part * repeat) / (1.0 - part)).max(1.0),
        _ => ns,
    }
}

fn rising(sets: &[(f64, f64)]) -> Option<Shape> {
    let points: Vec<(f64, f64)> = sets.iter().map(|&(entries, ns)| (entries.log2(), ns)).collect();
    Rising::fit(&points).map(Shape::Rising)
}

fn factors(lookup: &Lookup, caches: &Caches, sets: &[(f64, f64)]) -> Shape {
    let factor = |&(entries, ns): &(f64, f64)| (entries.log2(), ns / lookup.at(caches, entries).max(1.0));
    let mut factors: Vec<(f64, f64)> = sets.iter().map(factor).collect();
    factors.sort_by(|a, b| a.0.total_cmp(&b.0));
    Shape::Factors(factors)
}

/// Whether a lookup predicts points that are left out better than their neighbours alone.
fn lookup_is_better(caches: &Caches, sets: &[(f64, f64)]) -> bool {
    if sets.len() < *TRIED.start() {
        return false;
    }
    let step = sets.len().div_ceil(*TRIED.end());
    let plain = |sets: &[(f64, f64)]| {
        let shape = rising(sets)?;
        Some(FlowCurve { swept: Swept::Routes, repeat_ns: None, lookup: None, caches: None, shape })
    };
    let (mut alone, mut with) = (0.0, 0.0);
    for k in (0..sets.len()).step_by(step) {
        let others: Vec<(f64, f64)> =
            sets.iter().enumerate().filter(|(n, _)| *n != k).map(|(_, s)| *s).collect();
        let Some(curve) = plain(&others) else { return false };
        let Some(looked_up) = FlowCurve::with_lookup(&curve, caches, &others) else { return false };
        let error = |curve: &FlowCurve| (curve.at(sets[k].0) / sets[k].1 - 1.0).abs();
        alone += error(&curve);
        with += error(&looked_up);
    }
    with < alone
}

/// The height between two neighbours in order; beyond the ends that of the end.
fn between(points: &[(f64, f64)], place: f64) -> f64 {
    let after = points.partition_point(|p| p.0 < place);
    match (after.checked_sub(1).and_then(|k| points.get(k)), points.get(after)) {
        (Some(&(x0, y0)), Some(&(x1, y1))) if x1 > x0 => y0 + (y1 - y0) * (place - x0) / (x1 - x0),
        (_, Some(next)) => next.1,
        (Some(last), None) => last.1,
        (None, None) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file::tests::sweep;
    use crate::sweep::results;
    use ringway_tester::trial::flow::FlowOrder;

    const FLOWS: [f64; 8] = [1.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0];

    fn caches() -> Caches {
        Caches::usual(&[32_768.0, 1_048_576.0, 33_554_432.0]).unwrap()
    }

    #[test]
    fn a_known_truth_is_predicted_between_the_knees() {
        let (caches, truth) = (caches(), Lookup { base: 900.0, accesses: 4.0, entry: 100.0 });
        let mut flows = sweep(Swept::Flows, &FLOWS.map(|n| (n, truth.at(&caches, n))));
        flows.spec.points.iter_mut().for_each(|p| p.order = FlowOrder::Random);
        for runs in &mut flows.runs[0] {
            runs.middle_ns = 700.0;
        }
        let found = results(&flows);
        for left_out in 2..7 {
            let others: Vec<_> =
                found.iter().enumerate().filter(|(k, _)| *k != left_out).map(|(_, m)| m).collect();
            let curve = FlowCurve::fit(Swept::Flows, &others, Some(&caches)).unwrap();
            let (predicted, measured) = (curve.ns(&found[left_out].point), found[left_out].ns.value);
            assert!((predicted / measured - 1.0).abs() < 0.03, "{left_out}: {predicted} {measured}");
        }
        let all: Vec<_> = found.iter().collect();
        let curve = FlowCurve::fit(Swept::Flows, &all, Some(&caches)).unwrap();
        assert!((curve.ns(&found[0].point) - 700.0).abs() < 1e-6);
        // Of two flows in random order every second packet repeats the one before it.
        let two = curve.ns(&Point { flows: 2, order: FlowOrder::Random, ..Point::default() });
        assert!((750.0..860.0).contains(&two), "{two}");
        assert!(curve.describe().contains("700.0 ns for packets of the flow before them"));
    }

    #[test]
    fn without_caches_neighbours_say_what_lies_between() {
        let routes = sweep(Swept::Routes, &[(1.0, 100.0), (16.0, 300.0)]);
        let found = results(&routes);
        let curve = FlowCurve::fit(Swept::Routes, &found.iter().collect::<Vec<_>>(), None).unwrap();
        let at = |routes| curve.ns(&Point { routes, ..Point::default() });
        assert_eq!([at(1), at(4), at(16), at(256)].map(f64::round), [100.0, 200.0, 300.0, 500.0]);
    }
}
