//! Differences with their intervals.

use serde::Serialize;

use super::points::Cut;
use crate::model::Interval;

/// The costs of all places, round by round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rounds {
    /// Names of the places, and of the stages that end there.
    pub names: Vec<[&'static str; 2]>,
    /// Whether rounds are missing.
    pub partial: bool,
    /// Nanoseconds a packet, by round and place.
    ns: Vec<Vec<f64>>,
}

impl Rounds {
    /// No rounds yet.
    pub(super) fn new(cuts: &[Cut]) -> Self {
        let names = cuts.iter().map(|cut| [cut.name, cut.stage]).collect();
        Self { names, partial: true, ns: Vec::new() }
    }

    /// One more round, with a cost for each place.
    pub(super) fn push(&mut self, round: Vec<f64>) {
        self.ns.push(round);
    }

    /// How many rounds there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ns.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ns.is_empty()
    }
}

/// A place, and the stage that ends there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    /// Name of the place.
    pub place: &'static str,
    /// The work between the place before it and this one.
    pub stage: &'static str,
    /// Nanoseconds of a packet that ends here.
    pub until_ns: Interval,
    /// Nanoseconds of the stage.
    pub stage_ns: Interval,
}

/// The stages: medians of the differences within each round. Empty without rounds.
#[must_use]
pub fn stages(rounds: &Rounds) -> Vec<Stage> {
    let at = |place: usize| rounds.ns.iter().filter_map(move |round| round.get(place).copied());
    let stage = |(k, &[place, stage]): (usize, &[&'static str; 2])| {
        let until: Vec<f64> = at(k).collect();
        let before: Vec<f64> = if k == 0 { vec![0.0; until.len()] } else { at(k - 1).collect() };
        let differences: Vec<f64> = until.iter().zip(&before).map(|(a, b)| a - b).collect();
        Some(Stage {
            place,
            stage,
            until_ns: Interval::median(&until)?,
            stage_ns: Interval::median(&differences)?,
        })
    };
    rounds.names.iter().enumerate().filter_map(stage).collect()
}

/// The difference of two rates in millions of packets a second, as nanoseconds a packet.
///
/// ```
/// use ringway_model::vantage::stages::between_rates;
/// // EuroBSDcon 2016: 97, 187, and 331 ns left to explain.
/// assert_eq!(between_rates(1.66, 1.43).round(), 97.0);
/// assert_eq!((between_rates(1.95, 1.43) * 10.0).round(), 1865.0);
/// assert_eq!((between_rates(12.39, 2.43) * 10.0).round(), 3308.0);
/// ```
#[must_use]
pub fn between_rates(earlier_mpps: f64, later_mpps: f64) -> f64 {
    1e3 / later_mpps - 1e3 / earlier_mpps
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Rounds of three places.
    pub(crate) fn rounds() -> Rounds {
        let names = vec![["drop", "receive"], ["route", "look up"], ["full path", "send"]];
        let ns = vec![vec![100.0, 300.0, 320.0], vec![120.0, 321.0, 340.0], vec![110.0, 309.0, 330.0]];
        Rounds { names, partial: false, ns }
    }

    #[test]
    fn stages_are_differences_within_rounds() {
        let found = stages(&rounds());
        let costs: Vec<f64> = found.iter().map(|s| s.stage_ns.value).collect();
        assert_eq!(costs, [110.0, 200.0, 20.0]);
        // Rounds differ by twenty, differences within a round by two.
        assert_eq!((found[1].stage_ns.low, found[1].stage_ns.high), (199.0, 201.0));
        assert_eq!(found[2].until_ns.value, 330.0);
        assert!(stages(&Rounds { ns: Vec::new(), ..rounds() }).is_empty());
    }
}
