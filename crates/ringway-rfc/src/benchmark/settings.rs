//! What all benchmarks are to do alike: the settings of their trials.

use serde::{Deserialize, Serialize};

use ringway_tester::report::page::escape;
use ringway_tester::trial::ledger::seconds;
use ringway_tester::trial::maximum::Maximum;
use ringway_tester::trial::rate::{Load, SECOND};
use ringway_tester::trial::schedule::CATCH_UP;
use ringway_tester::trial::search::{Preset, SearchKind, SearchPlan};

/// How the trials of a benchmark are run, and how its throughputs are searched. Times are picoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialSettings {
    /// The rate of a port, which loads are shares of.
    pub maximum: Maximum,
    /// How throughputs are searched.
    pub search: SearchPlan,
    /// Formal length of a trial.
    pub trial_ps: u64,
    /// Wait for stragglers.
    pub wait_ps: u64,
    /// Pause between trials.
    pub pause_ps: u64,
    /// How often a trial that was invalid is repeated.
    pub retries: u32,
    /// Frames that a late sender makes up for, back to back.
    pub catch_up: u64,
}

impl TrialSettings {
    /// What the RFCs ask for, with ports of this maximum rate and trials of `trial_ps`.
    #[must_use]
    pub fn new(maximum: Maximum, trial_ps: u64) -> Self {
        let mut search = SearchPlan::new(SearchKind::Binary, &[Preset::Rfc2544], Load(1000));
        search.goals.iter_mut().for_each(|goal| (goal.final_ps, goal.sum_ps) = (trial_ps, trial_ps));
        search.short_ps = trial_ps;
        Self {
            maximum,
            search,
            trial_ps,
            wait_ps: 2 * SECOND,
            pause_ps: 5 * SECOND,
            retries: 3,
            catch_up: CATCH_UP,
        }
    }

    /// The foot of a page: how trials were run, with something before and something behind the search.
    #[must_use]
    pub fn footer(&self, before: &str, behind: &str, seed: u64, version: &str) -> String {
        format!(
            "<footer>\n<p>{before}Trials of {} s, {} s for stragglers, {} s between them. Search {}. {behind}Seed {seed}. Ringway \
             {}.</p>\n</footer>\n",
            seconds(self.trial_ps),
            seconds(self.wait_ps),
            seconds(self.pause_ps),
            self.search.kind,
            escape(version)
        )
    }
}
