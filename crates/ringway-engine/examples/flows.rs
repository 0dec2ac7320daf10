//! Counts frames and bytes of each flow. Flows are pinned to threads, so each thread has a table of its own, without a lock:
//! `flows 4 eth0`, or `flows 2 pcap:FILE@top`.
//!
//! ```sh
//! sudo cargo run --release -p ringway-engine --example flows -- 2 eth0
//! ```

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use ringway::Result;
use ringway_engine::{Delivery, Engine, Signals};
use ringway_wire::{Net, Transport, parse};

/// One end of a flow.
type End = (IpAddr, u16);

/// Frames and bytes of each flow, in both directions.
type Table = HashMap<(End, End), (u64, u64)>;

/// The flow of a frame, with its ends in an order that is the same in both directions.
fn flow(frame: &[u8]) -> Option<(End, End)> {
    let packet = parse(frame);
    let (src, dst): (IpAddr, IpAddr) = match packet.net? {
        Net::Ipv4(ip) => (ip.src().into(), ip.dst().into()),
        Net::Ipv6(ip) => (ip.src().into(), ip.dst().into()),
        _ => return None,
    };
    let (from, to) = match packet.transport {
        Some(Transport::Tcp(tcp)) => (tcp.src_port(), tcp.dst_port()),
        Some(Transport::Udp(udp)) => (udp.src_port(), udp.dst_port()),
        _ => (0, 0),
    };
    let (a, b) = ((src, from), (dst, to));
    Some(if a <= b { (a, b) } else { (b, a) })
}

/// The work of one thread: it sees all frames of its flows, in order.
fn analyse(engine: &Engine, signals: &Signals) -> Result<Table> {
    let mut burst = engine.burst()?;
    let mut table = Table::new();
    while !signals.stopped() {
        // In this order: frames that came before the end are received.
        let ended = engine.has_ended();
        let count = engine.receive_timeout(&mut burst, Duration::from_millis(50))?;
        if count == 0 && ended {
            break;
        }
        for frame in burst.frames() {
            if let Some(flow) = flow(frame.bytes()) {
                let (frames, bytes) = table.entry(flow).or_default();
                *frames += 1;
                *bytes += frame.len() as u64;
            }
        }
    }
    Ok(table)
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let threads = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(2);
    let name = args.next().unwrap_or_else(|| "loop:".into());
    let engine = Engine::builder().port(name).threads(threads).delivery(Delivery::Flows).build()?;
    let signals = Signals::on_ctrl_c()?;
    eprintln!("{threads} threads look at {}", engine.ports().collect::<Vec<_>>().join(", "));
    let tables = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| analyse(&engine, &signals))).collect();
        let ends = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ends.collect::<Result<Vec<Table>>>()
    })?;
    // A flow that moved, because a thread began after others, is in two tables.
    let mut all = Table::new();
    for (flow, (frames, bytes)) in tables.into_iter().flatten() {
        let sum = all.entry(flow).or_default();
        *sum = (sum.0 + frames, sum.1 + bytes);
    }
    let mut flows: Vec<_> = all.into_iter().collect();
    flows.sort_unstable_by_key(|(flow, (_, bytes))| (std::cmp::Reverse(*bytes), *flow));
    for (((a, a_port), (b, b_port)), (frames, bytes)) in flows.iter().take(20) {
        println!("{a} {a_port} - {b} {b_port}: {frames} frames, {bytes} bytes");
    }
    println!("{} flows", flows.len());
    Ok(())
}
