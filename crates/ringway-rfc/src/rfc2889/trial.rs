//! What a trial over several ports counted, and what it is worth.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::traffic::{Numbers, TrialSpec};
use ringway_tester::trial::collect::Collected;
use ringway_tester::trial::fault::TesterFault;
use ringway_tester::trial::ledger::{Ledger, Received, seconds};
use ringway_tester::trial::pauses::Pauses;
use ringway_tester::trial::rate::loss_ppm;
use ringway_tester::trial::result::Verdict;
use ringway_tester::trial::transmit::Departures;
use ringway_traffic::latency::{Latencies, LatencySummary};

/// What one port sent and got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PortCounts {
    /// Port, from 0.
    pub port: usize,
    /// Frames that were to be sent.
    pub scheduled: u64,
    /// Frames sent.
    pub tx: u64,
    /// Frames a second that left, measured.
    pub offered_fps: f64,
    /// Turns in which the port took fewer frames than were due.
    pub refused: u64,
    /// Frames sent to this port, by all.
    pub expected: u64,
    /// Different ones of them that came.
    pub rx: u64,
    /// Frames that never came.
    pub lost: u64,
    /// Frames that came and were meant for another port.
    pub flooded: u64,
    /// Everything received.
    pub received: Received,
    /// Latencies, first bit to first bit, where recorded.
    pub latency: LatencySummary,
}

/// A fault of the tester, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortFault {
    /// Port, from 0; none for all.
    pub port: Option<usize>,
    /// What.
    pub fault: TesterFault,
}

impl fmt::Display for PortFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "port {}: {}", port + 1, self.fault),
            None => self.fault.fmt(f),
        }
    }
}

/// What a trial found. Rates are frames a second over all ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// Rate asked for.
    pub intended_fps: f64,
    /// Rate at which frames left, measured.
    pub offered_fps: f64,
    /// Rate at which they came to where they were meant for: different frames over the time of sending.
    pub forwarded_fps: f64,
    /// Frames that were to be sent.
    pub scheduled: u64,
    /// Frames sent.
    pub tx: u64,
    /// Frames meant for the ports: those sent, broadcasts once for each port.
    pub expected: u64,
    /// Different ones of them that came.
    pub rx: u64,
    /// Frames that never came.
    pub lost: u64,
    /// Frames that came to ports which they were not meant for.
    pub flooded: u64,
    /// Length of the longest schedule, picoseconds.
    pub length_ps: u64,
    /// Why it says nothing about the device; empty when it does.
    pub faults: Vec<PortFault>,
    /// Latencies, first bit to first bit, where recorded.
    pub latency: LatencySummary,
    /// Most frames that left in one turn of one port.
    pub largest_burst: u64,
    /// Pauses of the sending loop.
    pub tx_pauses: Pauses,
    /// Pauses of the receiving loop.
    pub rx_pauses: Pauses,
    /// Each port.
    pub ports: Vec<PortCounts>,
}

impl TrialResult {
    /// The verdict for a goal of `goal_ppm` millionths of loss.
    #[must_use]
    pub fn verdict(&self, goal_ppm: u64) -> Verdict {
        Verdict::of(self.faults.is_empty(), self.loss_ppm() <= goal_ppm)
    }

    /// Loss in millionths of the frames that were to come, rounded up.
    #[must_use]
    pub fn loss_ppm(&self) -> u64 {
        loss_ppm(self.expected, self.lost)
    }

    /// Whether the only fault is that fewer frames left than asked for: the tester is at its limit.
    #[must_use]
    pub fn only_short(&self) -> bool {
        !self.faults.is_empty() && self.faults.iter().all(|f| f.fault.is_short())
    }

    /// Whether the user ended it.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.faults.iter().any(|f| f.fault == TesterFault::Interrupted)
    }
}

/// How the frames of a port left.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) departures: Departures,
    /// Turns in which the port took fewer frames than were due.
    pub(super) refused: u64,
}

/// Adds the ports up and judges the tester. `sent` belongs to the order's senders, `collected` to the ports.
pub(super) fn conclude(
    order: &TrialSpec,
    numbers: Numbers,
    sent: &[Sent],
    collected: &[Collected],
    interrupted: bool,
) -> TrialResult {
    let length_ps = order.length_ps();
    let over = seconds(length_ps).max(1e-12);
    let mut trial = TrialResult { length_ps, ..TrialResult::default() };
    let mut latencies = Latencies::new();
    for (port, c) in collected.iter().enumerate() {
        let mut p = PortCounts { port, ..PortCounts::default() };
        if let Some((s, sender)) = sent.iter().zip(&order.senders).find(|(_, sender)| sender.port == port) {
            let schedule = order.schedule(sender);
            p.scheduled = schedule.frames();
            p.tx = s.departures.sent;
            p.refused = s.refused;
            p.offered_fps = if p.tx > 0 { s.departures.offered_fps(&schedule) } else { 0.0 };
            trial.largest_burst = trial.largest_burst.max(s.departures.largest);
            trial.tx_pauses.merge(&s.departures.pauses);
            // With flow control a port that did not take frames says something about the device.
            let held = order.held && s.refused > 0;
            let fault = s.departures.fault(&schedule, order.exact).filter(|_| !interrupted && !held);
            trial.faults.extend(fault.map(|fault| PortFault { port: Some(port), fault }));
        }
        let meant = order.senders.iter().zip(sent);
        p.expected =
            meant.map(|(s, sent)| numbers.meant_for(&s.route, s.port, sent.departures.sent, port)).sum();
        p.got(c);
        if order.latency {
            p.latency = latency(order, numbers, port, &c.ledger, &mut latencies);
        }
        trial
            .faults
            .extend(c.faults(p.expected).into_iter().map(|fault| PortFault { port: Some(port), fault }));
        trial.rx_pauses.merge(&c.pauses);
        trial.add(p);
    }
    if interrupted {
        trial.faults.push(PortFault { port: None, fault: TesterFault::Interrupted });
    }
    trial.intended_fps = trial.scheduled as f64 / over;
    trial.forwarded_fps = trial.rx as f64 / over;
    if latencies.count() > 0 {
        trial.latency = latencies.summary();
    }
    trial
}

impl PortCounts {
    fn got(&mut self, c: &Collected) {
        self.received = c.ledger.total();
        self.rx = self.received.unique;
        self.lost = self.expected.saturating_sub(self.rx);
        self.flooded = self.received.misdirected;
    }
}

impl TrialResult {
    fn add(&mut self, p: PortCounts) {
        self.scheduled += p.scheduled;
        self.tx += p.tx;
        self.offered_fps += p.offered_fps;
        self.expected += p.expected;
        self.rx += p.rx;
        self.lost += p.lost;
        self.flooded += p.flooded;
        self.ports.push(p);
    }
}

/// Latencies of all streams that were meant for a port; they are added to `all` too.
fn latency(
    order: &TrialSpec,
    numbers: Numbers,
    port: usize,
    ledger: &Ledger,
    all: &mut Latencies,
) -> LatencySummary {
    let (first, count) = order.streams(port, numbers.ports());
    let mut of_port = Latencies::new();
    for stream in first..first + count {
        ledger.latencies(stream).into_iter().for_each(|l| of_port.merge(l));
    }
    all.merge(&of_port);
    if of_port.count() > 0 { of_port.summary() } else { LatencySummary::default() }
}
