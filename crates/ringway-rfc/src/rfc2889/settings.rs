//! What a benchmark of a switch is to do, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::traffic::MOST_HOSTS;
use crate::benchmark::settings::TrialSettings;
use ringway_tester::trial::ledger::seconds;
use ringway_tester::trial::maximum::{Maximum, SIZES};
use ringway_tester::trial::rate::{Load, SECOND};
use ringway_tester::trial::schedule::CATCH_UP;
use ringway_tester::trial::search::SearchKind;

/// The tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Throughput and forwarding rates (RFC 2889, 5.1 to 5.4, 5.6).
    Forwarding,
    /// Congestion control: head-of-line blocking, back pressure (5.5).
    Congestion,
    /// Addresses that the device holds (5.7).
    Capacity,
    /// How fast it learns them (5.8).
    Learning,
    /// Frames that are wrong (5.9).
    Errored,
    /// Broadcast: forwarding rate and latency (5.10).
    Broadcast,
}

impl Test {
    /// All of them, in the order in which they run.
    pub const ALL: [Self; 6] =
        [Self::Forwarding, Self::Congestion, Self::Capacity, Self::Learning, Self::Errored, Self::Broadcast];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forwarding => "forwarding",
            Self::Congestion => "congestion",
            Self::Capacity => "capacity",
            Self::Learning => "learning",
            Self::Errored => "errored",
            Self::Broadcast => "broadcast",
        }
    }

    /// Ports that it needs.
    #[must_use]
    pub fn least_ports(self) -> usize {
        match self {
            Self::Forwarding | Self::Errored => 2,
            Self::Congestion => 4,
            Self::Capacity | Self::Learning | Self::Broadcast => 3,
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
    /// Ports.
    pub ports: usize,
    /// Traffic patterns of the forwarding test.
    pub patterns: Vec<Pattern>,
    /// Frame sizes, FCS included.
    pub sizes: Vec<u32>,
    /// How their trials are run.
    #[serde(flatten)]
    pub trials: TrialSettings,
    /// Frames back to back.
    pub burst: u64,
    /// Step of loads from full load down to the throughput, for the maximum forwarding rate.
    pub step: Load,
    /// Most addresses that are tried.
    pub addresses: u64,
    /// Resolution of the search for the number of addresses.
    pub address_step: u64,
    /// Frames a second with new addresses while their number is searched, and of frames that look for them.
    pub learning_pps: u64,
    /// Addresses of the learning rate's test; none for the capacity found, or 1000.
    pub learning_addresses: Option<u64>,
    /// Resolution of the search for the learning rate, addresses a second.
    pub learning_step: u64,
    /// How long the device keeps an address that sends nothing. That long is waited before addresses are new again.
    pub age_ps: u64,
    /// A command that has the device forget its addresses instead.
    pub flush: Option<String>,
    /// Start of all that is drawn at random.
    pub seed: u64,
}

/// Length of a trial that RFC 2889 recommends.
pub const TRIAL_PS: u64 = 30 * SECOND;

impl Settings {
    /// What RFC 2889 asks for, with so many ports of this maximum rate.
    #[must_use]
    pub fn new(ports: usize, maximum: Maximum) -> Self {
        Self {
            tests: vec![Test::Forwarding],
            ports,
            patterns: vec![Pattern::Mesh],
            sizes: SIZES.to_vec(),
            trials: TrialSettings::new(maximum, TRIAL_PS),
            burst: 1,
            step: Load::percent(10.0),
            addresses: 65_536,
            address_step: 1,
            learning_pps: 1000,
            learning_addresses: None,
            learning_step: 100,
            age_ps: 300 * SECOND,
            flush: None,
            seed: 1,
        }
    }

    /// Checks settings against each other.
    ///
    /// # Errors
    /// With what does not go together, and the cure.
    pub fn check(&self) -> Result<(), String> {
        for test in &self.tests {
            let (least, ports) = (test.least_ports(), self.ports);
            if ports < least {
                return Err(format!(
                    "the {test} test needs {least} ports, and there are {ports}; name more, or leave it out of --test"
                ));
            }
        }
        if self.tests.contains(&Test::Forwarding) {
            self.patterns.iter().try_for_each(|p| p.check(self.ports))?;
        }
        let addresses = self.addresses.max(self.learning_addresses.unwrap_or(0));
        if addresses > MOST_HOSTS {
            return Err(format!(
                "{addresses} addresses are more than there are, {MOST_HOSTS}; ask for fewer"
            ));
        }
        let searched = self.tests.iter().any(|t| matches!(t, Test::Capacity | Test::Learning));
        // Taught once and looked for once, with the waits for stragglers.
        let takes = 2 * (addresses * (SECOND / self.learning_pps.max(1)) + self.trials.wait_ps);
        if searched && takes > self.age_ps {
            let [takes, age] = [takes, self.age_ps].map(seconds);
            return Err(format!(
                "teaching and finding {addresses} addresses takes {takes:.0} s, and after {age:.0} s the device forgets the first; lower \
                 --addresses, raise --learning-pps, or raise the device's ageing time and --age"
            ));
        }
        Ok(())
    }

    /// What keeps the result from being one of RFC 2889 without qualification; empty when nothing does.
    #[must_use]
    pub fn shortcuts(&self) -> Vec<String> {
        let mut short = Vec::new();
        let mut unless = |ok: bool, what: &str| {
            if !ok {
                short.push(what.to_owned());
            }
        };
        let t = &self.trials;
        let last = t.search.goals.iter().map(|g| g.final_ps).min().unwrap_or(0);
        unless(t.trial_ps.min(last) >= TRIAL_PS, "trials are shorter than 30 s, which RFC 2889 recommends");
        unless(t.search.goals.iter().all(|g| g.loss_ppm == 0), "the search allows loss");
        unless(t.search.kind == SearchKind::Binary, "the search forgives trials with loss");
        unless(t.maximum.bits().is_some(), "loads are shares of a number of frames, not of a link's speed");
        unless(t.catch_up <= CATCH_UP, &format!("a late sender makes up for more than {CATCH_UP} frames"));
        unless(SIZES.iter().all(|size| self.sizes.contains(size)), "not all sizes are measured");
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_tester::trial::search::{Preset, SearchPlan};

    fn full() -> Settings {
        let settings = Settings::new(4, Maximum::Link(1_000_000_000));
        Settings { tests: Test::ALL.to_vec(), addresses: 10_000, ..settings }
    }

    #[test]
    fn shortcuts_are_named() {
        assert_eq!((full().check(), full().shortcuts()), (Ok(()), Vec::new()));
        let trials = TrialSettings {
            trial_ps: SECOND,
            search: SearchPlan::new(SearchKind::Mlr, &[Preset::Pdr], Load(1000)),
            maximum: Maximum::Pps(5),
            ..full().trials
        };
        let short = Settings { trials, sizes: vec![64], ..full() };
        assert_eq!(short.shortcuts().len(), 5, "{:?}", short.shortcuts());
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        for (settings, part) in [
            (Settings { ports: 3, ..full() }, "congestion test needs 4 ports"),
            (Settings { ports: 5, patterns: vec![Pattern::Pairs], ..full() }, "an even number"),
            (Settings { addresses: 1 << 25, ..full() }, "ask for fewer"),
            (Settings { learning_pps: 50, ..full() }, "forgets the first"),
        ] {
            let why = settings.check().unwrap_err();
            assert!(why.contains(part), "{why}");
        }
        for test in Test::ALL {
            assert_eq!(serde_json::to_value(test).unwrap(), test.name());
        }
    }
}
