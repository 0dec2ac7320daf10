//! `ringway stats`: counters of the ports that are open on this machine.

use std::thread;
use std::time::{Duration, Instant};

use ringway::{OpenPort, PortName, open_ports};
use ringway_bench::engine::Signals;
use serde_json::{Value, json};

use crate::console::Console;
use crate::failure::Failure;
use crate::{counters, link, stop};

/// Show the counters of open ports
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only this port; exit code 1 when nobody has it open
    port: Option<String>,

    /// Print again every SECONDS, until Ctrl-C
    #[arg(short, long, value_name = "SECONDS", value_parser = link::seconds)]
    watch: Option<f64>,

    /// Say what to do about each kind of drop
    #[arg(short, long)]
    verbose: bool,

    /// Print one JSON object: {"ports": [{"name", "pid", "rx": {...}, "tx": {...}}]}
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Of each direction: frames that entered, frames that left, and drops by name; after quiescence in = out + drops.

Examples:
  ringway stats                  # all ports that you may see
  ringway stats eth0 -w 1        # one port, every second
  ringway stats --json | jq '.ports[] | {name, dropped: .rx.dropped}'";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let signals = stop::signals()?;
    let console = Console { json: args.json };
    let Some(period) = args.watch else { return show(args, console) };
    while !signals.stopped() {
        show(args, console)?;
        rest(Duration::from_secs_f64(period), &signals);
    }
    Ok(())
}

fn show(args: &Args, console: Console) -> Result<(), Failure> {
    let mut ports = open_ports();
    if let Some(name) = &args.port {
        let full = name.parse::<PortName>().map_or_else(|_| name.clone(), |n| n.to_string());
        ports.retain(|p| p.name == *name || p.name == full);
        if ports.is_empty() {
            let what = format!("{name}: nobody has this port open; ringway stats lists the open ones");
            return Err(Failure::Other(what));
        }
    }
    let text: Vec<String> = ports.iter().map(|p| describe(p, args.verbose)).collect();
    let text = if text.is_empty() { "no port is open".to_owned() } else { text.join("\n") };
    let ports: Vec<Value> = ports.iter().map(object).collect();
    console.result(&text, &json!({ "ports": ports }))?;
    Ok(())
}

fn describe(p: &OpenPort, verbose: bool) -> String {
    let mut text = format!("{} (pid {})\n  rx {}\n  tx {}", p.name, p.pid, p.counters.rx, p.counters.tx);
    if verbose {
        for c in [&p.counters.rx, &p.counters.tx] {
            for (why, _) in c.reasons() {
                text += &format!("\n  {}: {}", why.name(), why.help());
            }
        }
    }
    text
}

fn object(p: &OpenPort) -> Value {
    let mut object = counters::port(&p.counters);
    object["name"] = p.name.clone().into();
    object["pid"] = p.pid.into();
    object
}

/// Sleeps for `period`, or until told to stop.
fn rest(period: Duration, signals: &Signals) {
    let end = Instant::now() + period;
    while !signals.stopped() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(50)));
    }
}
