//! The systems of `ringway bench vale`, in short runs of all cases but those that differ from others only in a number. Switches, links and peers need root; says so and checks the
//! rest without.
//!
//! Objective: each system moves frames and its result has all that the contract promises, what is not installed is named, and
//! no switch, namespace or process stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in test functions only, not in their helpers

use std::{fs, process};

use ringway::vale::switches;
use ringway_bench::engine::Signals;
use ringway_bench::lab::{Lab, is_root, labs};
use ringway_bench::suite::conditions::Conditions;
use ringway_bench::suite::report::Report;
use ringway_bench::suite::{Bed, Options, run, vale};

const SECONDS: f64 = 0.02;

/// Systems of the cases, and how many variants or sizes each case has.
const CASES: [(&str, usize, &[&str]); 7] = [
    ("unicast", 1, &["ringway-vale", "ringway-pipe"]),
    ("unicast", 1, &["ringway-vale", "ringway-pipe", "dpdk-memif", "linux-bridge", "ovs-userspace"]),
    ("size", 7, &["ringway-vale", "ringway-pipe"]),
    ("fdb", 3, &["ringway-vale"]),
    ("broadcast", 3, &["ringway-vale", "linux-bridge"]),
    ("nic", 1, &["ringway-vale", "xdp-redirect", "linux-bridge", "ovs-userspace"]),
    ("neighbours", 1, &["ringway-vale", "never-reads", "floods", "random-addresses"]),
];

#[test]
fn every_system_moves_frames_and_leaves_nothing() {
    let lab = Lab::new();
    let signals = Signals::new();
    let mut report: Option<Report> = None;
    for (name, ..) in &CASES[1..] {
        let options = Options { runs: 1, case: Some((*name).to_owned()), ..Options::default() };
        let cases = vale::cases(Bed::new(&lab, SECONDS, &signals));
        let part = run("vale", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"));
        match &mut report {
            None => report = Some(part),
            Some(all) => {
                all.rows.extend(part.rows);
                all.missing.extend(part.missing);
            }
        }
    }
    let report = report.unwrap();
    for m in &report.missing {
        eprintln!("SKIP: {} {} {}: {}", m.case, m.variant, m.system, m.reason);
        assert!(m.skipped, "{m:?}");
        assert!(m.system != "ringway-pipe" && (m.system != "ringway-vale" || !is_root()), "{m:?}");
    }
    let expected: usize = CASES.iter().map(|(_, times, systems)| times * systems.len()).sum();
    assert_eq!(report.rows.len() + report.missing.len(), expected);
    assert_contract(&report);
    drop(lab);
    let us = process::id().to_string();
    assert!(!switches().iter().any(|name| name.contains(&us)), "{:?}", switches());
    assert!(!labs().iter().any(|name| name.contains(&us)), "{:?}", labs());
    assert_eq!(children(), [""; 0]);
}

/// All keys of all rows, as the JSON has them.
fn assert_contract(report: &Report) {
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    for key in ["suite", "host", "kernel", "cpu", "cores", "load", "rows", "missing", "interrupted"] {
        assert!(!json[key].is_null(), "{key}");
    }
    assert_eq!(json["suite"], "vale");
    for row in json["rows"].as_array().unwrap() {
        let case = row["case"].as_str().unwrap();
        let systems = CASES.iter().filter(|(name, ..)| *name == case).flat_map(|(_, _, systems)| *systems);
        assert!(systems.clone().any(|system| row["system"] == *system), "{row}");
        for key in ["frame", "burst", "cores", "median", "min", "max", "runs"] {
            assert!(row[key].as_f64().is_some_and(|v| v > 0.0), "{key}: {row}");
        }
        assert_eq!((&row["unit"], row["samples"].as_array().unwrap().len()), (&"Mpps".into(), 1), "{row}");
        assert!(!row["note"].as_str().unwrap().is_empty(), "{row}");
        assert_eq!(row["variant"].is_string(), ["fdb", "broadcast"].contains(&case), "{row}");
        assert_eq!(row["gbit"].is_number(), case == "size", "{row}");
    }
}

/// Names of the processes that this one has started and that have not ended.
fn children() -> Vec<String> {
    let status = |e: fs::DirEntry| fs::read_to_string(e.path().join("status")).ok();
    let ours = format!("\nPPid:\t{}\n", process::id());
    let all = fs::read_dir("/proc").unwrap().flatten().filter_map(status);
    all.filter(|s| s.contains(&ours)).filter_map(|s| Some(s.lines().next()?.to_owned())).collect()
}
