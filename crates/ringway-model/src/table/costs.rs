//! From a profile and groups to cycles a packet.
//!
//! ```text
//! C_total = C_active / packets          C_active = time of the path x clock
//! C_group = share of the group x C_total
//! ```
//!
//! The time of the path is the exact time of its threads, or that of its CPUs, without what was idle or foreign. A share `p` of `n` samples
//! is right within 1.96 sqrt(p (1 - p) / n) in 95 of 100 cases.

use serde::{Deserialize, Serialize};

use crate::group::{Attribution, Groups};
use crate::profile::{About, Profile};
use crate::sample::Source;

/// The cost of a packet in one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The group.
    pub group: String,
    /// Its share of the path, from 0 to 1, by the nearest caller that has a group.
    pub share: f64,
    /// The share is right within this, in 95 of 100 cases.
    pub error: f64,
    /// Ticks a packet; `None` when nobody counted packets.
    pub ticks: Option<f64>,
    /// The ticks are right within this, as far as samples go.
    pub ticks_error: Option<f64>,
    /// The share of functions that have the group by their own name.
    pub flat_share: f64,
    /// Ticks a packet by that share.
    pub flat_ticks: Option<f64>,
}

/// The cost of a packet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Name of the groups.
    pub groups_name: String,
    /// Groups in the order of tables; the last is `other`.
    pub groups: Vec<Cost>,
    /// Samples of the path.
    pub samples: u64,
    /// Packets that completed the path.
    pub packets: Option<u64>,
    /// Ticks a packet; `None` when nobody counted packets.
    pub total: Option<f64>,
    /// Cycles of the core a packet, where the ratio was measured or a hardware counter counted.
    pub core_cycles: Option<f64>,
    /// What numbers in ticks are: `ticks (TSC 2.00 GHz)`, `cycles`, or `ns`.
    pub unit: String,
    /// Ticks a second.
    pub hz: f64,
    /// Nanoseconds that the path took.
    pub path_ns: f64,
    /// The share of the target's time that the path took; the rest was idle, foreign or not sampled.
    pub load: f64,
    /// The share that was idle.
    pub idle: f64,
    /// The share that other work took.
    pub foreign: f64,
    /// The share that was not sampled: the kernel's, where only programs are sampled.
    pub unseen: f64,
    /// Packets a second that one CPU can carry: the clock's rate over the total.
    pub max_rate: Option<f64>,
}

impl Costs {
    /// The costs of a profile, by groups.
    #[must_use]
    pub fn of(profile: &Profile, groups: &Groups) -> Self {
        Self::from_attribution(&profile.about, groups.name(), &groups.attribute(profile))
    }

    /// The same when the samples have been given to groups.
    #[must_use]
    pub fn from_attribution(about: &About, name: &str, found: &Attribution) -> Self {
        let seen = found.path + found.idle + found.foreign;
        let all = expected(about, seen).max(seen as f64).max(1.0);
        let of_all = |samples: f64| samples / all;
        let load = of_all(found.path as f64);
        let cycles = about.spent.cycles.filter(|_| about.tier.source == Source::Cycles);
        let path_ns = about.spent.time_ns as f64 * load;
        let active =
            cycles.map_or(path_ns * about.clock.ticks_per_ns(), |c| c as f64 * of_all(found.path as f64));
        let packets = about.packets.as_ref().map(|p| p.count).filter(|&count| count > 0);
        let total = packets.map(|count| active / count as f64);
        let hz = if path_ns > 0.0 { active / path_ns * 1e9 } else { 0.0 };
        let core = if cycles.is_some() { Some(1.0) } else { about.clock.core_ratio };
        Self {
            groups_name: name.to_owned(),
            groups: found
                .groups
                .iter()
                .map(|g| cost(&g.group, g.by_stack, g.flat, found.path, total))
                .collect(),
            samples: found.path,
            packets,
            total,
            core_cycles: total.zip(core).map(|(total, ratio)| total * ratio),
            unit: if cycles.is_some() { "cycles".to_owned() } else { about.clock.unit() },
            hz,
            path_ns,
            load,
            idle: of_all(found.idle as f64),
            foreign: of_all(found.foreign as f64),
            unseen: of_all(all - seen as f64),
            max_rate: total.filter(|&t| t > 0.0).map(|total| hz / total),
        }
    }

    /// The cost of a group.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&Cost> {
        self.groups.iter().find(|g| g.group == name)
    }
}

/// Samples that the time of a target gives. Where only programs are sampled, the kernel's share is what lacks.
fn expected(about: &About, seen: u64) -> f64 {
    match (about.tier.kernel, about.tier.source) {
        (false, Source::Clock) => about.spent.time_ns as f64 * f64::from(about.frequency) / 1e9,
        _ => seen as f64,
    }
}

fn cost(group: &str, by_stack: u64, flat: u64, path: u64, total: Option<f64>) -> Cost {
    let n = path.max(1) as f64;
    let (share, flat_share) = (by_stack as f64 / n, flat as f64 / n);
    let error = interval(share, n);
    Cost {
        group: group.to_owned(),
        share,
        error,
        ticks: total.map(|t| t * share),
        ticks_error: total.map(|t| t * error),
        flat_share,
        flat_ticks: total.map(|t| t * flat_share),
    }
}

/// Half the width of the interval that has a share of `n` samples in 95 of 100 cases.
#[must_use]
pub fn interval(share: f64, n: f64) -> f64 {
    1.96 * (share * (1.0 - share) / n.max(1.0)).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Share;
    use crate::profile::Packets;
    use crate::sample::{Spent, Tier};
    use crate::time::Clock;

    fn about(time_ns: u64, packets: u64) -> About {
        About {
            frequency: 1000,
            spent: Spent { time_ns, ..Spent::default() },
            clock: Clock { tsc_hz: Some(2e9), core_ratio: Some(1.3) },
            packets: Some(Packets { count: packets, by: "veth0".into() }),
            ..About::default()
        }
    }

    #[allow(clippy::field_reassign_with_default, reason = "one field is the module's own")]
    fn found(shares: &[(&str, u64, u64)], idle: u64, foreign: u64) -> Attribution {
        let share =
            |&(group, by_stack, flat): &(&str, u64, u64)| Share { group: group.into(), by_stack, flat };
        let mut all = Attribution::default();
        all.groups = shares.iter().map(share).collect();
        all.path = shares.iter().map(|s| s.1).sum();
        (all.idle, all.foreign) = (idle, foreign);
        all
    }

    #[test]
    fn the_specification_s_error_bars() {
        let points = |share: f64| interval(share, 18_900.0) * 100.0;
        assert!((points(0.5) - 0.7).abs() < 0.02 && (points(0.01) - 0.14).abs() < 0.005);
    }

    #[test]
    fn time_becomes_ticks_a_packet() {
        // Half of two seconds, at 2 GHz, for a million packets: 2000 ticks each.
        let costs = Costs::from_attribution(
            &about(2_000_000_000, 1_000_000),
            "x",
            &found(&[("RX", 300, 100), ("other", 700, 900)], 500, 500),
        );
        let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a / b - 1.0).abs() < 1e-9);
        assert!(near(costs.total, 2000.0) && near(costs.core_cycles, 2600.0) && near(costs.max_rate, 1e6));
        assert!(near(costs.groups[0].ticks, 600.0) && near(costs.groups[0].flat_ticks, 200.0));
        assert_eq!((costs.load, costs.idle, costs.foreign, costs.unseen), (0.5, 0.25, 0.25, 0.0));
        assert_eq!(costs.unit, "ticks (TSC 2.00 GHz)");
    }

    #[test]
    fn a_part_that_nobody_sampled_is_said() {
        let mut about = about(1_000_000_000, 0);
        about.tier = Tier { source: Source::Clock, kernel: false };
        let costs = Costs::from_attribution(&about, "x", &found(&[("RX", 250, 250), ("other", 0, 0)], 0, 0));
        assert_eq!((costs.load, costs.unseen, costs.total), (0.25, 0.75, None));
    }

    #[test]
    fn cycles_of_a_counter_need_no_clock() {
        let mut about = about(1_000_000_000, 1000);
        about.tier = Tier { source: Source::Cycles, kernel: true };
        about.spent.cycles = Some(3_000_000_000);
        let costs = Costs::from_attribution(&about, "x", &found(&[("RX", 1, 1), ("other", 1, 1)], 0, 2));
        assert_eq!(
            (costs.total, costs.core_cycles, costs.unit.as_str()),
            (Some(1_500_000.0), Some(1_500_000.0), "cycles")
        );
        assert_eq!(costs.max_rate, Some(2000.0));
    }

    #[test]
    fn an_empty_profile_has_no_nonsense() {
        let costs = Costs::from_attribution(&About::default(), "x", &found(&[("other", 0, 0)], 0, 0));
        assert_eq!((costs.total, costs.max_rate, costs.load), (None, None, 0.0));
        assert!(costs.groups[0].share == 0.0 && costs.groups[0].error == 0.0);
    }
}
