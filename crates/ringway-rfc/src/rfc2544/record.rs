//! What is kept of a trial.

use serde::{Deserialize, Serialize};

use super::settings::Test;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::result::TrialResult;
use ringway_tester::trial::spec::TrialSpec;

/// A trial and what it was for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the trial, from 1.
    pub number: u64,
    /// Test that it belongs to.
    pub test: Test,
    /// Sizes of its frames.
    pub size: Mix,
    /// Load, where it is one.
    pub load: Option<Load>,
    /// Repeats of an invalid trial count up from 0.
    pub attempt: u32,
    /// What was asked.
    pub order: TrialSpec,
    /// What was found.
    pub trial: TrialResult,
}
