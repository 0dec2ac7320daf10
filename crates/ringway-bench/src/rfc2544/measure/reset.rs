//! Reset (RFC 6201): how long a restart of the device interrupts forwarding.

use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::rfc2544::mix::Mix;
use crate::rfc2544::rate::{Load, SECOND};
use crate::rfc2544::session::{Session, Stop};
use crate::rfc2544::settings::Test;
use crate::rfc2544::trial::Order;

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
    let rate = settings.maximum.rate(size).at(load);
    let order = Order::at(size, rate, settings.reset_ps, settings.wait_ps);
    let mut started: Vec<Child> = Vec::new();
    let mut refused = None;
    let mut hook = || {
        let Some(command) = &settings.reset_command else { return };
        let child =
            Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        match child {
            Ok(child) => started.push(child),
            Err(e) => refused = Some(format!("reset command '{command}': {e}")),
        }
    };
    let trial = session.hooked(Test::Reset, Some(load), &order, Some((settings.reset_at_ps, &mut hook)));
    for mut child in started {
        let status = child.wait();
        if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
            session.note(format!("the reset command ended with {status:?}"));
        }
    }
    if let Some(why) = refused {
        return Err(Stop::Unreliable(why));
    }
    let trial = trial?;
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
