//! What a trial is to do.

use serde::{Deserialize, Serialize};

use super::mix::Mix;
use super::rate::{Rate, SECOND};
use super::schedule::{CATCH_UP, Schedule};
use super::variant::Variant;

/// How long a leg of a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// Picoseconds.
    Time(u64),
    /// Frames.
    Frames(u64),
}

/// A part of a trial at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// Units of the mix a second.
    pub rate: Rate,
    /// How long.
    pub length: Length,
}

/// What a trial is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Sizes of the frames.
    pub mix: Mix,
    /// Rates, one after the other.
    pub legs: Vec<Leg>,
    /// How long stragglers are waited for, picoseconds.
    pub wait_ps: u64,
    /// Each frame of the schedule has to leave, or the trial is invalid; otherwise 10 us worth of them may be missing.
    pub exact: bool,
    /// Latencies are recorded.
    pub latency: bool,
    /// A link that goes down is the device's doing and no end of the trial.
    #[serde(default)]
    pub link_may_fall: bool,
    /// Frames that a late sender makes up for; the rest is not sent.
    #[serde(default = "catch_up")]
    pub catch_up: u64,
    /// What it differs in from a plain one.
    #[serde(default, skip_serializing_if = "Variant::is_plain")]
    pub variant: Variant,
}

fn catch_up() -> u64 {
    CATCH_UP
}

impl TrialSpec {
    /// A trial at one rate for a time.
    #[must_use]
    pub fn at(mix: &Mix, rate: Rate, length_ps: u64, wait_ps: u64) -> Self {
        Self {
            mix: mix.clone(),
            legs: vec![Leg { rate, length: Length::Time(length_ps) }],
            wait_ps,
            exact: false,
            latency: false,
            link_may_fall: false,
            catch_up: CATCH_UP,
            variant: Variant::default(),
        }
    }

    /// A burst of `frames` at one rate.
    #[must_use]
    pub fn burst(mix: &Mix, rate: Rate, frames: u64, wait_ps: u64) -> Self {
        Self {
            mix: mix.clone(),
            legs: vec![Leg { rate, length: Length::Frames(frames) }],
            wait_ps,
            exact: true,
            latency: false,
            link_may_fall: false,
            catch_up: CATCH_UP,
            variant: Variant::default(),
        }
    }

    /// The same, with latencies.
    #[must_use]
    pub fn with_latency(self) -> Self {
        Self { latency: true, ..self }
    }

    /// The due times.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        let mut schedule = Schedule::new(self.mix.clone()).with_catch_up(self.catch_up);
        for leg in &self.legs {
            match leg.length {
                Length::Time(ps) => schedule.push(leg.rate, ps),
                Length::Frames(n) => schedule.push_count(leg.rate, n),
            }
        }
        schedule
    }

    /// How long it takes with the wait for stragglers, picoseconds.
    #[must_use]
    pub fn duration_ps(&self) -> u64 {
        self.schedule().end_ps() + self.wait_ps
    }
}

/// Picoseconds of a number of seconds.
#[must_use]
pub fn from_seconds(s: f64) -> u64 {
    (s * SECOND as f64).round() as u64
}
