//! How many flows a second a shard does over rings in memory. Nothing is measured in the usual run of the tests.

use std::time::Instant;

use super::stories;
use crate::code::{Bundle, End};
use crate::shard::{Shape, Shard, Wire};
use crate::transport::Settings;

const SLOTS: usize = 1024;

/// A ring in memory for each side.
struct Rings {
    frames: [Vec<(usize, [u8; 2048])>; 2],
    head: [usize; 2],
    tail: [usize; 2],
}

impl Rings {
    fn new() -> Self {
        let ring = || vec![(0, [0; 2048]); SLOTS];
        Self { frames: [ring(), ring()], head: [0; 2], tail: [0; 2] }
    }
}

impl Wire for Rings {
    fn room(&mut self, side: End) -> usize {
        let to = side.other() as usize;
        SLOTS + self.head[to] - self.tail[to]
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        let to = side.other() as usize;
        let (len, frame) = &mut self.frames[to][self.tail[to] % SLOTS];
        *len = write(frame);
        self.tail[to] += usize::from(*len > 0);
    }
}

/// A shard with both ends, and the rings between them.
struct Bench {
    shard: Shard,
    rings: Rings,
    incoming: Rings,
    concurrent: u64,
}

impl Bench {
    fn new(bundle: Bundle, concurrent: u64) -> Self {
        let shape = Shape {
            endpoints: 4 * concurrent as u32 + 1000,
            block_bytes: 1 << 26,
            macs: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]],
            start: 0,
        };
        let shard = Shard::new(bundle, Settings::default(), shape).unwrap();
        Self { shard, rings: Rings::new(), incoming: Rings::new(), concurrent }
    }

    /// Starts what is missing, and gives each side the burst that waits for it.
    fn round(&mut self, now: u64) {
        let Self { shard, rings, incoming, concurrent } = self;
        let active = shard.tally().flows[0][0].active;
        for _ in active..(*concurrent).min(active + 64) {
            if shard.start(0, now, rings).is_err() {
                break;
            }
        }
        for side in [End::Client, End::Server] {
            let at = side as usize;
            // What came until now, so that a burst ends.
            std::mem::swap(&mut rings.frames[at], &mut incoming.frames[at]);
            let (head, tail) = (rings.head[at], rings.tail[at]);
            (rings.head[at], rings.tail[at]) = (0, 0);
            for k in head..tail {
                let (len, frame) = &incoming.frames[at][k % SLOTS];
                shard.receive(side, &frame[..*len], now, rings);
            }
        }
        shard.poll(now, rings);
    }

    fn complete(&self) -> u64 {
        self.shard.tally().flows[0][0].complete
    }
}

fn rate(what: &str, bundle: Bundle, concurrent: u64) {
    let mut bench = Bench::new(bundle, concurrent);
    let start = Instant::now();
    let (mut now, mut rounds) = (0, 0_u64);
    let mut begun = None;
    while begun.is_none_or(|(at, _, _): (u64, u64, u64)| now < at + 2_000_000_000) {
        now = start.elapsed().as_nanos() as u64;
        rounds += 1;
        if begun.is_none() && bench.complete() > 3 * concurrent {
            begun = Some((now, bench.complete(), bench.shard.tally().frames_in));
        }
        bench.round(now);
    }
    let (at, complete, frames) = begun.unwrap();
    let seconds = (now - at) as f64 / 1e9;
    let tally = bench.shard.tally();
    let flows = (tally.flows[0][0].complete - complete) as f64;
    println!(
        "{what}, {concurrent} at a time: {:.0} flows/s, {:.1} packets a flow, {:.2} Mpps, failed {:?}, {rounds} rounds",
        flows / seconds,
        (tally.frames_in - frames) as f64 / flows,
        (tally.frames_in - frames) as f64 / seconds / 1e6,
        tally.flows[0][0].failed,
    );
}

#[test]
#[ignore = "it measures"]
fn flows_a_second() {
    for concurrent in [100, 1000] {
        rate("ftp", stories::ftp((1024, 1024)), concurrent);
        rate("http short", stories::http((64, 64)), concurrent);
        rate("http 8 kB", stories::http((8192, 8192)), concurrent);
    }
}

/// The same work each time, for tools that count instructions.
#[test]
#[ignore = "it is for tools that count instructions"]
fn twenty_thousand_flows() {
    let mut bench = match std::env::var("RINGWAY_FLOWS").as_deref() {
        Ok("ftp") => Bench::new(stories::ftp((1024, 1024)), 1000),
        Ok("http-8k") => Bench::new(stories::http((8192, 8192)), 1000),
        _ => Bench::new(stories::http((64, 64)), 1000),
    };
    let mut now = 0;
    while bench.complete() < 20_000 {
        now += 100_000;
        bench.round(now);
    }
    let tally = bench.shard.tally();
    println!("{} frames, {} flows", tally.frames_in, tally.flows[0][0].complete);
}
