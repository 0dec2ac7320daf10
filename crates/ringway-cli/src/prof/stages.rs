//! `ringway prof live --stages`: what the stages of a data path of Ringway cost, by its own counters.

use std::time::{Duration, Instant};

use ringway_engine::Signals;
use ringway_model::time::Clock;
use ringway_watch::stages::{LEASE, StageCounts, TIMED_ONE_IN, Target, Watch};
use serde_json::{Value, json};

use crate::console::{Console, note};
use crate::errors::counts;
use crate::failure::Failure;

/// How often Ctrl-C is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Lines between two heads.
const PAGE: u32 = 20;
/// Between two times that the path is asked to go on counting.
const RENEWAL: Duration = Duration::from_millis(LEASE.as_millis() as u64 / 4);

/// A path under watch, and how its numbers are printed.
pub(super) struct Stages<'a> {
    target: &'a Target,
    watch: Watch,
    clock: Clock,
    signals: &'a Signals,
    console: Console,
}

impl<'a> Stages<'a> {
    pub(super) fn open(target: &'a Target, signals: &'a Signals, console: Console) -> Result<Self, Failure> {
        let (watch, clock) = (Watch::open(target)?, Clock::measure());
        if watch.is_in_ticks() && clock.tsc_hz.is_none() {
            let what = "its stages are counted in ticks of the TSC, and this machine has no steady one";
            let text = format!("{target}: {what}; sample it: leave --stages out");
            return Err(Failure::Other(counts::NO_TSC, text));
        }
        Ok(Self { target, watch, clock, signals, console })
    }

    /// Prints a line for each interval.
    pub(super) fn run(&self, interval: Duration, count: u32) -> Result<(), Failure> {
        let (mut start, mut before) = self.begin();
        for line in 0..count {
            self.wait(start + interval);
            let (now, counts) = (Instant::now(), self.watch.read());
            let stopped = self.signals.stopped();
            if stopped && line > 0 {
                // This interval was cut short.
                return Ok(());
            }
            let part = Interval { line, seconds: (now - start).as_secs_f64(), counts: counts.since(&before) };
            self.tell(&part)?;
            if stopped {
                return Ok(());
            }
            if !self.watch.is_there() {
                note(&format!("prof: {} has ended", self.target));
                return Ok(());
            }
            (start, before) = (now, counts);
        }
        Ok(())
    }

    /// Switches the counters on. Programs notice it with their next burst.
    fn begin(&self) -> (Instant, StageCounts) {
        self.watch.prolong();
        note(&format!("prof: tier C, counters of {}", self.target));
        (Instant::now(), self.watch.read())
    }

    /// Keeps the path counting until then. It counts no longer than a lease after the last renewal.
    fn wait(&self, end: Instant) {
        let mut renewed = Instant::now();
        self.watch.prolong();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.signals.stopped() || !self.watch.is_there() {
                return;
            }
            if renewed.elapsed() >= RENEWAL {
                self.watch.prolong();
                renewed = Instant::now();
            }
            self.signals.rest(left.min(LOOK));
        }
    }

    fn tell(&self, part: &Interval) -> Result<(), Failure> {
        let costs = Costs::of(part, self.watch.stages(), &self.clock, self.watch.is_in_ticks());
        let head = part.line.is_multiple_of(PAGE).then(|| costs.head(&self.clock) + "\n");
        let text = head.unwrap_or_default() + &costs.row(part);
        Ok(self.console.result(&text, &costs.json(part, self.target, &self.clock))?)
    }
}

/// What was counted in an interval.
struct Interval {
    line: u32,
    seconds: f64,
    counts: StageCounts,
}

impl Interval {
    /// How much of all batches come in a second, of which some were timed.
    fn rate(&self, timed: f64) -> f64 {
        timed * f64::from(TIMED_ONE_IN) / self.seconds
    }
}

/// The same, for a packet.
struct Costs<'a> {
    /// Ticks of each stage in all.
    stages: Vec<(&'a str, f64)>,
    /// Share of one CPU.
    busy: f64,
    /// Packets of a batch.
    batch: Option<f64>,
    packets: f64,
}

impl<'a> Costs<'a> {
    fn of(part: &Interval, names: &'a [String], clock: &Clock, in_ticks: bool) -> Self {
        let (counts, rate) = (&part.counts, clock.ticks_per_ns());
        let ticks = |time: u64| if in_ticks { time as f64 } else { time as f64 * rate };
        let stages: Vec<_> =
            names.iter().zip(counts.time).map(|(name, time)| (name.as_str(), ticks(time))).collect();
        let all: f64 = stages.iter().map(|(_, ticks)| ticks).sum();
        let (packets, batches) = (counts.packets as f64, counts.batches as f64);
        let batch = (batches > 0.0).then(|| packets / batches);
        Self { stages, busy: part.rate(all) / rate / 1e9, batch, packets }
    }

    /// Ticks for a packet; `None` without a packet.
    fn each(&self, ticks: f64) -> Option<f64> {
        (self.packets > 0.0).then(|| ticks / self.packets)
    }

    fn total(&self) -> Option<f64> {
        self.each(self.stages.iter().map(|(_, ticks)| ticks).sum())
    }

    fn head(&self, clock: &Clock) -> String {
        let names: String = self.stages.iter().map(|(name, _)| format!(" {name:>0$}", width(name))).collect();
        format!(
            "{} of a packet; BUSY is a share of one CPU\n{:>8} {:>6}{names} {:>6} {:>6}",
            clock.unit(),
            "Mpps",
            "BUSY",
            "total",
            "batch"
        )
    }

    fn row(&self, part: &Interval) -> String {
        let number = |n: Option<f64>, digits| n.map_or_else(|| "-".to_owned(), |n| format!("{n:.digits$}"));
        let cell =
            |(name, ticks): &(&str, f64)| format!(" {:>1$}", number(self.each(*ticks), 0), width(name));
        let cells: String = self.stages.iter().map(cell).collect();
        format!(
            "{:>8.3} {:>5.1}%{cells} {:>6} {:>6}",
            part.rate(self.packets) / 1e6,
            self.busy * 100.0,
            number(self.total(), 0),
            number(self.batch, 1)
        )
    }

    fn json(&self, part: &Interval, target: &Target, clock: &Clock) -> Value {
        let stage = |(name, ticks): &(&str, f64)| json!({"stage": name, "ticks": self.each(*ticks)});
        json!({
            "interval": part.line,
            "seconds": part.seconds,
            "target": target.to_string(),
            "tier": "C",
            "clock": clock,
            "unit": clock.unit(),
            "packets": part.counts.packets,
            "batches": part.counts.batches,
            "batch": self.batch,
            "busy": self.busy,
            "stages": self.stages.iter().map(stage).collect::<Vec<_>>(),
            "total": self.total(),
        })
    }
}

/// The widest of a stage's name and its numbers.
fn width(name: &str) -> usize {
    name.len().max(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(batches: u64, packets: u64, time: [u64; 2]) -> Interval {
        let mut counts = StageCounts { batches, packets, ..Default::default() };
        counts.time[..2].copy_from_slice(&time);
        Interval { line: 0, seconds: 2.0, counts }
    }

    #[test]
    fn costs_are_of_a_packet() {
        let (names, clock) =
            (["decide".to_owned(), "deliver".to_owned()], Clock { tsc_hz: Some(2e9), core_ratio: None });
        let part = part(10, 640, [320_000, 64_000]);
        let costs = Costs::of(&part, &names, &clock, false);
        let found = costs.json(&part, &Target::Switch("vale0".into()), &clock);
        assert_eq!(found["stages"][0]["ticks"], 1000.0, "of nanoseconds, at 2 GHz");
        assert_eq!((&found["total"], &found["batch"]), (&1200.0.into(), &64.0.into()));
        assert!((costs.busy - 17.0 * 192e-6).abs() < 1e-9, "{}", costs.busy);
        let ticks = Costs::of(&part, &names, &clock, true);
        assert_eq!(ticks.total(), Some(600.0));
        assert_eq!(costs.head(&clock).lines().last().unwrap().len(), costs.row(&part).len());
    }

    #[test]
    fn nothing_that_came_costs_nothing() {
        let (names, part) = (["RX".to_owned()], part(0, 0, [0, 0]));
        let costs = Costs::of(&part, &names, &Clock::default(), true);
        assert!(costs.total().is_none() && costs.row(&part).contains('-'), "{}", costs.row(&part));
    }
}
