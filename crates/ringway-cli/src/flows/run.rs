//! `ringway flows run`

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ringway::{OpenOptions, time::monotonic_ns};
use ringway_engine::affinity::pin;
use ringway_flows::run::over_ports::{self, Options, Sides};
use ringway_flows::run::second::Second;
use ringway_flows::shard::Gateway;
use ringway_flows::transport::Settings;
use ringway_lab::Conditions;
use ringway_tester::ports::with_default_route;
use ringway_traffic::units::{bit_rate, scaled};
use serde_json::json;

use super::live::Live;
use super::page::{self, Origin};
use super::pcap::conclude;
use super::source::{Backlog, Seed, Story};
use crate::console::{Console, note, served};
use crate::errors;
use crate::failure::Failure;
use crate::options::{Json, LinkWait};
use crate::{durations, stop, words};

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

    /// Reach the servers through the router with this address; once for each family
    #[arg(long, value_name = "ADDRESS")]
    client_gateway: Vec<IpAddr>,

    /// Reach the clients through the router with this address; once for each family
    #[arg(long, value_name = "ADDRESS")]
    server_gateway: Vec<IpAddr>,

    #[command(flatten)]
    backlog: Backlog,

    #[command(flatten)]
    seed: Seed,

    /// Stop after so long
    #[arg(long, value_name = "S", value_parser = durations::seconds)]
    seconds: Option<f64>,

    /// Look for frames this long before sleeping
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 20)]
    spin_us: u64,

    /// Print a line each second on a terminal, too, instead of a screen
    #[arg(long)]
    no_live: bool,

    /// Write the report as a page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    #[command(flatten)]
    link: LinkWait,

    #[command(flatten)]
    json: Json,
}

const USAGE: &str = "ringway flows run [OPTIONS] FILE --both PORT PORT
       ringway flows run [OPTIONS] FILE --client PORT
       ringway flows run [OPTIONS] FILE --server PORT";

const EXAMPLES: &str = "\
On a terminal it has a screen, and q or Ctrl-C stops everything. Elsewhere, and with --no-live, it prints a line each second; with --json an object.
The report is at the end. Clients and servers in
two processes, or on two machines, need the same file and the same seed. Servers measure no latencies and expect nothing.

A port whose interface holds a default route is refused: flows and attacks are for isolated laboratories.

Ends with 1 when an expectation of the file does not hold.

Examples:
  ringway flows run office.flow --both 'pipe:x{1' 'pipe:x}1'
  ringway flows run office.flow --server packet:eth1 & ringway flows run office.flow --client packet:eth0
  ringway flows run example --both vale0:a vale0:b --page report.html
  ringway flows run example --both ebpf:eth0 ebpf:eth1 --client-gateway 198.18.0.254 --server-gateway 198.19.0.254
  ringway flows run example --both ebpf:eth0 ebpf:eth1 --workers 2 --seconds 5 --json";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut bundle = args.story.compile()?;
    args.seed.apply(&mut bundle);
    if bundle.plan.loads.is_empty() && args.server.is_empty() {
        let what =
            "the file has no run, so nothing starts; add one, such as run { NAME rate 1 k flows/s for 10 s }";
        return Err(Failure::Other(errors::flows::NO_RUN, format!("{}: {what}", args.story.file)));
    }
    let gateways = [gateway(&args.client_gateway)?, gateway(&args.server_gateway)?];
    let signals = stop::signals()?;
    let (sides, conditions) = (sides(args)?, Conditions::read());
    let mut ports = Vec::new();
    for port in sides.iter().flat_map(|sides| sides.client.iter().chain(&sides.server)) {
        args.link.wait(port, &signals)?;
        ports.push(format!("{} [{}]", port.info().name, served(&port.info().backend, false)));
        note(&format!("flows: {}", ports[ports.len() - 1]));
    }
    let options = Options {
        settings: Settings { clock: monotonic_ns(), ..args.backlog.settings() },
        until_ns: args.seconds.map_or(u64::MAX, |seconds| (seconds * 1e9) as u64),
        spin: Duration::from_micros(args.spin_us),
        workers: args.workers,
        gateways,
        begin: if args.workers > 1 || sides.len() > 1 { place } else { |_| {} },
    };
    let origin = Origin { file: args.story.file.clone(), ports, command: words::line(), conditions };
    let console = args.json.console();
    let mut screen = None;
    if !args.json.json && !args.no_live && io::stdin().is_terminal() && io::stdout().is_terminal() {
        screen = Some(Live::open(format!("ringway flows  {}  seed {}", args.story.file, bundle.seed))?);
    }
    let screen = RefCell::new(screen);
    let told = RefCell::new(Ok(()));
    let note = |said: Result<(), Failure>| {
        if said.is_err() {
            *told.borrow_mut() = said;
        }
    };
    let stopped = || {
        let key = screen.borrow_mut().as_mut().map_or(Ok(false), Live::stopped);
        let pressed = key.unwrap_or_else(|why| {
            note(Err(why.into()));
            true
        });
        pressed || signals.stopped() || told.borrow().is_err()
    };
    let report = over_ports::run(bundle, sides, &options, stopped, |now| {
        note(match screen.borrow_mut().as_mut() {
            Some(live) => live.show(now).map_err(Failure::from),
            None => tell(console, &now.second),
        });
    });
    // The terminal is given back before anything is printed.
    drop(screen);
    let report = report?;
    told.into_inner()?;
    let written = page::write(args.page.as_deref(), &report, &origin);
    conclude(args.json, &report)?;
    written
}

/// The routers of a side, at most one of each family.
fn gateway(addresses: &[IpAddr]) -> Result<Gateway, Failure> {
    let mut gateway = Gateway::default();
    for &address in addresses {
        let before = match address {
            IpAddr::V4(address) => gateway.v4.replace(address).map(IpAddr::from),
            IpAddr::V6(address) => gateway.v6.replace(address).map(IpAddr::from),
        };
        if let Some(other) = before {
            let why = format!(
                "{other} and {address} are two gateways of one family; give one of each side and family"
            );
            return Err(Failure::Usage(errors::command::CONFLICT, why));
        }
    }
    Ok(gateway)
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
            return Err(Failure::Usage(
                errors::testers::PRODUCTION,
                format!("{name}: {why}; choose another port"),
            ));
        }
    }
    let twice = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
    if let Some(at) = twice {
        return Err(Failure::Usage(
            errors::command::BAD_VALUE,
            format!("{}: the port is named twice; name each port once", names[at]),
        ));
    }
    let pairs = args.both.len() / 2 + args.client.len() + args.server.len();
    if pairs > 1 && args.workers > 1 {
        let what = "--workers is for one port, or one pair of ports: of several, each has a worker";
        return Err(Failure::Usage(
            errors::command::CONFLICT,
            format!("--workers {}: {what}; leave it out", args.workers),
        ));
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
