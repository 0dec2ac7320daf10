//! Broadcast frames: forwarding rate and latency (RFC 2889, 5.10).

use serde::{Deserialize, Serialize};

use super::ForwardingAt;
use super::plan::{at, line, order, rate, search};
use crate::benchmark::stop::Stop;
use crate::rfc2889::session::Session;
use crate::rfc2889::settings::{Settings, Test};
use crate::rfc2889::traffic::{Route, Sender, TrialSpec};
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::search::Found;
use ringway_tester::trial::spec::Length;
use ringway_traffic::latency::LatencySummary;

/// Latency of what came to one port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortLatency {
    /// Port, from 0.
    pub port: usize,
    /// Latency, first bit to first bit.
    pub latency: LatencySummary,
}

/// Broadcasts of one port to all others, with one frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Broadcast {
    /// Bytes with FCS.
    pub size: u32,
    /// Throughput: the highest load of the sender at which each frame came to each port.
    pub load: Option<Load>,
    /// The same in frames a second of the sender.
    pub fps: f64,
    /// The most that the sender's link carries, frames a second.
    pub line_fps: f64,
    /// What the search found.
    pub found: Found,
    /// The tester could not send more: the device may do better.
    pub limited: bool,
    /// Forwarding rate at maximum offered load; what was forwarded is over all receivers.
    pub at_maximum: ForwardingAt,
    /// Latency at the throughput, over all receivers.
    pub latency: Option<LatencySummary>,
    /// The same for each receiver.
    pub ports: Vec<PortLatency>,
    /// Trials that it took.
    pub trials: u64,
}

pub(super) fn run(session: &mut Session<'_>, size: u32) -> Result<Broadcast, Stop> {
    let settings = session.settings();
    let (what, before) = ("one to all", session.trials());
    let make = |load, length_ps| traffic(settings, size, load, length_ps);
    let (found, _) = search(session, Test::Broadcast, what, &make)?;
    let (throughput, limited) = (found.load(), found.limited());
    let full =
        session.trial(&at(Test::Broadcast, what, Load::MAX), &make(Load::MAX, settings.trials.trial_ps))?;
    let (mut latency, mut ports) = (None, Vec::new());
    if let Some(load) = throughput {
        let order = TrialSpec { latency: true, ..make(load, settings.trials.trial_ps) };
        let trial = session.trial(&at(Test::Broadcast, "latency", load), &order)?;
        let receivers = trial.ports.iter().filter(|p| p.expected > 0);
        ports = receivers.map(|p| PortLatency { port: p.port, latency: p.latency.clone() }).collect();
        latency = Some(trial.latency);
    }
    let line_fps = line(settings, size).as_f64();
    Ok(Broadcast {
        size,
        load: throughput,
        fps: throughput.map_or(0.0, |load| line_fps * f64::from(load.0) / 1e6),
        line_fps,
        found,
        limited,
        at_maximum: ForwardingAt::of(Load::MAX, &full),
        latency,
        ports,
        trials: session.trials() - before,
    })
}

fn traffic(settings: &Settings, size: u32, load: Load, length_ps: u64) -> TrialSpec {
    let sender = Sender {
        port: 0,
        rate: rate(settings, size, load),
        length: Length::Time(length_ps),
        route: Route::Everyone,
    };
    order(settings, size, vec![sender])
}
