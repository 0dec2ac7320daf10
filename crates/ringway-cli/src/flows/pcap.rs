//! `ringway flows pcap`

use std::path::PathBuf;

use ringway_flows::run::report::Report;
use ringway_flows::run::report_text::text;
use ringway_flows::run::virtual_time::{self, Failed, Options};
use ringway_lab::Conditions;
use ringway_traffic::number;
use ringway_wire::pcapfile::{MAX_RECORD, PcapError, Writer};
use serde_json::Value;

use super::page::{self, Origin};
use super::source::{Backlog, Seed, Story};
use crate::errors;
use crate::failure::Failure;
use crate::options::Json;
use crate::{durations, words};

/// Run both ends in virtual time, and write all frames to a capture file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    story: Story,

    /// The capture file: pcap with nanosecond times, which begin at 0
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    backlog: Backlog,

    #[command(flatten)]
    seed: Seed,

    /// How long a frame takes from one end to the other
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    delay_us: u64,

    /// Stop after so long, in virtual time
    #[arg(long, value_name = "S", value_parser = durations::seconds)]
    seconds: Option<f64>,

    /// Start at most so many flows and packets of attacks (k, M, G)
    #[arg(long, value_name = "COUNT", value_parser = number::count)]
    flows: Option<u64>,

    /// Write the report as a page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
The run of the file says what starts when. A file without a run starts each of its flows once, a second after the one before. The same file and
seed give the same bytes, on any machine.

Ends with 1 when an expectation of the file does not hold.

Examples:
  ringway flows pcap ftp -o ftp.pcap
  ringway flows pcap example -o office.pcap --seconds 0.5 --seed 7
  ringway flows pcap example -o office.pcap --page report.html
  ringway flows pcap http -o http.pcap --json | jq .total.completion";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut bundle = args.story.compile()?;
    args.seed.apply(&mut bundle);
    if bundle.plan.loads.is_empty() {
        virtual_time::once(&mut bundle);
    }
    let options = Options {
        delay_ns: args.delay_us * 1000,
        until_ns: args.seconds.map_or(u64::MAX, |seconds| (seconds * 1e9) as u64),
        flows: args.flows.unwrap_or(u64::MAX),
        settings: args.backlog.settings(),
    };
    let origin = Origin {
        file: args.story.file.clone(),
        ports: vec!["both ends in virtual time".to_owned()],
        command: words::line(),
        conditions: Conditions::read(),
    };
    let mut file = Writer::create(&args.output, MAX_RECORD)?;
    let report = virtual_time::run(bundle, &options, |time, _, frame| file.write(time, 0, frame))
        .map_err(|why| failure(&args.story.file, why))?;
    file.finish()?;
    let written = page::write(args.page.as_deref(), &report, &origin);
    conclude(args.json, &report)?;
    written
}

/// Why a run in virtual time ended.
pub(super) fn failure(file: &str, why: Failed<PcapError>) -> Failure {
    match why {
        Failed::Sink(why) => why.into(),
        other => Failure::Other(errors::flows::RUN_FAILED, format!("{file}: {other}")),
    }
}

/// Prints a report. A failure if an expectation does not hold.
pub(super) fn conclude(json: Json, report: &Report) -> Result<(), Failure> {
    let object = serde_json::to_value(report).unwrap_or(Value::Null);
    json.console().result(&text(report), &object)?;
    if report.holds {
        return Ok(());
    }
    let wrong = report.expectations.iter().filter(|outcome| !outcome.holds);
    let wrong: Vec<String> =
        wrong.map(|outcome| format!("{} ({})", outcome.expectation, outcome.measured)).collect();
    Err(Failure::Other(
        errors::flows::EXPECTATION,
        format!("the file expects what does not hold: {}", wrong.join(", ")),
    ))
}
