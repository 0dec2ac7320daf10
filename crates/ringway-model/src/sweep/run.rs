//! What one run of a point measured.

use serde::{Deserialize, Serialize};

/// One run: counts over its length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Which round of the sweep it belongs to.
    pub round: u32,
    /// Its length.
    pub seconds: f64,
    /// Packets that the generator handed over.
    pub offered: u64,
    /// Packets that came out.
    pub passed: u64,
    /// Nanoseconds that the forwarding thread ran.
    pub run_ns: u64,
    /// Nanoseconds that it wanted to run and did not.
    pub wait_ns: u64,
    /// Times that it slept and was woken.
    pub wakes: u64,
    /// Nanoseconds that the hypervisor took from all CPUs.
    pub steal_ns: u64,
    /// Parts of the run that were looked at by themselves.
    pub slices: u32,
    /// Parts in which nothing came out.
    pub stalls: u32,
    /// Nanoseconds a packet of the median part; 0 where parts had too few packets.
    pub middle_ns: f64,
    /// Samples of the forwarding thread by group, where it was sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(String, u64)>,
}

/// Least share of its CPU that a thread must have got of what it wanted.
pub const LEAST_SHARE: f64 = 0.5;

/// Most part of a run in which nothing may come out.
const MOST_STALLS: f64 = 0.1;

/// Most that a run may be dearer than the median of its point.
pub const MOST_DEARER: f64 = 0.2;

impl Run {
    /// Nanoseconds of the thread a packet: of the median part where parts had enough packets, else of all. `None` when nothing passed.
    #[must_use]
    pub fn ns(&self) -> Option<f64> {
        match self.passed {
            0 => None,
            _ if self.middle_ns > 0.0 => Some(self.middle_ns),
            n => Some(self.run_ns as f64 / n as f64),
        }
    }

    /// Of the time that the thread wanted it had so much, 0 to 1; 1 when it wanted none.
    #[must_use]
    pub fn share(&self) -> f64 {
        match self.run_ns + self.wait_ns {
            0 => 1.0,
            wanted => self.run_ns as f64 / wanted as f64,
        }
    }

    /// Packets a second offered.
    #[must_use]
    pub fn offered_pps(&self) -> f64 {
        self.offered as f64 / self.seconds
    }

    /// Packets a second that came out.
    #[must_use]
    pub fn passed_pps(&self) -> f64 {
        self.passed as f64 / self.seconds
    }

    /// How busy the thread was, 0 to 1.
    #[must_use]
    pub fn load(&self) -> f64 {
        (self.run_ns as f64 / 1e9 / self.seconds).min(1.0)
    }

    /// Packets a wake-up of the thread; all of them when it never slept.
    #[must_use]
    pub fn batch(&self) -> f64 {
        self.passed as f64 / self.wakes.max(1) as f64
    }

    /// Why it does not count, whatever the others say: the machine had other work, or packets stood still.
    #[must_use]
    pub fn disturbed(&self) -> Option<&'static str> {
        if self.passed == 0 {
            return Some("nothing came out");
        }
        if self.share() < LEAST_SHARE {
            return Some("the thread got too little of its CPU");
        }
        if f64::from(self.stalls) > MOST_STALLS * f64::from(self.slices.max(1)) {
            return Some("packets stood still");
        }
        None
    }

    /// Checks that the counts make sense.
    pub(crate) fn check(&self) -> Result<(), String> {
        let sound = self.seconds.is_finite()
            && (1e-6..=1e6).contains(&self.seconds)
            && self.middle_ns.is_finite()
            && self.middle_ns >= 0.0
            && self.stalls <= self.slices
            && self.samples.len() <= MOST_GROUPS
            && [self.offered, self.passed, self.run_ns, self.wait_ns, self.wakes, self.steal_ns]
                .iter()
                .all(|&n| n <= MOST_COUNT);
        if sound && self.samples.iter().all(|s| s.0.len() <= MOST_NAME && s.1 <= MOST_COUNT) {
            return Ok(());
        }
        Err("a run has counts that no run can have".into())
    }
}

/// Most groups of a run.
const MOST_GROUPS: usize = 64;

/// Longest name of a group.
const MOST_NAME: usize = 64;

/// Largest count: sums of many stay far from the end of 64 bits.
const MOST_COUNT: u64 = 1 << 53;

/// Indexes of runs that are outliers among the runs of their point: disturbed, or much dearer than the median of all.
#[must_use]
pub fn outliers(runs: &[Run]) -> Vec<usize> {
    let costs: Vec<f64> = runs.iter().filter(|r| r.disturbed().is_none()).filter_map(Run::ns).collect();
    let median = crate::fit::median(costs);
    let dear = |run: &Run| match (median, run.ns()) {
        (Some(median), Some(ns)) => ns > (1.0 + MOST_DEARER) * median,
        _ => true,
    };
    runs.iter().enumerate().filter(|(_, r)| r.disturbed().is_some() || dear(r)).map(|(k, _)| k).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of a second at so many nanoseconds a packet.
    pub(crate) fn run(ns: f64) -> Run {
        let passed = (9e8 / ns) as u64;
        Run {
            seconds: 1.0,
            offered: passed,
            passed,
            run_ns: 900_000_000,
            slices: 50,
            middle_ns: ns,
            ..Run::default()
        }
    }

    #[test]
    fn rates_and_shares() {
        let r = Run { wait_ns: 100_000_000, wakes: 900, ..run(1000.0) };
        assert_eq!((r.ns(), r.share(), r.load()), (Some(1000.0), 0.9, 0.9));
        assert_eq!((r.batch(), r.passed_pps(), r.offered_pps()), (1000.0, 900_000.0, 900_000.0));
        assert_eq!(Run { middle_ns: 0.0, ..r.clone() }.ns(), Some(1000.0));
        assert_eq!(Run::default().ns(), None);
        assert_eq!(Run::default().share(), 1.0);
    }

    #[test]
    fn disturbed_and_dear_runs_are_outliers() {
        let starved = Run { wait_ns: 2_000_000_000, ..run(1000.0) };
        let stalled = Run { stalls: 6, ..run(1000.0) };
        let runs = [run(1000.0), starved, run(1010.0), stalled, run(1500.0), run(990.0), Run::default()];
        assert_eq!(outliers(&runs), [1, 3, 4, 6]);
        assert_eq!(outliers(&[]), Vec::<usize>::new());
        // A scatter around the median stays.
        assert!(outliers(&[run(900.0), run(1000.0), run(1100.0)]).is_empty());
    }

    #[test]
    fn counts_that_no_run_can_have_are_refused() {
        assert_eq!(run(5.0).check(), Ok(()));
        for wrong in [
            Run { seconds: 0.0, ..run(1.0) },
            Run { seconds: f64::NAN, ..run(1.0) },
            Run { middle_ns: -1.0, ..run(1.0) },
            Run { stalls: 51, ..run(1.0) },
            Run { passed: u64::MAX, ..run(1.0) },
            Run { samples: vec![("x".repeat(65), 1)], ..run(1.0) },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
