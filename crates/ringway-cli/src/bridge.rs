//! `ringway bridge`: forwards between two ports.

use std::time::Duration;

use ringway::{CounterWatch, OpenOptions, Pairing, Port, PortCounters, time::monotonic_ns};
use ringway_engine::{Bridge, Held, supervise};
use ringway_traffic::report::{Interval, Sample};
use ringway_traffic::units::many;
use serde_json::{Value, json};

use crate::console::{Console, served};
use crate::errors;
use crate::failure::Failure;
use crate::options::{Json, LinkWait, Turns, Verbose};
use crate::selection::Selection;
use crate::{counters, stop};

/// Forward frames between two ports, both ways
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("verbose", |verbose| verbose.help(VERBOSE)))]
pub(crate) struct Args {
    /// A port; give two
    #[arg(short = 'i', value_name = "PORT", required = true)]
    ports: Vec<String>,

    #[command(flatten)]
    turns: Turns,

    #[command(flatten)]
    link: LinkWait,

    #[command(flatten)]
    selection: Selection,

    /// Forward from the first port to the second only
    #[arg(long)]
    one_way: bool,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    json: Json,
}

const VERBOSE: &str = "Say at the start all that there is to say of the ports, and print a line a second";

const EXAMPLES: &str = "\
Frames are passed on without a copy when both ports lie in one region; pipes have regions of
their own. What a port can't take now waits in the other port's ring. Interfaces are promiscuous
while they are bridged. The bridge ends with Ctrl-C, or when its source has ended (a capture file)
and all is sent.

Hosts leave the checksums of TCP and UDP to a veth, tap or bridge; Ringway finishes them, so a
frame whose checksum is the sum of its pseudo header leaves with another one. With --raw all bytes
leave as they came.

Examples:
  ringway bridge -i eth0 -i eth1                              # a wire between two interfaces
  ringway bridge -i eth0 -i ebpf:eth0^                        # between an interface and its own host stack
  ringway bridge -i eth0 -i 'pipe:x{1' --take 'udp port 7'    # the host keeps the rest
  ringway bridge -i pcap:trace.pcap -i eth0                   # replay a capture at its own pace
  ringway bridge -i eth0 -i pcap:out.pcap@write --one-way --copy  # capture what the host receives";

/// The frames of one direction.
struct Way {
    from: String,
    to: String,
    pairing: Pairing,
    source: CounterWatch,
    sink: CounterWatch,
    last: Sample,
}

impl Way {
    fn sample(&self) -> Sample {
        let tx = self.sink.counters().tx;
        let (packets, bytes, bursts) = (tx.frames_out, tx.bytes_out, tx.syncs);
        Sample { time_ns: monotonic_ns(), packets, bytes, bursts, min_space: None }
    }

    fn tick(&mut self) -> String {
        let sample = self.sample();
        let line = format!("{} -> {}: {}", self.from, self.to, Interval::between(&self.last, &sample));
        self.last = sample;
        line
    }

    fn object(&self, held: Held) -> Value {
        let tx = self.sink.counters().tx;
        json!({
            "from": self.from,
            "to": self.to,
            "copy": self.pairing == Pairing::Copy,
            "frames": tx.frames_out,
            "bytes": tx.bytes_out,
            "held_slots": held.received,
            "unsent_slots": held.unsent,
        })
    }

    /// What came in, what went out, and where the rest is.
    fn text(&self, held: Held) -> Vec<String> {
        let (rx, tx) = (self.source.counters().rx, self.sink.counters().tx);
        let mut text = vec![
            format!(
                "{} -> {}: {}, {}",
                self.from,
                self.to,
                many(tx.frames_out, "frame"),
                many(tx.bytes_out, "byte")
            ),
            format!("  {} rx: {rx}", self.from),
            format!("  {} tx: {tx}", self.to),
        ];
        if held != Held::default() {
            let [received, unsent] = [held.received, held.unsent].map(|n| many(n.into(), "slot"));
            text.push(format!("  left in rings: {received} not forwarded, {unsent} not sent"));
        }
        let only = PortCounters { rx, tx };
        text.extend(counters::drops(&only).into_iter().map(|line| format!("  {line}")));
        text
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let [first, second] = &args.ports[..] else {
        let what = match args.ports.len() {
            1 => "bridge needs two ports, -i was given once; name the other one with a second -i".into(),
            n => format!("bridge needs two ports, -i was given {n} times"),
        };
        return Err(Failure::Usage(errors::command::MISSING, what));
    };
    let signals = stop::signals()?;
    let console = args.json.console();
    // Frames that are to be passed on are for others than this host.
    let options = args.selection.apply(OpenOptions::new().promiscuous(true))?;
    let [a, b] = options.open_all([first, second])?;
    let mut bridge = Bridge::new(a, b).with_one_way(args.one_way).with_turns(args.turns.into());
    let mut ways = ways(&bridge)?;
    for port in bridge.ports() {
        args.link.wait(port, &signals)?;
    }
    console.line(&describe(&bridge, &ways, args.verbose.verbose))?;

    let start = monotonic_ns();
    let mut printed = Ok(());
    let worker = ("bridge".to_owned(), None, || bridge.run(&signals));
    let ended = supervise(&signals, [worker], Duration::from_secs(1), || {
        if args.verbose.verbose && printed.is_ok() {
            printed = ways.iter_mut().map(Way::tick).try_for_each(|line| console.line(&line));
            if printed.is_err() {
                signals.stop();
            }
        }
    });
    printed?;
    conclude(&mut bridge, &ways, (monotonic_ns() - start) as f64 / 1e9, console)?;
    ended.map_err(|e| e.error)?;
    Ok(())
}

/// The directions in use.
fn ways(bridge: &Bridge) -> Result<Vec<Way>, Failure> {
    let [a, b] = bridge.ports();
    let way = |from: &Port, to: &Port, pairing| Way {
        from: from.info().name.clone(),
        to: to.info().name.clone(),
        pairing,
        source: from.watch(),
        sink: to.watch(),
        last: Sample { time_ns: monotonic_ns(), ..Sample::default() },
    };
    let [there, back] = bridge.pairings();
    let ways: Vec<_> = there.map(|p| way(a, b, p)).into_iter().chain(back.map(|p| way(b, a, p))).collect();
    if ways.is_empty() {
        let (a, b) = (&a.info().name, &b.info().name);
        let what = format!("nothing to forward from {a} to {b}; one port must receive and the other send");
        return Err(Failure::Usage(errors::ports::ONE_WAY, what));
    }
    Ok(ways)
}

/// `A <-> B: zero copy: one region (A: ..., B: ...)`.
fn describe(bridge: &Bridge, ways: &[Way], verbose: bool) -> String {
    let [a, b] = bridge.ports();
    let arrow = match ways {
        [_, _] => "<->",
        [way] if way.from == a.info().name => "->",
        _ => "<-",
    };
    let swap = ways.iter().all(|way| way.pairing == Pairing::Swap);
    let how = if swap { "zero copy: one region" } else { "copy: two regions" };
    format!(
        "{} {arrow} {}: {how} [{}] [{}]",
        a.info().name,
        b.info().name,
        served(&a.info().backend, verbose),
        served(&b.info().backend, verbose)
    )
}

fn conclude(bridge: &mut Bridge, ways: &[Way], seconds: f64, console: Console) -> Result<(), Failure> {
    let all = bridge.held();
    // A lone direction is the first or the second.
    let held: Vec<Held> = bridge.pairings().iter().zip(all).filter_map(|(p, held)| p.map(|_| held)).collect();
    let text: Vec<String> = ways.iter().zip(&held).flat_map(|(way, &held)| way.text(held)).collect();
    let ports: Vec<Value> = bridge.ports().iter().map(port).collect();
    let directions: Vec<Value> = ways.iter().zip(&held).map(|(way, &held)| way.object(held)).collect();
    let object = json!({
        "command": "bridge",
        "seconds": seconds,
        "ports": ports,
        "directions": directions,
    });
    console.result(&text.join("\n"), &object)?;
    Ok(())
}

fn port(port: &Port) -> Value {
    let mut object = counters::port(&port.counters());
    object["name"] = port.info().name.clone().into();
    object["backend"] = port.info().backend.clone().into();
    object
}
