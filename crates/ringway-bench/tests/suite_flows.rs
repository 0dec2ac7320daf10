//! The systems of `ringway bench flows`, in short runs of each case. Links, switches and packet sockets need root; says so and checks the rest
//! without.
//!
//! Objective: each system runs each kind of flow to its end, none fails, and the result has all that the contract promises. What is not there is
//! named, with the reason. No switch, namespace or process stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/left.rs"]
mod left;
#[path = "support/named.rs"]
mod named;

use ringway_bench::suite::flows::{self, Load};
use ringway_bench::suite::report::Report;
use ringway_bench::suite::{Bed, Options, run};
use ringway_engine::Signals;
use ringway_lab::{Conditions, Lab, is_root};

use left::nothing_is_left;
use named::named;

/// On a busy machine a thread may not get to run for so long, so each has two runs, and one may be spoilt.
const SECONDS: f64 = 0.1;
const RUNS: u32 = 2;

const RATES: [&str; 5] = ["ftp", "http-short", "http-8k", "dns", "mix"];
const SYSTEMS: [&str; 8] = [
    "linux-sockets",
    "linux-sockets-lo",
    "ringway-raw",
    "ringway-packet",
    "ringway-ebpf",
    "ringway-vale",
    "ringway-pipe",
    "ringway-memory",
];
/// Variants of the other cases, with their units.
const OTHERS: [(&str, &str, &str); 4] = [
    ("idle", "", "B"),
    ("vm", "an instruction", "ns"),
    ("vm", "share of ftp", "%"),
    ("vm", "share of http-short", "%"),
];

#[test]
fn every_system_runs_flows_and_leaves_nothing() {
    let (lab, signals) = (Lab::new(), Signals::new());
    let cases = flows::cases(Bed::new(&lab, SECONDS, &signals), Load { concurrent: 32, connections: 5000 });
    let options = Options { runs: RUNS, ..Options::default() };
    let report = run("flows", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"));
    for m in report.missing.iter().filter(|m| m.skipped || m.runs == 0) {
        eprintln!("SKIP: {} {} {}: {}", m.case, m.variant, m.system, m.reason);
        let in_memory = ["ringway-pipe", "ringway-memory"].contains(&&*m.system);
        assert!(m.skipped && !is_root() && !in_memory, "{m:?}");
    }
    assert_eq!(named(&report), expected());
    assert_contract(&report);
    drop(lab);
    nothing_is_left();
}

fn expected() -> Vec<[String; 3]> {
    let rates = RATES.iter().flat_map(|case| SYSTEMS.map(|system| [*case, "", system]));
    let others = OTHERS.iter().map(|(case, variant, _)| [*case, *variant, "ringway-memory"]);
    let others = others.chain([["idle", "", "linux-sockets"]]);
    let mut expected: Vec<_> = rates.chain(others).map(|names| names.map(str::to_owned)).collect();
    expected.sort();
    expected
}

/// All keys of all rows, as the JSON has them.
fn assert_contract(report: &Report) {
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!((&json["suite"], &json["interrupted"]), (&"flows".into(), &false.into()));
    for row in json["rows"].as_array().unwrap() {
        let of_rates = RATES.iter().any(|case| row["case"] == *case);
        // A difference between two runs, or of the whole machine's memory, may be turned round by other work.
        let differs = row["case"] == "vm" || row["case"] == "idle" && row["system"] == "linux-sockets";
        assert!(row["max"].as_f64().is_some_and(|v| v > 0.0 || differs), "{row}");
        assert_eq!((&row["frame"], &row["cores"]), (&0.into(), &1.into()), "{row}");
        let other = OTHERS
            .iter()
            .find(|other| row["case"] == other.0 && row.get("variant").is_none_or(|v| v == other.1));
        assert_eq!(row["unit"], if of_rates { "flows/s" } else { other.unwrap().2 }, "{row}");
        assert!(!row["note"].as_str().unwrap().is_empty(), "{row}");
        assert_eq!(row["memory"].is_number(), row["case"] == "idle", "{row}");
        if of_rates {
            assert!(
                row["packets"].as_f64().is_some_and(|v| v > 0.0) && row["retransmitted"].is_u64(),
                "{row}"
            );
            assert_eq!(row["failed"], serde_json::json!({}), "{row}");
        }
    }
}
