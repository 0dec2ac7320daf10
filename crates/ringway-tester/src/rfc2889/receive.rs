//! The receiving loop of one port, one turn at a time: streams of several senders, and whether they were meant for it.

use std::sync::atomic::Ordering::Relaxed;

use ringway::Result;

use super::traffic::{Numbers, TrialSpec};
use crate::trial::collect::Collected;
use crate::trial::ledger::{Ledger, seconds};
use crate::trial::pauses::Pauses;
use crate::trial::port::RxPort;
use crate::trial::rate::SECOND;
use crate::trial::schedule::BURST;
use crate::trial::transmit::Flight;

/// What all loops of a trial know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) order: &'a TrialSpec,
    pub(super) numbers: Numbers,
    /// Frames sent and received so far, by port.
    pub(super) flights: &'a [Flight],
    /// The first frame is due.
    pub(super) start_ps: u64,
    /// Counting ends.
    pub(super) close_ps: u64,
}

impl Setting<'_> {
    /// Frames meant for a port, of all frames that have left so far.
    fn expected(&self, port: usize) -> u64 {
        let meant = self.order.senders.iter().map(|s| {
            let sent = self.flights[s.port].sent.load(Relaxed);
            self.numbers.meant_for(&s.route, s.port, sent, port)
        });
        meant.sum()
    }

    /// Frames a second that are meant for a port, at most.
    fn peak(&self, port: usize) -> f64 {
        let rates = self.order.senders.iter().map(|s| {
            let schedule = self.order.schedule(s);
            let frames = self.numbers.meant_for(&s.route, s.port, schedule.frames(), port);
            // Of a burst all may be for one port.
            let at_once = if self.order.burst > 1 && frames > 0 { self.order.line.as_f64() } else { 0.0 };
            at_once.max(frames as f64 / seconds(schedule.end_ps()).max(1e-12))
        });
        rates.sum()
    }
}

/// Receives on one port until counting ends.
#[derive(Debug)]
pub(super) struct Receiver<'a, R> {
    port: &'a mut R,
    number: usize,
    setting: Setting<'a>,
    ledger: Ledger,
    pauses: Pauses,
    last_ps: u64,
    /// Longest pause that loses nothing.
    slack_ps: u64,
    capacity: u64,
    dropped_before: u64,
    /// Different frames received before the last poll.
    before: u64,
}

impl<'a, R: RxPort> Receiver<'a, R> {
    pub(super) fn new(port: &'a mut R, number: usize, setting: Setting<'a>) -> Self {
        let (first, count) = setting.order.streams(number, setting.numbers.ports());
        let mut ledger = Ledger::new(first, count);
        if setting.order.latency {
            ledger = ledger.with_latencies();
        }
        ledger.span(setting.start_ps, setting.close_ps);
        let capacity = port.capacity();
        Self {
            number,
            ledger,
            pauses: Pauses::since(setting.start_ps),
            last_ps: setting.start_ps,
            slack_ps: (capacity as f64 / setting.peak(number).max(1e-9) * SECOND as f64) as u64,
            capacity,
            dropped_before: port.dropped(),
            before: 0,
            port,
            setting,
        }
    }

    /// One turn of the loop; false when counting has ended.
    pub(super) fn turn(&mut self, now_ps: u64) -> Result<bool> {
        let long = now_ps.saturating_sub(std::mem::replace(&mut self.last_ps, now_ps)) > self.slack_ps;
        let limit = (long && self.overfull()).then_some(self.slack_ps);
        self.pauses.turn(now_ps, limit);
        self.before = self.unique();
        if self.port.poll(now_ps, &mut self.ledger)? > 0 {
            self.setting.flights[self.number].received.store(self.unique(), Relaxed);
        }
        Ok(now_ps < self.setting.close_ps)
    }

    /// Different frames received that were meant for this port.
    fn unique(&self) -> u64 {
        self.ledger.total().unique
    }

    /// Whether the ring may have had no room since the last turn: more frames were missing than it holds. The pause may have been
    /// before the last poll took what there was. A burst of each sender may have left that is not counted yet.
    fn overfull(&self) -> bool {
        let missing = self.setting.expected(self.number).saturating_sub(self.before);
        missing > self.capacity.saturating_sub(BURST * self.setting.order.senders.len() as u64)
    }

    /// Longest pause that loses nothing.
    pub(super) fn slack_ps(&self) -> u64 {
        self.slack_ps
    }

    /// The account.
    pub(super) fn into_report(self) -> Collected {
        let dropped = self.port.dropped().saturating_sub(self.dropped_before);
        Collected { ledger: self.ledger, pauses: self.pauses, slack_ps: self.slack_ps, dropped }
    }
}
