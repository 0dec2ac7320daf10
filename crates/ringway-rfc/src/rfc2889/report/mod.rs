//! What a benchmark of a switch found: as data, as tables, as a page.

pub mod csv;
pub mod page;
pub mod text;

use serde::{Deserialize, Serialize};

use super::measure::Results;
use super::session::Record;
use super::settings::Settings;
use crate::benchmark::report::{Caveats, Origin};
use ringway_traffic::units::link_speed;

/// Version of the format of [`Report`].
pub const SCHEMA: u32 = 1;

/// Everything about a benchmark, as the JSON file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `rfc2889`.
    pub kind: String,
    /// What it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// What was asked for.
    pub settings: Settings,
    /// What was found.
    pub results: Results,
    /// What a reader has to know beside the numbers.
    #[serde(flatten)]
    pub caveats: Caveats,
    /// Each trial.
    pub trials: Vec<Record>,
}

impl Report {
    /// What it may be called.
    #[must_use]
    pub fn title(&self) -> String {
        let r = &self.results;
        let limited = r.forwarding.iter().any(|f| f.limited)
            || r.broadcast.iter().any(|b| b.limited)
            || r.learning.iter().any(|l| l.limited);
        let caveats = &self.caveats;
        let qualified =
            caveats.interrupted || limited || !caveats.partial.is_empty() || !r.missing.is_empty();
        self.origin.title("RFC 2889", qualified)
    }

    /// What has to stand next to every number of it.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let ports = self.settings.ports;
        let links = match self.settings.trials.maximum.bits() {
            Some(bits) => format!("{ports} ports, link speed {}, emulated", link_speed(bits)),
            None => format!(
                "{ports} ports without a speed: loads are shares of the frames a second that were given"
            ),
        };
        self.caveats.labels(&self.origin, "switch", links, None)
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Fails for maps with keys that are not strings, which there are none of.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::benchmark::report::TimeKind;
    use crate::benchmark::settings::TrialSettings;
    use crate::rfc2889::measure;
    use crate::rfc2889::model::{ModelTestBed, SwitchSpec};
    use crate::rfc2889::session::Session;
    use crate::rfc2889::settings::Test;
    use ringway_lab::Conditions;
    use ringway_tester::trial::maximum::Maximum;
    use ringway_tester::trial::rate::{MILLISECOND, SECOND};

    /// All tests over a modelled switch.
    pub(in super::super) fn report(device: &str) -> Report {
        let spec: SwitchSpec = device.parse().unwrap();
        let maximum = Maximum::Link(100_000_000);
        let trials = TrialSettings::new(maximum, 20 * MILLISECOND);
        let settings = Settings {
            tests: Test::ALL.to_vec(),
            sizes: vec![64, 1518],
            trials: TrialSettings { wait_ps: 10 * MILLISECOND, ..trials },
            addresses: 500,
            learning_step: 10,
            age_ps: spec.table.age_ps,
            ..Settings::new(spec.ports, maximum)
        };
        let mut bed = ModelTestBed::new(&spec, Some(100_000_000), 1);
        let mut results = Results::default();
        let mut listener = |_: &crate::rfc2889::session::Event<'_>| true;
        let mut session = Session::new(&mut bed, &settings, &mut listener);
        measure::run(&mut session, &mut results).unwrap();
        let trials = session.into_records();
        Report {
            schema: SCHEMA,
            kind: "rfc2889".into(),
            origin: Origin {
                version: "0".into(),
                command: "x".into(),
                time: TimeKind::Virtual,
                clock_source: "virtual".into(),
                device: format!("modelled {spec}"),
                ports: Vec::new(),
                conditions: Conditions::default(),
            },
            caveats: Caveats {
                partial: settings.shortcuts(),
                notes: vec!["a & b".into()],
                interrupted: false,
            },
            settings,
            results,
            trials,
        }
    }

    #[test]
    fn only_what_met_all_conditions_is_called_rfc_2889() {
        let mut report = report("switch:table=50,learn=1000");
        assert_eq!(report.title(), "Partial benchmark after RFC 2889, in virtual time");
        assert!(report.labels().iter().any(|l| l.contains("not all sizes")));
        (report.origin.time, report.caveats.partial) = (TimeKind::Real, Vec::new());
        assert_eq!(report.title(), "RFC 2889 benchmark");
        report.caveats.interrupted = true;
        assert_eq!(report.title(), "Partial benchmark after RFC 2889");
        assert!(report.settings.age_ps > SECOND);
        let again: Report = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(again.results, report.results);
    }
}
