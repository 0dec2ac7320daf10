//! The receiving loop of a trial, one turn at a time.

use std::sync::atomic::Ordering::Relaxed;

use ringway::Result;

use super::ledger::Ledger;
use super::marks::Marks;
use super::pauses::Pauses;
use super::port::RxPort;
use super::rate::SECOND;
use super::schedule::BURST;
use super::transmit::Flight;

/// Receives one stream until counting ends.
#[derive(Debug)]
pub(super) struct Collector<'a, R> {
    port: &'a mut R,
    flight: &'a Flight,
    stream: u16,
    ledger: Ledger,
    pauses: Pauses,
    /// Longest pause that loses nothing.
    slack_ps: u64,
    /// Frames that the port holds.
    capacity: u64,
    close_ps: u64,
    dropped_before: u64,
    /// Different frames received before the last poll.
    before: u64,
}

/// When a trial takes place, picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The first frame is due: what was sent before belongs to another trial.
    pub(super) start_ps: u64,
    /// Counting ends.
    pub(super) close_ps: u64,
}

/// What a receiver found.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) ledger: Ledger,
    pub(crate) pauses: Pauses,
    pub(crate) slack_ps: u64,
    /// Frames that the port lost.
    pub(crate) dropped: u64,
}

impl<'a, R: RxPort> Collector<'a, R> {
    /// A receiver of frames that come at `peak` a second at most.
    pub(super) fn new(
        port: &'a mut R,
        flight: &'a Flight,
        stream: u16,
        peak: f64,
        span: Span,
        latency: bool,
        marks: Marks,
    ) -> Self {
        let mut ledger = Ledger::new(stream, 1).with_marks(marks);
        if latency {
            ledger = ledger.with_latencies();
        }
        ledger.span(span.start_ps, span.close_ps);
        let capacity = port.capacity();
        let slack_ps = (capacity as f64 / peak.max(1e-9) * SECOND as f64) as u64;
        let dropped_before = port.dropped();
        let pauses = Pauses::since(span.start_ps);
        Self {
            port,
            flight,
            stream,
            ledger,
            pauses,
            slack_ps,
            capacity,
            close_ps: span.close_ps,
            dropped_before,
            before: 0,
        }
    }

    /// One turn of the loop; false when counting has ended.
    pub(super) fn turn(&mut self, now_ps: u64) -> Result<bool> {
        let limit = self.overfull().then_some(self.slack_ps);
        self.pauses.turn(now_ps, limit);
        self.before = self.accounted();
        if self.port.poll(now_ps, &mut self.ledger)? > 0 {
            self.flight.received.store(self.accounted(), Relaxed);
        }
        if now_ps < self.close_ps {
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether the ring may have had no room since the last turn: of the frames sent more were missing than it holds. The
    /// pause may have been before the last poll took what there was. A burst may have left that is not counted yet.
    fn overfull(&self) -> bool {
        let missing = self.flight.sent.load(Relaxed).saturating_sub(self.before);
        missing > self.capacity.saturating_sub(BURST)
    }

    /// Frames that need not be waited for.
    fn accounted(&self) -> u64 {
        self.ledger.accounted(self.stream)
    }

    /// Longest pause that loses nothing.
    pub(super) fn slack_ps(&self) -> u64 {
        self.slack_ps
    }

    /// The stream that is received.
    pub(super) fn stream(&self) -> u16 {
        self.stream
    }

    /// The account.
    pub(super) fn into_report(self) -> Collected {
        let dropped = self.port.dropped().saturating_sub(self.dropped_before);
        Collected { ledger: self.ledger, pauses: self.pauses, slack_ps: self.slack_ps, dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::rate::{MICROSECOND, MILLISECOND};

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
            let mut collector = Collector::new(&mut ring, &flight, 0, 1e6, span, false, Marks::default());
            for at in [0, 1, 151, 152] {
                assert!(collector.turn(at * MICROSECOND).unwrap());
            }
            let found = collector.into_report();
            assert_eq!((found.ledger.total().unique, found.pauses.too_long), (100, 1), "{early}");
        }
    }
}
