//! What a file expects of a run, beside what was measured.

use serde::Serialize;

use crate::code::{BUILT_IN, Bundle, Compare, Expectation, Flow, Kind, Measure};
use crate::shard::Tally;

use super::count::Flows;
use super::meter::Meter;

/// An expectation, and how it came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// As the file has it: `p99(web.reply) < 5 ms`.
    pub expectation: String,
    /// What was measured, in the unit of the expectation: `4.1 ms`.
    pub measured: String,
    /// Whether it holds.
    pub holds: bool,
}

/// All expectations of a bundle.
pub(super) fn check(bundle: &Bundle, tally: &Tally, meter: &Meter) -> Vec<Outcome> {
    bundle.expectations.iter().map(|expectation| outcome(bundle, tally, meter, expectation)).collect()
}

fn outcome(bundle: &Bundle, tally: &Tally, meter: &Meter, expectation: &Expectation) -> Outcome {
    let Expectation { measure, compare, value } = *expectation;
    let measured = measured(bundle, tally, meter, measure);
    let holds = measured.is_some_and(|measured| match compare {
        Compare::Less => measured < value,
        Compare::AtMost => measured <= value,
        Compare::More => measured > value,
        Compare::AtLeast => measured >= value,
        Compare::Equal => measured == value,
    });
    Outcome {
        expectation: format!("{} {} {}", name(bundle, measure), sign(compare), shown(measure, value)),
        measured: measured.map_or("nothing was measured".to_owned(), |value| shown(measure, value)),
        holds,
    }
}

/// The value of a measure, in its unit. `None`: there is none, which fails each expectation.
fn measured(bundle: &Bundle, tally: &Tally, meter: &Meter, measure: Measure) -> Option<u64> {
    let flows = |flow: Option<u32>| match flow {
        None => Some(Flows::of_stories(bundle, tally)),
        Some(flow) => tally.flows.get(flow as usize).map(Flows::of),
    };
    match measure {
        Measure::Complete(flow) => {
            let Flows { started, complete, .. } = flows(flow)?;
            // Rounded down: 100 % is only when all are complete.
            (started > 0).then(|| (u128::from(complete) * 1_000_000 / u128::from(started)) as u64)
        }
        Measure::Failed(flow) => Some(flows(flow)?.failed),
        Measure::Rate(flow) => {
            let steady = meter.steady();
            let counts =
                |at: usize, of: &Flow| flow.map_or(of.kind == Kind::Story, |flow| flow as usize == at);
            let chosen = bundle.flows.iter().enumerate().filter(|(at, of)| counts(*at, of));
            let complete: u64 = chosen.filter_map(|(at, _)| steady.complete.get(at)).sum();
            (steady.ns > 0).then(|| (u128::from(complete) * 1_000_000_000_000 / u128::from(steady.ns)) as u64)
        }
        Measure::Active => Some(meter.most_active()),
        Measure::Percentile { milli, flow, latency } => {
            let latency = tally.latencies.get(flow as usize)?.get(latency as usize)?;
            (latency.count() > 0).then(|| u64::from(latency.percentile(f64::from(milli) / 1e5)) * 1000)
        }
        Measure::Counter { flow, counter } => {
            tally.counters.get(flow as usize)?.get(counter as usize).copied()
        }
    }
}

/// A measure as the language has it.
fn name(bundle: &Bundle, measure: Measure) -> String {
    let flow = |flow: u32| bundle.flows.get(flow as usize).map_or("?", |flow| bundle.name(flow.name));
    let of = |word: &str, of: Option<u32>| of.map_or(word.to_owned(), |of| format!("{word}({})", flow(of)));
    let part =
        |names: &[u32], at: u32| names.get(at as usize).map_or("?", |name| bundle.name(*name)).to_owned();
    match measure {
        Measure::Complete(which) => of("complete", which),
        Measure::Failed(which) => of("failed", which),
        Measure::Rate(which) => of("rate", which),
        Measure::Active => "active".to_owned(),
        Measure::Percentile { milli, flow: at, latency } => {
            let own = |names: &[u32]| part(names, latency - BUILT_IN.len() as u32);
            let built_in = BUILT_IN.get(latency as usize).map(|name| (*name).to_owned());
            let named = built_in.or_else(|| bundle.flows.get(at as usize).map(|flow| own(&flow.latencies)));
            format!("p{}({}.{})", f64::from(milli) / 1e3, flow(at), named.unwrap_or_default())
        }
        Measure::Counter { flow: at, counter } => {
            let named = bundle.flows.get(at as usize).map(|flow| part(&flow.counters, counter));
            format!("counter({}.{})", flow(at), named.unwrap_or_default())
        }
    }
}

const fn sign(compare: Compare) -> &'static str {
    match compare {
        Compare::Less => "<",
        Compare::AtMost => "<=",
        Compare::More => ">",
        Compare::AtLeast => ">=",
        Compare::Equal => "==",
    }
}

/// A value with its unit.
fn shown(measure: Measure, value: u64) -> String {
    match measure {
        Measure::Complete(_) => format!("{} %", value as f64 / 1e4),
        Measure::Rate(_) => format!("{} flows/s", value as f64 / 1e3),
        Measure::Percentile { .. } => match value {
            0..1_000_000 => format!("{} us", value as f64 / 1e3),
            1_000_000..1_000_000_000 => format!("{} ms", value as f64 / 1e6),
            _ => format!("{} s", value as f64 / 1e9),
        },
        Measure::Failed(_) | Measure::Active | Measure::Counter { .. } => value.to_string(),
    }
}
