//! Bursts of a fixed length at full rate: the exact number of frames that fit into a time.

use serde::{Deserialize, Serialize};

use crate::benchmark::stop::Stop;
use crate::rfc2544::session::Session;
use crate::rfc2544::settings::Test;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::spec::TrialSpec;

/// A burst of one frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Sizes.
    pub size: Mix,
    /// Length of the burst, picoseconds.
    pub length_ps: u64,
    /// Test frames that fit into it: `ceil(T R)` in each direction, less those whose place others take.
    pub scheduled: u64,
    /// Frames sent.
    pub tx: u64,
    /// Frames that came back.
    pub rx: u64,
    /// Frames lost.
    pub lost: u64,
    /// Frames a second that were forwarded.
    pub forwarded_fps: f64,
}

pub(super) fn run(session: &mut Session<'_>, size: &Mix) -> Result<Burst, Stop> {
    let settings = session.settings();
    let length_ps = settings.burst_ps;
    let order = TrialSpec {
        exact: true,
        ..TrialSpec::at(size, settings.trials.maximum.rate(size), length_ps, settings.trials.wait_ps)
    };
    let trial = session.trial(Test::Burst, Some(Load::MAX), &order)?;
    if trial.only_short() {
        let reason = trial.faults.first().map(ToString::to_string).unwrap_or_default();
        return Err(Stop::Unreliable(format!(
            "the burst was not sent in full: {reason}; use a lower --link"
        )));
    }
    let (scheduled, forwarded_fps) =
        (trial.scheduled / trial.streams.len().max(1) as u64, trial.forwarded_fps);
    Ok(Burst {
        size: size.clone(),
        length_ps,
        scheduled,
        tx: trial.tx,
        rx: trial.rx,
        lost: trial.lost,
        forwarded_fps,
    })
}
