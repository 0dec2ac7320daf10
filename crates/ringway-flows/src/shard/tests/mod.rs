//! Whole flows in virtual time: a shard with both ends, and a wire between its sides.

mod apart;
mod attacks;
mod blocked;
mod faults;
mod flows;
mod ports;
mod rate;
mod soak;
pub(crate) mod stories;
mod unsent;
mod ways;

use std::collections::VecDeque;

use super::{Postponed, Shape, Shard, Wire};
use crate::code::{Bundle, End};
use crate::transport::Settings;

/// A wire without delay, and what it does with each frame.
#[derive(Default)]
pub(super) struct Cable {
    /// By receiving side.
    frames: [VecDeque<Vec<u8>>; 2],
    /// Frames that a side may send before its ring is full; `None`: any number.
    pub(super) slots: Option<usize>,
    /// All frames that were sent, with their times, if they are wanted.
    pub(super) log: Option<Vec<(u64, Vec<u8>)>>,
    now: u64,
}

impl Wire for Cable {
    fn room(&mut self, side: End) -> usize {
        let waiting = self.frames[side.other() as usize].len();
        self.slots.map_or(usize::MAX, |slots| slots.saturating_sub(waiting))
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        let mut frame = vec![0; 2048];
        let len = write(&mut frame);
        if len > 0 {
            frame.truncate(len);
            if let Some(log) = &mut self.log {
                log.push((self.now, frame.clone()));
            }
            self.frames[side.other() as usize].push_back(frame);
        }
    }
}

/// A shard in virtual time.
pub(super) struct Bed {
    pub(super) shard: Shard,
    pub(super) cable: Cable,
    pub(super) now: u64,
}

impl Bed {
    pub(super) fn new(bundle: Bundle, settings: Settings) -> Self {
        Self::with(bundle, settings, 10_000, 1 << 22)
    }

    /// With so many records.
    pub(super) fn with(bundle: Bundle, settings: Settings, endpoints: u32, block_bytes: usize) -> Self {
        let shape =
            Shape { endpoints, block_bytes, macs: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]], start: 0 };
        Self { shard: Shard::new(bundle, settings, shape).unwrap(), cable: Cable::default(), now: 0 }
    }

    /// Starts a flow.
    pub(super) fn start(&mut self, flow: u16) {
        self.try_start(flow).unwrap();
    }

    /// Starts a flow, if there is room.
    pub(super) fn try_start(&mut self, flow: u16) -> Result<(), Postponed> {
        self.shard.start(flow, self.now, self.now, &mut self.cable)
    }

    /// Goes on until nothing is waited for, or the time is over. `passes` says how often a frame arrives.
    pub(super) fn run(&mut self, until: u64, mut passes: impl FnMut(&mut [u8]) -> usize) {
        loop {
            self.cable.now = self.now;
            for side in [End::Client, End::Server] {
                for _ in 0..self.cable.frames[side as usize].len() {
                    let Some(mut frame) = self.cable.frames[side as usize].pop_front() else { break };
                    for _ in 0..passes(&mut frame) {
                        self.shard.receive(side, &frame, self.now, &mut self.cable);
                        self.adds_up();
                    }
                }
            }
            self.shard.poll(self.now, &mut self.cable);
            self.adds_up();
            if self.cable.frames.iter().all(VecDeque::is_empty) {
                match self.shard.next_ns() {
                    Some(next) if next <= until => self.now = self.now.max(next),
                    _ => return,
                }
            }
        }
    }

    /// What holds at each instant.
    fn adds_up(&self) {
        for ends in &self.shard.tally().flows {
            assert!(ends[0].adds_up() && ends[1].adds_up(), "{ends:?}");
        }
    }

    /// Everything that flows had is free again.
    pub(super) fn is_empty(&self) {
        let used = self.shard.used();
        assert_eq!(used, Default::default(), "{:?}", self.shard.tally());
    }
}
