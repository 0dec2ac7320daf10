//! What the stages of a data path cost in an interval, by its own counters: of a packet, as numbers and as JSON.

use std::time::Duration;

use ringway_model::time::Clock;
use ringway_watch::stages::{LEASE, StageCounts, Target, Watch};
use serde_json::{Value, json};

/// Between two times that a path is asked to go on counting.
pub(crate) const RENEWAL: Duration = Duration::from_millis(LEASE.as_millis() as u64 / 4);

/// Why a path cannot be counted, if it cannot.
pub(crate) fn obstacle(watch: &Watch, clock: &Clock) -> Option<&'static str> {
    let without = watch.is_in_ticks() && clock.tsc_hz.is_none();
    without.then_some("its stages are counted in ticks of the TSC, and this machine has no steady one")
}

/// The costs of one path.
#[derive(Debug, Clone)]
pub(crate) struct Costs {
    pub(crate) target: Target,
    pub(crate) clock: Clock,
    pub(crate) seconds: f64,
    pub(crate) counts: StageCounts,
    /// Ticks of each stage in all.
    pub(crate) stages: Vec<(String, f64)>,
}

impl Costs {
    /// Of what a path under watch counted in so many seconds.
    pub(crate) fn of(
        target: &Target,
        watch: &Watch,
        clock: Clock,
        seconds: f64,
        counts: StageCounts,
    ) -> Self {
        let unit = if watch.is_in_ticks() { 1.0 } else { clock.ticks_per_ns() };
        Self::new(target, watch.stages(), unit, clock, seconds, counts)
    }

    /// Of stages with these names, whose times count so many ticks.
    pub(crate) fn new(
        target: &Target,
        names: &[String],
        unit: f64,
        clock: Clock,
        seconds: f64,
        counts: StageCounts,
    ) -> Self {
        let stages = names.iter().cloned().zip(counts.time.map(|time| time as f64 * unit)).collect();
        Self { target: target.clone(), clock, seconds, counts, stages }
    }

    /// How much of all batches come in a second, of which some were timed.
    fn rate(&self, timed: f64) -> f64 {
        if self.seconds > 0.0 { timed * f64::from(self.target.timed_one_in()) / self.seconds } else { 0.0 }
    }

    /// Packets a second.
    pub(crate) fn pps(&self) -> f64 {
        self.rate(self.counts.packets as f64)
    }

    /// Ticks of all stages.
    pub(crate) fn all(&self) -> f64 {
        self.stages.iter().map(|(_, ticks)| ticks).sum()
    }

    /// Time of all stages, as a share of one CPU.
    pub(crate) fn busy(&self) -> f64 {
        self.rate(self.all()) / self.clock.ticks_per_ns() / 1e9
    }

    /// Packets of a batch; `None` without a batch.
    pub(crate) fn batch(&self) -> Option<f64> {
        (self.counts.batches > 0).then(|| self.counts.packets as f64 / self.counts.batches as f64)
    }

    /// Ticks for a packet; `None` without a packet.
    pub(crate) fn each(&self, ticks: f64) -> Option<f64> {
        (self.counts.packets > 0).then(|| ticks / self.counts.packets as f64)
    }

    /// Ticks of all stages for a packet.
    pub(crate) fn total(&self) -> Option<f64> {
        self.each(self.all())
    }

    pub(crate) fn json(&self) -> Value {
        let stage = |(name, ticks): &(String, f64)| json!({"stage": name, "ticks": self.each(*ticks)});
        json!({
            "seconds": self.seconds,
            "target": self.target.to_string(),
            "tier": "C",
            "clock": self.clock,
            "unit": self.clock.unit(),
            "packets": self.counts.packets,
            "batches": self.counts.batches,
            "batch": self.batch(),
            "busy": self.busy(),
            "stages": self.stages.iter().map(stage).collect::<Vec<_>>(),
            "total": self.total(),
        })
    }
}

/// A number with so many digits after its point; `-` for none.
pub(crate) fn number(n: Option<f64>, digits: usize) -> String {
    n.map_or_else(|| "-".to_owned(), |n| format!("{n:.digits$}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two stages of a switch, on a TSC of 2 GHz: times are in nanoseconds, two ticks each.
    pub(crate) fn costs(batches: u64, packets: u64, ns: [u64; 2]) -> Costs {
        let mut counts = StageCounts { batches, packets, ..Default::default() };
        counts.time[..2].copy_from_slice(&ns);
        let names = ["decide".to_owned(), "deliver".to_owned()];
        let clock = Clock { tsc_hz: Some(2e9), core_ratio: None };
        Costs::new(&Target::Switch("vale0".into()), &names, 2.0, clock, 2.0, counts)
    }

    #[test]
    fn costs_are_of_a_packet() {
        let costs = costs(10, 640, [320_000, 64_000]);
        let found = costs.json();
        assert_eq!(found["stages"][0]["ticks"], 1000.0, "of nanoseconds, at 2 GHz");
        assert_eq!((&found["total"], &found["batch"]), (&1200.0.into(), &64.0.into()));
        assert_eq!((&found["target"], costs.pps()), (&"switch=vale0".into(), 17.0 * 320.0));
        assert!((costs.busy() - 17.0 * 192e-6).abs() < 1e-9, "{}", costs.busy());
        let interfaces = Costs { target: Target::Interfaces("vale0".into()), ..costs };
        assert_eq!(interfaces.pps(), 97.0 * 320.0);
    }

    #[test]
    fn nothing_that_came_costs_nothing() {
        let mut costs = costs(0, 0, [0, 0]);
        assert_eq!((costs.total(), costs.batch(), costs.busy()), (None, None, 0.0));
        costs.seconds = 0.0;
        assert_eq!((costs.pps(), number(costs.total(), 1).as_str()), (0.0, "-"));
    }
}
