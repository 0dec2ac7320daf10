//! Reset (RFC 6201): how long a restart of the device interrupts forwarding.

use serde::{Deserialize, Serialize};

use crate::benchmark::stop::Stop;
use crate::rfc2544::session::Session;
use crate::rfc2544::settings::Test;
use ringway_tester::trial::command::Running;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::{Load, SECOND};
use ringway_tester::trial::spec::TrialSpec;

/// A restart under load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reset {
    /// Sizes.
    pub size: Mix,
    /// What was restarted: hardware, software, power.
    pub kind: String,
    /// Load: the throughput of the smallest size.
    pub load: Load,
    /// From the last frame before to the first after, seconds.
    pub by_time_s: f64,
    /// Frames lost over the rate, seconds.
    pub by_loss_s: f64,
    /// Frames lost.
    pub lost: u64,
    /// Distance of frames, seconds: the resolution.
    pub resolution_s: f64,
}

pub(super) fn run(session: &mut Session<'_>, size: &Mix, load: Load) -> Result<Reset, Stop> {
    let settings = session.settings();
    let rate = settings.trials.maximum.rate(size).at(load);
    let mut order = TrialSpec::at(size, rate, settings.reset_ps, settings.trials.wait_ps);
    order.link_may_fall = true;
    let mut started = Vec::new();
    let restart = |command| Running::start("reset command", command, &[]);
    let mut hook = || started.extend(settings.reset_command.as_deref().map(restart));
    let trial = session.hooked(Test::Reset, Some(load), &order, Some((settings.reset_at_ps, &mut hook)));
    let ran = started.len();
    // No command is left behind, whatever became of the trial, or of another command.
    let ended: Vec<_> = started.into_iter().map(|restart| restart.and_then(Running::end)).collect();
    let trial = trial?;
    ended.into_iter().collect::<Result<(), _>>().map_err(Stop::Unreliable)?;
    if settings.reset_command.is_some() && ran == 0 {
        return Err(Stop::Unreliable("the trial ended before the reset command was run".into()));
    }
    if let Some(stream) = trial.streams.iter().find(|s| s.lost > 0 && trial.last_lost_ps >= last_due(&order))
    {
        return Err(Stop::Unreliable(format!(
            "the last frames of stream {} never came: the device was not back when the trial ended; raise --reset-seconds",
            stream.stream
        )));
    }
    let distance = size.units_per_frame() / rate.as_f64();
    // The gap contains the usual distance of two frames once.
    let by_time_s = if trial.lost > 0 { trial.gap.ps as f64 / SECOND as f64 } else { 0.0 };
    let streams = trial.streams.len().max(1) as f64;
    Ok(Reset {
        size: size.clone(),
        kind: settings.reset_kind.clone(),
        load,
        by_time_s,
        by_loss_s: trial.lost as f64 / streams * distance,
        lost: trial.lost,
        resolution_s: distance,
    })
}

/// When the last frame is due.
fn last_due(order: &TrialSpec) -> Option<u64> {
    let schedule = order.schedule();
    schedule.frames().checked_sub(1).map(|last| schedule.due_ps(last))
}
