//! The systems of `ringway bench pcap`, in short runs. They need root; says so and checks the rest without.
//!
//! Objective: each program moves frames with Ringway under it and without, and each result has all that the
//! contract promises. Programs that are not installed are named. No switch, namespace, folder or process
//! stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/left.rs"]
mod left;

use std::{env, fs, process};

use ringway_bench::suite::report::Report;
use ringway_bench::suite::{Bed, Options, pcap, run};
use ringway_engine::Signals;
use ringway_lab::{Conditions, Lab, is_root};

use left::nothing_is_left;

/// On a busy machine a program may not get to run for so long, so each has two runs, and one may be spoilt.
const SECONDS: f64 = 0.3;
const RUNS: u32 = 2;

/// The cases, their units and systems.
const CASES: [(&str, &str, &[&str]); 7] = [
    (
        "bridge",
        "Mpps",
        &[
            "libpcap",
            "ringway-default",
            "ringway-copy",
            "ringway-taken",
            "ringway-taken-at-once",
            "ringway-switch",
            "ringway-switch-at-once",
        ],
    ),
    ("tcpreplay", "Mpps", &["kernel", "ringway-default"]),
    ("tcpdump", "Mpps", &["libpcap", "ringway-default", "ringway-taken", "ringway-mirror"]),
    ("ovs", "Mpps", &["kernel", "ringway-default", "ringway-taken", "ringway-switch"]),
    ("ovs-dpdk", "Mpps", &["dpdk-af_packet", "dpdk-af_xdp", "kernel", "ringway-memif"]),
    ("latency", "ns", &["libpcap", "ringway-default", "ringway-copy", "ringway-taken"]),
    ("latency-ovs", "ns", &["kernel", "ringway-default", "ringway-taken"]),
];

#[test]
fn every_program_moves_frames_and_leaves_nothing() {
    let lab = Lab::new();
    let signals = Signals::new();
    let cases = pcap::cases(Bed::new(&lab, SECONDS, &signals));
    let options = Options { runs: RUNS, ..Options::default() };
    let report = run("pcap", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"));
    for m in report.missing.iter().filter(|m| m.skipped || m.runs == 0) {
        eprintln!("SKIP: {} {}: {}", m.case, m.system, m.reason);
        assert!(m.skipped, "{m:?}");
        let excused = !is_root() || m.reason.contains("installed") || m.reason.contains("build them");
        assert!(excused, "{m:?}");
    }
    let found = report.rows.iter().map(|r| (&r.case, &r.system));
    let mut found: Vec<_> =
        found.chain(report.missing.iter().filter(|m| m.runs == 0).map(|m| (&m.case, &m.system))).collect();
    let mut expected: Vec<_> = CASES
        .iter()
        .flat_map(|(case, _, systems)| systems.iter().map(|s| (case.to_string(), s.to_string())))
        .collect();
    found.sort();
    expected.sort();
    assert!(found.into_iter().eq(expected.iter().map(|(case, system)| (case, system))));
    assert_contract(&report);
    drop(lab);
    nothing_is_left();
    assert_eq!(folders(), [""; 0]);
}

/// All keys of all rows, as the JSON has them.
fn assert_contract(report: &Report) {
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!((&json["suite"], &json["interrupted"]), (&"pcap".into(), &false.into()));
    for row in json["rows"].as_array().unwrap() {
        let (_, unit, _) = CASES.iter().find(|(name, ..)| row["case"] == *name).unwrap();
        for key in ["frame", "burst", "cores", "median", "min", "max", "runs"] {
            assert!(row[key].as_f64().is_some_and(|v| v > 0.0), "{key}: {row}");
        }
        assert_eq!(
            (&row["unit"], row["samples"].as_array().unwrap().len() as u64),
            (&(*unit).into(), row["runs"].as_u64().unwrap()),
            "{row}"
        );
        assert!(!row["note"].as_str().unwrap().is_empty(), "{row}");
        assert_eq!(row["lost"].is_number(), row["case"] == "tcpdump", "{row}");
    }
}

/// Folders of this process where captures and databases are kept.
fn folders() -> Vec<String> {
    let places = ["/dev/shm".into(), env::temp_dir()];
    let entries = places.iter().flat_map(|place| fs::read_dir(place).unwrap().flatten());
    let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&format!("ringway-{}-", process::id()))).collect()
}
