//! Frame loss rate (RFC 2544, 26.3).

use serde::{Deserialize, Serialize};

use crate::benchmark::stop::Stop;
use crate::rfc2544::session::Session;
use crate::rfc2544::settings::Test;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::spec::TrialSpec;

/// Loss of one frame size at several loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Sizes.
    pub size: Mix,
    /// From full load downward, until two trials in a row lost nothing.
    pub loads: Vec<LossAt>,
}

/// Loss at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossAt {
    /// Load.
    pub load: Load,
    /// Frames sent.
    pub tx: u64,
    /// Frames lost.
    pub lost: u64,
    /// Lost, percent of what was sent.
    pub percent: f64,
    /// Frames a second that were offered.
    pub offered_fps: f64,
    /// Frames a second that were forwarded.
    pub forwarded_fps: f64,
    /// The tester sent less than it should have.
    pub limited: bool,
}

pub(super) fn run(session: &mut Session<'_>, size: &Mix) -> Result<Loss, Stop> {
    let settings = session.settings();
    let mut loads = Vec::new();
    let mut clean = 0;
    let mut load = Load::MAX;
    loop {
        let order = TrialSpec::at(
            size,
            settings.trials.maximum.rate(size).at(load),
            settings.trials.trial_ps,
            settings.trials.wait_ps,
        );
        let trial = session.trial(Test::Loss, Some(load), &order)?;
        loads.push(LossAt {
            load,
            tx: trial.tx,
            lost: trial.lost,
            percent: 100.0 * trial.lost as f64 / trial.tx.max(1) as f64,
            offered_fps: trial.offered_fps,
            forwarded_fps: trial.forwarded_fps,
            limited: !trial.faults.is_empty(),
        });
        clean = if trial.lost == 0 { clean + 1 } else { 0 };
        match load.0.checked_sub(settings.loss_step.0) {
            Some(next) if next > 0 && clean < 2 => load = Load(next),
            _ => return Ok(Loss { size: size.clone(), loads }),
        }
    }
}
