//! The results of a suite, as JSON: the contract of all suites.
//!
//! ```text
//! {"suite":"io","host":"...","kernel":"...","cpu":"...","cores":2,"load":0.1,"date":"2026-03-01T12:00:05Z",
//!  "rows":[{"case":"tx","system":"libpcap","frame":64,"burst":256,"cores":1,"unit":"Mpps",
//!           "median":1.2,"min":1.1,"max":1.3,"runs":5,"samples":[...]}],
//!  "missing":[{"case":"forward","system":"dpdk-af_xdp","burst":256,"cores":1,
//!              "skipped":true,"runs":0,"reason":"..."}],
//!  "interrupted":false}
//! ```
//!
//! `frame` counts the frame check sequence: 64 is 60 bytes in a buffer, and 0 a case without frames. `samples` are the
//! single runs in order. These keys are there only where they say something:
//!
//! | key | what it is | where |
//! | --- | --- | --- |
//! | `apart_ns` | a cache line from the generator's CPU to the receiver's and back, before the start; beside `date` | two CPUs that other work leaves free |
//! | `note` | what a reader must know more | |
//! | `variant` | `"32 ports"` | cases with several variants |
//! | `gbit` | the median in Gbit/s with FCS | cases over frame sizes |
//! | `lost` | the sum of all runs | cases that allow no loss |
//! | `memory` | the most bytes of a run | cases that ask for it |
//! | `cpu` | the median of what a Gbit took, in seconds of CPUs | cases of TCP |
//! | `packets` | the median of packets received a second, by both ends | cases of flows |
//! | `retransmitted` | segments sent again in all runs | cases of flows |
//! | `failed` | ends of flows that failed in all runs, by reason; empty: none | cases of flows |

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::REASONS;
use super::{Case, Fault, FlowCounts, Sample, Unit, statistics};
use ringway_lab::Conditions;

/// What a suite found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the suite.
    pub suite: String,
    /// The machine.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Nanoseconds for a cache line from the generator's CPU to the receiver's and back, before the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_ns: Option<u64>,
    /// One for each system of each case.
    pub rows: Vec<Row>,
    /// Systems without a number, or with fewer runs than the others.
    pub missing: Vec<Missing>,
    /// Ended by the user before it was complete.
    pub interrupted: bool,
}

/// One system in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the case.
    pub case: String,
    /// What tells it from others of its name, besides frame, burst and cores.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Name of the system.
    pub system: String,
    /// Frame size, FCS included; 0 where there are no frames.
    pub frame: u32,
    /// Frames handled per iteration.
    pub burst: u32,
    /// Cores used in user space.
    pub cores: u32,
    /// What the numbers count.
    pub unit: Unit,
    /// Median of the runs.
    pub median: f64,
    /// Smallest of the runs.
    pub min: f64,
    /// Largest of the runs.
    pub max: f64,
    /// Number of runs.
    pub runs: u32,
    /// The runs in order.
    pub samples: Vec<f64>,
    /// The median as Gbit/s with FCS, in cases over frame sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gbit: Option<f64>,
    /// Most bytes of memory of all runs, in cases that ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Seconds of all CPUs for a Gbit, median of the runs, in cases that ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Frames lost in all runs together, in cases that allow no loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Packets received in a second by both ends, median of the runs, in cases of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<f64>,
    /// Segments sent again in all runs together, in cases of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<u64>,
    /// Ends of flows that failed in all runs together, by reason, in cases of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<BTreeMap<String, u64>>,
    /// What a reader of the numbers must know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A system that gave no number, or broke in some of its runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Name of the case.
    pub case: String,
    /// The case's variant.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Name of the system.
    pub system: String,
    /// The case's burst.
    pub burst: u32,
    /// The case's cores.
    pub cores: u32,
    /// True when it is not there; false when it broke.
    pub skipped: bool,
    /// Runs that gave a number all the same.
    pub runs: u32,
    /// Why.
    pub reason: String,
}

impl Report {
    /// One without results.
    pub fn new(suite: &str, conditions: Conditions) -> Self {
        let suite = suite.to_owned();
        Self { suite, conditions, apart_ns: None, rows: Vec::new(), missing: Vec::new(), interrupted: false }
    }

    /// The first system that is there and gave no number at all.
    pub fn failed(&self) -> Option<&Missing> {
        self.missing.iter().find(|m| !m.skipped && m.runs == 0)
    }

    /// The results on one line of JSON for each row, to be read by people too.
    pub fn to_json(&self) -> String {
        // Fails for maps with keys that are not strings, which there are none of.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl Row {
    /// `None` without samples.
    pub(super) fn of(case: &Case<'_>, system: &str, samples: &[Sample]) -> Option<Self> {
        let values: Vec<f64> = samples.iter().map(|s| round(s.value)).collect();
        let (min, max) = statistics::range(&values)?;
        let median = round(statistics::median(&values)?);
        let cpu: Vec<f64> = samples.iter().filter_map(|s| s.cpu).collect();
        let flows: Vec<FlowCounts> = samples.iter().filter_map(|s| s.flows).collect();
        let packets: Vec<f64> = flows.iter().map(|f| f.packets).collect();
        Some(Self {
            case: case.name.to_owned(),
            variant: case.variant.to_owned(),
            system: system.to_owned(),
            frame: case.frame,
            burst: case.burst,
            cores: case.cores,
            unit: case.unit,
            median,
            min,
            max,
            runs: values.len() as u32,
            gbit: case.bits.then(|| round(median * f64::from(8 * case.frame) / 1e3)),
            memory: samples.iter().filter_map(|s| s.memory).max(),
            cpu: statistics::median(&cpu).map(round),
            lost: samples.iter().map(|s| s.lost).sum(),
            packets: statistics::median(&packets).map(round),
            retransmitted: samples.iter().map(|s| s.flows.map(|f| f.retransmitted)).sum(),
            failed: (!flows.is_empty()).then(|| failures(&flows)),
            samples: values,
            note: case.note.to_owned(),
        })
    }

    /// Whether both belong to one comparison.
    pub(super) fn beside(&self, other: &Self) -> bool {
        let key = |r: &Self| (r.case.clone(), r.variant.clone(), r.frame, r.burst, r.cores);
        key(self) == key(other)
    }

    /// Whether this is a system that Ringway is compared with.
    pub fn is_peer(&self) -> bool {
        !self.system.starts_with("ringway")
    }

    /// How many times as good as `other` this is: more packets, or less time.
    pub fn ratio_to(&self, other: &Self) -> f64 {
        match self.unit {
            Unit::Ns | Unit::Us | Unit::Ppm | Unit::Bytes => other.median / self.median,
            Unit::Mpps
            | Unit::Gbit
            | Unit::Percent
            | Unit::Mlookups
            | Unit::Mupdates
            | Unit::Mtokens
            | Unit::Flows => self.median / other.median,
        }
    }
}

impl Missing {
    pub(super) fn of(case: &Case<'_>, system: &str, runs: usize, fault: &Fault) -> Self {
        Self {
            case: case.name.to_owned(),
            variant: case.variant.to_owned(),
            system: system.to_owned(),
            burst: case.burst,
            cores: case.cores,
            skipped: matches!(fault, Fault::Unavailable(_)),
            runs: runs as u32,
            reason: fault.to_string(),
        }
    }
}

impl Missing {
    /// Whether it is more than a peer that is not installed: that Ringway can't be shown is a failure, whatever the reason.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !self.skipped || self.system.starts_with("ringway")
    }

    /// One outside a case of its own.
    pub(crate) fn named(what: &str, system: &str, fault: &Fault) -> Self {
        let skipped = matches!(fault, Fault::Unavailable(_));
        let (case, system, reason) = (what.to_owned(), system.to_owned(), fault.to_string());
        let variant = String::new();
        Self { case, variant, system, burst: 1, cores: 1, skipped, runs: 0, reason }
    }
}

/// The reasons that occurred, with the ends of flows that failed for them.
fn failures(flows: &[FlowCounts]) -> BTreeMap<String, u64> {
    let sum = |at: usize| flows.iter().map(|f| f.failed[at]).sum();
    let all = REASONS.iter().enumerate().map(|(at, name)| (name.to_string(), sum(at)));
    all.filter(|(_, count)| *count > 0).collect()
}

/// More digits than five say nothing.
fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(4 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::suite) fn example() -> Report {
        let (host, kernel, cpu, date) = ("h".into(), "6.1".into(), "c".into(), "2026-03-01T12:00:05Z".into());
        let conditions = Conditions { host, kernel, cpu, cores: 2, load: 0.25, date };
        let mut report = Report::new("io", conditions);
        let case = Case::new("tx", Unit::Mpps).burst(256).note("a note");
        let samples = |values: &[f64], lost| -> Vec<Sample> {
            values.iter().map(|&value| Sample { lost, ..Sample::of(value) }).collect()
        };
        report.rows.extend(Row::of(&case, "ringway-ebpf", &samples(&[5.0, 4.123456, 6.0], Some(2))));
        report.rows.extend(Row::of(&case, "libpcap", &samples(&[1.0, 1.5], None)));
        report.missing.push(Missing::of(&case, "af_xdp", 0, &Fault::Unavailable("no libbpf".into())));
        report
    }

    #[test]
    fn the_contract_holds() {
        let golden = r#"{
  "suite": "io",
  "host": "h",
  "kernel": "6.1",
  "cpu": "c",
  "cores": 2,
  "load": 0.25,
  "date": "2026-03-01T12:00:05Z",
  "rows": [
    {
      "case": "tx",
      "system": "ringway-ebpf",
      "frame": 64,
      "burst": 256,
      "cores": 1,
      "unit": "Mpps",
      "median": 5.0,
      "min": 4.1235,
      "max": 6.0,
      "runs": 3,
      "samples": [
        5.0,
        4.1235,
        6.0
      ],
      "lost": 6,
      "note": "a note"
    },
    {
      "case": "tx",
      "system": "libpcap",
      "frame": 64,
      "burst": 256,
      "cores": 1,
      "unit": "Mpps",
      "median": 1.25,
      "min": 1.0,
      "max": 1.5,
      "runs": 2,
      "samples": [
        1.0,
        1.5
      ],
      "note": "a note"
    }
  ],
  "missing": [
    {
      "case": "tx",
      "system": "af_xdp",
      "burst": 256,
      "cores": 1,
      "skipped": true,
      "runs": 0,
      "reason": "no libbpf"
    }
  ],
  "interrupted": false
}
"#;
        assert_eq!(example().to_json(), golden);
        assert_eq!(serde_json::from_str::<Report>(golden).unwrap(), example());
    }

    #[test]
    fn what_some_cases_add() {
        let case = Case::new("size", Unit::Mpps).frame(1500).variant("32 ports").with_bits();
        let samples = [1, 3, 2].map(|n| Sample {
            memory: Some(n << 20),
            cpu: Some(n as f64 / 4.0),
            ..Sample::of(n as f64)
        });
        let row = Row::of(&case, "ringway-x", &samples).unwrap();
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(
            (&json["variant"], &json["gbit"], &json["memory"], &json["cpu"]),
            (&"32 ports".into(), &24.0.into(), &(3 << 20).into(), &0.5.into())
        );
        assert_eq!(serde_json::from_value::<Row>(json).unwrap(), row);
        let other = Row::of(&Case::new("size", Unit::Mpps).frame(1500), "ringway-x", &samples).unwrap();
        assert!(row.beside(&row) && !row.beside(&other));
    }

    #[test]
    fn flows_have_packets_and_named_failures() {
        let run = |value, packets, failed| {
            let flows = FlowCounts { packets, retransmitted: 2, failed };
            Sample { flows: Some(flows), ..Sample::of(value) }
        };
        let mut failed = [0; REASONS.len()];
        let row = |runs: &[Sample]| Row::of(&Case::new("ftp", Unit::Flows), "ringway", runs).unwrap();
        let good = row(&[run(10.0, 300.0, failed)]);
        assert_eq!(
            (good.packets, good.retransmitted, good.failed),
            (Some(300.0), Some(2), Some(BTreeMap::new()))
        );
        (failed[0], failed[REASONS.len() - 1]) = (3, 1);
        let bad = row(&[run(10.0, 300.0, failed), run(20.0, 600.0, failed), run(30.0, 500.0, failed)]);
        assert_eq!((bad.median, bad.packets, bad.retransmitted), (20.0, Some(500.0), Some(6)));
        let json = serde_json::to_value(&bad).unwrap();
        assert_eq!(json["failed"], serde_json::json!({ "timeout": 9, "unfinished": 3 }));
        assert_eq!(serde_json::from_value::<Row>(json).unwrap(), bad);
    }

    #[test]
    fn units_have_their_names() {
        let units = [
            Unit::Mpps,
            Unit::Ns,
            Unit::Us,
            Unit::Gbit,
            Unit::Percent,
            Unit::Ppm,
            Unit::Mlookups,
            Unit::Mupdates,
            Unit::Mtokens,
            Unit::Flows,
            Unit::Bytes,
        ];
        for unit in units {
            assert_eq!(serde_json::to_value(unit).unwrap(), unit.to_string());
        }
    }

    #[test]
    fn less_time_is_better() {
        let row = |unit, value| Row::of(&Case::new("x", unit), "s", &[Sample::of(value)]).unwrap();
        assert_eq!(row(Unit::Mpps, 4.0).ratio_to(&row(Unit::Mpps, 2.0)), 2.0);
        assert_eq!(row(Unit::Ns, 4.0).ratio_to(&row(Unit::Ns, 2.0)), 0.5);
        assert_eq!(row(Unit::Ppm, 4.0).ratio_to(&row(Unit::Ppm, 2.0)), 0.5);
    }

    #[test]
    fn five_digits() {
        assert_eq!(round(1.234_567), 1.2346);
        assert_eq!(round(123_456.7), 123_460.0);
        assert_eq!(round(0.0), 0.0);
    }
}
