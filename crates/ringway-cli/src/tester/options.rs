//! Options that `rfc2544` and `rfc2889` share.

// clap shows these texts as they stand, so brackets in them are no links.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are for clap")]

use std::path::PathBuf;

use ringway_rfc::benchmark::settings::TrialSettings;
use ringway_tester::trial::maximum::Maximum;
use ringway_tester::trial::pollers::Cpus;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::schedule::CATCH_UP;
use ringway_tester::trial::search::SearchPlan;
use ringway_tester::trial::spec::from_seconds;
use ringway_traffic::number;

use super::values::{PresetName, SearchName, Sizes, percent, seconds, sizes, waiting};

// Headings of the options that are not for every run.
pub(crate) const PORTS: &str = "Ports and devices";
pub(crate) const TRIALS: &str = "Trials and search";
pub(crate) const FRAMES: &str = "Frames and flows";
pub(crate) const REPORTS: &str = "Reports";

/// Fastest link, bits a second: its rates are exact in 64 bits.
const MAX_LINK: u64 = 10_000_000_000_000;

/// Options that both benchmarks have.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SharedArgs {
    /// Speed of the links, which senders keep to: 1G, 10Gbit, 100mbit
    #[arg(long, value_name = "BITS", value_parser = number::bits, conflicts_with = "pps")]
    pub(crate) link: Option<u64>,

    /// Highest rate of a port in frames per second, for ports without a speed
    #[arg(long, value_name = "RATE", value_parser = number::frames)]
    pub(crate) pps: Option<u64>,

    /// Frame sizes with FCS, separated by commas; rfc is 64,128,256,512,1024,1280,1518, jumbo adds 2048,4096,9000,9216
    #[arg(long, value_name = "LIST", default_value = "rfc", value_parser = sizes, help_heading = FRAMES)]
    pub(crate) sizes: Sizes,

    /// How throughputs are searched
    #[arg(long, value_enum, default_value_t = SearchName::Binary, help_heading = TRIALS)]
    pub(crate) search: SearchName,

    /// Resolution of searches for a load in percent of the maximum rate
    #[arg(long, value_name = "PERCENT", default_value_t = 0.1, value_parser = percent, help_heading = TRIALS)]
    pub(crate) resolution: f64,

    /// Length of a trial [default: 60; of RFC 2889 30, and 1 with a modelled switch]
    #[arg(long, value_name = "S", value_parser = seconds, help_heading = TRIALS)]
    pub(crate) seconds: Option<f64>,

    /// Length of the trials of a binary search before the last one [default: as --seconds]
    #[arg(long, value_name = "S", value_parser = seconds, help_heading = TRIALS)]
    pub(crate) search_seconds: Option<f64>,

    /// Wait for stragglers after each trial
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = waiting, help_heading = TRIALS)]
    pub(crate) wait: f64,

    /// Pause between trials
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = waiting, help_heading = TRIALS)]
    pub(crate) pause: f64,

    /// Repeats of a trial in which the tester itself stood still
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = TRIALS)]
    pub(crate) retries: u32,

    /// Frames that a late sender makes up for, back to back; the rest is not sent, and the trial invalid
    #[arg(long, value_name = "N", default_value_t = CATCH_UP, value_parser = clap::value_parser!(u64).range(1..=65536), help_heading = TRIALS)]
    pub(crate) catch_up: u64,

    /// Start of all that is drawn at random
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = FRAMES)]
    pub(crate) seed: u64,

    /// Virtual clock: exact on any machine, no statement about speed
    #[arg(long)]
    pub(crate) virtual_time: bool,

    /// Slots of each ring
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65536), help_heading = PORTS)]
    pub(crate) slots: Option<u32>,

    /// Send although an interface holds a default route or an address of a production network
    #[arg(long, help_heading = PORTS)]
    pub(crate) allow_production: bool,

    /// CPUs of the polling threads: sender, receiver, and so on
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = PORTS)]
    pub(crate) cpus: Vec<usize>,

    /// Write the report as JSON
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(crate) save: Option<PathBuf>,

    /// Write the report as a page
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(crate) page: Option<PathBuf>,

    /// Write a CSV file for each test into a directory
    #[arg(long, value_name = "DIR", help_heading = REPORTS)]
    pub(crate) csv: Option<PathBuf>,

    /// Print a line for each trial on standard error
    #[arg(short, long, help_heading = REPORTS)]
    pub(crate) verbose: bool,

    /// Print the report as one JSON object
    #[arg(long, help_heading = REPORTS)]
    pub(crate) json: bool,
}

impl SharedArgs {
    /// The rate that loads are shares of, if the options give one.
    pub(crate) fn maximum(&self) -> Result<Option<Maximum>, String> {
        match (self.link, self.pps) {
            (Some(bits), _) if bits > MAX_LINK => Err("--link is above 10000G".into()),
            (Some(bits), _) if bits >= 1_000_000 => Ok(Some(Maximum::Link(bits))),
            (Some(_), _) => Err("--link is below 1M, one Mbit/s; did you mean 1G?".into()),
            (None, Some(0)) => Err("--pps must be above 0".into()),
            (None, pps) => Ok(pps.map(Maximum::Pps)),
        }
    }

    /// The search for a load that meets these goals. Goals of the RFC have trials of `trial_ps`, if that is given.
    pub(crate) fn search_plan(&self, presets: &[PresetName], trial_ps: Option<u64>) -> SearchPlan {
        let goals: Vec<_> = presets.iter().map(|&preset| preset.into()).collect();
        let mut plan = SearchPlan::new(self.search.into(), &goals, Load::percent(self.resolution));
        if let Some(trial_ps) = trial_ps {
            for (goal, _) in plan.goals.iter_mut().zip(presets).filter(|(_, preset)| !preset.has_length()) {
                let sums = goal.sum_ps / goal.final_ps.max(1);
                goal.final_ps = trial_ps;
                goal.sum_ps = sums * trial_ps;
            }
            plan.short_ps = plan.goals.first().map_or(plan.short_ps, |goal| goal.final_ps);
        }
        plan.short_ps = self.search_seconds.map_or(plan.short_ps, from_seconds);
        plan
    }

    /// How trials are run, with this maximum, this search and this length.
    pub(crate) fn trials(&self, maximum: Maximum, search: SearchPlan, trial_ps: u64) -> TrialSettings {
        TrialSettings {
            maximum,
            search,
            trial_ps,
            wait_ps: from_seconds(self.wait),
            pause_ps: from_seconds(self.pause),
            retries: self.retries,
            catch_up: self.catch_up,
        }
    }

    /// The CPUs of the polling threads.
    pub(crate) fn cpus(&self) -> Cpus {
        Cpus(self.cpus.clone())
    }

    /// An option for ports that was given although there are none.
    pub(crate) fn needs_ports(&self) -> Option<&'static str> {
        let given = [("--slots", self.slots.is_some()), ("--cpus", !self.cpus.is_empty())];
        given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
    }
}
