//! The final report of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::code::{BUILT_IN, Bundle, Kind, Stop};
use crate::shard::{Answered, EndTally, Failure, Tally};

use super::attacks::{AttackReport, reports};
use super::count::{Flows, per_second};
use super::counted::Counted;
use super::expectations::{Outcome, check};
use super::history::History;
use super::report_latency::LatencyReport;
use super::report_transport::transport;
use super::report_workers::WorkerReport;

/// Version of the report's keys.
pub const SCHEMA: &str = "ringway-flows/1";

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The plan was over.
    Plan,
    /// A condition of the plan.
    Stop(Stop),
    /// The user set a limit on its time or on its flows.
    Limit,
    /// The user.
    Interrupted,
}

impl Ended {
    /// As a report has it.
    pub fn text(self) -> String {
        match self {
            Self::Plan => "plan".to_owned(),
            Self::Limit => "limit".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Stop(Stop::Failed(count)) => format!("stop: failed >= {count}"),
            Self::Stop(Stop::Complete(count)) => format!("stop: complete >= {count}"),
            Self::Stop(Stop::After(ns)) => format!("stop: time >= {} s", ns as f64 / 1e9),
            Self::Stop(Stop::FailedShare(millionths)) => {
                format!("stop: failed > {} %", millionths as f64 / 1e4)
            }
        }
    }
}

/// What is known of a run beside its counters.
#[derive(Clone, Debug)]
pub struct Run {
    /// When it began, in ns.
    pub start: u64,
    /// When it ended, in ns.
    pub now: u64,
    /// Why.
    pub ended: Ended,
    /// Whether time was virtual.
    pub virtual_time: bool,
    /// Each worker over ports.
    pub workers: Vec<WorkerReport>,
    /// What was counted over time.
    pub history: History,
}

/// The ends of flows on one side.
#[derive(Clone, Debug, Serialize)]
pub struct EndReport {
    /// Ends that began.
    pub started: u64,
    /// Ends whose program ran to its end.
    pub complete: u64,
    /// Ends that failed, by reason.
    pub failed: BTreeMap<&'static str, u64>,
    /// Ends that run.
    pub active: u64,
}

impl EndReport {
    fn new(end: &EndTally) -> Self {
        let failed = Failure::ALL.into_iter().zip(end.failed).map(|(why, count)| (why.name(), count));
        Self { started: end.started, complete: end.complete, failed: failed.collect(), active: end.active }
    }
}

/// Flows, in all and in the steady state.
#[derive(Clone, Debug, Serialize)]
pub struct FlowsReport {
    /// Flows that began.
    pub started: u64,
    /// Flows of which both ends are complete.
    pub complete: u64,
    /// Flows of which an end failed.
    pub failed: u64,
    /// Flows that ran at the end.
    pub active: u64,
    /// The share of started flows that are complete.
    pub completion: f64,
    /// Complete flows a second in the steady state.
    pub flows_per_second: f64,
}

impl FlowsReport {
    fn new(flows: Flows, complete: u64, seconds: f64) -> Self {
        let Flows { started, complete: all, failed, active } = flows;
        let flows_per_second = per_second(complete, seconds);
        Self { started, complete: all, failed, active, completion: flows.completion(), flows_per_second }
    }
}

/// A story or an attack.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// Its name, with arguments that a mix or a run gave.
    pub flow: String,
    /// `story` or `attack`.
    pub kind: &'static str,
    /// Its flows.
    #[serde(flatten)]
    pub flows: FlowsReport,
    /// Its clients.
    pub client: EndReport,
    /// Its servers.
    pub server: EndReport,
    /// The latencies that were measured, by name.
    pub latencies: BTreeMap<String, LatencyReport>,
    /// Its counters, by name.
    pub counters: BTreeMap<String, u64>,
}

/// Rates in the steady state, a second.
#[derive(Clone, Debug, Serialize)]
pub struct Rates {
    /// Connections that came to be.
    pub connections: f64,
    /// Frames sent.
    pub packets_out: f64,
    /// Bits of these frames.
    pub bits_out: f64,
    /// Frames received.
    pub packets_in: f64,
    /// Bits of these frames.
    pub bits_in: f64,
}

/// How many flows ran at the same time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Active {
    /// The mean over the run.
    pub mean: f64,
    /// The most.
    pub max: u64,
}

/// The report of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Seed of all that was drawn.
    pub seed: u64,
    /// Whether time was virtual.
    pub virtual_time: bool,
    /// How long the run was.
    pub seconds: f64,
    /// How long its steady state was.
    pub steady_seconds: f64,
    /// Why it ended: `plan`, `limit`, `interrupted`, or `stop:` and the condition.
    pub ended: String,
    /// All stories, without attacks.
    pub total: FlowsReport,
    /// Each story and attack.
    pub flows: Vec<FlowReport>,
    /// Rates in the steady state.
    pub rates: Rates,
    /// Flows at the same time.
    pub active: Active,
    /// Starts that were late, because there was no room or no port.
    pub postponed: u64,
    /// Starts that were due and not made.
    pub missed: u64,
    /// What the transport counted.
    pub transport: BTreeMap<&'static str, u64>,
    /// Frames that were refused, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Checks of the stories that failed, by name.
    pub checks: BTreeMap<String, u64>,
    /// What the file expects.
    pub expectations: Vec<Outcome>,
    /// Whether all expectations hold.
    pub holds: bool,
    /// Each attack of the plan, with what it did to the stories.
    pub attacks: Vec<AttackReport>,
    /// What came to clients for no connection, by kind, where there are attacks: the answers to their packets.
    pub answers: BTreeMap<&'static str, u64>,
    /// Each worker.
    pub workers: Vec<WorkerReport>,
    /// What was counted over time. It is no part of the object.
    #[serde(skip)]
    pub history: History,
}

impl Report {
    /// Of a run that has ended.
    pub fn new(bundle: &Bundle, counted: &Counted, run: Run) -> Self {
        let Counted { tally, meter, .. } = counted;
        let steady = meter.steady();
        let seconds = steady.ns as f64 / 1e9;
        let stories = bundle.flows.iter().zip(&steady.complete).filter(|(flow, _)| flow.kind == Kind::Story);
        let complete = stories.map(|(_, complete)| complete).sum();
        let expectations = check(bundle, tally, meter);
        let has_attacks = bundle.flows.iter().any(|flow| flow.kind == Kind::Attack);
        let rate = |count: u64| per_second(count, seconds);
        Self {
            schema: SCHEMA,
            seed: bundle.seed,
            virtual_time: run.virtual_time,
            seconds: run.now.saturating_sub(run.start) as f64 / 1e9,
            steady_seconds: seconds,
            ended: run.ended.text(),
            total: FlowsReport::new(Flows::of_stories(bundle, tally), complete, seconds),
            flows: (0..bundle.flows.len())
                .map(|at| flow(bundle, tally, steady.complete[at], seconds, at))
                .collect(),
            rates: Rates {
                connections: rate(steady.connections),
                packets_out: rate(steady.frames_out),
                bits_out: rate(steady.bytes_out * 8),
                packets_in: rate(steady.frames_in),
                bits_in: rate(steady.bytes_in * 8),
            },
            active: Active { mean: meter.mean_active(run.start), max: meter.most_active() },
            postponed: counted.postponed,
            missed: counted.missed,
            transport: transport(tally),
            refused: counted.refused.clone(),
            checks: names(bundle, &tally.checks),
            holds: expectations.iter().all(|outcome| outcome.holds),
            expectations,
            attacks: reports(bundle, meter.cuts(), &run.history),
            answers: Answered::ALL
                .into_iter()
                .zip(tally.answers)
                .filter(|(_, count)| *count > 0 && has_attacks)
                .map(|(kind, count)| (kind.name(), count))
                .collect(),
            workers: run.workers,
            history: run.history,
        }
    }
}

/// The report of one story or attack.
fn flow(bundle: &Bundle, tally: &Tally, complete: u64, seconds: f64, at: usize) -> FlowReport {
    let (flow, ends) = (&bundle.flows[at], &tally.flows[at]);
    let own = flow.latencies.iter().map(|name| bundle.name(*name));
    let latencies = BUILT_IN.into_iter().chain(own).map(str::to_owned).zip(&tally.latencies[at]);
    let counters = flow.counters.iter().map(|name| bundle.name(*name).to_owned());
    FlowReport {
        flow: bundle.name(flow.name).to_owned(),
        kind: if flow.kind == Kind::Attack { "attack" } else { "story" },
        flows: FlowsReport::new(Flows::of(ends), complete, seconds),
        client: EndReport::new(&ends[0]),
        server: EndReport::new(&ends[1]),
        latencies: latencies
            .filter(|(_, latency)| latency.count() > 0)
            .map(|(name, latency)| (name, LatencyReport::new(latency)))
            .collect(),
        counters: counters.zip(tally.counters[at].iter().copied()).collect(),
    }
}

/// Counters above 0, by name.
fn names(bundle: &Bundle, counts: &[u64]) -> BTreeMap<String, u64> {
    let named = (0..).zip(counts).filter(|(_, count)| **count > 0);
    named.map(|(at, count)| (bundle.name(at).to_owned(), *count)).collect()
}
