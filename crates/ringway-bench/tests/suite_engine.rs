//! The systems of `ringway bench engine`, in short runs of one case of each kind. Links and switches need root; says so and checks the
//! rest without.
//!
//! Objective: each system hands tokens or frames over, and its result has all that the contract promises. What is not there is
//! named, with the reason. No switch, namespace or process stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/left.rs"]
mod left;
#[path = "support/named.rs"]
mod named;

use ringway_bench::suite::report::Report;
use ringway_bench::suite::{Bed, Case, Options, engine, run};
use ringway_engine::Signals;
use ringway_lab::{Conditions, Lab, is_root};

use left::nothing_is_left;
use named::named;

/// On a busy machine a thread may not get to run for so long, so each has two runs, and one may be spoilt.
const SECONDS: f64 = 0.3;
const RUNS: u32 = 2;

const QUEUE: &[&str] = &[
    "crossbeam-array-queue",
    "dpdk-rte_ring",
    "dpdk-rte_ring-rts",
    "ringway-engine",
    "ringway-engine-collect",
];
const POOL: &[&str] =
    &["dpdk-rte_mempool", "dpdk-rte_mempool-uncached", "ringway-engine", "ringway-engine-uncached"];
const FORWARD: &[&str] = &["ringway", "ringway-engine", "ringway-engine-uncached"];
const FAULT: &[&str] =
    &["ringway-engine", "ringway-engine-keeps", "ringway-engine-panics", "ringway-engine-stops"];

/// Places of cases in the suite, their names and variants, units and systems.
const CASES: [(usize, &str, &str, &str, &[&str]); 7] = [
    (6, "queue", "2:2, 2 threads a core", "Mtokens/s", QUEUE),
    (18, "pool", "2 threads", "Mtokens/s", POOL),
    (28, "forward", "null:, 1 thread", "Mpps", FORWARD),
    (31, "forward", "pipe, 1 thread", "Mpps", FORWARD),
    (34, "forward", "switch, 1 thread", "Mpps", FORWARD),
    (37, "forward", "veth, 1 thread", "Mpps", FORWARD),
    (40, "fault", "", "Mpps", FAULT),
];

#[test]
fn every_system_works_and_leaves_nothing() {
    let lab = Lab::new();
    let signals = Signals::new();
    let mut places = 0..;
    let mut cases: Vec<Case<'_>> = engine::cases(Bed::new(&lab, SECONDS, &signals));
    assert_eq!(cases.len(), 41);
    cases.retain(|_| places.next().is_some_and(|at| CASES.iter().any(|case| case.0 == at)));
    let options = Options { runs: RUNS, ..Options::default() };
    let report = run("engine", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"));
    for m in report.missing.iter().filter(|m| m.skipped || m.runs == 0) {
        eprintln!("SKIP: {} {} {}: {}", m.case, m.variant, m.system, m.reason);
        let without_root = !is_root() && ["switch", "veth"].iter().any(|place| m.variant.starts_with(place));
        let without_dpdk = m.system.starts_with("dpdk") && m.reason.contains("built without");
        assert!(m.skipped && (without_root || without_dpdk), "{m:?}");
    }
    assert_eq!(named(&report), expected());
    assert_contract(&report);
    assert_eq!(engine::shares(&report).len(), 3);
    drop(lab);
    nothing_is_left();
}

fn expected() -> Vec<[String; 3]> {
    let of_case =
        |&(_, case, variant, _, systems): &(_, &'static str, &'static str, _, &'static [&'static str])| {
            systems.iter().map(move |system| [case, variant, system].map(str::to_owned))
        };
    let mut expected: Vec<_> = CASES.iter().flat_map(of_case).collect();
    expected.sort();
    expected
}

/// All keys of all rows, as the JSON has them.
fn assert_contract(report: &Report) {
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!((&json["suite"], &json["interrupted"]), (&"engine".into(), &false.into()));
    for row in json["rows"].as_array().unwrap() {
        let (_, _, _, unit, _) = CASES.iter().find(|case| row["case"] == case.1).unwrap();
        for key in ["burst", "cores", "median", "max", "runs"] {
            assert!(row[key].as_f64().is_some_and(|v| v > 0.0 || stops(row)), "{key}: {row}");
        }
        if row["median"] == 0.0 || row["max"] == 0.0 {
            eprintln!("NOTE: {} came to a stop in the measured time: {row}", row["system"]);
        }
        assert_eq!(row["frame"], if *unit == "Mpps" { 64 } else { 0 }, "{row}");
        let runs = row["samples"].as_array().unwrap().len() as u64;
        assert_eq!((&row["unit"], runs), (&(*unit).into(), row["runs"].as_u64().unwrap()), "{row}");
        assert!(!row["note"].as_str().unwrap().is_empty(), "{row}");
    }
}

/// Rings and pools without caches come to a stop while all their threads wait for one that was preempted. A relaxed tail and caches are
/// there to prevent that.
fn stops(row: &serde_json::Value) -> bool {
    ["dpdk-rte_ring", "dpdk-rte_mempool-uncached"].iter().any(|system| row["system"] == *system)
}
