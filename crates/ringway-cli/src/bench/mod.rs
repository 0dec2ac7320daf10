//! `ringway bench`: published numbers, beside their peers, in one run.

mod cut;
mod help;
mod output;
mod progress;

use std::path::PathBuf;

use clap::Subcommand;
use ringway_bench::suite::distance;
use ringway_bench::suite::report::Report;
use ringway_bench::suite::sides::SideCommand;
use ringway_bench::suite::{self, Bed, Case, Options};
use ringway_lab::Conditions;
use ringway_lab::Lab;

use crate::console::note;
use crate::durations::seconds;
use crate::errors;
use crate::failure::Failure;
use help::{ALL, CONTAINERS, ENGINE, FLOWS, IO, L3, MEMIF, NETMAP, PCAP, PYTHON, TESTER, VALE};
pub(crate) use help::{FIB, with_keys};
use output::{Output, Page, Remarks, Shared};
pub(crate) use progress::ProgressLine;

/// Measure Ringway beside its peers
#[derive(Debug, clap::Args)]
#[command(after_help = ALL)]
pub(crate) struct Args {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// Packet I/O: send, receive, forward, pipes, latency
    #[command(after_help = with_keys(IO))]
    Io(SuiteArgs),
    /// Switches: between programs, between interfaces, many addresses, many ports
    #[command(after_help = with_keys(VALE))]
    Vale(SuiteArgs),
    /// Containers: TCP, datagrams and round trips between two, by switches and routers
    #[command(after_help = with_keys(CONTAINERS))]
    Containers(SuiteArgs),
    /// Unmodified programs: on Ringway beside themselves on the system's libraries
    #[command(after_help = with_keys(PCAP))]
    Pcap(SuiteArgs),
    /// A program on netmap's interface: beside Ringway's own loops, libpcap and AF_XDP
    #[command(after_help = with_keys(NETMAP))]
    Netmap(SuiteArgs),
    /// Shared memory between processes: by Ringway, by DPDK, and between the two
    #[command(after_help = with_keys(MEMIF))]
    Memif(SuiteArgs),
    /// Route lookup: IPv4 and IPv6, lookups and updates
    #[command(after_help = with_keys(FIB))]
    Fib(FibArgs),
    /// Queues, pools and ports that any number of threads use: beside DPDK's and crossbeam's
    #[command(after_help = with_keys(ENGINE))]
    Engine(EngineArgs),
    /// Flows of applications: complete ones a second, beside raw sockets and the kernel's sockets
    #[command(after_help = with_keys(FLOWS))]
    Flows(FlowsArgs),
    /// The Python module: beside scapy, a module of libpcap, sockets, and a table of prefixes
    #[command(after_help = with_keys(PYTHON))]
    Python(FibArgs),
    /// Routers: beside the kernel's, few routes and a whole table, one flow to a million
    #[command(after_help = with_keys(L3))]
    L3(FibArgs),
    /// The RFC 2544 benchmark itself: frames a second, exactness of rates and times
    #[command(after_help = with_keys(TESTER))]
    Tester(SuiteArgs),
    /// One side of an exchange between two processes; a suite starts both
    #[command(hide = true)]
    Side { words: Vec<String> },
    /// Delete what this process left when it was a suite
    #[command(hide = true)]
    CleanUp,
}

#[derive(Debug, clap::Args)]
struct SuiteArgs {
    /// Repeats of each system; systems take turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Length of a run, after 200 ms of warm-up
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,

    /// Only the cases of this name
    #[arg(long)]
    case: Option<String>,

    /// Only this system; may be repeated
    #[arg(long, value_name = "SYSTEM")]
    only: Vec<String>,

    /// Print the result as one JSON object, or write it to a file beside the tables
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct EngineArgs {
    #[command(flatten)]
    suite: SuiteArgs,

    /// Write a page with charts and tables to a file as well
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct FlowsArgs {
    #[command(flatten)]
    suite: SuiteArgs,

    /// Flows at the same time, in all cases but idle
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    concurrent: u32,

    /// Open connections of case idle
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    connections: u32,
}

/// Measure route lookup beside its peers
#[derive(Debug, clap::Args)]
pub(crate) struct FibArgs {
    #[command(flatten)]
    suite: SuiteArgs,

    /// Routes to measure with, plain or .xz: a prefix and a next hop (1 to 65535) on each line
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.suite {
        Suite::Fib(args) => fib(args),
        Suite::Io(args) => measure("io", args, suite::io::cases, |_| Vec::new()),
        Suite::Vale(args) => measure("vale", args, suite::vale::cases, |_| Vec::new()),
        Suite::Containers(args) => measure("containers", args, suite::containers::cases, |_| Vec::new()),
        Suite::Pcap(args) => measure("pcap", args, suite::pcap::cases, |_| Vec::new()),
        Suite::Memif(args) => measure("memif", args, suite::memif::cases, |_| Vec::new()),
        Suite::Netmap(args) => measure("netmap", args, suite::netmap::cases, suite::netmap::shares),
        Suite::Engine(args) => engine(args),
        Suite::Flows(args) => flows(args),
        Suite::Python(args) => python(args),
        Suite::L3(args) => l3(args),
        Suite::Tester(args) => measure("tester", args, suite::tester::cases, |_| Vec::new()),
        Suite::Side { words } => {
            suite::sides::side(words).map_err(|e| Failure::Other(errors::testers::BENCHMARK, e.to_string()))
        }
        Suite::CleanUp => {
            cut::clean_up();
            Err(cut::interrupted())
        }
    }
}

/// Runs the suite of route lookup.
pub(crate) fn fib(args: &FibArgs) -> Result<(), Failure> {
    let source = suite::fib::Source::new(args.table.clone());
    note(&source.describe());
    measure("fib", &args.suite, |bed| suite::fib::cases(bed, &source), |_| Vec::new())
}

fn python(args: &FibArgs) -> Result<(), Failure> {
    let source = suite::fib::Source::new(args.table.clone());
    note(&source.describe());
    measure("python", &args.suite, |bed| suite::python::cases(bed, &source), suite::python::bars)
}

fn l3(args: &FibArgs) -> Result<(), Failure> {
    let source = suite::fib::Source::new(args.table.clone());
    note(&source.describe());
    measure("l3", &args.suite, |bed| suite::l3::cases(bed, &source), suite::l3::agreement)
}

fn flows(args: &FlowsArgs) -> Result<(), Failure> {
    let load = suite::flows::Load { concurrent: args.concurrent, connections: args.connections };
    measure("flows", &args.suite, |bed| suite::flows::cases(bed, load), suite::flows::ratios)
}

fn engine(args: &EngineArgs) -> Result<(), Failure> {
    let page = args.page.clone().map(|file| Page { file, html: suite::engine::page::html });
    measure_with("engine", &args.suite, suite::engine::cases, suite::engine::shares, page)
}

/// Runs a suite: what its cases are depends on where they are measured. Remarks on the report are printed behind it.
fn measure(
    name: &str,
    args: &SuiteArgs,
    cases: impl for<'a> Fn(Bed<'a>) -> Vec<Case<'a>>,
    remarks: Remarks,
) -> Result<(), Failure> {
    measure_with(name, args, cases, remarks, None)
}

/// The same, with a page of the report.
fn measure_with(
    name: &str,
    args: &SuiteArgs,
    cases: impl for<'a> Fn(Bed<'a>) -> Vec<Case<'a>>,
    remarks: Remarks,
    page: Option<Page>,
) -> Result<(), Failure> {
    let report = Report { apart_ns: distance::apart_ns(), ..Report::new(name, Conditions::read()) };
    let output = Output::new(args.json.clone(), report.clone(), remarks).with_page(page);
    output.console.line(&report.conditions.to_string())?;
    if let Some(ns) = report.apart_ns {
        output.console.line(&format!("a cache line takes {ns} ns from core to core and back"))?;
    }
    if let Some(warning) = report.conditions.warning() {
        note(&format!("warning: {warning}"));
    }
    let output = Shared::new(output);
    let signals = cut::watch(output.clone())?;
    let (case, only) = (args.case.clone(), args.only.clone());
    let options = Options { runs: args.runs, case, only, signals: signals.clone() };
    let lab = Lab::new();
    let sides = SideCommand::this_program(&["bench", "side"]).map_err(|e| {
        Failure::Other(errors::command::SYSTEM, format!("this program's own place is unknown: {e}"))
    })?;
    let cases = cases(Bed::new(&lab, args.seconds, &signals).with_sides(&sides));
    check_names(&options, &cases)?;
    let report = suite::run_told(report, cases, &options, |event| output.hear(event));
    drop(lab);
    if report.interrupted {
        cut::clean_up(); // Ctrl-C on a terminal also ends the tools that delete
    }
    output.take().finish(&report)?;
    verdict(&report)
}

fn check_names(options: &Options, cases: &[Case<'_>]) -> Result<(), Failure> {
    let (known_cases, known_systems) = suite::names(cases);
    let known = |what: &str, name: &str, names: &[&str]| match names.contains(&name) {
        true => Ok(()),
        false => Err(Failure::Usage(
            errors::command::BAD_VALUE,
            format!("no {what} {name}; there are {}", names.join(", ")),
        )),
    };
    options.case.iter().try_for_each(|name| known("case", name, &known_cases))?;
    options.only.iter().try_for_each(|name| known("system", name, &known_systems))
}

fn verdict(report: &Report) -> Result<(), Failure> {
    if report.interrupted {
        return Err(cut::interrupted());
    }
    match report.failed() {
        Some(m) => Err(Failure::Other(
            errors::testers::BENCHMARK,
            format!("{} {} failed: {}", m.case, m.system, m.reason),
        )),
        None if report.rows.is_empty() => {
            Err(Failure::Other(errors::testers::BENCHMARK, "nothing could be measured here".into()))
        }
        None => Ok(()),
    }
}
