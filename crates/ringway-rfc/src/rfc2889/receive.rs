//! What a port is to receive: streams of several senders, of which frames are meant for it or for others.

use std::sync::atomic::Ordering::Relaxed;

use super::traffic::{Numbers, TrialSpec};
use ringway_tester::trial::collect::{Collector, Expected, Span};
use ringway_tester::trial::ledger::{Ledger, seconds};
use ringway_tester::trial::port::RxPort;
use ringway_tester::trial::transmit::Flight;

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

/// The receiver of a port: of streams of several senders.
pub(super) fn receiver<'a, R: RxPort>(
    port: &'a mut R,
    number: usize,
    setting: Setting<'a>,
) -> Collector<'a, R, impl Fn() -> u64> {
    let (first, count) = setting.order.streams(number, setting.numbers.ports());
    let ledger = Ledger::new(first, count);
    let ledger = if setting.order.latency { ledger.with_latencies() } else { ledger };
    let expected = Expected {
        sent: move || setting.expected(number),
        received: &setting.flights[number].received,
        peak: setting.peak(number),
        senders: setting.order.senders.len() as u64,
    };
    let span = Span { start_ps: setting.start_ps, close_ps: setting.close_ps };
    Collector::new(port, ledger, expected, span)
}
