//! What a benchmark of a switch found: as data, as tables, as a page.

pub mod csv;
pub mod page;
pub mod text;

use serde::{Deserialize, Serialize};

use super::measure::Results;
use super::session::Record;
use super::settings::Settings;
use crate::report::time::TimeKind;
use ringway_lab::Conditions;
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
    /// Version of the program.
    pub version: String,
    /// The command line.
    pub command: String,
    /// Whose time.
    pub time: TimeKind,
    /// What the real clock is read from.
    pub clock_source: String,
    /// What was measured: a modelled switch, or what lies between the ports.
    pub device: String,
    /// Ports and what serves them.
    pub ports: Vec<(String, String)>,
    /// The machine.
    pub conditions: Conditions,
    /// What was asked for.
    pub settings: Settings,
    /// What was found.
    pub results: Results,
    /// What keeps it from being an RFC 2889 benchmark without qualification.
    pub partial: Vec<String>,
    /// What a reader has to know.
    pub notes: Vec<String>,
    /// The user ended it, or something failed: the rest is missing.
    pub interrupted: bool,
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
        let qualified = self.interrupted || limited || !self.partial.is_empty() || !r.missing.is_empty();
        match (self.time, qualified) {
            (TimeKind::Real, false) => "RFC 2889 benchmark".into(),
            (TimeKind::Real, true) => "Partial benchmark after RFC 2889".into(),
            (_, false) => "RFC 2889 benchmark in virtual time".into(),
            (_, true) => "Partial benchmark after RFC 2889, in virtual time".into(),
        }
    }

    /// What has to stand next to every number of it.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let mut labels = vec![match self.time {
            TimeKind::Real => format!("real time, clock {}", self.clock_source),
            TimeKind::Virtual => {
                "virtual time and a modelled switch: exact, and no statement about speed".into()
            }
            TimeKind::LockStep => {
                "virtual time in lock step with real ports: counts are exact, rates are those asked for"
                    .into()
            }
        }];
        let ports = self.settings.ports;
        labels.push(match self.settings.trials.maximum.bits() {
            Some(bits) => format!("{ports} ports, link speed {}, emulated", link_speed(bits)),
            None => format!(
                "{ports} ports without a speed: loads are shares of the frames a second that were given"
            ),
        });
        if self.interrupted {
            labels.push("PARTIAL: it ended early".into());
        }
        labels.extend(self.partial.iter().map(|why| format!("partial: {why}")));
        labels
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
    use crate::benchmark::settings::TrialSettings;
    use crate::rfc2889::measure;
    use crate::rfc2889::model::{ModelTestBed, SwitchSpec};
    use crate::rfc2889::session::Session;
    use crate::rfc2889::settings::Test;
    use crate::trial::maximum::Maximum;
    use crate::trial::rate::{MILLISECOND, SECOND};

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
            version: "0".into(),
            command: "x".into(),
            time: TimeKind::Virtual,
            clock_source: "virtual".into(),
            device: format!("modelled {spec}"),
            ports: Vec::new(),
            conditions: Conditions::default(),
            partial: settings.shortcuts(),
            settings,
            results,
            notes: vec!["a & b".into()],
            interrupted: false,
            trials,
        }
    }

    #[test]
    fn only_what_met_all_conditions_is_called_rfc_2889() {
        let mut report = report("switch:table=50,learn=1000");
        assert_eq!(report.title(), "Partial benchmark after RFC 2889, in virtual time");
        assert!(report.labels().iter().any(|l| l.contains("not all sizes")));
        (report.time, report.partial) = (TimeKind::Real, Vec::new());
        assert_eq!(report.title(), "RFC 2889 benchmark");
        report.interrupted = true;
        assert_eq!(report.title(), "Partial benchmark after RFC 2889");
        assert!(report.settings.age_ps > SECOND);
        let again: Report = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(again.results, report.results);
    }
}
