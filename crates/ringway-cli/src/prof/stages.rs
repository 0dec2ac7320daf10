//! What the stages of a data path of Ringway cost, by its own counters.

use std::time::{Duration, Instant};

use ringway_engine::Signals;
use ringway_model::time::Clock;
use ringway_watch::stages::{StageCounts, Target, Watch};
use serde_json::Value;

use crate::console::{Console, note};
use crate::errors::counts;
use crate::failure::Failure;
use crate::stage_costs::{Costs, RENEWAL, number, obstacle};

/// How often Ctrl-C is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Lines between two heads.
const PAGE: u32 = 20;

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
        if let Some(what) = obstacle(&watch, &clock) {
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
            let seconds = (now - start).as_secs_f64();
            self.tell(
                line,
                &Costs::of(self.target, &self.watch, self.clock, seconds, counts.since(&before)),
            )?;
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

    fn tell(&self, line: u32, costs: &Costs) -> Result<(), Failure> {
        let head = line.is_multiple_of(PAGE).then(|| head(costs) + "\n");
        let text = head.unwrap_or_default() + &row(costs);
        Ok(self.console.result(&text, &object(line, costs))?)
    }
}

fn object(line: u32, costs: &Costs) -> Value {
    let mut object = costs.json();
    object["interval"] = line.into();
    object
}

fn head(costs: &Costs) -> String {
    let names: String = costs.stages.iter().map(|(name, _)| format!(" {name:>0$}", width(name))).collect();
    format!(
        "{} of a packet; BUSY is a share of one CPU\n{:>8} {:>6}{names} {:>6} {:>6}",
        costs.clock.unit(),
        "Mpps",
        "BUSY",
        "total",
        "batch"
    )
}

fn row(costs: &Costs) -> String {
    let cell = |(name, ticks): &(String, f64)| format!(" {:>1$}", number(costs.each(*ticks), 0), width(name));
    let cells: String = costs.stages.iter().map(cell).collect();
    format!(
        "{:>8.3} {:>5.1}%{cells} {:>6} {:>6}",
        costs.pps() / 1e6,
        costs.busy() * 100.0,
        number(costs.total(), 0),
        number(costs.batch(), 1)
    )
}

/// The widest of a stage's name and its numbers.
fn width(name: &str) -> usize {
    name.len().max(6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage_costs::tests::costs;

    #[test]
    fn a_row_stands_below_its_head() {
        let all = costs(10, 640, [320_000, 64_000]);
        assert_eq!(head(&all).lines().last().unwrap().len(), row(&all).len());
        assert_eq!(row(&all), "   0.005   0.3%   1000     200   1200   64.0");
        assert_eq!(object(3, &all)["interval"], 3);
        let none = costs(0, 0, [0, 0]);
        assert_eq!(row(&none), "   0.000   0.0%      -       -      -      -");
    }
}
