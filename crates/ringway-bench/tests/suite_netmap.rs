//! The systems of `ringway bench netmap`, in short runs. They need root; says so and checks the rest without.
//!
//! Objective: the program on netmap's interface moves frames in each case, as do the systems beside it, and each result
//! has all that the contract promises. What is not there is named, with the reason. No switch, namespace or process
//! stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/left.rs"]
mod left;

use ringway_bench::suite::report::Report;
use ringway_bench::suite::{Bed, Options, netmap, run};
use ringway_engine::Signals;
use ringway_lab::{Conditions, Lab, is_root};

use left::nothing_is_left;

/// On a busy machine a program may not get to run for so long, so each has two runs, and one may be spoilt.
const SECONDS: f64 = 0.3;
const RUNS: u32 = 2;

/// The cases, their units, and the systems that have no ports of the kind.
const CASES: [(&str, &str, &[&str]); 6] = [
    ("tx", "Mpps", &[]),
    ("rx", "Mpps", &[]),
    ("bridge", "Mpps", &[]),
    ("vale", "Mpps", &["libpcap", "af_xdp"]),
    ("pipe", "Mpps", &["libpcap", "af_xdp"]),
    ("poll", "ns", &[]),
];

const SYSTEMS: [&str; 4] = ["libpcap", "af_xdp", "netmap-api", "ringway"];

#[test]
fn every_system_moves_frames_and_leaves_nothing() {
    let lab = Lab::new();
    let signals = Signals::new();
    let cases = netmap::cases(Bed::new(&lab, SECONDS, &signals));
    let options = Options { runs: RUNS, ..Options::default() };
    let report = run("netmap", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"));
    for m in report.missing.iter().filter(|m| m.skipped || m.runs == 0) {
        eprintln!("SKIP: {} {}: {}", m.case, m.system, m.reason);
        assert!(m.skipped, "{m:?}");
        let lacks =
            CASES.iter().any(|(case, _, without)| m.case == *case && without.contains(&&m.system[..]));
        let excused = !is_root() || ["built", "build it"].iter().any(|word| m.reason.contains(word));
        assert!(lacks || excused, "{m:?}");
    }
    assert_eq!(named(&report), expected());
    assert_contract(&report);
    drop(lab);
    nothing_is_left();
}

/// Cases and systems with a number, or without any.
fn named(report: &Report) -> Vec<(String, String)> {
    let found = report.rows.iter().map(|r| (r.case.clone(), r.system.clone()));
    let missing = report.missing.iter().filter(|m| m.runs == 0).map(|m| (m.case.clone(), m.system.clone()));
    let mut named: Vec<_> = found.chain(missing).collect();
    named.sort();
    named
}

fn expected() -> Vec<(String, String)> {
    let systems = |case| if case == "poll" { &SYSTEMS[2..3] } else { &SYSTEMS[..] };
    let pairs =
        CASES.iter().flat_map(|(case, ..)| systems(*case).iter().map(|s| (case.to_string(), s.to_string())));
    let mut expected: Vec<_> = pairs.collect();
    expected.sort();
    expected
}

/// All keys of all rows, as the JSON has them.
fn assert_contract(report: &Report) {
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!((&json["suite"], &json["interrupted"]), (&"netmap".into(), &false.into()));
    for row in json["rows"].as_array().unwrap() {
        let (case, unit, _) = CASES.iter().find(|(name, ..)| row["case"] == *name).unwrap();
        for key in ["frame", "burst", "cores", "median", "min", "max", "runs"] {
            // A poll may take less than the ioctls beside it.
            assert!(row[key].as_f64().is_some_and(|v| v > 0.0 || *case == "poll"), "{key}: {row}");
        }
        let runs = row["samples"].as_array().unwrap().len() as u64;
        assert_eq!((&row["unit"], runs), (&(*unit).into(), row["runs"].as_u64().unwrap()), "{row}");
        assert!(!row["note"].as_str().unwrap().is_empty(), "{row}");
    }
}
