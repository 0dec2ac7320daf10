//! Stages for people and for programs.

use serde_json::{Value, json};

use super::{Rounds, stages};
use crate::time::Clock;
use ringway_lab::Conditions;
use ringway_tester::dut::DutKind;
use ringway_tester::report::text::table;

/// What a report is of.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The device.
    pub device: DutKind,
    /// The load, in words.
    pub load: String,
    /// The machine.
    pub conditions: Conditions,
    /// Its clocks.
    pub clock: Clock,
}

/// Why stages of this tier differ from the groups of samples.
pub(super) const CARE: &str = "Each place includes the release of the packet. Samples (tier B) show the release as a group of its own, so compare \
     sums of stages.";

/// The stages as one object.
#[must_use]
pub fn json(about: &About, rounds: &Rounds) -> Value {
    let ticks = about.clock.ticks_per_ns();
    let stage = |s: &super::Stage| {
        json!({
            "place": s.place,
            "stage": s.stage,
            "until_ns": s.until_ns,
            "stage_ns": s.stage_ns,
            "until_ticks": s.until_ns.times(ticks),
            "stage_ticks": s.stage_ns.times(ticks),
        })
    };
    json!({
        "device": about.device,
        "tier": "D",
        "load": about.load,
        "conditions": about.conditions,
        "clock": about.clock,
        "rounds": rounds.len(),
        "partial": rounds.partial,
        "stages": stages(rounds).iter().map(stage).collect::<Vec<_>>(),
    })
}

/// Heads of the table.
pub(super) const HEADS: [&str; 6] =
    ["packets end at", "Mpps of a core", "ticks", "stage", "ticks of it", "95 %"];

/// Rows of the table.
pub(super) fn rows(about: &About, rounds: &Rounds) -> Vec<Vec<String>> {
    let ticks = about.clock.ticks_per_ns();
    let row = |s: &super::Stage| {
        let own = s.stage_ns.times(ticks);
        vec![
            s.place.into(),
            format!("{:.3}", 1e3 / s.until_ns.value),
            format!("{:.0}", s.until_ns.value * ticks),
            s.stage.into(),
            format!("{:.0}", own.value),
            format!("{:.0} to {:.0}", own.low, own.high),
        ]
    };
    stages(rounds).iter().map(row).collect()
}

/// The stages as a table.
#[must_use]
pub fn text(about: &About, rounds: &Rounds) -> String {
    let partial = if rounds.partial { "\nPartial: rounds are missing." } else { "" };
    format!(
        "{}, {}, tier D (vantage points), {}, {} rounds, {}\n{}{CARE}{partial}\n",
        about.device,
        about.load,
        about.clock.unit(),
        rounds.len(),
        about.conditions,
        table(&HEADS, &rows(about, rounds))
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::vantage::stages::tests::rounds;

    pub(crate) fn about() -> About {
        About {
            device: DutKind::LinuxRouter,
            load: "64 B".into(),
            conditions: Conditions::default(),
            clock: Clock { tsc_hz: Some(2e9), core_ratio: None },
        }
    }

    #[test]
    fn stages_are_rows_and_objects() {
        let text = text(&about(), &rounds());
        for part in ["linux-router, 64 B, tier D", "look up", "400", "398 to 402", "includes the release"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let json = json(&about(), &rounds());
        assert_eq!(
            (&json["stages"][1]["stage_ticks"]["value"], &json["partial"]),
            (&json!(400.0), &json!(false))
        );
        let mut partial = rounds();
        partial.partial = true;
        assert!(super::text(&about(), &partial).contains("Partial"));
    }
}
