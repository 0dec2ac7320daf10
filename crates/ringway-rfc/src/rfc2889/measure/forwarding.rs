//! Throughput and forwarding rates (RFC 2889, 5.1 to 5.4 and 5.6; terms of RFC 2285, 3.6).

use serde::{Deserialize, Serialize};

use super::plan::{at, line, order, rate, search};
use crate::benchmark::stop::Stop;
use crate::rfc2889::pattern::Pattern;
use crate::rfc2889::session::Session;
use crate::rfc2889::settings::{Settings, Test};
use crate::rfc2889::traffic::{Route, Sender, TrialSpec};
use crate::rfc2889::trial::TrialResult;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::search::Found;
use ringway_tester::trial::spec::Length;

/// What a pattern gets through at one load. Rates are frames a second over all ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForwardingAt {
    /// Load of each port.
    pub load: Load,
    /// Rate that was offered, measured.
    pub offered_fps: f64,
    /// Rate that was forwarded to where it should go.
    pub forwarded_fps: f64,
    /// Frames lost.
    pub lost: u64,
    /// Lost, percent of what was sent.
    pub percent: f64,
    /// Frames that came to other ports than they were meant for; none of them counts as forwarded.
    pub flooded: u64,
    /// The tester sent less than it should have.
    pub limited: bool,
}

impl ForwardingAt {
    pub(super) fn of(load: Load, trial: &TrialResult) -> Self {
        Self {
            load,
            offered_fps: trial.offered_fps,
            forwarded_fps: trial.forwarded_fps,
            lost: trial.lost,
            percent: 100.0 * trial.lost as f64 / trial.expected.max(1) as f64,
            flooded: trial.flooded,
            limited: !trial.faults.is_empty(),
        }
    }
}

/// Throughput and forwarding rates of one pattern and frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forwarding {
    /// Pattern.
    pub pattern: Pattern,
    /// Bytes with FCS.
    pub size: u32,
    /// Throughput: the highest load of each port without loss.
    pub load: Option<Load>,
    /// The same in frames a second over all ports.
    pub fps: f64,
    /// The most that the links carry with this pattern, frames a second over all ports.
    pub line_fps: f64,
    /// What the search found.
    pub found: Found,
    /// The tester could not send more: the device may do better.
    pub limited: bool,
    /// Forwarding rate at maximum offered load.
    pub at_maximum: ForwardingAt,
    /// Maximum forwarding rate: the highest at any load from the throughput up.
    pub maximum: ForwardingAt,
    /// All loads above the throughput that were tried, from full load downward.
    pub loads: Vec<ForwardingAt>,
    /// Trials that it took.
    pub trials: u64,
}

pub(super) fn run(session: &mut Session<'_>, pattern: Pattern, size: u32) -> Result<Forwarding, Stop> {
    let settings = session.settings();
    let (what, before) = (pattern.name(), session.trials());
    let make = |load, length_ps| traffic(settings, pattern, size, load, length_ps);
    let (found, _) = search(session, Test::Forwarding, what, &make)?;
    let (throughput, limited) = (found.load(), found.limited());
    let mut loads = Vec::new();
    let mut load = Load::MAX;
    loop {
        let trial =
            session.trial(&at(Test::Forwarding, what, load), &make(load, settings.trials.trial_ps))?;
        loads.push(ForwardingAt::of(load, &trial));
        match load.0.checked_sub(settings.step.0.max(1)) {
            Some(next) if next > throughput.map_or(0, |t| t.0) => load = Load(next),
            _ => break,
        }
    }
    let best = loads.iter().max_by(|a, b| a.forwarded_fps.total_cmp(&b.forwarded_fps));
    let (Some(maximum), Some(at_maximum)) = (best.cloned(), loads.first().cloned()) else {
        return Err(Stop::Unreliable("no load was tried".into()));
    };
    let senders = pattern.senders(settings.ports).len() as f64;
    let line_fps = line(settings, size).as_f64() * senders / pattern.sharing(settings.ports) as f64;
    let fps = throughput.map_or(0.0, |load| line_fps * f64::from(load.0) / 1e6);
    let trials = session.trials() - before;
    Ok(Forwarding {
        pattern,
        size,
        load: throughput,
        fps,
        line_fps,
        found,
        limited,
        at_maximum,
        maximum,
        loads,
        trials,
    })
}

/// What all ports of a pattern send at a load.
fn traffic(settings: &Settings, pattern: Pattern, size: u32, load: Load, length_ps: u64) -> TrialSpec {
    let rate = rate(settings, size, load).shared(pattern.sharing(settings.ports));
    let senders = pattern.senders(settings.ports).into_iter().map(|(port, to)| Sender {
        port,
        rate,
        length: Length::Time(length_ps),
        route: Route::Ports(to),
    });
    order(settings, size, senders.collect())
}
