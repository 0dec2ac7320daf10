//! Back-to-back frames (RFC 9004, which replaces RFC 2544, 26.4): the longest burst that is not lost from, and the buffer that
//! follows from it.

use serde::{Deserialize, Serialize};

use super::spread::Spread;
use crate::benchmark::stop::Stop;
use crate::rfc2544::session::Session;
use crate::rfc2544::settings::Test;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::{Load, SECOND};
use ringway_tester::trial::spec::TrialSpec;

/// Longest burst of one frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackToBack {
    /// Sizes.
    pub size: Mix,
    /// Why there is no result, if there is none.
    pub not_applicable: Option<String>,
    /// Frames of the longest burst, over the repeats.
    pub frames: Spread,
    /// Repeats.
    pub repeats: u32,
    /// Resolution, frames.
    pub step: u64,
    /// Longest burst that was tried, frames.
    pub limit: u64,
    /// Time of the burst at line rate, seconds.
    pub implied_buffer_s: f64,
    /// Time that the buffer holds, the frames that left meanwhile taken off, seconds.
    pub corrected_buffer_s: f64,
}

pub(super) fn run(session: &mut Session<'_>, size: &Mix, throughput: Load) -> Result<BackToBack, Stop> {
    let settings = session.settings();
    let max = settings.trials.maximum.rate(size);
    let limit = max.frames_in(settings.burst_limit_ps).max(1);
    let mut result = BackToBack {
        size: size.clone(),
        not_applicable: None,
        frames: Spread::default(),
        repeats: 0,
        step: settings.burst_step.max(1),
        limit,
        implied_buffer_s: 0.0,
        corrected_buffer_s: 0.0,
    };
    if !size.is_fixed() {
        result.not_applicable = Some("a mix has no back-to-back result (RFC 9004)".into());
    } else if throughput >= Load::MAX {
        result.not_applicable = Some("the throughput is line rate".into());
    }
    if result.not_applicable.is_some() {
        return Ok(result);
    }
    let mut bursts = Vec::new();
    for _ in 0..settings.burst_repeats.max(1) {
        let found = longest(session, size, limit)?;
        if found + result.step > limit {
            let seconds = settings.burst_limit_ps as f64 / SECOND as f64;
            let why = format!("bursts of {seconds} s, the limit, come through; raise --burst-limit");
            result.not_applicable = Some(why);
            return Ok(result);
        }
        bursts.push(found as f64);
    }
    result.repeats = bursts.len() as u32;
    result.frames = Spread::of(&bursts);
    result.implied_buffer_s = result.frames.mean / max.as_f64();
    result.corrected_buffer_s = result.implied_buffer_s * (1.0 - f64::from(throughput.0) / 1e6);
    Ok(result)
}

/// Halves between the longest burst that came through and the shortest that did not.
fn longest(session: &mut Session<'_>, size: &Mix, limit: u64) -> Result<u64, Stop> {
    let settings = session.settings();
    let (mut good, mut bad, mut next) = (0, limit + 1, limit);
    while bad - good > settings.burst_step.max(1) {
        let order = TrialSpec::burst(size, settings.trials.maximum.rate(size), next, settings.trials.wait_ps);
        let trial = session.trial(Test::BackToBack, None, &order)?;
        if !trial.faults.is_empty() {
            let why = trial.faults.first().map(ToString::to_string).unwrap_or_default();
            return Err(Stop::Unreliable(format!("a burst of {next} frames was not sent in full: {why}")));
        }
        if trial.lost == 0 {
            good = next;
        } else {
            bad = next;
        }
        next = good + (bad - good) / 2;
    }
    Ok(good)
}
