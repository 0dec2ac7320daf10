//! `ringway flows run`

use std::cell::Cell;
use std::time::Duration;

use ringway::{OpenOptions, time::monotonic_ns};
use ringway_engine::affinity::pin;
use ringway_flows::run::over_ports::{self, Options, Sides};
use ringway_flows::run::second::Second;
use ringway_flows::transport::Settings;
use ringway_tester::ports::with_default_route;
use ringway_traffic::units::{bit_rate, scaled};
use serde_json::json;

use super::pcap::conclude;
use super::source::{Seed, Story};
use crate::console::{Console, note, served};
use crate::failure::Failure;
use crate::options::{Json, LinkWait};
use crate::{durations, stop};

/// Run a plan over ports: clients, servers, or both
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE, group(clap::ArgGroup::new("ports").required(true).multiple(false).args(["both", "client", "server"])),
    mut_arg("wait", |wait| wait.short(None)))]
pub(crate) struct Args {
    #[command(flatten)]
    story: Story,

    /// Run clients on the first port and servers on the second one, in this process; given several times, each pair has a worker
    #[arg(long, value_name = "PORT", num_args = 2, action = clap::ArgAction::Append)]
    both: Vec<String>,

    /// Run clients on this port; the servers are elsewhere. Given several times, each port has a worker
    #[arg(long, value_name = "PORT")]
    client: Vec<String>,

    /// Run servers on this port, until Ctrl-C; the clients are elsewhere. Given several times, each port has a worker
    #[arg(long, value_name = "PORT")]
    server: Vec<String>,

    /// Workers that share the rings of one port, or of one pair of ports
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    workers: u32,

    #[command(flatten)]
    seed: Seed,

    /// Stop after so long
    #[arg(long, value_name = "S", value_parser = durations::seconds)]
    seconds: Option<f64>,

    /// Look for frames this long before sleeping
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 20)]
    spin_us: u64,

    #[command(flatten)]
    link: LinkWait,

    #[command(flatten)]
    json: Json,
}

const USAGE: &str = "ringway flows run [OPTIONS] FILE --both PORT PORT
       ringway flows run [OPTIONS] FILE --client PORT
       ringway flows run [OPTIONS] FILE --server PORT";

const EXAMPLES: &str = "\
Prints a line each second, and a report at the end; with --json, an object each second, and the report as the last one. Clients and servers in
two processes, or on two machines, need the same file and the same seed. Servers measure no latencies and expect nothing.

A port whose interface holds a default route is refused: flows and attacks are for isolated laboratories.

Ends with 1 when an expectation of the file does not hold.

Examples:
  ringway flows run office.flow --both 'pipe:x{1' 'pipe:x}1'
  ringway flows run office.flow --server packet:eth1 & ringway flows run office.flow --client packet:eth0
  ringway flows run example --both vale0:a vale0:b --seconds 5 --json";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut bundle = args.story.compile()?;
    args.seed.apply(&mut bundle);
    if bundle.plan.loads.is_empty() && args.server.is_empty() {
        let what =
            "the file has no run, so nothing starts; add one, such as run { NAME rate 1 k flows/s for 10 s }";
        return Err(Failure::Other(format!("{}: {what}", args.story.file)));
    }
    let signals = stop::signals()?;
    let sides = sides(args)?;
    for port in sides.iter().flat_map(|sides| sides.client.iter().chain(&sides.server)) {
        args.link.wait(port, &signals)?;
        note(&format!("flows: {} [{}]", port.info().name, served(&port.info().backend, false)));
    }
    let options = Options {
        settings: Settings { clock: monotonic_ns(), ..Settings::default() },
        until_ns: args.seconds.map_or(u64::MAX, |seconds| (seconds * 1e9) as u64),
        spin: Duration::from_micros(args.spin_us),
        workers: args.workers,
        begin: if args.workers > 1 || sides.len() > 1 { place } else { |_| {} },
    };
    let console = args.json.console();
    let (mut told, failed) = (Ok(()), Cell::new(false));
    let report = over_ports::run(
        bundle,
        sides,
        &options,
        || signals.stopped() || failed.get(),
        |now| {
            told = tell(console, &now.second);
            failed.set(told.is_err());
        },
    )?;
    told?;
    conclude(args.json, &report)
}

/// The thread of a worker gets a processor of its own, where there are enough.
fn place(worker: usize) {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    // Where it may not choose, it runs anywhere.
    let _ = pin(worker % cpus);
}

/// Opens the ports. Each pair, or each port of a side, is an entry.
fn sides(args: &Args) -> Result<Vec<Sides>, Failure> {
    let names: Vec<&String> = args.both.iter().chain(&args.client).chain(&args.server).collect();
    for name in &names {
        if let Some(interface) = with_default_route(name) {
            let why = format!(
                "interface {interface} holds a default route, and flows are for isolated laboratories"
            );
            return Err(Failure::Usage(format!("{name}: {why}; choose another port")));
        }
    }
    let twice = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
    if let Some(at) = twice {
        return Err(Failure::Usage(format!("{}: the port is named twice; name each port once", names[at])));
    }
    let pairs = args.both.len() / 2 + args.client.len() + args.server.len();
    if pairs > 1 && args.workers > 1 {
        let what = "--workers is for one port, or one pair of ports: of several, each has a worker";
        return Err(Failure::Usage(format!("--workers {}: {what}; leave it out", args.workers)));
    }
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    // All at once: queues of one interface share its hook.
    let mut ports = OpenOptions::new().open_each(&names)?.into_iter();
    let mut all = Vec::new();
    while let Some(port) = ports.next() {
        all.push(if !args.both.is_empty() {
            Sides { client: Some(port), server: ports.next() }
        } else if !args.client.is_empty() {
            Sides { client: Some(port), server: None }
        } else {
            Sides { client: None, server: Some(port) }
        });
    }
    Ok(all)
}

/// A line or an object for a second.
fn tell(console: Console, second: &Second) -> Result<(), Failure> {
    let Second { seconds, started, complete, failed, active, .. } = *second;
    let text = format!(
        "{seconds:.1} s: {}, {}, {failed:.0} failed/s, {active} active, out {} at {}, in {}, {:.0} % busy",
        scaled(started, "starts/s"),
        scaled(complete, "flows/s"),
        scaled(second.packets_out, "pps"),
        bit_rate(second.bits_out),
        scaled(second.packets_in, "pps"),
        second.busy * 100.0,
    );
    Ok(console.result(&text, &json!({ "second": second }))?)
}
