//! What a sweep measures: a device, points that differ in one thing, rounds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use ringway_tester::dut::{Backend, DutKind};

use super::Point;

/// The thing in which points differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Swept {
    /// Bytes of a frame.
    Size,
    /// Flows, with as many routes.
    Flows,
    /// Routes, with a number of flows that stays.
    Routes,
    /// Packets a second offered.
    Rate,
    /// Frames that the generator hands over at a time.
    Burst,
}

impl Swept {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Size, Self::Flows, Self::Routes, Self::Rate, Self::Burst];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Flows => "flows",
            Self::Routes => "routes",
            Self::Rate => "rate",
            Self::Burst => "burst",
        }
    }

    /// The value of a point; infinite for an offered rate without limit.
    #[must_use]
    pub fn of(self, point: &Point) -> f64 {
        match self {
            Self::Size => point.size.into(),
            Self::Flows => point.flows.into(),
            Self::Routes => point.routes.into(),
            Self::Rate => point.offered.unwrap_or(f64::INFINITY),
            Self::Burst => point.burst.into(),
        }
    }

    /// A point with this value.
    #[must_use]
    pub fn with(self, plain: &Point, value: f64) -> Point {
        let n = value.round().clamp(0.0, f64::from(u32::MAX)) as u32;
        match self {
            Self::Size => Point { size: n, ..*plain },
            Self::Flows => Point { flows: n, ..*plain },
            Self::Routes => Point { routes: n, ..*plain },
            Self::Rate => Point { offered: Some(value), ..*plain },
            Self::Burst => Point { burst: n, ..*plain },
        }
    }
}

impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Swept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|swept| swept.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("'{text}' can't be swept; accepted: {names}")
        })
    }
}

/// What a sweep measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The device.
    pub device: DutKind,
    /// How the generator attaches to its link.
    pub backend: Backend,
    /// The thing in which points differ.
    pub swept: Swept,
    /// The loads.
    pub points: Vec<Point>,
    /// Runs of each point that count.
    pub runs: u32,
    /// Milliseconds of a run before it counts.
    pub warm_up_ms: u32,
    /// Milliseconds that count.
    pub counted_ms: u32,
    /// CPUs of the generator and of the thread that forwards.
    pub cpus: [usize; 2],
}

/// Most points of a sweep.
pub const MOST_POINTS: usize = 10_000;

/// Most runs of a point.
pub const MOST_RUNS: u32 = 1000;

/// Longest run, and longest warm-up.
pub const MOST_MS: u32 = 600_000;

impl Spec {
    /// Checks that it can be measured.
    ///
    /// # Errors
    /// What is out of range, and the range.
    pub fn check(&self) -> Result<(), String> {
        if self.points.is_empty() || self.points.len() > MOST_POINTS {
            return Err(format!("{} points are not between 1 and {MOST_POINTS}", self.points.len()));
        }
        if !(1..=MOST_RUNS).contains(&self.runs) {
            return Err(format!("{} runs are not between 1 and {MOST_RUNS}", self.runs));
        }
        if !(1..=MOST_MS).contains(&self.counted_ms) || self.warm_up_ms > MOST_MS {
            return Err(format!("a run lasts 1 to {MOST_MS} ms, its warm-up as long at most"));
        }
        self.points.iter().try_for_each(Point::check)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A sweep of these values.
    pub(crate) fn spec(swept: Swept, values: &[f64]) -> Spec {
        Spec {
            device: DutKind::LinuxRouter,
            backend: Backend::Ebpf,
            swept,
            points: values.iter().map(|&v| swept.with(&Point::default(), v)).collect(),
            runs: 5,
            warm_up_ms: 50,
            counted_ms: 300,
            cpus: [0, 1],
        }
    }

    #[test]
    fn values_go_into_points_and_come_back() {
        for (swept, value) in [
            (Swept::Size, 512.0),
            (Swept::Flows, 256.0),
            (Swept::Routes, 4096.0),
            (Swept::Rate, 12_345.5),
            (Swept::Burst, 7.0),
        ] {
            assert_eq!(swept.of(&swept.with(&Point::default(), value)), value);
            assert_eq!(swept.name().parse(), Ok(swept));
        }
        assert_eq!(Swept::Rate.of(&Point::default()), f64::INFINITY);
        assert!("speed".parse::<Swept>().unwrap_err().contains("accepted: size, flows"));
    }

    #[test]
    fn sweeps_out_of_range_are_refused() {
        let sound = spec(Swept::Size, &[64.0, 1518.0]);
        assert_eq!(sound.check(), Ok(()));
        for wrong in [
            Spec { points: Vec::new(), ..sound.clone() },
            Spec { runs: 0, ..sound.clone() },
            Spec { counted_ms: 0, ..sound.clone() },
            Spec { warm_up_ms: MOST_MS + 1, ..sound.clone() },
            spec(Swept::Size, &[10.0]),
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
