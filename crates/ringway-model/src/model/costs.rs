//! Ticks a packet by group of tasks, and equations (1) to (3).

use serde::{Deserialize, Serialize};

/// Ticks that one packet costs, by group, in the order in which a packet meets the groups.
///
/// ```
/// use ringway_model::model::Costs;
/// let costs = Costs::new([("RX", 400.0), ("routing", 200.0), ("TX", 300.0)]);
/// assert_eq!(costs.total(), 900.0);
/// assert_eq!(costs.share("RX"), 400.0 / 900.0);
/// // (1): a core of 1.8 GHz
/// assert_eq!(costs.max_rate(1.8e9), 2e6);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Named>", into = "Vec<Named>")]
pub struct Costs {
    groups: Vec<(String, f64)>,
}

/// A group as JSON has it.
#[derive(Clone, Serialize, Deserialize)]
struct Named {
    group: String,
    ticks: f64,
}

impl From<Vec<Named>> for Costs {
    fn from(named: Vec<Named>) -> Self {
        Self { groups: named.into_iter().map(|n| (n.group, n.ticks)).collect() }
    }
}

impl From<Costs> for Vec<Named> {
    fn from(costs: Costs) -> Self {
        costs.groups.into_iter().map(|(group, ticks)| Named { group, ticks }).collect()
    }
}

impl Costs {
    /// Costs of groups.
    pub fn new<S: Into<String>>(groups: impl IntoIterator<Item = (S, f64)>) -> Self {
        Self { groups: groups.into_iter().map(|(name, ticks)| (name.into(), ticks)).collect() }
    }

    /// (3): a total is shared out by the samples of each group. Groups without samples cost nothing.
    ///
    /// ```
    /// use ringway_model::model::Costs;
    /// let costs = Costs::of_samples(1000.0, [("RX", 30), ("TX", 10)]);
    /// assert_eq!(costs.get("RX"), Some(750.0));
    /// ```
    pub fn of_samples<S: Into<String>>(total: f64, samples: impl IntoIterator<Item = (S, u64)>) -> Self {
        let samples: Vec<(String, u64)> = samples.into_iter().map(|(name, n)| (name.into(), n)).collect();
        let all: u64 = samples.iter().map(|s| s.1).sum();
        let ticks = |n: u64| if all == 0 { 0.0 } else { total * n as f64 / all as f64 };
        Self { groups: samples.into_iter().map(|(name, n)| (name, ticks(n))).collect() }
    }

    /// All groups.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.groups.iter().map(|(name, ticks)| (name.as_str(), *ticks))
    }

    /// Ticks of a group, by a name in any case.
    #[must_use]
    pub fn get(&self, group: &str) -> Option<f64> {
        self.groups.iter().find(|(name, _)| name.eq_ignore_ascii_case(group)).map(|g| g.1)
    }

    /// Changes a group, or adds it at the end.
    pub fn set(&mut self, group: &str, ticks: f64) {
        match self.groups.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(group)) {
            Some(known) => known.1 = ticks,
            None => self.groups.push((group.to_owned(), ticks)),
        }
    }

    /// Whether there are no groups.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// (2): ticks a packet.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.groups.iter().fold(0.0, |sum, g| sum + g.1)
    }

    /// The part of a group, 0 to 1.
    #[must_use]
    pub fn share(&self, group: &str) -> f64 {
        match self.total() {
            total if total > 0.0 => self.get(group).unwrap_or(0.0) / total,
            _ => 0.0,
        }
    }

    /// (1): packets a second of one core.
    #[must_use]
    pub fn max_rate(&self, frequency_hz: f64) -> f64 {
        max_rate(frequency_hz, self.total())
    }

    /// The same costs so that they add up to another total.
    #[must_use]
    pub fn scaled_to(&self, total: f64) -> Self {
        let factor = if self.total() > 0.0 { total / self.total() } else { 0.0 };
        Self { groups: self.groups.iter().map(|(name, ticks)| (name.clone(), ticks * factor)).collect() }
    }
}

/// (1): packets a second of one core at `total` ticks a packet; infinite for packets that cost nothing.
#[must_use]
pub fn max_rate(frequency_hz: f64, total: f64) -> f64 {
    frequency_hz / total
}

/// (3): ticks a packet of a core that has `available` ticks a second, is busy for `load` (0 to 1) of them, and completes
/// `rate` packets a second.
///
/// ```
/// use ringway_model::model::costs::total_of_load;
/// assert_eq!(total_of_load(3.3e9, 0.75, 1.204e6).round(), 2056.0);
/// ```
#[must_use]
pub fn total_of_load(available: f64, load: f64, rate: f64) -> f64 {
    available * load / rate
}

/// (3), with the thread's own time: it stays right where the thread does not have its core for itself.
#[must_use]
pub fn total_of_time(thread_ns: u64, ticks_per_ns: f64, packets: u64) -> Option<f64> {
    (packets > 0).then(|| thread_ns as f64 * ticks_per_ns / packets as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_are_found_in_any_case_and_changed() {
        let mut costs = Costs::new([("RX", 1.0)]);
        costs.set("rx", 2.0);
        costs.set("tx", 3.0);
        assert_eq!(costs.iter().collect::<Vec<_>>(), [("RX", 2.0), ("tx", 3.0)]);
        assert_eq!((costs.share("none"), Costs::default().share("RX")), (0.0, 0.0));
        assert_eq!(Costs::of_samples(10.0, [("a", 0)]).total(), 0.0);
    }

    #[test]
    fn thread_time_gives_ticks() {
        let text = serde_json::to_string(&Costs::new([("RX", 1.5)])).unwrap();
        assert_eq!(text, r#"[{"group":"RX","ticks":1.5}]"#);
        assert_eq!(serde_json::from_str::<Costs>(&text).unwrap(), Costs::new([("RX", 1.5)]));
        assert_eq!(total_of_time(1_000_000, 2.0, 1000), Some(2000.0));
        assert_eq!(total_of_time(1, 2.0, 0), None);
    }

    proptest! {
        #[test]
        fn shared_out_totals_add_up(total in 1.0..1e6f64, samples in proptest::collection::vec(0u64..1000, 1..9)) {
            prop_assume!(samples.iter().sum::<u64>() > 0);
            let named = samples.iter().enumerate().map(|(k, n)| (k.to_string(), *n));
            let costs = Costs::of_samples(total, named);
            prop_assert!((costs.total() - total).abs() < 1e-6 * total);
            prop_assert!((costs.scaled_to(7.0).total() - 7.0).abs() < 1e-9);
            prop_assert!((total_of_load(1e9, 1.0, costs.max_rate(1e9)) - total).abs() < 1e-6 * total);
        }
    }
}
