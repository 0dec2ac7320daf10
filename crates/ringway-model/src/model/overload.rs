//! Rate out against rate in: all of it up to the maximum, and what is left of the maximum beyond.
//!
//! A packet that is dropped may still cost the device ticks, which the packets that pass lack. With `D` ticks a dropped packet and `C` ticks
//! a packet that passes, the ticks of a second are `A = out C + (in - out) D`, so `out = (A - in D) / (C - D)` for any `in` above `A / C`.

use serde::{Deserialize, Serialize};

use crate::fit::line;

/// A device that saturates.
///
/// ```
/// use ringway_model::model::Overload;
/// let device = Overload { packet: 2000.0, dropped: 200.0 };
/// // 2 G ticks a second: 1 M packets.
/// assert_eq!(device.out(0.5e6, 2e9), 0.5e6);
/// assert_eq!(device.out(1.0e6, 2e9), 1.0e6);
/// assert_eq!(device.out(1.9e6, 2e9).round(), 900_000.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overload {
    /// Ticks of a packet that passes.
    pub packet: f64,
    /// Ticks of a packet that the device drops.
    pub dropped: f64,
}

/// One measurement under a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    /// Packets offered a second.
    pub offered: f64,
    /// Packets a second that passed.
    pub out: f64,
    /// Ticks a second that the device's thread had or could have had.
    pub available: f64,
}

/// Of the offered packets so many pass where the device is not saturated.
const PASSES: f64 = 0.98;

/// Most of a packet's ticks that a dropped one can cost: a device in livelock.
const MOST_DROPPED: f64 = 0.95;

impl Overload {
    /// Packets a second that pass, of `offered`, with `available` ticks a second.
    #[must_use]
    pub fn out(&self, offered: f64, available: f64) -> f64 {
        let most = available / self.packet;
        if offered <= most {
            return offered;
        }
        ((available - offered * self.dropped) / (self.packet - self.dropped)).clamp(0.0, most)
    }

    /// Packets a second at most.
    #[must_use]
    pub fn most(&self, available: f64) -> f64 {
        available / self.packet
    }

    /// The device that fits measurements best; `None` when none is saturated.
    ///
    /// Saturated measurements lie on a line: `available / out = C + D (in - out) / out`.
    #[must_use]
    pub fn fit(points: &[Loaded]) -> Option<Self> {
        let saturated = points.iter().filter(|p| p.out > 0.0 && p.out < PASSES * p.offered);
        let on_line: Vec<(f64, f64)> =
            saturated.map(|p| ((p.offered - p.out) / p.out, p.available / p.out)).collect();
        if on_line.is_empty() {
            return None;
        }
        let found = line::robust(&on_line).map(|l| Self { packet: l.base, dropped: l.slope });
        let flat = || Self { packet: line::flat(&on_line), dropped: 0.0 };
        let sound = |m: &Self| m.dropped >= 0.0 && m.packet > 0.0 && m.dropped <= MOST_DROPPED * m.packet;
        Some(found.filter(sound).unwrap_or_else(flat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_saturation_the_maximum_is_not_known() {
        let idle = Loaded { offered: 10.0, out: 10.0, available: 100.0 };
        assert_eq!(Overload::fit(&[idle]), None);
        assert_eq!(Overload::fit(&[]), None);
    }

    #[test]
    fn one_saturated_point_gives_a_flat_maximum() {
        let found = Overload::fit(&[Loaded { offered: 30.0, out: 10.0, available: 100.0 }]).unwrap();
        assert_eq!(found, Overload { packet: 10.0, dropped: 0.0 });
    }

    #[test]
    fn one_wild_point_among_many_is_borne() {
        let truth = Overload { packet: 2000.0, dropped: 300.0 };
        let mut points: Vec<Loaded> = (1..=20)
            .map(|k| 1e5 * f64::from(k))
            .map(|offered| Loaded { offered, out: truth.out(offered, 2e9), available: 2e9 })
            .collect();
        points[15].out /= 2.0;
        let found = Overload::fit(&points).unwrap();
        assert!((found.most(2e9) / 1e6 - 1.0).abs() < 0.05, "{found:?}");
    }

    proptest! {
        #[test]
        fn the_truth_is_found(packet in 200.0..5000.0f64, part in 0.0..0.5f64) {
            let truth = Overload { packet, dropped: part * packet };
            let available = 2e9;
            let most = truth.most(available);
            let point = |k: u32| {
                let offered = most * f64::from(k) / 10.0;
                Loaded { offered, out: truth.out(offered, available), available }
            };
            let points: Vec<_> = (1..=20).map(point).collect();
            let found = Overload::fit(&points).unwrap();
            for p in points {
                prop_assert!((found.out(p.offered, available) - p.out).abs() <= 0.02 * most, "{found:?} {truth:?}");
            }
        }

        #[test]
        fn never_more_comes_out_than_went_in(offered in 0.0..1e8f64, packet in 1.0..1e4f64, part in 0.0..0.94f64) {
            let device = Overload { packet, dropped: part * packet };
            let out = device.out(offered, 1e9);
            prop_assert!((0.0..=offered).contains(&out) && out <= device.most(1e9));
        }
    }
}
