//! `ringway prof vantage`: what the stages of a device cost, by packets that end early.

use std::path::PathBuf;
use std::time::Duration;

use ringway_lab::Conditions;
use ringway_model::rig::{Bed, Cpus, Length};
use ringway_model::sweep::Point;
use ringway_model::time::Clock;
use ringway_model::vantage::report::{self, About};
use ringway_model::vantage::{cuts, page, run as measure};
use ringway_tester::Fault;
use ringway_tester::dut::{Backend, DutKind};

use super::files::write;
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::tester::device::{backends, kinds};
use crate::tester::line::StatusLine;
use crate::{stop, words};

/// Measure the stages of a device without a profiler: packets end at chosen places, and differences are the stages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Device, set up in namespaces of its own: linux-forward, linux-bridge, ringway-router or ringway-switch
    #[arg(long, value_name = "DEVICE", value_parser = kinds())]
    dut: DutKind,

    /// Bytes of a frame, with FCS
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    size: u32,

    /// Frames that the generator hands over at a time
    #[arg(long, value_name = "N", default_value_t = 256)]
    burst: u32,

    /// How the generator attaches to its link [default: ebpf]
    #[arg(long, value_name = "BACKEND", value_parser = backends())]
    dut_backend: Option<Backend>,

    /// Rounds over all places
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Length of a run
    #[arg(long, value_name = "S", default_value_t = 0.4, value_parser = crate::tester::values::seconds)]
    seconds: f64,

    /// Write the stages as a page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Each round measures all places, and after each place packets pass again. Costs are times of the thread that receives.

Examples:
  ringway prof vantage --dut linux-forward
  ringway prof vantage --dut ringway-router --page stages.html";

const WARM_UP: Duration = Duration::from_millis(50);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let cuts = cuts(args.dut).map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))?;
    let point = Point { size: args.size, burst: args.burst, ..Point::default() };
    point.check().map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))?;
    let signals = stop::signals()?;
    let (conditions, clock) = (Conditions::read(), Clock::measure());
    let failed = |e: Fault| Failure::Other(errors::testers::DEVICE_FAILED, format!("{}: {e}", args.dut));
    let backend = args.dut_backend.unwrap_or_default();
    let mut bed = Bed::new(args.dut, backend, 1, Cpus::default()).map_err(failed)?;
    let mut line = StatusLine::new();
    let length = Length { warm_up: WARM_UP, counted: Duration::from_secs_f64(args.seconds) };
    let tell = |cut: &ringway_model::vantage::Cut, run: &ringway_model::sweep::Run| {
        line.draw(|| format!("{}: {:.0} ns a packet", cut.name, run.ns().unwrap_or(0.0)));
    };
    let rounds = measure(&mut bed, cuts, &point, (args.rounds, length), &signals, tell).map_err(failed)?;
    line.clear();
    if rounds.is_empty() {
        return Err(Failure::Other(
            errors::counts::NOTHING_MEASURED,
            "it was stopped before the first round was over".into(),
        ));
    }
    let about = About { device: args.dut, load: point.describe(), conditions, clock };
    let text = report::text(&about, &rounds);
    Console { json: args.json }.result(text.trim_end(), &report::json(&about, &rounds))?;
    about.conditions.warning().iter().for_each(|warning| note(&format!("Careful: {warning}")));
    match &args.page {
        Some(file) => write(file, &page::html(&about, &rounds, &words::line())),
        None => Ok(()),
    }
}
