//! System recovery (RFC 2544, 26.5): how long frames are still lost after an overload.

use serde::{Deserialize, Serialize};

use super::spread::Spread;
use crate::benchmark::stop::Stop;
use crate::rfc2544::session::Session;
use crate::rfc2544::settings::Test;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::{Load, SECOND};
use ringway_tester::trial::spec::{Leg, Length, TrialSpec};

/// Recovery at one frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Sizes.
    pub size: Mix,
    /// Load during the overload: 110 % of the throughput, or all there is.
    pub overload: Load,
    /// Load from time A on: half of it.
    pub relief: Load,
    /// From time A until the last frame that is lost was sent, seconds; zero when none is lost after A.
    pub seconds: Spread,
    /// The single repeats.
    pub values_s: Vec<f64>,
    /// Distance of frames after A, seconds: the resolution.
    pub resolution_s: f64,
    /// Whether there was an overload: frames were lost before A.
    pub overloaded: bool,
}

pub(super) fn run(session: &mut Session<'_>, size: &Mix, throughput: Load) -> Result<Recovery, Stop> {
    let settings = session.settings();
    let overload = Load((u64::from(throughput.0) * 11 / 10).min(1_000_000) as u32);
    let relief = Load((overload.0 / 2).max(1));
    let max = settings.trials.maximum.rate(size);
    let length = Length::Time(settings.trials.trial_ps);
    let legs = [overload, relief].map(|load| Leg { rate: max.at(load), length });
    let order = TrialSpec {
        mix: size.clone(),
        legs: legs.into(),
        wait_ps: settings.trials.wait_ps,
        exact: false,
        latency: false,
        link_may_fall: false,
        catch_up: settings.trials.catch_up,
        variant: session.variant().clone(),
    };
    let (mut values, mut overloaded) = (Vec::new(), false);
    for _ in 0..settings.recovery_repeats.max(1) {
        let trial = session.trial(Test::Recovery, Some(overload), &order)?;
        overloaded |= trial.lost > 0;
        let after = trial.last_lost_ps.map_or(0, |at| at.saturating_sub(settings.trials.trial_ps));
        values.push(after as f64 / SECOND as f64);
    }
    let resolution_s = size.units_per_frame() / max.at(relief).as_f64();
    let seconds = Spread::of(&values);
    Ok(Recovery { size: size.clone(), overload, relief, seconds, values_s: values, resolution_s, overloaded })
}
