//! `ringway bench`: published numbers, beside their peers, in one run.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::Subcommand;
use ringway_bench::lab::Lab;
use ringway_bench::suite::conditions::Conditions;
use ringway_bench::suite::report::Report;
use ringway_bench::suite::sides::SideCommand;
use ringway_bench::suite::{self, Bed, Case, Event, Options, Step, table};

use crate::console::{Console, note};
use crate::failure::Failure;
use crate::stop;

/// Measure Ringway beside its peers
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// Packet I/O: send, receive, forward, pipes, latency
    #[command(after_help = IO)]
    Io(SuiteArgs),
    /// Switches: between programs, between interfaces, many addresses, many ports
    #[command(after_help = VALE)]
    Vale(SuiteArgs),
    /// Containers: TCP, datagrams and round trips between two, by switches and routers
    #[command(after_help = CONTAINERS)]
    Containers(SuiteArgs),
    /// Unmodified programs: on Ringway beside themselves on the system's libraries
    #[command(after_help = PCAP)]
    Pcap(SuiteArgs),
    /// Route lookup: IPv4 and IPv6, lookups and updates
    #[command(after_help = FIB)]
    Fib(FibArgs),
    /// Routers: beside the kernel's, few routes and a whole table, one flow to a million
    #[command(after_help = L3)]
    L3(FibArgs),
    /// The RFC 2544 benchmark itself: frames a second, exactness of rates and times
    #[command(after_help = TESTER)]
    Tester(SuiteArgs),
    /// One side of an exchange between two processes; a suite starts both
    #[command(hide = true)]
    Side { words: Vec<String> },
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

/// Measure route lookup beside its peers
#[derive(Debug, clap::Args)]
pub(crate) struct FibArgs {
    #[command(flatten)]
    suite: SuiteArgs,

    /// Routes to measure with, plain or .xz: a prefix and a next hop (1 to 65535) on each line
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

const IO: &str = "\
Cases: tx, rx, rx-1mpps, forward, overload, pipe, ring, latency, idle-cpu. All but pipe and ring need root: they run in a network
namespace of their own. Peers that are not installed are skipped by name. Frame sizes count the FCS: 64 is 60 bytes in
a buffer. A full run takes about 6 minutes.

Examples:
  sudo ringway bench io                                  # everything
  sudo ringway bench io --case forward --json out.json   # one case, with its single runs
  ringway bench io --case pipe --runs 9 --seconds 0.5    # without root";

const VALE: &str = "\
Cases: unicast, burst, size, fdb, broadcast, nic, neighbours, ports. Switches need root; those between interfaces run in a network namespace of
their own. Systems: ringway-vale, ringway-pipe, dpdk-memif, linux-bridge, ovs-userspace, xdp-redirect; those that are not
installed are skipped by name. On two cores sender and receiver are two processes, also of ringway-vale and ringway-pipe. Frame
sizes count the FCS: 64 is 60 bytes in a buffer. A full run takes some 15 minutes.

Examples:
  sudo ringway bench vale                                    # everything
  sudo ringway bench vale --case unicast --json out.json     # one case, with its single runs
  sudo ringway bench vale --case fdb --only ringway-vale --runs 9 --seconds 0.5";

const CONTAINERS: &str = "\
Cases: tcp-1, tcp-4, udp-small, ping, route-tcp-1, route-tcp-4, route-udp-small. Two network namespaces with veths as ip makes them stand for \
two containers, a third one for their host; all need root. Switches: ringway-switch, ringway-switch-xdp, linux-bridge, ovs-userspace; \
routers: ringway-router, ringway-router-xdp, linux-forward. Those that are not installed are skipped by name. The systems named -xdp have GRO \
on in the containers, ovs-userspace has tx checksums off there: each needs that. TCP is measured at an MTU of 1500 and of 9000. A full run \
takes some 8 minutes.

Examples:
  sudo ringway bench containers                              # everything
  sudo ringway bench containers --case tcp-4 --json out.json # one case, with its single runs
  sudo ringway bench containers --only ringway-switch --only linux-bridge --runs 9";

const PCAP: &str = "\
Cases: bridge, tcpreplay, tcpdump, ovs, latency, latency-ovs. Each system is the same program, started as ringway run does it, or plainly: libpcap and
kernel. They need root and run in a network namespace of their own; those that are not installed are skipped by name. Frame sizes count
the FCS: 64 is 60 bytes in a buffer. A full run takes about 4 minutes.

Examples:
  sudo ringway bench pcap                                    # everything
  sudo ringway bench pcap --case bridge --json out.json      # one case, with its single runs
  sudo ringway bench pcap --case tcpdump --only libpcap --only ringway-mirror";

pub(crate) const FIB: &str = "\
Cases: ipv4-uniform, ipv4-covered, ipv4-sorted, ipv4-repeat, ipv4-zipf, ipv4-latency, ipv4-build, ipv4-update-trace, ipv4-update-random,
ipv4-meanwhile, and the same for ipv6. Systems: ringway, ringway-scalar, dpdk-rte_fib, dpdk-rte_fib-scalar (IPv6: dpdk-rte_fib6), prefix-trie,
treebitmap, linear-reference. DPDK is there when the program was built beside libdpdk-dev. Tables and the trace of updates are read from
fib/ in $RINGWAY_DATA or ./data; without them tables are made. Every answer is compared. rte_fib is left out of IPv4 tables with next hops above
32767, where its entries of 2 bytes end. Root is not needed. A full run takes about 12 minutes.

Examples:
  ringway bench fib                                      # everything
  ringway bench fib --case ipv4-covered --json out.json  # one case, with its single runs
  ringway bench fib --table routes.txt --only ringway --runs 3 --seconds 0.3";

const L3: &str = "\
Cases: bed, routes-8, routes-1m, stages, stages-clock. All need root and run in network namespaces of their own. Systems:
ringway-xdp-router, ringway-user-router, linux-ip_forward, xdp-bpf_fib_lookup, in case bed xdp-drop and xdp-redirect, in stages those of
ringway-xdp-router. The large table is read from fib/ in $RINGWAY_DATA, ../shared/data or ./data; without it one is made. Loading it takes half
a minute and 1 GB. Frame sizes count the FCS: 64 is 60 bytes in a buffer. A full run takes about 10 minutes.

Examples:
  sudo ringway bench l3                                      # everything
  sudo ringway bench l3 --case routes-8 --json out.json      # one case, with its single runs
  sudo ringway bench l3 --table routes.txt --runs 3 --seconds 0.3";

const TESTER: &str = "\
Cases: rate, generator, clock, rate-error, lateness, latency. Each measurement is a trial of ringway rfc2544 without a device, over a pipe, two
ports of a switch, and a veth. Switches and veths need root; links are in a network namespace of their own. DPDK is skipped by name where it is
not installed. Frames have 64 bytes with FCS. A full run takes about 6 minutes.

Examples:
  sudo ringway bench tester                                  # everything
  sudo ringway bench tester --case rate --json out.json      # one case, with its single runs
  ringway bench tester --only ringway-pipe                   # without root";

/// A positive number of seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if (0.01..=3600.0).contains(&s) => Ok(s),
        _ => Err("accepted: 0.01 to 3600 seconds".into()),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.suite {
        Suite::Fib(args) => fib(args),
        Suite::Io(args) => measure("io", args, suite::io::cases, |_| Vec::new()),
        Suite::Vale(args) => measure("vale", args, suite::vale::cases, |_| Vec::new()),
        Suite::Containers(args) => measure("containers", args, suite::containers::cases, |_| Vec::new()),
        Suite::Pcap(args) => measure("pcap", args, suite::pcap::cases, |_| Vec::new()),
        Suite::L3(args) => l3(args),
        Suite::Tester(args) => measure("tester", args, suite::tester::cases, |_| Vec::new()),
        Suite::Side { words } => suite::vale::side(words).map_err(|e| Failure::Other(e.to_string())),
    }
}

/// Runs the suite of route lookup.
pub(crate) fn fib(args: &FibArgs) -> Result<(), Failure> {
    let source = suite::fib::Source::new(args.table.clone());
    note(&source.describe());
    measure("fib", &args.suite, |bed| suite::fib::cases(bed, &source), |_| Vec::new())
}

fn l3(args: &FibArgs) -> Result<(), Failure> {
    let source = suite::fib::Source::new(args.table.clone());
    note(&source.describe());
    measure("l3", &args.suite, |bed| suite::l3::cases(bed, &source), suite::l3::agreement)
}

/// Runs a suite: what its cases are depends on where they are measured. Remarks on the report are printed behind it.
fn measure(
    name: &str,
    args: &SuiteArgs,
    cases: impl for<'a> Fn(Bed<'a>) -> Vec<Case<'a>>,
    remarks: impl Fn(&Report) -> Vec<String>,
) -> Result<(), Failure> {
    let to_stdout = args.json.as_ref().is_some_and(|f| f.as_os_str() == "-");
    let console = Console { json: to_stdout };
    let signals = stop::signals()?;
    let (case, only) = (args.case.clone(), args.only.clone());
    let options = Options { runs: args.runs, case, only, signals: signals.clone() };
    let conditions = Conditions::read();
    console.line(&conditions.to_string())?;
    if let Some(warning) = conditions.warning() {
        note(&format!("warning: {warning}"));
    }
    let lab = Lab::new();
    let sides = SideCommand::this_program(&["bench", "side"])
        .map_err(|e| Failure::Other(format!("where this program is can't be told: {e}")))?;
    let cases = cases(Bed::new(&lab, args.seconds, &signals).with_sides(&sides));
    check_names(&options, &cases)?;
    let mut progress = ProgressLine::new();
    let mut closed = Ok(());
    let report = suite::run_told(name, cases, &options, conditions, |event| match event {
        Event::Step(step) => progress.show(step),
        Event::Case { rows, missing } => {
            progress.clear();
            let text = table::text(rows, missing);
            if closed.is_ok() && !text.is_empty() {
                closed = console.line(&format!("{}\n", text.trim_end()));
            }
        }
    });
    progress.clear();
    drop(lab);
    match &args.json {
        Some(_) if to_stdout => write!(io::stdout(), "{}", report.to_json())?,
        Some(file) => fs::write(file, report.to_json())
            .map_err(|e| Failure::Other(format!("{}: {e}", file.display())))?,
        None => {}
    }
    closed?;
    remarks(&report).iter().try_for_each(|remark| console.line(remark))?;
    verdict(&report)
}

fn check_names(options: &Options, cases: &[Case<'_>]) -> Result<(), Failure> {
    let (known_cases, known_systems) = suite::names(cases);
    let known = |what: &str, name: &str, names: &[&str]| match names.contains(&name) {
        true => Ok(()),
        false => Err(Failure::Usage(format!("no {what} {name}; there are {}", names.join(", ")))),
    };
    options.case.iter().try_for_each(|name| known("case", name, &known_cases))?;
    options.only.iter().try_for_each(|name| known("system", name, &known_systems))
}

fn verdict(report: &Report) -> Result<(), Failure> {
    if report.interrupted {
        return Err(Failure::Other("interrupted: the numbers are incomplete".into()));
    }
    match report.failed() {
        Some(m) => Err(Failure::Other(format!("{} {} failed: {}", m.case, m.system, m.reason))),
        None if report.rows.is_empty() => Err(Failure::Other("nothing could be measured here".into())),
        None => Ok(()),
    }
}

/// One line on a terminal that says what is being measured; nothing elsewhere.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    shown: bool,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal() }
    }

    pub(crate) fn show(&mut self, step: Step) {
        let Step { done, total, case, variant, burst, system } = step;
        let filled = (20 * done / total.max(1)) as usize;
        let bar = format!("{:=<filled$}{:<rest$}", "", "", rest = 20 - filled);
        let gap = if variant.is_empty() { "" } else { " " };
        self.text(&format!("[{bar}] {done}/{total} {case} {variant}{gap}burst {burst}: {system}"));
    }

    pub(crate) fn text(&mut self, text: &str) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
            let _ = io::stderr().flush();
        }
    }

    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
