//! `ringway flows check`

use std::fmt::Write as _;

use ringway_flows::code::{Bundle, Flow, Kind};
use ringway_flows::run::plan::Plan;
use ringway_flows::run::size::{self, Peak};
use ringway_flows::run::steady;
use ringway_flows::schedule::starts::Share;
use ringway_traffic::units::{bit_rate, duration, many, scaled};
use serde_json::{Value, json};

use super::source::Story;
use crate::errors;
use crate::failure::Failure;
use crate::options::Json;

/// Check a file of stories: text, bounds and guards; tell what its flows and its plan ask for
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    story: Story,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
Packets and bytes are means over the runs of a flow without losses, of both ends. Memory is that of both ends while they wait. The number of
flows at the same time takes 50 us for each packet, and the times of `think`.

Examples:
  ringway flows check example
  ringway flows check office.flow -D size=64KiB
  ringway flows check --json http | jq .flows[].packets";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let bundle = args.story.compile()?;
    // A plan that the schedule can't follow is an error of the file, too.
    Plan::new(&bundle, Share::ALL)
        .map_err(|why| Failure::Other(errors::flows::RUN_FAILED, format!("{}: {why}", args.story.file)))?;
    let peak = size::peak(&bundle);
    let object = json!({
        "file": args.story.file,
        "seed": bundle.seed,
        "pools": bundle.pools.len(),
        "flows": bundle.flows.iter().map(|flow| object(&bundle, flow)).collect::<Vec<_>>(),
        "plan": if bundle.plan.loads.is_empty() { Value::Null } else { plan(&bundle, &peak) },
        "expectations": bundle.expectations.len(),
    });
    Ok(args.json.console().result(&text(&args.story.file, &bundle, &peak), &object)?)
}

fn object(bundle: &Bundle, flow: &Flow) -> Value {
    let estimate = &flow.estimate;
    json!({
        "flow": bundle.name(flow.name),
        "kind": kind(flow),
        "packets": estimate.milli_packets as f64 / 1e3,
        "bytes": estimate.bytes,
        "payload": estimate.payload,
        "connections": estimate.milli_connections as f64 / 1e3,
        "think_seconds": estimate.think as f64 / 1e9,
        "memory": size::bytes(flow),
        "instructions": flow.client.code.len() + flow.server.code.len(),
    })
}

const fn kind(flow: &Flow) -> &'static str {
    match flow.kind {
        Kind::Story => "story",
        Kind::Attack => "attack",
    }
}

/// How long the steady state of a plan is, in ns.
fn steady_ns(bundle: &Bundle) -> u64 {
    steady::spans(bundle).iter().map(|(from, to)| to - from).sum()
}

fn plan(bundle: &Bundle, peak: &Peak) -> Value {
    json!({
        "seconds": size::end_ns(bundle) as f64 / 1e9,
        "steady_seconds": steady_ns(bundle) as f64 / 1e9,
        "drain_seconds": bundle.plan.drain as f64 / 1e9,
        "max_flows_per_second": peak.flows,
        "max_packets_per_second": peak.packets,
        "max_bits_per_second": peak.bits,
        "max_active": peak.active,
        "memory": peak.memory as u64,
    })
}

fn text(file: &str, bundle: &Bundle, peak: &Peak) -> String {
    let count = |kind| bundle.flows.iter().filter(|flow| flow.kind == kind).count() as u64;
    let (stories, attacks) = (many(count(Kind::Story), "flow"), many(count(Kind::Attack), "attack"));
    let mut out = format!(
        "{file}: {stories}, {attacks}, {}, seed {}\n",
        many(bundle.pools.len() as u64, "pool"),
        bundle.seed
    );
    let names = bundle.flows.iter().map(|flow| bundle.name(flow.name).chars().count());
    let width = names.max().unwrap_or(0).max(4);
    // A String takes all that is written.
    let _ = writeln!(
        out,
        "{:width$} {:>10} {:>11} {:>11} {:>11} {:>7} {:>13}",
        "flow", "packets", "bytes", "connections", "think", "memory", "instructions"
    );
    for flow in &bundle.flows {
        let estimate = &flow.estimate;
        let _ = writeln!(
            out,
            "{:width$} {:>10.1} {:>11} {:>11.1} {:>11} {:>7} {:>13}",
            bundle.name(flow.name),
            estimate.milli_packets as f64 / 1e3,
            estimate.bytes,
            estimate.milli_connections as f64 / 1e3,
            duration(estimate.think),
            size::bytes(flow),
            flow.client.code.len() + flow.server.code.len(),
        );
    }
    out + &plan_text(bundle, peak)
}

fn plan_text(bundle: &Bundle, peak: &Peak) -> String {
    if bundle.plan.loads.is_empty() {
        return "no run: ringway flows pcap starts each flow once".to_owned();
    }
    format!(
        "run: {}, of which {} steady, and up to {} to drain\nat most: {}, {}, {}\nat the same time: {} flows, {} MB; {}",
        duration(size::end_ns(bundle)),
        duration(steady_ns(bundle)),
        duration(bundle.plan.drain),
        scaled(peak.flows, "flows/s"),
        scaled(peak.packets, "pps"),
        bit_rate(peak.bits),
        peak.active.ceil(),
        (peak.memory / 1e6).ceil(),
        many(bundle.expectations.len() as u64, "expectation"),
    )
}
