//! The receiving loop of a trial, one turn at a time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringway::Result;

use super::fault::TesterFault;
use super::ledger::Ledger;
use super::pauses::Pauses;
use super::port::RxPort;
use super::rate::SECOND;
use super::schedule::BURST;

/// Receives on a port until counting ends.
#[derive(Debug)]
pub struct Collector<'a, R, S> {
    port: &'a mut R,
    ledger: Ledger,
    expected: Expected<'a, S>,
    pauses: Pauses,
    last_ps: u64,
    /// Longest pause that loses nothing.
    slack_ps: u64,
    /// Frames that the port holds.
    capacity: u64,
    close_ps: u64,
    dropped_before: u64,
    /// Different frames received before the last poll.
    before: u64,
}

/// The frames that a receiver waits for.
#[derive(Debug)]
pub struct Expected<'a, S> {
    /// How many of them have been sent so far.
    pub sent: S,
    /// Where the receiver says how many different ones came.
    pub received: &'a AtomicU64,
    /// Most of them that come in a second.
    pub peak: f64,
    /// Who sends them: as many bursts may have left that are not counted yet.
    pub senders: u64,
}

/// When a trial takes place, picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The first frame is due: what was sent before belongs to another trial.
    pub start_ps: u64,
    /// Counting ends.
    pub close_ps: u64,
}

/// What a receiver found.
#[derive(Debug)]
pub struct Collected {
    /// The books.
    pub ledger: Ledger,
    /// Pauses of the loop.
    pub pauses: Pauses,
    /// Longest pause that loses nothing.
    pub slack_ps: u64,
    /// Frames that the port lost.
    pub dropped: u64,
}

impl<'a, R: RxPort, S: Fn() -> u64> Collector<'a, R, S> {
    /// A receiver that enters frames into `ledger`.
    pub fn new(port: &'a mut R, mut ledger: Ledger, expected: Expected<'a, S>, span: Span) -> Self {
        ledger.span(span.start_ps, span.close_ps);
        let capacity = port.capacity();
        Self {
            ledger,
            pauses: Pauses::since(span.start_ps),
            last_ps: span.start_ps,
            slack_ps: (capacity as f64 / expected.peak.max(1e-9) * SECOND as f64) as u64,
            capacity,
            close_ps: span.close_ps,
            dropped_before: port.dropped(),
            before: 0,
            expected,
            port,
        }
    }

    /// One turn of the loop; false when counting has ended.
    pub fn turn(&mut self, now_ps: u64) -> Result<bool> {
        let long = now_ps.saturating_sub(std::mem::replace(&mut self.last_ps, now_ps)) > self.slack_ps;
        let limit = (long && self.overfull()).then_some(self.slack_ps);
        self.pauses.turn(now_ps, limit);
        self.before = self.ledger.accounted();
        if self.port.poll(now_ps, &mut self.ledger)? > 0 {
            self.expected.received.store(self.ledger.accounted(), Relaxed);
        }
        Ok(now_ps < self.close_ps)
    }

    /// Whether the ring may have had no room since the last turn: of the frames sent more were missing than it holds. The
    /// pause may have been before the last poll took what there was. A burst of each sender may have left that is not counted yet.
    fn overfull(&self) -> bool {
        let missing = (self.expected.sent)().saturating_sub(self.before);
        missing > self.capacity.saturating_sub(BURST * self.expected.senders)
    }

    /// Longest pause that loses nothing.
    pub fn slack_ps(&self) -> u64 {
        self.slack_ps
    }

    /// The account.
    pub fn into_report(self) -> Collected {
        let dropped = self.port.dropped().saturating_sub(self.dropped_before);
        Collected { ledger: self.ledger, pauses: self.pauses, slack_ps: self.slack_ps, dropped }
    }
}

impl Collected {
    /// What was wrong with the tester where this was received, of `sent` frames that were sent there.
    pub fn faults(&self, sent: u64) -> Vec<TesterFault> {
        let mut faults = Vec::new();
        if self.pauses.too_long > 0 {
            let (longest_ns, allowed_ns) = (self.pauses.longest_ns, self.slack_ps / 1000);
            faults.push(TesterFault::Stalled { times: self.pauses.too_long, longest_ns, allowed_ns });
        }
        let total = self.ledger.total();
        if total.late > 0 {
            faults.push(TesterFault::Late { frames: total.late });
        }
        if self.dropped > 0 {
            faults.push(TesterFault::Overrun { frames: self.dropped });
        }
        if total.unique > sent {
            faults.push(TesterFault::Excess { frames: total.unique - sent });
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::rate::{MICROSECOND, MILLISECOND};
    use crate::trial::transmit::Flight;

    /// A ring of 100 frames whose reader stands still in a poll, before it looks at the ring or after that. Meanwhile 150 frames come.
    struct Ring<'a> {
        flight: &'a Flight,
        polls: u32,
        early: bool,
        next: u64,
        waiting: u64,
    }

    impl Ring<'_> {
        fn arrive(&mut self, frames: u64) {
            self.flight.sent.fetch_add(frames, Relaxed);
            self.waiting = (self.waiting + frames).min(100);
        }
    }

    impl RxPort for Ring<'_> {
        fn poll(&mut self, now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
            self.polls += 1;
            if self.polls == 2 && self.early {
                self.arrive(150);
            }
            let taken = std::mem::take(&mut self.waiting);
            (self.next..self.next + taken).for_each(|seq| ledger.frame(0, seq, now_ps, 0));
            self.next += taken;
            if self.polls == 2 && !self.early {
                self.arrive(150);
            }
            Ok(taken)
        }

        fn capacity(&self) -> u64 {
            100
        }
    }

    #[test]
    fn a_stall_counts_wherever_it_is_in_a_turn() {
        for early in [false, true] {
            let flight = Flight::default();
            let mut ring = Ring { flight: &flight, polls: 0, early, next: 0, waiting: 0 };
            let span = Span { start_ps: 0, close_ps: 10 * MILLISECOND };
            // At a million frames a second the ring lasts for 100 us.
            let sent = || flight.sent.load(Relaxed);
            let expected = Expected { sent, received: &flight.received, peak: 1e6, senders: 1 };
            let mut collector = Collector::new(&mut ring, Ledger::new(0, 1), expected, span);
            for at in [0, 1, 151, 152] {
                assert!(collector.turn(at * MICROSECOND).unwrap());
            }
            let found = collector.into_report();
            assert_eq!((found.ledger.total().unique, found.pauses.too_long), (100, 1), "{early}");
        }
    }
}
