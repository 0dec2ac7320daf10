//! How long the forwarding engine takes for a packet, without ports: `router_speed [ROUTES]` (1,000,000 by default).
//!
//! Frames of 60 bytes, IPv4 and UDP, bursts of 64, to one destination and to random ones within the table; medians of 9 runs.

use std::sync::Arc;
use std::time::Instant;

use ringway_fib::{Fib4, Fib6, NextHop, Prefix4, generate};
use ringway_fwd::control::{Changes, Limits, Plane, Resolver, Tables};
use ringway_fwd::router::generate::{Links, state};
use ringway_fwd::router::{BURST, Decision, Engine, Interfaces, Readers};

const FRAMES: usize = 1 << 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let routes: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let links = Links { lan: 2, wan: 3, other: 4 };
    let fib4 = Fib4::new(ringway_fib::Limits::default())?;
    let mut tables = Tables::new(fib4, Fib6::new(ringway_fib::Limits::default())?, Limits::default());
    let mut resolver = Resolver::new(&mut tables);
    resolver.update(&state(links), Changes::everything(), &mut tables)?;
    let hops: Vec<NextHop> = ["20.0.0.1", "20.1.0.1", "20.1.2.3"]
        .iter()
        .filter_map(|addr| Some(tables.find4(addr.parse::<std::net::Ipv4Addr>().ok()?.to_bits(), 0)?.0))
        .collect();
    let table = generate::table::<u32>(routes, 1);
    let more: Vec<(Prefix4, Option<NextHop>)> =
        table.iter().enumerate().map(|(i, (prefix, _))| (*prefix, Some(hops[i % hops.len()]))).collect();
    more.chunks(10_000).try_for_each(|changes| tables.routes4(changes))?;

    let interfaces = Arc::new(Interfaces::new(&links.members())?);
    let mut engine = Engine::new(Readers::new(&tables)?, interfaces, Default::default());
    engine.heartbeat().beat(1);
    let mut random = generate::Random::new(2);
    let plain: Vec<u32> =
        table.iter().map(|(prefix, _)| prefix.addr() | 1).filter(|addr| is_plain(*addr)).collect();
    if plain.is_empty() {
        return Err("none of the routes is for plain destinations; ask for more".into());
    }
    let random: Vec<u32> = (0..FRAMES).map(|_| plain[random.below(plain.len())]).collect();
    for (what, addresses) in [("one flow", &vec![0x1400_0001; FRAMES]), ("random destinations", &random)] {
        let frames: Vec<[u8; 60]> =
            addresses.iter().map(|addr| frame(Links::mac(links.lan), *addr)).collect();
        let mut runs: Vec<f64> = (0..9).map(|_| run(&mut engine, &frames)).collect();
        runs.sort_by(f64::total_cmp);
        println!("{routes} routes, {what}: {:.1} ns a packet ({:.1} to {:.1})", runs[4], runs[0], runs[8]);
    }
    Ok(())
}

/// Whether packets to it are forwarded by their route.
fn is_plain(addr: u32) -> bool {
    !matches!(addr >> 24, 0 | 127 | 224..) && addr >> 16 != 0xa9fe
}

fn frame(mac: [u8; 6], destination: u32) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&mac);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17]);
    frame[26..30].copy_from_slice(&[10, 0, 0, 2]);
    frame[30..34].copy_from_slice(&destination.to_be_bytes());
    let sum = ringway_wire::checksum::of(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Nanoseconds a packet; each has to be forwarded.
fn run(engine: &mut Engine, frames: &[[u8; 60]]) -> f64 {
    let mut frames = frames.to_vec();
    let start = Instant::now();
    for burst in frames.chunks_mut(BURST) {
        engine.begin(0, 1);
        burst.iter().for_each(|frame| engine.push(frame, frame.len()));
        engine.decide();
        for (i, frame) in burst.iter_mut().enumerate() {
            engine.rewrite(i, frame);
        }
        let forwarded =
            (0..burst.len()).filter(|i| matches!(engine.decision(*i), Decision::Forward(_))).count();
        assert_eq!(forwarded, burst.len());
    }
    start.elapsed().as_nanos() as f64 / frames.len() as f64
}
