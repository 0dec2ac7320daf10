//! `ringway flows trace`

use std::convert::Infallible;

use ringway_flows::code::End;
use ringway_flows::run::report::{EndReport, Report};
use ringway_flows::run::virtual_time::{self, Failed, Options};
use ringway_wire::parse;
use serde_json::{Value, json};

use super::source::{Seed, Story, flow};
use crate::errors;
use crate::failure::Failure;
use crate::options::Json;

/// Run one flow in virtual time, and print each frame with the end that sends it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    story: Story,

    /// The flow; not needed where there is only one
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,

    #[command(flatten)]
    seed: Seed,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
Each line has the time in seconds, the end that sends the frame, and a summary of it. A frame takes 50 us to the other end. The last line says
how each end came out; ends with 1 when one of them failed.

Examples:
  ringway flows trace ftp --flow ftp_get
  ringway flows trace http --flow web --seed 7 -D reqs=2
  ringway flows trace dns --flow lookup --json";

/// A frame of the trace.
struct Frame {
    ns: u64,
    end: End,
    length: usize,
    summary: String,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut bundle = args.story.compile()?;
    args.seed.apply(&mut bundle);
    let at = flow(&bundle, args.flow.as_deref())?;
    virtual_time::only(&mut bundle, at as u32);
    let (name, seed) = (bundle.name(bundle.flows[at].name).to_owned(), bundle.seed);
    let mut frames = Vec::new();
    let sink = |ns, end, frame: &[u8]| {
        frames.push(Frame { ns, end, length: frame.len(), summary: parse(frame).to_string() });
        Ok::<(), Infallible>(())
    };
    let report = virtual_time::run(bundle, &Options::default(), sink).map_err(|why| match why {
        Failed::Sink(never) => match never {},
        other => Failure::Other(errors::flows::RUN_FAILED, format!("{}: {other}", args.story.file)),
    })?;
    let ends = [("client", &report.flows[at].client), ("server", &report.flows[at].server)];
    let mut lines: Vec<String> = frames.iter().map(line).collect();
    lines.push(ends.map(|(end, report)| format!("{end}: {}", outcome(report))).join(", "));
    let object = json!({
        "flow": name, "seed": seed,
        "frames": frames.iter().map(object).collect::<Vec<_>>(),
        "client": outcome(ends[0].1), "server": outcome(ends[1].1),
    });
    args.json.console().result(&lines.join("\n"), &object)?;
    if is_complete(&report, at) {
        Ok(())
    } else {
        Err(Failure::Other(errors::flows::INCOMPLETE, format!("{name}: the flow is not complete")))
    }
}

fn line(frame: &Frame) -> String {
    let (s, ns) = (frame.ns / 1_000_000_000, frame.ns % 1_000_000_000);
    format!("{s}.{ns:09} {} {}", word(frame.end), frame.summary)
}

fn object(frame: &Frame) -> Value {
    json!({ "ns": frame.ns, "end": word(frame.end), "length": frame.length, "summary": frame.summary })
}

const fn word(end: End) -> &'static str {
    match end {
        End::Client => "client",
        End::Server => "server",
    }
}

/// How an end came out.
fn outcome(end: &EndReport) -> &'static str {
    match end.failed.iter().find(|(_, count)| **count > 0) {
        Some((why, _)) => why,
        None if end.complete > 0 => "complete",
        None if end.active > 0 => "active",
        None => "not started",
    }
}

/// Whether the flow is; an attack of raw packets has no server.
fn is_complete(report: &Report, at: usize) -> bool {
    let flows = &report.flows[at].flows;
    flows.started > 0 && flows.complete == flows.started
}
