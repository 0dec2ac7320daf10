//! What a profile holds for, and why two profiles are hardly comparable.

use ringway_lab::Conditions;
use serde::{Deserialize, Serialize};

use crate::sample::{Source, Spent, Tier};
use crate::symbol::Gaps;
use crate::time::Clock;

/// What a profile holds for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The machine.
    pub conditions: Conditions,
    /// The command line that made it.
    pub command: String,
    /// Whom it sampled, as text.
    pub target: String,
    /// Name of the groups that fit, as far as the recorder knows.
    pub groups: Option<String>,
    /// What the samples come from.
    pub tier: Tier,
    /// Samples a second that were asked for.
    pub frequency: u32,
    /// Whether CPUs were sampled, and not threads.
    pub of_cpus: bool,
    /// Samples that were lost: the rings or the memory for stacks had no room, or the kernel sampled less.
    pub lost: u64,
    /// Time.
    pub spent: Spent,
    /// The rates of the machine's clocks.
    pub clock: Clock,
    /// The packets that crossed the path meanwhile.
    pub packets: Option<Packets>,
    /// Functions without names.
    pub gaps: Gaps,
    /// Programs of eBPF that ran meanwhile.
    pub programs: Vec<ProgramTime>,
    /// What is missing, a line each.
    pub notes: Vec<String>,
}

/// Packets that completed the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packets {
    /// How many.
    pub count: u64,
    /// What counted them, as text.
    pub by: String,
}

/// What a program of eBPF took, by the kernel's own count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramTime {
    /// Its name, at most 15 characters.
    pub name: String,
    /// Its number in the kernel.
    pub id: u32,
    /// Nanoseconds.
    pub ns: u64,
    /// How often it ran.
    pub runs: u64,
}

impl Default for About {
    fn default() -> Self {
        Self {
            conditions: Conditions::default(),
            command: String::new(),
            target: String::new(),
            groups: None,
            tier: Tier { source: Source::Clock, kernel: true },
            frequency: 0,
            of_cpus: false,
            lost: 0,
            spent: Spent::default(),
            clock: Clock::default(),
            packets: None,
            gaps: Gaps::default(),
            programs: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl About {
    /// Why numbers of the two hardly compare, a line each; empty when they do.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (a, b) = (&self.conditions, &other.conditions);
        let differ = |what: &str, a: &str, b: &str| (a != b).then(|| format!("the {what} differs: {a}, {b}"));
        let part = |tier: Tier| if tier.kernel { "kernel and user" } else { "user part only" };
        [
            differ("host", &a.host, &b.host),
            differ("kernel", &a.kernel, &b.kernel),
            differ("processor", &a.cpu, &b.cpu),
            differ("source of samples", &self.tier.letter().to_string(), &other.tier.letter().to_string()),
            differ("sampled part", part(self.tier), part(other.tier)),
            differ("clock", &self.clock.unit(), &other.clock.unit()).filter(|_| !self.near(other)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether the TSCs have one rate, up to a thousandth.
    fn near(&self, other: &Self) -> bool {
        let rate = |of: &Self| of.clock.ticks_per_ns();
        (rate(self) / rate(other) - 1.0).abs() < 1e-3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_of_another_machine_is_named() {
        let mut other = About::default();
        assert!(other.differences(&other).is_empty());
        other.conditions.host = "b".into();
        other.tier.kernel = false;
        let lines = About::default().differences(&other);
        assert_eq!(
            lines,
            ["the host differs: , b", "the sampled part differs: kernel and user, user part only"]
        );
        other.clock.tsc_hz = Some(2.0e9);
        let close = About { clock: Clock { tsc_hz: Some(2.0001e9), core_ratio: None }, ..other.clone() };
        assert!(other.differences(&close).is_empty());
    }
}
