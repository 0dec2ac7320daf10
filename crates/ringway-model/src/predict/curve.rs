//! The curve of each kind of sweep.

use serde::Serialize;

use super::flows::FlowCurve;
use crate::fit::line::{self, Line};
use crate::model::overload::{Loaded, Overload};
use crate::model::{BatchCost, Caches};
use crate::sweep::{Measured, Point, Swept};

/// What a device costs, or lets pass, at any value of what was swept.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Curve {
    /// Nanoseconds grow with the bytes of a frame.
    Size(Bytes),
    /// Nanoseconds grow with the working set.
    Flows(FlowCurve),
    /// Packets pass up to a maximum.
    Rate(Overload),
    /// The cost of a burst is shared by its packets.
    Burst(BatchCost),
}

/// Nanoseconds a packet, and for each byte of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bytes {
    /// Of a packet without bytes.
    pub packet_ns: f64,
    /// Of a byte.
    pub byte_ns: f64,
}

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;

impl Curve {
    /// The curve through measurements; `None` when they are too few for it.
    #[must_use]
    pub fn fit(swept: Swept, points: &[&Measured], caches: Option<&Caches>) -> Option<Self> {
        match swept {
            Swept::Size => {
                let Line { base, slope } = line::weighted(&pairs(points, |m| f64::from(m.point.size)))?;
                Some(Self::Size(Bytes { packet_ns: base, byte_ns: slope }))
            }
            Swept::Flows | Swept::Routes => FlowCurve::fit(swept, points, caches).map(Self::Flows),
            Swept::Rate => {
                Overload::fit(&points.iter().map(|m| loaded(m)).collect::<Vec<_>>()).map(Self::Rate)
            }
            Swept::Burst => BatchCost::fit(&pairs(points, |m| f64::from(m.point.burst))).map(Self::Burst),
        }
    }

    /// Nanoseconds a packet at a load that fills the core.
    #[must_use]
    pub fn ns(&self, point: &Point) -> f64 {
        match self {
            Self::Size(bytes) => bytes.packet_ns + bytes.byte_ns * f64::from(point.size),
            Self::Flows(curve) => curve.ns(point),
            Self::Rate(overload) => overload.packet,
            Self::Burst(cost) => cost.at(f64::from(point.burst)),
        }
    }

    /// Packets a second: of a sweep of rates what comes out with this share of a core, of all others what a core can do.
    #[must_use]
    pub fn pps(&self, point: &Point, share: f64) -> f64 {
        match (self, point.offered) {
            (Self::Rate(overload), Some(offered)) => overload.out(offered, share * SECOND),
            (Self::Rate(overload), None) => overload.most(share * SECOND),
            _ => SECOND / self.ns(point),
        }
    }

    /// The curve as an equation.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Size(b) => format!("C = {:.1} ns + {:.4} ns x bytes", b.packet_ns, b.byte_ns),
            Self::Flows(curve) => curve.describe(),
            Self::Rate(o) => format!(
                "out = min(in, R_max), R_max = 1 s / {:.1} ns; a packet too many costs {:.1} ns",
                o.packet, o.dropped
            ),
            Self::Burst(c) => format!("C = {:.1} ns + {:.1} ns / burst", c.packet, c.batch),
        }
    }
}

/// Values and costs.
fn pairs(points: &[&Measured], value: impl Fn(&Measured) -> f64) -> Vec<(f64, f64)> {
    points.iter().map(|m| (value(m), m.ns.value)).collect()
}

fn loaded(m: &Measured) -> Loaded {
    Loaded { offered: m.offered_pps, out: m.passed_pps.value, available: m.share * SECOND }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file::tests::sweep;
    use crate::sweep::results;

    fn fitted(swept: Swept, points: &[(f64, f64)]) -> Curve {
        let found = results(&sweep(swept, points));
        Curve::fit(swept, &found.iter().collect::<Vec<_>>(), None).unwrap()
    }

    #[test]
    fn sizes_and_bursts_follow_their_equations() {
        let sizes = fitted(Swept::Size, &[(64.0, 1032.0), (512.0, 1256.0), (1518.0, 1759.0)]);
        let at = |size| sizes.ns(&Point { size, ..Point::default() });
        assert!((at(1024) - 1512.0).abs() < 1e-6);
        assert!((sizes.pps(&Point { size: 1024, ..Point::default() }, 1.0) - 1e9 / 1512.0).abs() < 1e-3);
        assert_eq!(sizes.describe(), "C = 1000.0 ns + 0.5000 ns x bytes");
        let bursts = fitted(Swept::Burst, &[(1.0, 1100.0), (4.0, 1025.0), (64.0, 1001.5625)]);
        assert!((bursts.ns(&Point { burst: 2, ..Point::default() }) - 1050.0).abs() < 1e-6);
        assert_eq!(bursts.describe(), "C = 1000.0 ns + 100.0 ns / burst");
    }

    #[test]
    fn rates_need_a_saturated_point() {
        let mut rates = sweep(Swept::Rate, &[(1e5, 1000.0), (2e6, 1000.0)]);
        assert!(Curve::fit(Swept::Rate, &results(&rates).iter().collect::<Vec<_>>(), None).is_none());
        for run in &mut rates.runs[1] {
            (run.offered, run.passed, run.run_ns) = (2_000_000, 1_000_000, 1_000_000_000);
        }
        let found = results(&rates);
        let curve = Curve::fit(Swept::Rate, &found.iter().collect::<Vec<_>>(), None).unwrap();
        let out = |offered| curve.pps(&Point { offered: Some(offered), ..Point::default() }, 1.0).round();
        assert_eq!([out(5e5), out(1.5e6), out(3e6)], [5e5, 1e6, 1e6]);
        assert_eq!(curve.pps(&Point::default(), 0.5).round(), 5e5);
    }
}
