//! What a benchmark is to do, as plain data: from the command line, from a file, in the report.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::benchmark::settings::TrialSettings;
use ringway_tester::trial::maximum::{Maximum, SIZES};
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::{Load, SECOND};
use ringway_tester::trial::schedule::CATCH_UP;
use ringway_tester::trial::search::SearchKind;
use ringway_tester::trial::variant::Variant;

/// The tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Highest rate without loss (RFC 2544, 26.1).
    Throughput,
    /// Latency at shares of the throughput (26.2, RFC 8219).
    Latency,
    /// Loss from full load downward (26.3).
    Loss,
    /// Longest burst without loss (26.4, RFC 9004).
    BackToBack,
    /// Bursts of a fixed length at full rate.
    Burst,
    /// How long loss goes on after an overload (26.5).
    Recovery,
    /// How long a restart takes (26.6, RFC 6201).
    Reset,
}

impl Test {
    /// All of them, in the order in which they run.
    pub const ALL: [Self; 7] = [
        Self::Throughput,
        Self::Latency,
        Self::Loss,
        Self::BackToBack,
        Self::Burst,
        Self::Recovery,
        Self::Reset,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Loss => "loss",
            Self::BackToBack => "back-to-back",
            Self::Burst => "burst",
            Self::Recovery => "recovery",
            Self::Reset => "reset",
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Everything that decides what a benchmark measures. Times are picoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Tests to run.
    pub tests: Vec<Test>,
    /// Frame sizes, FCS included.
    pub sizes: Vec<Mix>,
    /// How their trials are run.
    #[serde(flatten)]
    pub trials: TrialSettings,
    /// Loads of the latency test, millionths of the throughput.
    pub latency_loads: Vec<Load>,
    /// Length of a trial of the latency test.
    pub latency_ps: u64,
    /// Repeats at the throughput.
    pub latency_repeats: u32,
    /// Step of the loss test.
    pub loss_step: Load,
    /// Longest burst that is tried.
    pub burst_limit_ps: u64,
    /// Repeats of the back-to-back search.
    pub burst_repeats: u32,
    /// Resolution of the back-to-back search, frames.
    pub burst_step: u64,
    /// Length of the bursts of the burst test.
    pub burst_ps: u64,
    /// Repeats of the recovery test.
    pub recovery_repeats: u32,
    /// Length of the trials of the reset test.
    pub reset_ps: u64,
    /// When the device is restarted.
    pub reset_at_ps: u64,
    /// Command that restarts it.
    pub reset_command: Option<String>,
    /// What is restarted: `hardware`, `software`, `power`.
    pub reset_kind: String,
    /// Both directions at once.
    pub bidirectional: bool,
    /// What all tests are repeated with, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// Start of all that is drawn at random.
    pub seed: u64,
}

impl Settings {
    /// What RFC 2544 asks for, with ports of this maximum rate.
    #[must_use]
    pub fn new(maximum: Maximum) -> Self {
        Self {
            tests: vec![Test::Throughput],
            sizes: SIZES.map(Mix::fixed).to_vec(),
            trials: TrialSettings::new(maximum, 60 * SECOND),
            latency_loads: [10.0, 50.0, 90.0, 100.0].map(Load::percent).to_vec(),
            latency_ps: 120 * SECOND,
            latency_repeats: 20,
            loss_step: Load::percent(10.0),
            burst_limit_ps: 2 * SECOND,
            burst_repeats: 50,
            burst_step: 1,
            burst_ps: 20 * SECOND,
            recovery_repeats: 3,
            reset_ps: 60 * SECOND,
            reset_at_ps: 10 * SECOND,
            reset_command: None,
            reset_kind: "software".into(),
            bidirectional: false,
            variants: Vec::new(),
            seed: 1,
        }
    }

    /// What keeps the result from being one of RFC 2544 without qualification; empty when nothing does.
    #[must_use]
    pub fn shortcuts(&self) -> Vec<String> {
        let mut short = Vec::new();
        let mut unless = |ok: bool, what: &str| {
            if !ok {
                short.push(what.to_owned());
            }
        };
        let t = &self.trials;
        unless(t.trial_ps >= 60 * SECOND, "trials are shorter than 60 s");
        unless(
            t.search.goals.iter().all(|g| g.final_ps >= 60 * SECOND),
            "the search's last trials are shorter than 60 s",
        );
        unless(t.search.goals.iter().all(|g| g.loss_ppm == 0), "the search allows loss");
        let forgives = t.search.kind == SearchKind::BinaryVerify
            || t.search.kind == SearchKind::Mlr && t.search.goals.iter().any(|g| g.exceed_ppm > 0);
        unless(!forgives, "the search forgives trials with loss");
        unless(t.maximum.bits().is_some(), "loads are shares of a number of frames, not of a link's speed");
        unless(t.wait_ps >= 2 * SECOND, "stragglers are waited for less than 2 s");
        unless(t.catch_up <= CATCH_UP, &format!("a late sender makes up for more than {CATCH_UP} frames"));
        unless(t.pause_ps >= 5 * SECOND, "the pause between trials is shorter than 5 s");
        let all = |size: &u32| self.sizes.contains(&Mix::fixed(*size));
        unless(SIZES.iter().all(all), "not all sizes of RFC 2544 are measured");
        if self.tests.contains(&Test::Latency) {
            unless(self.latency_ps >= 120 * SECOND, "latency trials are shorter than 120 s");
            unless(self.latency_repeats >= 20, "latency is measured less than 20 times");
        }
        unless(
            !self.tests.contains(&Test::Loss) || self.loss_step <= Load::percent(10.0),
            "loss steps are wider than 10 %",
        );
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_tester::trial::search::{Preset, SearchPlan};

    #[test]
    fn shortcuts_are_named() {
        let full = Settings { tests: Test::ALL.to_vec(), ..Settings::new(Maximum::Link(1_000_000_000)) };
        assert_eq!(full.shortcuts(), Vec::<String>::new());
        let trials = TrialSettings {
            trial_ps: SECOND,
            pause_ps: 0,
            catch_up: 1000,
            wait_ps: SECOND,
            search: SearchPlan::new(SearchKind::Mlr, &[Preset::Pdr], Load(1000)),
            ..full.trials
        };
        let short = Settings {
            trials,
            sizes: vec![Mix::imix()],
            latency_repeats: 1,
            latency_ps: SECOND,
            loss_step: Load::percent(20.0),
            ..full
        };
        assert_eq!(short.shortcuts().len(), 11, "{:?}", short.shortcuts());
    }

    #[test]
    fn names_are_those_of_the_data() {
        for test in Test::ALL {
            assert_eq!(serde_json::to_value(test).unwrap(), test.name());
        }
    }
}
