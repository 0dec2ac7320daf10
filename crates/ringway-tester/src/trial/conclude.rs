//! The end of a trial: adds the streams up, and judges the tester.

use super::collect::Collected;
use super::fault::TesterFault;
use super::ledger::{Gap, Received, seconds};
use super::marks::Marks;
use super::pauses::Pauses;
use super::result::{Extra, StreamCounts, TrialResult};
use super::schedule::Schedule;
use super::spec::TrialSpec;
use super::transmit::Departures;
use ringway_traffic::latency::{Latencies, LatencySummary};

/// Shares of frames whose latencies a plot has.
const CURVE: [f64; 14] =
    [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 1.0];

/// A stream's two ends when its loops have ended.
pub(crate) struct LoopEnds {
    pub(crate) stream: u16,
    pub(crate) departures: Departures,
    pub(crate) collected: Collected,
}

/// Adds the streams up and judges the tester.
pub(crate) fn conclude(
    order: &TrialSpec,
    schedule: &Schedule,
    ends: &[LoopEnds],
    interrupted: bool,
) -> TrialResult {
    let length_ps = schedule.end_ps();
    let over = seconds(length_ps).max(1e-12);
    let marks = order.variant.marks(schedule);
    let mut t = TrialResult {
        intended_fps: schedule.frames() as f64 * ends.len() as f64 / over,
        scheduled: (schedule.frames() - marks.below(schedule.frames())) * ends.len() as u64,
        length_ps,
        extra: (!marks.is_empty()).then(Extra::default),
        ..TrialResult::nothing()
    };
    let (mut latencies, mut lateness) = (Latencies::new(), Latencies::new());
    for e in ends {
        t.add(e, schedule, &marks, &mut latencies, &mut lateness);
        t.offered_fps += e.departures.offered_fps(schedule);
        let short = e.departures.fault(schedule, order.exact).filter(|_| !interrupted);
        let sent = e.departures.sent - marks.below(e.departures.sent);
        t.faults.extend(short.into_iter().chain(e.collected.faults(sent)));
    }
    if interrupted {
        t.faults.push(TesterFault::Interrupted);
    }
    // A sender that is late may end a little behind the schedule.
    let sent_for = ends.iter().map(|e| e.departures.span_ps.1).max().unwrap_or(0);
    let over = seconds(length_ps.max(sent_for)).max(1e-12);
    t.forwarded_fps = (t.rx + t.extra.map_or(0, |x| x.received)) as f64 / over;
    t.jitter_ns /= ends.len().max(1) as f64;
    if latencies.count() > 0 {
        t.latency = latencies.summary();
        t.curve = CURVE.iter().map(|&share| (share, latencies.quantile(share))).collect();
    }
    if lateness.count() > 0 {
        t.lateness = lateness.summary();
    }
    t
}

impl TrialResult {
    fn nothing() -> Self {
        Self {
            intended_fps: 0.0,
            offered_fps: 0.0,
            forwarded_fps: 0.0,
            scheduled: 0,
            tx: 0,
            rx: 0,
            lost: 0,
            received: Received::default(),
            length_ps: 0,
            faults: Vec::new(),
            latency: LatencySummary::default(),
            curve: Vec::new(),
            jitter_ns: 0.0,
            last_lost_ps: None,
            gap: Gap::default(),
            largest_burst: 0,
            lateness: LatencySummary::default(),
            tx_pauses: Pauses::default(),
            rx_pauses: Pauses::default(),
            streams: Vec::new(),
            extra: None,
            device: None,
        }
    }

    fn add(
        &mut self,
        e: &LoopEnds,
        schedule: &Schedule,
        marks: &Marks,
        latencies: &mut Latencies,
        lateness: &mut Latencies,
    ) {
        let (all, ledger) = (e.departures.sent, &e.collected.ledger);
        let received = ledger.total();
        let extra = Extra { sent: marks.below(all), received: ledger.extra() };
        self.extra.iter_mut().for_each(|sum| *sum += extra);
        let sent = all - extra.sent;
        let lost = sent.saturating_sub(received.unique);
        self.tx += sent;
        self.rx += received.unique;
        self.lost += lost;
        self.received += received;
        // Frames behind the last that came are lost too.
        let behind = marks.last_other(all).filter(|&n| n >= ledger.next(e.stream));
        let last = behind.or_else(|| ledger.last_missing(e.stream));
        self.last_lost_ps = self.last_lost_ps.max(last.map(|n| schedule.due_ps(n)));
        if ledger.gap(e.stream).ps > self.gap.ps {
            self.gap = ledger.gap(e.stream);
        }
        self.largest_burst = self.largest_burst.max(e.departures.largest);
        self.tx_pauses.merge(&e.departures.pauses);
        self.rx_pauses.merge(&e.collected.pauses);
        if e.departures.largest > 0 {
            lateness.merge(&e.departures.lateness);
        }
        self.jitter_ns += ledger.jitter_ns(e.stream);
        let mut latency = LatencySummary::default();
        if let Some(of_stream) = ledger.latencies(e.stream) {
            latencies.merge(of_stream);
            latency = of_stream.summary();
        }
        self.streams.push(StreamCounts { stream: e.stream, tx: sent, lost, received, latency });
    }
}
