//! What a benchmark found: as data, as tables, as a page.

mod charts;
pub mod csv;
pub mod diff;
pub mod page;
mod rows;
pub mod text;

use serde::{Deserialize, Serialize};

use super::measure::{Results, Varied};
use super::record::Record;
use super::selftest::SelfTest;
use super::settings::Settings;
use crate::benchmark::report::{Caveats, Origin};
use ringway_tester::report::text::one_line;
use ringway_tester::trial::format::Format;
use ringway_tester::trial::variant::Variant;
use ringway_traffic::units::link_speed;

/// Version of the format of [`Report`].
pub const SCHEMA: u32 = 2;

/// Everything about a benchmark, as the JSON file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// What was asked for.
    pub settings: Settings,
    /// What frames look like.
    pub format: Format,
    /// What was found.
    pub results: Results,
    /// The same under modifiers and with other numbers of flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub varied: Vec<Varied>,
    /// What the tester does with no device between, if that was measured.
    #[serde(default)]
    pub self_test: Option<SelfTest>,
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
        if self.settings.tests.is_empty() {
            return "Self-test of the tester".into();
        }
        let lacks = |r: &Results| !r.missing.is_empty() || r.limited();
        let caveats = &self.caveats;
        let qualified =
            caveats.interrupted || !caveats.partial.is_empty() || self.runs().any(|(_, r)| lacks(r));
        self.origin.title("RFC 2544", qualified)
    }

    /// The plain run and all others, with their results.
    pub fn runs(&self) -> impl Iterator<Item = (Variant, &Results)> {
        let plain = (Variant::default(), &self.results);
        std::iter::once(plain).chain(self.varied.iter().map(|v| (v.variant.clone(), &v.results)))
    }

    /// What has to stand next to every number of it.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let links = match self.settings.trials.maximum.bits() {
            Some(bits) => format!("link speed {}, emulated", link_speed(bits)),
            None => "no link speed: loads are shares of the frames a second that were given".into(),
        };
        let negative: u64 = self.trials.iter().map(|t| t.trial.received.negative).sum();
        let negative = (negative > 0).then(|| format!(
            "{negative} frames seemed to arrive before they were sent: the clocks of the CPUs differ; latencies are without them"
        ));
        self.caveats.labels(&self.origin, "device", links, negative)
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Fails for maps with keys that are not strings, which there are none of.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Reads a report.
    ///
    /// # Errors
    /// When it is none, or of another version.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let report: Self = serde_json::from_str(text)
            .map_err(|e| format!("no report of ringway rfc2544: {}", one_line(&e)))?;
        if report.schema != SCHEMA {
            return Err(format!(
                "the report has version {} of the format, this program reads {SCHEMA}",
                report.schema
            ));
        }
        Ok(report)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::benchmark::report::TimeKind;
    use crate::rfc2544::journal::Journal;
    use crate::rfc2544::measure;
    use crate::rfc2544::selftest::SelfTestAt;
    use crate::rfc2544::session::Session;
    use crate::rfc2544::settings::Test;
    use ringway_lab::Conditions;
    use ringway_tester::device::{DeviceSpec, VirtualTestBed};
    use ringway_tester::trial::flow::{FlowOrder, Flows};
    use ringway_tester::trial::maximum::Maximum;
    use ringway_tester::trial::mix::Mix;
    use ringway_tester::trial::pauses::Pauses;
    use ringway_tester::trial::rate::MILLISECOND;
    use ringway_traffic::latency::LatencySummary;

    /// What a tester does by itself that is a little faster than a switch of a million frames a second.
    pub(crate) fn self_test(results: &Results) -> SelfTest {
        let mut pauses = Pauses::since(0);
        pauses.turn(3 * MILLISECOND, None);
        let latency = LatencySummary { p50_ns: 900, p99_ns: 4000, ..LatencySummary::default() };
        let at = SelfTestAt {
            size: Mix::fixed(64),
            sent_fps: 1.2e6,
            received_fps: 1.1e6,
            latency_fps: 1e5,
            latency,
            faults: Vec::new(),
            throughput_share: None,
            near_limit: false,
        };
        let ports = vec![("ebpf:t0".into(), "ebpf".into())];
        let mut found = SelfTest { ports, sizes: vec![at], tx_pauses: Pauses::default(), rx_pauses: pauses };
        found.compare(results);
        found
    }

    /// A report of all tests over a modelled switch.
    pub(crate) fn report(pps: &str) -> Report {
        report_of(pps, Vec::new())
    }

    /// The same with variants.
    pub(crate) fn report_of(pps: &str, variants: Vec<Variant>) -> Report {
        let mut settings =
            Settings { tests: Test::ALL.to_vec(), variants, ..Settings::new(Maximum::Link(1_000_000_000)) };
        settings.sizes = vec![Mix::fixed(64), Mix::fixed(1518)];
        (settings.burst_repeats, settings.latency_repeats) = (2, 2);
        let device: DeviceSpec = format!("switch:pps={pps},buffer=100,latency=3us").parse().unwrap();
        let mut bed = VirtualTestBed::new(device.clone(), settings.trials.maximum.bits(), false);
        let (mut results, mut journal) = (Results::default(), Journal::none());
        let mut listener = |_: &super::super::session::Event<'_>| true;
        let mut session = Session::new(&mut bed, &settings, &mut journal, &mut listener);
        let mut varied = Vec::new();
        measure::run_all(&mut session, &mut results, &mut varied).unwrap();
        let trials = session.into_records();
        Report {
            schema: SCHEMA,
            origin: Origin {
                version: "0".into(),
                command: "ringway rfc2544 <x>".into(),
                time: TimeKind::Virtual,
                clock_source: String::new(),
                device: device.to_string(),
                ports: Vec::new(),
                conditions: Conditions::default(),
            },
            caveats: Caveats {
                partial: settings.shortcuts(),
                notes: vec!["a & b".into()],
                interrupted: false,
            },
            settings,
            format: Format::new(Flows::new(1, FlowOrder::Sequential, 1)),
            results,
            varied,
            self_test: None,
            trials,
        }
    }

    #[test]
    fn json_is_read_back() {
        let report = report("1M");
        let text = report.to_json();
        let again = Report::from_json(&text).unwrap();
        assert_eq!(again.results.burst, report.results.burst);
        assert_eq!((again.trials.len(), again.settings), (report.trials.len(), report.settings));
        let refused = Report::from_json(&text.replacen("\"latency\"", r#""late\ncy""#, 1)).unwrap_err();
        assert!(refused.contains("late cy") && !refused.contains('\n'), "{refused:?}");
        assert!(Report::from_json("{}").unwrap_err().contains("no report of ringway rfc2544"));
        assert!(
            Report::from_json(&text.replacen("\"schema\":2", "\"schema\":9", 1))
                .unwrap_err()
                .contains("version 9")
        );
    }

    #[test]
    fn only_what_met_all_conditions_is_called_rfc_2544() {
        let mut report = report("1M");
        assert_eq!(report.title(), "Partial benchmark after RFC 2544, in virtual time");
        assert!(report.labels().iter().any(|l| l.contains("not all sizes")));
        (report.origin.time, report.caveats.partial) = (TimeKind::Real, Vec::new());
        assert_eq!(report.title(), "RFC 2544 benchmark");
        report.caveats.interrupted = true;
        assert_eq!(report.title(), "Partial benchmark after RFC 2544");
        report.trials[1].trial.received.negative = 3;
        assert!(report.labels().iter().any(|l| l.starts_with("3 frames seemed to arrive before")));
    }
}
