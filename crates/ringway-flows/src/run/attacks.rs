//! What attacks did to the stories that ran beside them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::code::{Bundle, Kind, Load, What};
use crate::shard::Latency;

use super::count::{Flows, per_second};
use super::cuts::{Cut, Cuts};
use super::history::History;
use super::report_latency::LatencyReport;
use super::steady::{end_of, is_attack};

/// The share of the rate before an attack that a device has to reach again.
const RECOVERED: f64 = 0.95;
/// How much larger the share of failed flows may be then.
const MORE_FAILED: f64 = 0.001;
/// It has to hold for so long, in ns.
const WINDOW_NS: u64 = 1_000_000_000;

/// The stories of a part of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Effect {
    /// How long the part was.
    pub seconds: f64,
    /// Flows that began.
    pub started: u64,
    /// Flows that were complete.
    pub complete: u64,
    /// Flows that failed.
    pub failed: u64,
    /// The share of ended flows that were complete.
    pub completion: f64,
    /// Complete flows a second.
    pub flows_per_second: f64,
    /// How long complete flows took: by story.
    pub latencies: BTreeMap<String, LatencyReport>,
}

/// One attack of the plan.
#[derive(Clone, Debug, Serialize)]
pub struct AttackReport {
    /// Its name, with its arguments.
    pub attack: String,
    /// When it began.
    pub from_seconds: f64,
    /// When it ended.
    pub to_seconds: f64,
    /// Packets or flows of it that began meanwhile.
    pub sent: u64,
    /// The stories before it, from the end or beginning of another attack on.
    pub before: Option<Effect>,
    /// The stories while it ran.
    pub during: Option<Effect>,
    /// The stories after it, until another attack begins or ends.
    pub after: Option<Effect>,
    /// The time from its end until the stories did as well as before, for a second. None: they did not, or there was nothing to compare.
    pub recovery_seconds: Option<f64>,
}

/// All attacks of a plan.
pub(super) fn reports(bundle: &Bundle, cuts: &Cuts, history: &History) -> Vec<AttackReport> {
    let attacks = bundle.plan.loads.iter().filter(|load| is_attack(bundle, load));
    attacks.filter_map(|load| report(bundle, load, cuts, history)).collect()
}

fn report(bundle: &Bundle, load: &Load, cuts: &Cuts, history: &History) -> Option<AttackReport> {
    let What::Flow(flow) = load.what else { return None };
    let (from, to) = (load.start, end_of(load));
    let ([earlier, begin, _], [_, end, later]) = (cuts.around(from), cuts.around(to));
    let start = Cut::default();
    let part = |from: Option<&Cut>, to: Option<&Cut>| Some(effect(bundle, from?, to?));
    let sent =
        |cut: Option<&Cut>| cut.and_then(|cut| cut.flows.get(flow as usize)).map(|flows| flows.started);
    let before = part(earlier.or(Some(&start)), begin).filter(|before| before.seconds > 0.0);
    // A run that ended early ended the attack, too.
    let ended = end.or(cuts.around(from)[2]);
    Some(AttackReport {
        attack: bundle.name(bundle.flows.get(flow as usize)?.name).to_owned(),
        from_seconds: from as f64 / 1e9,
        to_seconds: to as f64 / 1e9,
        sent: sent(ended).unwrap_or(0) - sent(begin).unwrap_or(0),
        recovery_seconds: before.as_ref().and_then(|before| recovery(history, to, before)),
        before,
        during: part(begin, ended),
        after: part(end, later),
    })
}

/// What the stories did between two cuts.
fn effect(bundle: &Bundle, from: &Cut, to: &Cut) -> Effect {
    let (mut sum, mut latencies) = (Flows::default(), BTreeMap::new());
    for (at, flow) in bundle.flows.iter().enumerate().filter(|(_, flow)| flow.kind == Kind::Story) {
        let flows = |cut: &Cut| cut.flows.get(at).copied().unwrap_or_default();
        let (before, after) = (flows(from), flows(to));
        sum.started += after.started.saturating_sub(before.started);
        sum.complete += after.complete.saturating_sub(before.complete);
        sum.failed += after.failed.saturating_sub(before.failed);
        let none = Latency::default();
        let took = |cut: &'_ Cut| cut.took.get(at).unwrap_or(&none).clone();
        let took = took(to).since(&took(from));
        if took.count() > 0 {
            latencies.insert(bundle.name(flow.name).to_owned(), LatencyReport::new(&took));
        }
    }
    let seconds = to.ns.saturating_sub(from.ns) as f64 / 1e9;
    let ended = sum.complete + sum.failed;
    Effect {
        seconds,
        started: sum.started,
        complete: sum.complete,
        failed: sum.failed,
        completion: if ended == 0 { 1.0 } else { sum.complete as f64 / ended as f64 },
        flows_per_second: per_second(sum.complete, seconds),
        latencies,
    }
}

/// The time from the end of an attack until as many flows are complete as before it, and no more fail, for a second.
fn recovery(history: &History, end: u64, before: &Effect) -> Option<f64> {
    let goal = before.flows_per_second * RECOVERED;
    if goal <= 0.0 {
        return None;
    }
    let samples = history.samples();
    let recovered = |(from, then): &&(u64, super::counts::Counts)| {
        let Some((to, now)) = samples.iter().find(|(at, _)| *at >= from + WINDOW_NS) else { return false };
        let complete = now.flows.complete.saturating_sub(then.flows.complete);
        let failed = now.flows.failed.saturating_sub(then.flows.failed);
        let share = failed as f64 / (complete + failed).max(1) as f64;
        per_second(complete, (to - from) as f64 / 1e9) >= goal
            && share <= 1.0 - before.completion + MORE_FAILED
    };
    // A sample may not be just at the end: the one before it is the nearest.
    let nearest = samples.partition_point(|(at, _)| *at <= end).saturating_sub(1);
    let first = samples[nearest..].iter().find(recovered)?;
    Some(first.0.saturating_sub(end) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::counts::Counts;

    /// A second without complete flows and half a second of failures after the end of an attack at 5 s.
    #[test]
    fn a_device_has_recovered_when_it_does_as_well_as_before() {
        let mut history = History::new(1);
        let (mut complete, mut failed) = (0, 0);
        for tick in 0..120_u64 {
            history.push(
                tick * 100_000_000,
                Counts { flows: Flows { complete, failed, ..Flows::default() }, ..Counts::default() },
            );
            if !(50..60).contains(&tick) {
                complete += 100;
            }
            failed += if (60..65).contains(&tick) { 10 } else { 0 };
        }
        let before = |flows_per_second| Effect {
            seconds: 5.0,
            started: 0,
            complete: 0,
            failed: 0,
            completion: 1.0,
            flows_per_second,
            latencies: BTreeMap::new(),
        };
        assert_eq!(recovery(&history, 5_000_000_000, &before(1000.0)), Some(1.5));
        assert_eq!(recovery(&history, 7_000_000_000, &before(1000.0)), Some(0.0));
        assert_eq!(recovery(&history, 5_000_000_000, &before(2000.0)), None, "never again");
        assert_eq!(recovery(&history, 5_000_000_000, &before(0.0)), None, "nothing to compare");
    }
}
