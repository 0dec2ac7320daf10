//! The numbers of each second of a run.

use serde::Serialize;

use crate::code::Bundle;
use crate::shard::Tally;

use super::count::Flows;

const SECOND_NS: u64 = 1_000_000_000;

/// A second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Second {
    /// How long the run has been going on.
    pub seconds: f64,
    /// Flows that began, a second. Here and below without attacks.
    pub started: f64,
    /// Complete ones, a second.
    pub complete: f64,
    /// Failed ones, a second.
    pub failed: f64,
    /// Flows that run now.
    pub active: u64,
    /// Frames sent, a second, attacks included.
    pub packets_out: f64,
    /// Bits of these frames.
    pub bits_out: f64,
    /// Frames received, a second.
    pub packets_in: f64,
    /// Bits of these frames.
    pub bits_in: f64,
    /// Segments that were sent again, a second.
    pub retransmitted: f64,
    /// The share of rounds that found work.
    pub busy: f64,
}

/// Notes when a second is over.
#[derive(Debug)]
pub(super) struct Seconds<F> {
    each: F,
    last_ns: u64,
    flows: Flows,
    /// Frames and bytes out, frames and bytes in, retransmissions.
    counts: [u64; 5],
    rounds: u64,
    busy: u64,
}

impl<F: FnMut(&Second)> Seconds<F> {
    pub(super) fn new(each: F) -> Self {
        Self { each, last_ns: 0, flows: Flows::default(), counts: [0; 5], rounds: 0, busy: 0 }
    }

    /// A round has ended.
    #[inline]
    pub(super) fn advance(&mut self, now: u64, moved: bool, bundle: &Bundle, tally: &Tally) {
        self.rounds += 1;
        self.busy += u64::from(moved);
        if now - self.last_ns >= SECOND_NS {
            self.tell(now, bundle, tally);
        }
    }

    fn tell(&mut self, now: u64, bundle: &Bundle, tally: &Tally) {
        let seconds = (now - self.last_ns) as f64 / 1e9;
        let flows = Flows::of_stories(bundle, tally);
        let counts =
            [tally.frames_out, tally.bytes_out, tally.frames_in, tally.bytes_in, tally.retransmitted];
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let of = |at: usize| rate(counts[at], self.counts[at]);
        (self.each)(&Second {
            seconds: now as f64 / 1e9,
            started: rate(flows.started, self.flows.started),
            complete: rate(flows.complete, self.flows.complete),
            failed: rate(flows.failed, self.flows.failed),
            active: flows.active,
            packets_out: of(0),
            bits_out: of(1) * 8.0,
            packets_in: of(2),
            bits_in: of(3) * 8.0,
            retransmitted: of(4),
            busy: self.busy as f64 / self.rounds as f64,
        });
        (self.last_ns, self.flows, self.counts) = (now, flows, counts);
        (self.rounds, self.busy) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::example::{ASK, bundle};

    #[test]
    fn a_second_has_the_differences() {
        let bundle = bundle(ASK);
        let mut tally = Tally { flows: vec![Default::default()], ..Tally::default() };
        let mut all = Vec::new();
        let mut seconds = Seconds::new(|second: &Second| all.push(*second));
        seconds.advance(SECOND_NS - 1, true, &bundle, &tally);
        for end in &mut tally.flows[0] {
            (end.started, end.complete, end.active) = (30, 20, 10);
        }
        tally.frames_out = 100;
        seconds.advance(2 * SECOND_NS, false, &bundle, &tally);
        tally.frames_out = 150;
        seconds.advance(3 * SECOND_NS, false, &bundle, &tally);
        let [one, two] = all[..] else { panic!("{all:?}") };
        assert_eq!(
            (one.started, one.complete, one.active, one.packets_out, one.busy),
            (15.0, 10.0, 10, 50.0, 0.5)
        );
        assert_eq!((two.seconds, two.started, two.packets_out, two.busy), (3.0, 0.0, 50.0, 0.0));
    }
}
