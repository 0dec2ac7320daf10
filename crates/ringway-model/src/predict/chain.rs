//! `A then B` in one thread: from the groups of two devices that were measured apart.

use serde::Serialize;

use crate::fit::errors::{Compared, Errors};
use crate::model::{Costs, Interval, compose};
use crate::sweep::{Measured, Point, Sweep, results};

/// A load under which both devices were measured. Times are nanoseconds of a packet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// The load.
    pub point: Point,
    /// Of the first device alone.
    pub first_ns: f64,
    /// Of the second one alone.
    pub second_ns: f64,
    /// Predicted of both.
    pub predicted_ns: f64,
    /// By group.
    pub groups: Costs,
    /// Measured of both.
    pub measured_ns: Option<Interval>,
    /// Rate predicted / rate measured - 1.
    pub error: Option<f64>,
}

/// What two devices cost, one behind the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chain {
    /// The devices.
    pub devices: [String; 2],
    /// The loads.
    pub points: Vec<Link>,
    /// Errors of the rates, where both were measured in one.
    pub errors: Option<Errors>,
}

/// Predicts `first` then `second` for each load under which both were measured. `both` is the measurement of the two in one device.
///
/// # Errors
/// When one has no groups, or no load in common with the others.
pub fn chain(first: &Sweep, second: &Sweep, both: Option<&Sweep>) -> Result<Chain, String> {
    let (a, b) = (in_groups(first)?, in_groups(second)?);
    let measured = both.map(results);
    let link = |(m, costs): &(Measured, Costs)| {
        let (other, others) = b.iter().find(|(o, _)| is_same_load(&m.point, &o.point))?;
        let groups = compose::then(costs, others);
        let predicted_ns = groups.total();
        // A router has more routes than a bridge.
        let point = if other.point.routes > m.point.routes { other.point } else { m.point };
        let found =
            measured.as_ref().and_then(|all| all.iter().find(|found| is_same_load(&point, &found.point)));
        let measured_ns = found.map(|found| found.ns);
        let error = measured_ns.map(|ns| ns.value / predicted_ns - 1.0);
        Some(Link {
            point,
            first_ns: costs.total(),
            second_ns: others.total(),
            predicted_ns,
            groups,
            measured_ns,
            error,
        })
    };
    let points: Vec<Link> = a.iter().filter_map(link).collect();
    if points.is_empty() {
        return Err("the two sweeps have no load in common: give both the same --over and --values".into());
    }
    let rate = |ns: f64| 1e9 / ns;
    let compared: Vec<Compared> = points
        .iter()
        .filter_map(|p| {
            Some(Compared { predicted: rate(p.predicted_ns), measured: rate(p.measured_ns?.value) })
        })
        .collect();
    if both.is_some() && compared.is_empty() {
        return Err("the measurement of both has no load in common with the two sweeps".into());
    }
    let devices = [first, second].map(|sweep| sweep.spec.device.to_string());
    Ok(Chain { devices, points, errors: Errors::of(&compared) })
}

/// The points of a sweep with nanoseconds by group.
fn in_groups(sweep: &Sweep) -> Result<Vec<(Measured, Costs)>, String> {
    let grouped = |m: Measured| {
        let costs = m.costs.as_ref()?.scaled_to(m.ns.value);
        Some((m, costs))
    };
    let points: Vec<_> = results(sweep).into_iter().filter_map(grouped).collect();
    match points.is_empty() {
        true => Err(format!("the sweep of {} has no groups: measure it with --groups", sweep.spec.device)),
        false => Ok(points),
    }
}

/// Whether two loads differ at most in routes, of which a bridge has none.
fn is_same_load(a: &Point, b: &Point) -> bool {
    let routes = if a.routes == 1 || b.routes == 1 { a.routes } else { b.routes };
    *a == Point { routes, ..*b }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::sweep::Swept;
    use crate::sweep::file::tests::sweep;
    use ringway_tester::dut::DutKind;

    const SIZES: [f64; 2] = [64.0, 1518.0];

    /// A sweep of one device: what a packet costs, and the samples by group.
    fn of(device: DutKind, ns: f64, groups: &[(&str, u64)]) -> Sweep {
        let mut sweep = sweep(Swept::Size, &SIZES.map(|size| (size, ns)));
        sweep.spec.device = device;
        for run in sweep.runs.iter_mut().flatten() {
            run.samples = groups.iter().map(|(group, n)| ((*group).to_owned(), *n)).collect();
        }
        sweep
    }

    /// A bridge, a router, and both in one.
    pub(in crate::predict) fn sweeps() -> [Sweep; 3] {
        [
            of(DutKind::LinuxBridge, 1000.0, &[("RX", 50), ("bridge", 20), ("TX", 30)]),
            of(DutKind::LinuxRouter, 1200.0, &[("RX", 40), ("routing", 50), ("TX", 30)]),
            of(DutKind::LinuxBridgedRouter, 1600.0, &[]),
        ]
    }

    #[test]
    fn a_packet_is_received_and_sent_once() {
        let [bridge, router, both] = sweeps();
        let found = chain(&bridge, &router, Some(&both)).unwrap();
        assert_eq!(found.devices, ["linux-bridge", "linux-router"]);
        assert_eq!(found.points.len(), 2);
        // RX is the larger of 500 and 400; then 200, 500, and TX of 300.
        let link = &found.points[1];
        assert_eq!((link.point.size, link.first_ns, link.second_ns), (1518, 1000.0, 1200.0));
        assert!((link.predicted_ns - 1500.0).abs() < 1e-6, "{link:?}");
        assert!((link.error.unwrap() - (1600.0 / 1500.0 - 1.0)).abs() < 1e-9, "{link:?}");
        assert_eq!(found.errors.unwrap().points, 2);
        let alone = chain(&bridge, &router, None).unwrap();
        assert_eq!((alone.errors, alone.points[0].measured_ns), (None, None));
    }

    #[test]
    fn loads_are_alike_but_for_the_routes_of_a_bridge() {
        let point = |size, routes| Point { size, routes, ..Point::default() };
        assert!(is_same_load(&point(64, 1), &point(64, 1000)));
        assert!(is_same_load(&point(64, 1000), &point(64, 1)));
        assert!(!is_same_load(&point(64, 10), &point(64, 1000)));
        assert!(!is_same_load(&point(64, 1), &point(65, 1)));
    }

    #[test]
    fn sweeps_that_say_nothing_of_both_are_refused_with_the_cure() {
        let [bridge, router, both] = sweeps();
        let refused = |a: &Sweep, b: &Sweep, both: Option<&Sweep>| chain(a, b, both).unwrap_err();
        assert!(refused(&bridge, &both, None).contains("linux-bridged-router has no groups"));
        let mut other = router.clone();
        other.spec.points.iter_mut().for_each(|point| point.burst = 7);
        assert!(refused(&bridge, &other, None).contains("--values"));
        let mut other = both;
        other.spec.points.iter_mut().for_each(|point| point.flows = 7);
        assert!(refused(&bridge, &router, Some(&other)).contains("measurement of both"));
    }
}
