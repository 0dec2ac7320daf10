//! Congestion control (RFC 2889, 5.5): does a port that is overloaded slow down what goes to another one, and do senders have to
//! wait?
//!
//! Port 1 sends half of its frames to port 3 and half to port 4, port 2 all to port 4. So port 4 is offered
//! 150 %, and port 3 half of what it carries.

use serde::{Deserialize, Serialize};

use super::plan::{order, rate};
use crate::benchmark::stop::Stop;
use crate::rfc2889::session::{Purpose, Session};
use crate::rfc2889::settings::Test;
use crate::rfc2889::traffic::{Route, Sender};
use crate::rfc2889::trial::{PortCounts, TrialResult};
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::spec::Length;

/// The two ports that receive.
const UNCONGESTED: usize = 2;
const CONGESTED: usize = 3;

/// What a port should have got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    /// Frames sent to it.
    pub expected: u64,
    /// Frames lost.
    pub lost: u64,
    /// Lost, percent.
    pub percent: f64,
}

impl Destination {
    fn of(port: &PortCounts) -> Self {
        let (expected, lost) = (port.expected, port.lost);
        Self { expected, lost, percent: 100.0 * lost as f64 / expected.max(1) as f64 }
    }
}

/// Congestion control with one frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Congestion {
    /// Bytes with FCS.
    pub size: u32,
    /// The port that is not overloaded.
    pub uncongested: Destination,
    /// The port that is.
    pub congested: Destination,
    /// Rate asked for, frames a second of both sources.
    pub intended_fps: f64,
    /// Rate at which frames left.
    pub offered_fps: f64,
    /// Frames of the schedule that the device did not let the sources send.
    pub held: u64,
    /// Frames to the port that is not overloaded were lost.
    pub head_of_line_blocking: bool,
    /// Sources had to wait, and nothing was lost on the way to the overloaded port.
    pub back_pressure: bool,
    /// The port that should have been overloaded lost nothing, and nobody had to wait: it carries more than its link's speed, or
    /// buffers took it all. Nothing is known then.
    pub not_congested: bool,
}

pub(super) fn run(session: &mut Session<'_>, size: u32) -> Result<Congestion, Stop> {
    let settings = session.settings();
    let sender = |port, to| Sender {
        port,
        rate: rate(settings, size, Load::MAX),
        length: Length::Time(settings.trials.trial_ps),
        route: Route::Ports(to),
    };
    let senders = vec![sender(0, vec![UNCONGESTED, CONGESTED]), sender(1, vec![CONGESTED])];
    let mut order = order(settings, size, senders);
    order.held = true;
    let purpose = Purpose { test: Test::Congestion, what: "two sources".into(), load: Some(Load::MAX) };
    let trial = session.trial(&purpose, &order)?;
    if let Some(fault) = trial.faults.first() {
        return Err(Stop::Unreliable(format!("the port was not overloaded as it should be: {fault}")));
    }
    Ok(Congestion::of(size, &trial))
}

impl Congestion {
    fn of(size: u32, trial: &TrialResult) -> Self {
        let [uncongested, congested] = [UNCONGESTED, CONGESTED].map(|p| Destination::of(&trial.ports[p]));
        let held = trial.ports.iter().filter(|p| p.refused > 0).map(|p| p.scheduled - p.tx).sum();
        Self {
            size,
            intended_fps: trial.intended_fps,
            offered_fps: trial.offered_fps,
            held,
            head_of_line_blocking: uncongested.lost > 0,
            back_pressure: congested.lost == 0 && held > 0,
            not_congested: congested.lost == 0 && held == 0,
            uncongested,
            congested,
        }
    }
}
