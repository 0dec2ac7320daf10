//! How many flows a second a shard does over rings in memory. Nothing is measured in the usual run of the tests.

use std::time::Instant;

use ringway_sys::huge_pages::ask_for_huge_pages;

use super::stories;
use crate::code::{Bundle, End};
use crate::shard::{Shape, Shard, Wire};
use crate::transport::Settings;

const MINUTE: u64 = 60_000_000_000;

/// The room of a frame while it is written.
const ROOM: usize = 2048;

/// A ring in memory for each side: frames one behind the other.
struct Rings {
    bytes: [Vec<u8>; 2],
    /// Where each frame lies.
    frames: [Vec<std::ops::Range<usize>>; 2],
    slots: usize,
}

impl Rings {
    /// The memory is that of a network, which nobody measures.
    fn new(slots: usize) -> Self {
        let ring = || {
            let mut bytes = vec![0; slots * ROOM];
            ask_for_huge_pages(&mut bytes);
            (Vec::with_capacity(slots), bytes)
        };
        let ((to_client, first), (to_server, second)) = (ring(), ring());
        Self { frames: [to_client, to_server], bytes: [first, second], slots }
    }
}

impl Wire for Rings {
    fn room(&mut self, side: End) -> usize {
        self.slots - self.frames[side.other() as usize].len()
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        let to = side.other() as usize;
        let (frames, bytes) = (&mut self.frames[to], &mut self.bytes[to]);
        let start = frames.last().map_or(0, |frame| frame.end.next_multiple_of(64));
        let len = write(&mut bytes[start..start + ROOM]);
        if len > 0 {
            frames.push(start..start + len);
        }
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
    fn new(mut bundle: Bundle, concurrent: u64) -> Self {
        // A round trip of a million flows takes a second.
        let settings = Settings { initial_rto: MINUTE, min_rto: MINUTE, ..Settings::default() };
        bundle.constants[0] = MINUTE;
        // The servers of a million flows need as many ports.
        bundle.pools[1].ranges[0].last = [198, 19, 0, 255].into();
        let shape = Shape {
            endpoints: 4 * concurrent as u32 + 1000,
            block_bytes: 1 << 26,
            macs: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]],
            start: 0,
        };
        let shard = Shard::new(bundle, settings, shape).unwrap();
        // Each flow may have a frame on its way.
        let slots = 2 * concurrent.max(1000) as usize;
        Self { shard, rings: Rings::new(slots), incoming: Rings::new(slots), concurrent }
    }

    /// Starts what is missing, and gives each side the burst that waits for it.
    fn round(&mut self, now: u64) {
        let Self { shard, rings, incoming, concurrent } = self;
        let active = shard.tally().flows[0][0].active;
        for _ in active..*concurrent {
            if shard.start(0, now, now, rings).is_err() {
                break;
            }
        }
        for side in [End::Client, End::Server] {
            let at = side as usize;
            // What came until now, so that a burst ends.
            std::mem::swap(&mut rings.frames[at], &mut incoming.frames[at]);
            std::mem::swap(&mut rings.bytes[at], &mut incoming.bytes[at]);
            let frames = incoming.frames[at].iter().map(|place| &incoming.bytes[at][place.clone()]);
            shard.burst(side, frames, |frame| frame, |shard, frame| shard.receive(side, frame, now, rings));
            incoming.frames[at].clear();
        }
        shard.poll(now, rings);
    }

    fn complete(&self) -> u64 {
        self.shard.tally().flows[0][0].complete
    }
}

/// Flows a second, over two generations of flows at least: they may all be in step.
fn rate(what: &str, bundle: Bundle, concurrent: u64) {
    let mut bench = Bench::new(bundle, concurrent);
    let start = Instant::now();
    let mut until = |flows: u64| {
        while bench.complete() < flows {
            bench.round(start.elapsed().as_nanos() as u64);
        }
        (start.elapsed().as_secs_f64(), bench.complete() as f64, bench.shard.tally().frames_in as f64)
    };
    let (from, before, frames) = until(concurrent);
    let (to, after, all) = until(concurrent + (2 * concurrent).max(300_000));
    let (seconds, flows) = (to - from, after - before);
    println!(
        "{what}, {concurrent} at a time: {:.0} flows/s, {:.1} packets a flow, {:.2} Mpps, failed {}",
        flows / seconds,
        (all - frames) / flows,
        (all - frames) / seconds / 1e6,
        bench.shard.tally().flows[0][0].all_failed(),
    );
}

#[test]
#[ignore = "it measures"]
fn flows_a_second() {
    for concurrent in [100, 1000, 1_000_000] {
        rate("ftp", stories::ftp((1024, 1024)), concurrent);
        rate("http short", stories::http((64, 64)), concurrent);
        rate("http 8 kB", stories::http((8192, 8192)), concurrent);
    }
}

/// The same work each time, for tools that count instructions or lines of a cache: `RINGWAY_CONCURRENT` flows at a time.
#[test]
#[ignore = "it is for tools that count instructions"]
fn counted_work() {
    let concurrent =
        std::env::var("RINGWAY_CONCURRENT").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let bundle = match std::env::var("RINGWAY_FLOWS").as_deref() {
        Ok("ftp") => stories::ftp((1024, 1024)),
        Ok("http-8k") => stories::http((8192, 8192)),
        _ => stories::http((64, 64)),
    };
    let mut bench = Bench::new(bundle, concurrent);
    let mut now = 0;
    while bench.complete() < 20_000.max(2 * concurrent) {
        now += 100_000;
        bench.round(now);
    }
    let tally = bench.shard.tally();
    println!("{} frames, {} flows", tally.frames_in, tally.flows[0][0].complete);
}
