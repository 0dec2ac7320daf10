//! `ringway router run`: a router in this process.

use std::time::Duration;

use ringway::time::monotonic_ns;
use ringway_engine::supervise;
use ringway_router::user::{Options, Router, Side, Watch};
use ringway_traffic::units::many;
use serde_json::{Map, Value, json};

use super::rpf::Rpf6;
use crate::console::Console;
use crate::failure::Failure;
use crate::options::{Every, Turns};
use crate::{counters, stop};

/// Route between ports in this process, by the kernel's routes and neighbours
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Run {
    /// An interface, the port of its wire and that of its host's side; default: auto:IF and ebpf:IF^. Give each interface once
    #[arg(short, long = "port", value_name = "IF[=PORT[,HOSTPORT]]", required = true)]
    ports: Vec<Side>,

    #[command(flatten)]
    rpf6: Rpf6,

    #[command(flatten)]
    turns: Turns,

    #[command(flatten)]
    watch: Every,
}

const HELP: &str = "\
Addresses, routes and neighbours are the kernel's, set by ip or a routing daemon, and may change meanwhile. Interfaces forward what \
net.ipv4.conf.IF.forwarding and net.ipv6.conf.IF.forwarding allow. What the rules of docs/router.md leave to the kernel goes on to its \
stack by the host port; what the stack sends on IF leaves by its port. Policy routing rules and netfilter are not asked.

An interface behind a port of a switch can be a veth whose other end nobody uses: it has the addresses, the port has the traffic.

Frames are exchanged without a copy between ports in one region, those of ebpf: and xdp: ports. The router ends with Ctrl-C, and the kernel \
forwards again.

Examples:
  ringway router run -p eth0 -p eth1                      # between two interfaces
  ringway router run -p eth0 -p h0=vale0:lan -w 1         # between an interface and hosts at a switch
  ringway router run -p eth0=xdp:eth0,null: -p eth1       # AF_XDP; nothing for the host of eth0";

impl Run {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let mut options = Options::new(self.ports.clone());
        (options.rpf6, options.turns) = (self.rpf6.rpf6, self.turns.into());
        let signals = stop::signals()?;
        let mut router = Router::open(&options)?;
        let watch = router.watch();
        (0..watch.sides().len()).try_for_each(|i| console.line(&describe(&watch, i)))?;
        console.line(&tables(&watch))?;

        let start = monotonic_ns();
        let mut printed = Ok(());
        let mut last = vec![0; watch.sides().len()];
        let every = Duration::from_secs_f64(self.watch.watch.unwrap_or(1.0));
        let worker = ("router".to_owned(), None, || router.run(&signals));
        let ended = supervise(&signals, [worker], every, || {
            if self.watch.watch.is_some() && printed.is_ok() {
                printed = console.line(&interval(&watch, &mut last, every));
                if printed.is_err() {
                    signals.stop();
                }
            }
        });
        printed?;
        conclude(&watch, (monotonic_ns() - start) as f64 / 1e9, console)?;
        ended.map_err(|e| e.error)?;
        Ok(())
    }
}

/// `eth0: ebpf:eth0, host ebpf:eth0^: zero copy [ebpf: ...]`.
fn describe(watch: &Watch, position: usize) -> String {
    let Side { interface, wire, host } = &watch.sides()[position];
    let how = if watch.swaps(position) { "zero copy" } else { "copy: several regions" };
    format!("{interface}: {wire}, host {host}: {how} [{}]", watch.backends(position)[0])
}

fn tables(watch: &Watch) -> String {
    let status = watch.status();
    let doubt = if status.in_sync { "as in the kernel" } else { "not as in the kernel yet" };
    let trouble = status.trouble.map_or(String::new(), |why| format!("; {why}"));
    let (routes, hops) = (many(status.routes as u64, "route"), many(status.next_hops as u64, "next hop"));
    format!("{routes}, {hops}, {doubt}{trouble}")
}

/// Frames a second that each interface received and forwarded.
fn interval(watch: &Watch, last: &mut [u64], every: Duration) -> String {
    let rates = watch.sides().iter().zip(last).enumerate().map(|(i, (side, last))| {
        let forwarded = watch.counts(i).forwarded;
        let rate = (forwarded - std::mem::replace(last, forwarded)) as f64 / every.as_secs_f64();
        format!("{} {rate:.0}/s", side.interface)
    });
    format!("forwarded: {}; {}", rates.collect::<Vec<_>>().join(", "), tables(watch))
}

fn conclude(watch: &Watch, seconds: f64, console: Console) -> Result<(), Failure> {
    let status = watch.status();
    let sides = 0..watch.sides().len();
    let text: Vec<String> = sides.clone().flat_map(|i| text(watch, i)).collect();
    let interfaces: Vec<Value> = sides.map(|i| object(watch, i)).collect();
    let object = json!({
        "command": "router run",
        "seconds": seconds,
        "fib_in_sync": status.in_sync,
        "routes": status.routes,
        "next_hops": status.next_hops,
        "pending": status.pending,
        "trouble": status.trouble,
        "interfaces": interfaces,
    });
    console.result(&format!("{}\n{}", text.join("\n"), tables(watch)), &object)?;
    Ok(())
}

/// What came in at a side, and what became of it; drops of its ports with their cures.
fn text(watch: &Watch, position: usize) -> Vec<String> {
    let side = &watch.sides()[position];
    let named = watch.counts(position).named().filter(|(_, n)| *n > 0);
    let counts: Vec<_> = named.map(|(name, n)| format!("{name} {n}")).collect();
    let mut text = vec![format!(
        "{}: {}",
        side.interface,
        if counts.is_empty() { "nothing".into() } else { counts.join(", ") }
    )];
    for (port, counters) in [&side.wire, &side.host].into_iter().zip(watch.ports(position)) {
        text.push(format!("  {port} rx: {}", counters.rx));
        text.push(format!("  {port} tx: {}", counters.tx));
        text.extend(counters::drops(&counters).into_iter().map(|line| format!("  {line}")));
    }
    text
}

fn object(watch: &Watch, position: usize) -> Value {
    let Side { interface, wire, host } = &watch.sides()[position];
    let counts: Map<_, _> = watch.counts(position).named().map(|(name, n)| (name, n.into())).collect();
    let [of_wire, of_host] = watch.ports(position);
    json!({
        "interface": interface,
        "port": wire,
        "host_port": host,
        "zero_copy": watch.swaps(position),
        "counts": counts,
        "wire": counters::port(&of_wire),
        "host": counters::port(&of_host),
    })
}
