//! Random segments to the quick end and to the model.

use super::dice::Dice;
use super::end::{End, Host, Program, byte};
use super::model::{Ack, Model};
use super::wire::Flying;
use crate::transport::Settings;
use crate::transport::conn::State;
use crate::transport::segment::{Outgoing, flag};

const SALT: u32 = 5;

/// Segments of a normal run; `RINGWAY_TCP_SEGMENTS=10000000` takes some minutes.
const SEGMENTS: u64 = 100_000;

#[test]
fn random_segments_do_to_both_the_same() {
    let wanted = std::env::var("RINGWAY_TCP_SEGMENTS").map_or(SEGMENTS, |n| n.parse().unwrap());
    let (mut segments, mut seen) = (0, [0_u32; 10]);
    for seed in 0.. {
        let mut pair = Pair::new(seed);
        segments += pair.run(&mut seen);
        if segments >= wanted {
            break;
        }
    }
    assert!(seen[1..].iter().all(|&count| count > 100), "each state is met: {seen:?}");
}

#[derive(Debug)]
struct Pair {
    host: Host,
    model: Model,
    dice: Dice,
    /// The peer's first number.
    irs: u32,
    ns: u64,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let number = |dice: &mut Dice| match dice.below(3) {
            0 => dice.next() as u32,
            // It wraps around in the handshake, or soon after.
            _ => (dice.below(120) as u32).wrapping_sub(60),
        };
        let (iss, irs) = (number(&mut dice), number(&mut dice));
        let settings = Settings {
            window: dice.pick(&[1, 30, 300, 5000, 70_000]),
            initial_window: dice.pick(&[0, 1, 10]),
            time_wait: dice.pick(&[0, 50_000_000]),
            delayed_ack: dice.pick(&[0, 40_000_000]),
            attempts: 100,
            mss: dice.pick(&[64, 536]),
            ..Settings::default()
        };
        let pause = dice.pick(&[0, 0, 1_000_000]);
        let program = Program { last: true, pause, bite: 1 + dice.below(400) as usize, ..Program::sends(0) };
        let mut host = Host::new(settings, program, iss, SALT ^ 6);
        host.trusts = true;
        let opens = dice.chance(600);
        host.listens = !opens;
        let model = Model::new(settings, iss, if opens { State::SynSent } else { State::Closed });
        let mut pair = Self { host, model, dice, irs, ns: 1_000_000 };
        if opens {
            let out = pair.host.open(pair.ns);
            pair.sent(&out);
        }
        pair
    }

    /// Until the connection is over, or long enough. Returns how many segments there were.
    fn run(&mut self, seen: &mut [u32; 10]) -> u64 {
        for segments in 0..60 {
            self.program();
            if self.host.end.is_some() || self.host.dropped > 0 {
                return segments;
            }
            seen[self.model.state as usize] += 1;
            let segment = self.segment();
            self.hears(&segment);
            if self.host.end.is_some() {
                return segments + 1;
            }
        }
        60
    }

    /// The program does something, or time passes.
    fn program(&mut self) {
        self.ns += 1000;
        let out = match self.dice.below(8) {
            0 if self.host.conn.state.is_synchronized() => {
                self.host.program.bytes += self.dice.below(700) as u32;
                self.host.wakes(self.ns)
            }
            1 if self.dice.chance(300) && self.host.conn.state.is_synchronized() => self.host.closes(self.ns),
            2 => {
                self.ns = self.host.next().map_or(self.ns, |next| next.max(self.ns));
                self.host.wakes(self.ns)
            }
            _ => return,
        };
        self.sent(&out);
        self.compare();
    }

    fn hears(&mut self, flying: &Flying) {
        let room = self.host.room();
        let verdict = self.model.arrives(&flying.segment(), room);
        let told = (flying.header, self.host.conn);
        let mut out = self.host.hears(flying, self.ns);
        let resets: Vec<u32> =
            out.extract_if(.., |out| out.header.flags & flag::RST != 0).map(|out| out.header.seq).collect();
        assert_eq!(resets, verdict.reset.into_iter().collect::<Vec<u32>>(), "{told:?}");
        assert_eq!(self.host.end, verdict.over.map(End::Over), "{told:?}");
        let state = self.model.state;
        if self.host.dropped > 0 {
            return;
        }
        self.sent(&out);
        let bare = out.iter().filter(|out| out.header.len == 0 && out.header.flags & flag::FIN == 0).count();
        match verdict.ack {
            Ack::Must if state != State::Closed => assert!(!out.is_empty(), "nothing for {told:?}"),
            Ack::May if out.is_empty() && self.host.end.is_none() => {
                assert!(self.host.timer.is_some(), "no timer after {told:?}")
            }
            Ack::No => assert_eq!(bare, 0, "{out:?} for {told:?}"),
            _ => assert!(bare <= 1, "{out:?} for {told:?}"),
        }
        if self.host.end.is_none() {
            self.compare();
        }
    }

    fn sent(&mut self, out: &[Flying]) {
        for out in out {
            let closed = !self.host.program.last || self.host.peer_closed;
            self.model.sends(&out.header, self.host.pushed, closed);
        }
    }

    fn compare(&self) {
        let (conn, model) = (&self.host.conn, &self.model);
        if conn.state == State::Closed {
            return;
        }
        let quick = (conn.state, conn.una, conn.peer_window());
        assert_eq!(quick, (model.state, model.una as u32, model.window as u32), "{conn:?} {model:?}");
        if conn.state != State::SynSent {
            assert_eq!(conn.expected, model.next as u32, "{conn:?} {model:?}");
            let max = self.host.queue.as_ref().map_or(conn.next, |queue| queue.max);
            assert_eq!(max, model.max as u32, "{conn:?} {model:?}");
            assert_eq!(self.host.peer_closed, model.peer_closed, "{conn:?} {model:?}");
            let arrived = self.host.taken + self.host.waiting();
            assert_eq!(u64::from(arrived), model.delivered(), "{conn:?} {model:?}");
        }
    }

    /// A segment whose numbers are near the ones that matter.
    fn segment(&mut self) -> Flying {
        let (dice, host) = (&mut self.dice, &self.host);
        let conn = &host.conn;
        let fresh = matches!(conn.state, State::Closed | State::SynSent);
        let expected = if fresh { self.irs } else { conn.expected };
        let max = host.queue.as_ref().map_or(conn.next, |queue| queue.max);
        let (room, good) = (host.room(), dice.chance(600));
        let len = match dice.below(8) {
            0 => room.min(400) as usize,
            1 => (room as usize + 1).min(400),
            2..5 => dice.below(30) as usize,
            _ => 0,
        };
        let len = if fresh { 0 } else { len };
        let around = |dice: &mut Dice, number: u32| number.wrapping_add(dice.below(3) as u32).wrapping_sub(1);
        let seq = match dice.below(8) {
            _ if good => expected,
            0 => around(dice, expected),
            1 => around(dice, expected.wrapping_add(room)),
            2 => around(dice, expected.wrapping_sub(len as u32)),
            3 => around(dice, expected.wrapping_add(room).wrapping_sub(len as u32)),
            4 => expected.wrapping_add(dice.below(1 + u64::from(room)) as u32),
            5 => around(dice, host.peers_first),
            6 => around(dice, expected.wrapping_add(1 << 31)),
            _ => dice.next() as u32,
        };
        let oldest = conn.una.wrapping_sub(0xffff << conn.their_shift);
        let some = max.wrapping_sub(conn.una);
        let ack = match dice.below(7) {
            _ if good && dice.chance(500) => max,
            _ if good => conn.una.wrapping_add(dice.below(1 + u64::from(some)) as u32),
            0 => around(dice, conn.una),
            1 => around(dice, conn.next),
            2 => around(dice, max),
            3 => around(dice, oldest),
            4 => conn.una.wrapping_add(dice.below(1 + u64::from(some)) as u32),
            5 => around(dice, max.wrapping_add(1 << 31)),
            _ => dice.next() as u32,
        };
        let usual = match conn.state {
            State::Closed => flag::SYN,
            State::SynSent => dice.pick(&[flag::SYN | flag::ACK, flag::SYN]),
            _ => dice.pick(&[flag::ACK, flag::ACK, flag::ACK | flag::PSH, flag::ACK | flag::FIN]),
        };
        let flags = match dice.below(20) {
            _ if conn.state == State::Closed => usual,
            0 => dice.next() as u8 & 0x1f,
            1 if !good => flag::RST | dice.pick(&[0, flag::ACK]),
            2 if !good => flag::SYN | dice.pick(&[0, flag::ACK]),
            _ => usual,
        };
        let syn = flags & flag::SYN != 0;
        let header = Outgoing {
            seq,
            ack,
            window: dice.pick(&[0, 1, 50, 500, 5000, 65_535, conn.window, conn.window]),
            flags,
            len: len as u16,
            syn: syn.then(|| (dice.pick(&[0, 64, 536]), dice.pick(&[None, Some(0), Some(3), Some(255)]))),
        };
        let first = host.peers_first;
        let data = (0..len as u32).map(|k| byte(SALT, seq.wrapping_add(k).wrapping_sub(first))).collect();
        Flying { header, data }
    }
}
