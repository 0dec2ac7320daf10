//! Time passes.

use super::dice::Dice;
use super::end::{End, Host, Program};
use super::wire::{Flying, Weather, Wire};
use crate::transport::Settings;
use crate::transport::input::Over;

/// Events after which a test says that there is no end.
const EVENTS: usize = 300_000;

const CLOSED: Option<End> = Some(End::Over(Over::Closed));

#[derive(Debug)]
pub(super) struct World {
    /// The client and the server.
    pub(super) hosts: [Host; 2],
    pub(super) wire: Wire,
    pub(super) ns: u64,
    /// All that went on the wire, with its sender.
    pub(super) log: Vec<(usize, Flying)>,
    keeps_log: bool,
}

impl World {
    pub(super) fn new(settings: [Settings; 2], programs: [Program; 2], weather: Weather, seed: u64) -> Self {
        let mut dice = Dice(seed);
        // Numbers of both ends soon wrap around.
        let initial = [0, 1].map(|_| (dice.below(60_000) as u32).wrapping_sub(30_000));
        let host = |k: usize| Host::new(settings[k], programs[k], initial[k], 3 + 2 * k as u32);
        let mut hosts = [host(0), host(1)];
        hosts[1].listens = true;
        Self { hosts, wire: Wire::new(weather, dice), ns: 1_000_000, log: Vec::new(), keeps_log: false }
    }

    /// A world without surprises, that remembers segments.
    pub(super) fn fair(settings: Settings, programs: [Program; 2]) -> Self {
        Self { keeps_log: true, ..Self::new([settings; 2], programs, Weather::FAIR, 1) }
    }

    pub(super) fn open(&mut self) {
        let out = self.hosts[0].open(self.ns);
        self.send(0, out);
    }

    pub(super) fn send(&mut self, from: usize, segments: Vec<Flying>) {
        for segment in segments {
            if self.keeps_log {
                self.log.push((from, segment.clone()));
            }
            self.wire.send(1 - from, segment, self.ns);
        }
    }

    /// The next thing happens; false when there is none.
    pub(super) fn step(&mut self) -> bool {
        let wakes = [0, 1].map(|k| self.hosts[k].next());
        let Some(next) = wakes.into_iter().flatten().chain(self.wire.next()).min() else { return false };
        self.ns = self.ns.max(next);
        let (who, out) = if self.wire.next() == Some(next) {
            let (to, segment) = self.wire.arrive().unwrap();
            (to, self.hosts[to].hears(&segment, self.ns))
        } else {
            let who = usize::from(wakes[0] != Some(next));
            (who, self.hosts[who].wakes(self.ns))
        };
        self.send(who, out);
        true
    }

    /// Until nothing happens any more. Returns how the ends ended.
    pub(super) fn run(&mut self) -> [Option<End>; 2] {
        for _ in 0..EVENTS {
            if !self.step() {
                return [self.hosts[0].end, self.hosts[1].end];
            }
        }
        self.keeps_log = true;
        while self.log.len() < 30 && self.step() {}
        panic!("no end: {}", self.story());
    }

    /// What is known of the ends, and the last segments.
    fn story(&self) -> String {
        let states =
            self.hosts.each_ref().map(|host| format!("{:?} {:?} {:?}\n", host.conn, host.program, host.end));
        let told = self
            .log
            .iter()
            .rev()
            .take(30)
            .rev()
            .map(|(from, segment)| format!("{from}: {:?}\n", segment.header));
        states.into_iter().chain(told).collect()
    }

    /// Until something is true.
    pub(super) fn run_until(&mut self, what: impl Fn(&Self) -> bool) {
        for _ in 0..EVENTS {
            if what(self) {
                return;
            }
            assert!(self.step(), "it never happens: {}", self.story());
        }
        panic!("it never happens: {}", self.story());
    }

    /// Both ends closed in order, and have each other's bytes.
    ///
    /// An end that has forgotten the connection at once may answer late segments with a reset, which meets the other one before the last
    /// acknowledgement.
    pub(super) fn assert_complete(&mut self) {
        let ends = self.run();
        for (host, other) in [(0, 1), (1, 0)] {
            let all = self.hosts[host].taken == self.hosts[other].program.bytes;
            let forgotten = self.hosts[other].settings.time_wait == 0 && self.hosts[other].closed_first;
            let reset = forgotten && ends[host] == Some(End::Over(Over::Reset));
            let fine = ends[host] == CLOSED && all || reset;
            assert!(fine, "{}", self.story());
        }
    }
}
