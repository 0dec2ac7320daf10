//! `ringway stats`: counters of the ports that are open on this machine.

mod check;
mod since;

use std::io::Write;
use std::time::UNIX_EPOCH;

use ringway::{OpenPort, OpenRing, PortCounters, PortName, open_ports};
use ringway_watch::switches::Reading;
use ringway_watch::{metrics, printable, routers, switches};
use serde_json::{Value, json};

use crate::console::{Console, note};
use crate::counters;
use crate::errors;
use crate::failure::Failure;
use crate::options::{Every, Json, Verbose};
use crate::visible::{nobody_has_it, none_listed};
use since::{Look, Since, words};

/// Show the counters of open ports
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("verbose", |verbose| verbose.help(VERBOSE)))]
pub(crate) struct Args {
    /// Only this port; exit code 1 when nobody has it open
    port: Option<String>,

    #[command(flatten)]
    watch: Every,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    json: Json,

    /// Print OpenMetrics text, as ringway exporter serves it
    #[arg(long, conflicts_with_all = ["json", "watch", "verbose", "check"])]
    openmetrics: bool,

    /// Read twice, and tell for each port whether its accounts close; exit code 1 when one does not
    #[arg(long, conflicts_with = "watch")]
    check: bool,
}

const VERBOSE: &str = "Say what to do about each kind of drop; with --check, show every account";

const EXAMPLES: &str = "\
Of each direction: frames that entered, frames that left, and drops by name; after quiescence in = out + drops. They count
from when the port was opened; of a port of a switch from when it was made, whether open or not.
ringway switch stats shows ports of switches that nobody has open, too.

--check: each ring of a port is an account, which closes when in = out + drops. A port is
  ok                nothing moved, and all its accounts close
  busy              frames are under way or counters moved, and none is missing for certain
  open by N frames  N frames at least are missing, or left without having entered; seen three
                    times in a row
Without a port, root also gets each switch. Its accounts are `p1 rx` and `p1 tx` of each port p1 and, over all ports
there are and were, rx, tx and copies (in: as senders counted them, out: as receivers did).

--openmetrics: ringway_port_* are the accounts of whole ports, ringway_ring_* of each ring; labels port, pid and nr (which
of the ports of that process) name a port, side (rx, tx) or ring (rx0) the part, dir (in, out) and reason the kind.
ringway_switch_* are switches, with label switch, and ringway_switch_port_* their ports, with label port. ringway_router_* are
routers, with label router; ringway_router_packets has labels member and outcome.

Examples:
  ringway stats                  # all ports that you may see
  ringway stats eth0 -w 1        # one port with its rates, every second
  ringway stats -w 1 --json      # the same, an object a line
  ringway stats --check          # is every frame accounted for?
  ringway stats --openmetrics    # what ringway exporter serves
  ringway stats --json | jq '.ports[] | {name, dropped: .rx.dropped}'
  ringway stats --json | jq -r '.ports[] | .rings[] | [.direction, .ring, .fill, .drops.ring_full] | @tsv'";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let console = args.json.console();
    if args.openmetrics {
        let page = metrics::page(&selected(args)?, &all_switches(args), &all_routers(args));
        std::io::stdout().write_all(page.as_bytes())?;
        return Ok(());
    }
    if args.check {
        return check::run(|| Ok((selected(args)?, all_switches(args))), args.verbose.verbose, console);
    }
    let mut before = None;
    args.watch.repeat(console, || {
        before = Some(show(args, console, before.as_ref())?);
        Ok(())
    })
}

/// The ports that were asked for.
fn selected(args: &Args) -> Result<Vec<OpenPort>, Failure> {
    let mut ports = open_ports();
    if let Some(name) = &args.port {
        let full = name.parse::<PortName>().map_or_else(|_| name.clone(), |n| n.to_string());
        ports.retain(|p| p.name == *name || p.name == full);
        if ports.is_empty() {
            name.parse::<PortName>()?;
            return Err(Failure::Other(errors::counts::NOT_OPEN, format!("{name}: {}", nobody_has_it())));
        }
    }
    Ok(ports)
}

/// The switches, unless a port was asked for.
fn all_switches(args: &Args) -> Vec<Reading> {
    if args.port.is_none() { switches::readable() } else { Vec::new() }
}

/// The routers, unless a port was asked for.
fn all_routers(args: &Args) -> Vec<routers::Reading> {
    if args.port.is_none() { routers::readable() } else { Vec::new() }
}

/// Prints what there is now; with rates since the look before.
fn show(args: &Args, console: Console, before: Option<&Look>) -> Result<Look, Failure> {
    let look = Look::new(selected(args)?);
    let ports = &look.ports;
    let since: Vec<Option<Since>> = ports.iter().map(|p| before.and_then(|b| look.since(b, p))).collect();
    let text: Vec<String> = ports
        .iter()
        .zip(&since)
        .map(|(p, since)| describe(p, args.verbose.verbose, since.as_ref()))
        .collect();
    let text = if text.is_empty() { none_listed() } else { text.join("\n") };
    let mut all = objects(ports);
    if args.watch.watch.is_some() {
        for (object, since) in all["ports"].as_array_mut().into_iter().flatten().zip(&since) {
            object["rates"] = since.as_ref().map_or(Value::Null, Since::object);
        }
    }
    console.result(&text, &all)?;
    if console.json && ports.is_empty() {
        note(&none_listed());
    }
    Ok(look)
}

fn describe(p: &OpenPort, verbose: bool, since: Option<&Since>) -> String {
    let [rx, tx] = since.map(|s| [s.rx, s.tx].map(|r| format!("; {}", words(r)))).unwrap_or_default();
    let name = printable(&p.name);
    let mut text = format!("{name} (pid {})\n  rx {}{rx}\n  tx {}{tx}", p.pid, p.counters.rx, p.counters.tx);
    if verbose {
        for c in [&p.counters.rx, &p.counters.tx] {
            for (why, _) in c.reasons() {
                text += &format!("\n  {}: {}", why.name(), why.help());
            }
        }
    }
    text
}

/// What `--json` prints of ports.
pub(crate) fn objects(ports: &[OpenPort]) -> Value {
    let mut totals = PortCounters::default();
    for p in ports {
        totals.rx.add(&p.counters.rx);
        totals.tx.add(&p.counters.tx);
    }
    let objects: Vec<Value> = ports.iter().map(object).collect();
    json!({ "ports": objects, "totals": counters::port(&totals) })
}

fn object(p: &OpenPort) -> Value {
    let mut object = counters::port(&p.counters);
    let opened = p.opened.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let interface = p.interface().map(|i| json!({ "name": i.name, "index": i.index, "netns": i.netns }));
    let rings = |direction: &'static str, rings: &[OpenRing]| {
        rings.iter().zip(0..).map(|(r, n)| ring(direction, n, r)).collect::<Vec<_>>()
    };
    for (key, value) in [
        ("name", json!(p.name)),
        ("pid", json!(p.pid)),
        ("opened", json!(opened)),
        ("backend", json!(p.backend)),
        ("interface", json!(interface)),
        ("rings", json!([rings("rx", &p.rx), rings("tx", &p.tx)].concat())),
    ] {
        object[key] = value;
    }
    object
}

fn ring(direction: &str, number: u32, r: &OpenRing) -> Value {
    let mut object = counters::direction(&r.counters);
    object["direction"] = direction.into();
    object["ring"] = number.into();
    object["slots"] = r.slots.into();
    object["fill"] = r.fill.into();
    object
}
