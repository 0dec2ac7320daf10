//! Checks of mixes, the plan of a run, and expectations.

use super::Refusal;
use super::tables::all;
use crate::code::{BUILT_IN, Bundle, Expectation, Flow, Kind, Load, Measure, Mix, Stop, Unit, What};

/// Longest time of a plan: 30 days, in nanoseconds.
pub(crate) const MAX_TIME: u64 = 30 * 86_400 * 1_000_000_000;
/// Greatest number of a phase, in thousandths: a tera of the unit.
pub(crate) const MAX_LOAD: u64 = 1_000_000_000_000_000;

/// Looks at mixes, plan and expectations.
pub(super) fn check(bundle: &Bundle) -> Result<(), Refusal> {
    all("mix", &bundle.mixes, |mix| check_mix(bundle, mix))?;
    all("load", &bundle.plan.loads, |load| check_load(bundle, load))?;
    if bundle.plan.drain > MAX_TIME {
        return Err(Refusal::of_table("plan", 0, "its drain is longer than 30 days"));
    }
    all("stop", &bundle.plan.stops, |stop| match stop {
        Stop::After(time) if *time > MAX_TIME => Err("it is later than 30 days"),
        Stop::FailedShare(share) if *share > 1_000_000 => Err("it is more than 100 %"),
        _ => Ok(()),
    })?;
    all("expectation", &bundle.expectations, |expectation| check_expectation(bundle, expectation))
}

/// Its flows exist, and are stories.
fn check_mix(bundle: &Bundle, mix: &Mix) -> Result<(), &'static str> {
    if mix.name as usize >= bundle.names.len() {
        return Err("its name does not exist");
    }
    let flow = |index: u32| bundle.flows.get(index as usize);
    if !mix.shares.iter().all(|share| flow(share.flow).is_some_and(|flow| flow.kind == Kind::Story)) {
        return Err("a flow does not exist, or is an attack");
    }
    if mix.shares.iter().any(|share| share.weight > 0) { Ok(()) } else { Err("its shares are all 0") }
}

/// Its flows exist, its numbers are sane, and an attack has a cap and a limit.
fn check_load(bundle: &Bundle, load: &Load) -> Result<(), &'static str> {
    let attack = match load.what {
        What::Mix(index) if (index as usize) < bundle.mixes.len() => false,
        What::Flow(index) if (index as usize) < bundle.flows.len() => {
            bundle.flows[index as usize].kind == Kind::Attack
        }
        _ => return Err("its flow or mix does not exist"),
    };
    let time = load.phases.iter().fold(load.start, |sum, phase| sum.saturating_add(phase.length));
    if load.phases.is_empty() || time > MAX_TIME {
        return Err("it has no phase, or lasts longer than 30 days");
    }
    if load.phases.iter().any(|phase| phase.from.max(phase.to) > MAX_LOAD) {
        return Err("the number of a phase is greater than 10^12");
    }
    if load.unit == Unit::Packets && !attack {
        return Err("only an attack has a rate of packets");
    }
    if attack && load.unit == Unit::Active {
        return Err("an attack needs a rate, which is its cap");
    }
    Ok(())
}

/// What it looks at exists.
fn check_expectation(bundle: &Bundle, expectation: &Expectation) -> Result<(), &'static str> {
    let flow = |index: u32| bundle.flows.get(index as usize);
    let exists = match expectation.measure {
        Measure::Complete(index) | Measure::Failed(index) | Measure::Rate(index) => {
            index.is_none_or(|index| flow(index).is_some())
        }
        Measure::Active => true,
        Measure::Percentile { milli, flow: index, latency } => {
            let latencies = |flow: &Flow| BUILT_IN.len() + flow.latencies.len();
            milli <= 100_000 && flow(index).is_some_and(|flow| (latency as usize) < latencies(flow))
        }
        Measure::Counter { flow: index, counter } => {
            flow(index).is_some_and(|flow| (counter as usize) < flow.counters.len())
        }
    };
    if exists { Ok(()) } else { Err("its flow, latency or counter does not exist") }
}
