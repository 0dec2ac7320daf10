//! Both ends of a bundle's flows, for some events.

use std::collections::VecDeque;
use std::net::IpAddr;

use ringway_flows::code::{Bundle, End, Range, list};
use ringway_flows::content::random::SplitMix64;
use ringway_flows::shard::{Shape, Shard, Wire};
use ringway_flows::transport::Settings;

use super::Wrong;

/// Events of a run: frames, timers, and budgets that are used up.
const EVENTS: usize = 600;
/// Times that start flows, and how many.
const STARTS: usize = 3;
/// Small, so that memory runs out.
const SHAPE: Shape =
    Shape { endpoints: 16, block_bytes: 1 << 16, macs: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]], start: 0 };

/// Frames on their way. Some are lost.
struct Cable {
    now: u64,
    frames: VecDeque<(u64, End, Vec<u8>)>,
    loss: u64,
    random: SplitMix64,
}

impl Wire for Cable {
    fn room(&mut self, _: End) -> usize {
        4096
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        let mut frame = vec![0; 1518];
        let len = write(&mut frame);
        assert!(len <= frame.len(), "a frame of {len} bytes");
        frame.truncate(len);
        if len > 0 && self.random.below(1_000) >= self.loss {
            self.frames.push_back((self.now + 50_000, side.other(), frame));
        }
    }
}

/// Starts flows of a bundle and lets time go on for some events. Says how it ended.
pub(super) fn runs(bundle: Bundle, random: &mut SplitMix64) -> Result<&'static str, Wrong> {
    let flows = bundle.flows.len() as u64;
    // More addresses than a test wants to make.
    let many = bundle.pools.iter().flat_map(|pool| &pool.ranges).any(|range| size(range) > 1 << 12);
    if flows == 0 || many {
        return Ok("accepted");
    }
    let Ok(mut shard) = Shard::new(bundle, Settings::default(), SHAPE) else { return Ok("no shard") };
    let loss = if random.below(4) == 0 { 100 } else { 0 };
    let mut cable = Cable { now: 0, frames: VecDeque::new(), loss, random: *random };
    let (mut now, mut quiet) = (0, false);
    for event in 0..EVENTS {
        cable.now = now;
        if event < STARTS {
            let _ = shard.start(random.below(flows) as u16, now, now, &mut cable);
        }
        while cable.frames.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, side, frame)) = cable.frames.pop_front() else { break };
            shard.receive(side, &frame, now, &mut cable);
        }
        shard.poll(now, &mut cable);
        let frame = cable.frames.front().map(|(at, ..)| *at);
        match [shard.next_ns(), frame].into_iter().flatten().min() {
            // A used budget takes a moment.
            Some(next) => now = next.max(now + 1),
            None if event >= STARTS => {
                quiet = true;
                break;
            }
            None => now += 1_000,
        }
    }
    ended(&shard, quiet)
}

/// How many addresses a range has, less one.
fn size(range: &Range) -> u128 {
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    number(range.last) - number(range.first)
}

/// The programs, and what is left of them.
fn story(shard: &Shard) -> String {
    let tally = shard.tally();
    format!("{}\n{:?}\n{:?}\n{:?}", list(shard.bundle()), tally.flows, shard.used(), tally)
}

/// What must hold at each moment, and when nothing is under way any more.
fn ended(shard: &Shard, quiet: bool) -> Result<&'static str, Wrong> {
    let wrong = |why: &str| Err(Wrong { why: why.to_owned(), case: story(shard) });
    let tally = shard.tally();
    if !tally.flows.iter().flatten().all(|end| end.adds_up()) {
        return wrong("started is not complete + failed + active");
    }
    let active: u64 = tally.flows.iter().flatten().map(|end| end.active).sum();
    match (quiet, active) {
        (true, 0) if shard.used().contexts > 0 || shard.used().endpoints > 0 => wrong("records are lost"),
        (true, 1..) => wrong("a flow waits without end"),
        (true, _) => Ok("ran to the end"),
        (false, _) => Ok("ran"),
    }
}
