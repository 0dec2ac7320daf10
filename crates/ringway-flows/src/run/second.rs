//! The numbers of each second of a run.

use serde::Serialize;

use super::counts::Counts;

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
    /// Packets and flows of attacks that began, a second.
    pub attacks: f64,
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

impl Second {
    /// What happened between two samples.
    pub fn between(before: &(u64, Counts), now: &(u64, Counts)) -> Self {
        let seconds = now.0.saturating_sub(before.0) as f64 / 1e9;
        let rate = |now: u64, before: u64| {
            if seconds > 0.0 { now.saturating_sub(before) as f64 / seconds } else { 0.0 }
        };
        let (then, counts) = (&before.1, &now.1);
        let (rounds, busy) =
            (counts.rounds.saturating_sub(then.rounds), counts.busy.saturating_sub(then.busy));
        Self {
            seconds: now.0 as f64 / 1e9,
            started: rate(counts.flows.started, then.flows.started),
            complete: rate(counts.flows.complete, then.flows.complete),
            failed: rate(counts.flows.failed, then.flows.failed),
            active: counts.flows.active,
            attacks: rate(counts.attacks, then.attacks),
            packets_out: rate(counts.frames_out, then.frames_out),
            bits_out: rate(counts.bytes_out, then.bytes_out) * 8.0,
            packets_in: rate(counts.frames_in, then.frames_in),
            bits_in: rate(counts.bytes_in, then.bytes_in) * 8.0,
            retransmitted: rate(counts.retransmitted, then.retransmitted),
            busy: if rounds > 0 { busy as f64 / rounds as f64 } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::count::Flows;

    #[test]
    fn a_second_has_the_differences() {
        let flows = Flows { started: 30, complete: 20, failed: 0, active: 10 };
        let then = (0, Counts::default());
        let now = (2_000_000_000, Counts { flows, frames_out: 100, rounds: 8, busy: 4, ..Counts::default() });
        let second = Second::between(&then, &now);
        assert_eq!((second.started, second.complete, second.active), (15.0, 10.0, 10));
        assert_eq!((second.seconds, second.packets_out, second.busy), (2.0, 50.0, 0.5));
        let none = Second::between(&now, &now);
        assert_eq!((none.started, none.busy, none.active), (0.0, 0.0, 10));
    }
}
