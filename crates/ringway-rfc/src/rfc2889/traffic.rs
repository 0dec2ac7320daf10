//! What a trial over several ports sends: who, how fast, and to whom each frame goes.

use std::fmt;

use serde::{Deserialize, Serialize};

use ringway_tester::trial::flow::{FlowOrder, Flows, MAX_FLOWS};
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::Rate;
use ringway_tester::trial::schedule::Schedule;
use ringway_tester::trial::spec::Length;

/// Bytes of a MAC address.
pub type Mac = [u8; 6];

/// To everyone.
pub const EVERYONE: Mac = [0xff; 6];

/// Most hosts that have an address.
pub const MOST_HOSTS: u64 = MAX_FLOWS as u64;

/// A way in which frames can be wrong (RFC 2889, 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// Shorter than 64 bytes.
    Undersize,
    /// Longer than 1518 bytes.
    Oversize,
    /// The FCS is wrong.
    BadFcs,
    /// No whole number of bytes, and the FCS is wrong.
    Alignment,
    /// Bits behind a right FCS: the one kind that is repaired and forwarded.
    Dribble,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Undersize, Self::Oversize, Self::BadFcs, Self::Alignment, Self::Dribble];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Undersize => "undersize",
            Self::Oversize => "oversize",
            Self::BadFcs => "bad-fcs",
            Self::Alignment => "alignment",
            Self::Dribble => "dribble",
        }
    }

    /// Size with FCS of frames that have it.
    #[must_use]
    pub fn size(self) -> u32 {
        match self {
            Self::Undersize => 60,
            Self::Oversize => 1519,
            Self::BadFcs | Self::Alignment | Self::Dribble => 64,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where the frames of a sender go. Ports are numbers from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// To these ports in turn.
    Ports(Vec<usize>),
    /// To all ports: broadcast.
    Everyone,
    /// Frame `n` comes from host `n`, and goes to this port: the device learns the hosts.
    FromHosts(usize),
    /// Frame `n` goes to host `n`, which is at this port.
    ToHosts(usize),
}

/// What one port sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// Port.
    pub port: usize,
    /// Frames a second.
    pub rate: Rate,
    /// For how long, or how many.
    pub length: Length,
    /// Where they go.
    pub route: Route,
}

/// What a trial is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Bytes of each frame, FCS included.
    pub size: u32,
    /// Ports that send, each once.
    pub senders: Vec<Sender>,
    /// Frames that leave back to back; 1 spaces all evenly.
    pub burst: u64,
    /// Rate of frames back to back.
    pub line: Rate,
    /// Ports whose address the device is to learn before.
    pub announce: Vec<usize>,
    /// How long stragglers are waited for, picoseconds.
    pub wait_ps: u64,
    /// Frames that a late sender makes up for; the rest is not sent.
    pub catch_up: u64,
    /// Each frame of the schedule has to leave.
    pub exact: bool,
    /// Latencies are recorded.
    pub latency: bool,
    /// Ports may hold frames back, which then tells something about the device: flow control.
    pub held: bool,
    /// What is wrong with the frames.
    pub flaw: Option<Flaw>,
}

impl TrialSpec {
    /// The due times of a sender's frames.
    #[must_use]
    pub fn schedule(&self, sender: &Sender) -> Schedule {
        let mut schedule = Schedule::new(Mix::fixed(self.size))
            .in_bursts(self.burst, self.line)
            .with_catch_up(self.catch_up);
        match sender.length {
            Length::Time(ps) => schedule.push(sender.rate, ps),
            Length::Frames(n) => schedule.push_count(sender.rate, n),
        }
        schedule
    }

    /// Length of the longest schedule, picoseconds.
    #[must_use]
    pub fn length_ps(&self) -> u64 {
        self.senders.iter().map(|s| self.schedule(s).end_ps()).max().unwrap_or(0)
    }

    /// How long it takes with the wait for stragglers, picoseconds.
    #[must_use]
    pub fn duration_ps(&self) -> u64 {
        self.length_ps() + self.wait_ps
    }

    /// Whether all ports get the same frames.
    #[must_use]
    pub fn is_broadcast(&self) -> bool {
        self.senders.iter().any(|s| s.route == Route::Everyone)
    }

    /// Streams that port `port` of `ports` is to get: the first, and how many follow each other.
    #[must_use]
    pub fn streams(&self, port: usize, ports: usize) -> (u16, u16) {
        let first = if self.is_broadcast() { ports * ports } else { port * ports };
        (first as u16, ports as u16)
    }
}

/// One frame of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Port that it is meant for; none for all.
    pub to: Option<usize>,
    /// Stream: one for each pair of ports, and one for the broadcasts of each port.
    pub stream: u16,
    /// Number in the stream.
    pub seq: u64,
    /// Destination.
    pub dst: Mac,
    /// Source.
    pub src: Mac,
}

/// Addresses and numbers of frames between `ports` ports, all of which follow from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    ports: usize,
    hosts: Flows,
}

impl Numbers {
    /// For so many ports.
    #[must_use]
    pub fn new(ports: usize, seed: u64) -> Self {
        Self { ports, hosts: Flows::new(MAX_FLOWS, FlowOrder::Sequential, seed) }
    }

    /// Number of ports.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Address of a port of the tester.
    #[must_use]
    pub fn port(&self, port: usize) -> Mac {
        [0x02, 0x52, 0x57, 0x01, 0, port as u8]
    }

    /// Address of a host: the same for each [`MOST_HOSTS`].
    #[must_use]
    pub fn host(&self, n: u64) -> Mac {
        let [_, a, b, c] = self.hosts.of(n).mac.to_be_bytes();
        [0x02, 0x52, 0x58, a, b, c]
    }

    /// Frame `n` of port `from`.
    #[must_use]
    pub fn hop(&self, route: &Route, from: usize, n: u64) -> Hop {
        let stream = |to: usize| (to * self.ports + from) as u16;
        let (src, unicast) = (self.port(from), |to: usize| (Some(to), stream(to)));
        let ((to, stream), seq, dst, src) = match route {
            Route::Ports(to) => {
                let at = to[(n % to.len() as u64) as usize];
                (unicast(at), n / to.len() as u64, self.port(at), src)
            }
            Route::Everyone => ((None, stream(self.ports)), n, EVERYONE, src),
            Route::FromHosts(to) => (unicast(*to), n, self.port(*to), self.host(n)),
            Route::ToHosts(at) => (unicast(*at), n, self.host(n), src),
        };
        Hop { to, stream, seq, dst, src }
    }

    /// How many of the first `n` frames of port `from` are meant for `port`.
    #[must_use]
    pub fn meant_for(&self, route: &Route, from: usize, n: u64, port: usize) -> u64 {
        match route {
            Route::Ports(to) => {
                let len = to.len() as u64;
                let at = to.iter().position(|&p| p == port);
                at.map_or(0, |k| n / len + u64::from(n % len > k as u64))
            }
            Route::Everyone => {
                if port == from {
                    0
                } else {
                    n
                }
            }
            Route::FromHosts(to) | Route::ToHosts(to) => {
                if port == *to {
                    n
                } else {
                    0
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn routes() -> Vec<Route> {
        vec![
            Route::Ports(vec![1]),
            Route::Ports(vec![3, 1, 2]),
            Route::Everyone,
            Route::FromHosts(2),
            Route::ToHosts(1),
        ]
    }

    proptest! {
        /// Counts by formula equal a count of each frame, and numbers of a stream have no holes.
        #[test]
        fn frames_are_counted_by_formula(which in 0usize..5, n in 0u64..200, seed: u64) {
            let (numbers, route) = (Numbers::new(4, seed), &routes()[which]);
            let mut counts = [0; 4];
            let mut next = std::collections::HashMap::new();
            for k in 0..n {
                let hop = numbers.hop(route, 0, k);
                prop_assert_eq!(hop.seq, *next.entry(hop.stream).and_modify(|n| *n += 1).or_insert(0));
                (0..4).filter(|&p| hop.to.map_or(p != 0, |to| to == p)).for_each(|p| counts[p] += 1);
            }
            prop_assert_eq!(counts, [0, 1, 2, 3].map(|p| numbers.meant_for(route, 0, n, p)));
        }
    }

    #[test]
    fn streams_tell_both_ends() {
        let numbers = Numbers::new(4, 1);
        let order = |route: Route| TrialSpec {
            size: 64,
            senders: vec![Sender { port: 1, rate: Rate::new(1, 1), length: Length::Frames(1), route }],
            burst: 1,
            line: Rate::new(1, 1),
            announce: Vec::new(),
            wait_ps: 0,
            catch_up: 64,
            exact: true,
            latency: false,
            held: false,
            flaw: None,
        };
        for route in [Route::Ports(vec![3]), Route::Everyone] {
            let hop = numbers.hop(&route, 1, 0);
            let (first, count) = order(route).streams(3, 4);
            assert!((first..first + count).contains(&hop.stream), "{hop:?}");
        }
        let hosts: std::collections::HashSet<Mac> = (0..100_000).map(|n| numbers.host(n)).collect();
        assert_eq!(hosts.len(), 100_000);
        assert!(hosts.iter().all(|mac| mac[0] & 1 == 0 && (0..64).all(|p| numbers.port(p) != *mac)));
    }
}
