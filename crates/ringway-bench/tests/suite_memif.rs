//! The systems of `ringway bench memif`, in short runs. Testpmd needs root and Debian's dpdk-dev.
//!
//! Objective: frames move in each case, in both roles, with copies and without, between processes of Ringway and testpmd. What is not
//! there is named, with the reason. No process stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/again.rs"]
mod again;

use std::{env, process, thread};

use again::again;
use ringway_bench::suite::report::Report;
use ringway_bench::suite::sides::{self, SideCommand};
use ringway_bench::suite::{Bed, Options, memif, run};
use ringway_engine::Signals;
use ringway_lab::program::children;
use ringway_lab::{Conditions, LabError};

/// On a busy machine neither end may get to run in much less.
const SECONDS: f64 = 0.3;

/// The cases, their units, and how many variants, sizes and bursts each has.
const CASES: [(&str, &str, usize); 4] =
    [("tx", "Mpps", 4), ("rx", "Mpps", 4), ("roundtrip", "ns", 8), ("forward", "Mpps", 4)];

const OWN: [&str; 2] = ["ringway", "ringway-zero-copy"];

/// Behind this argument stand words for the test that is run alone.
const LAST: &str = "--test-threads=1";

/// A side of an exchange between two processes.
#[test]
fn side() {
    let words: Vec<String> = env::args().skip_while(|a| a != LAST).skip(1).collect();
    if words.is_empty() {
        return;
    }
    println!(); // ends the line on which the name of this test stands
    if let Err(e) = sides::side(&words) {
        eprintln!("{e}");
        process::exit(1);
    }
    process::exit(0); // the result is to be the last line
}

fn measured(case: &str, only: &[&str]) -> Report {
    let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
    let command = SideCommand::this_program(&["--exact", "side", "--nocapture", LAST]).unwrap();
    let only = only.iter().map(ToString::to_string).collect();
    let options = Options { runs: 1, case: Some(case.to_owned()), only, ..Options::default() };
    again(|| {
        let cases = memif::cases(Bed::new(&lab, SECONDS, &signals).with_sides(&command));
        run("memif", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"))
    })
}

#[test]
fn every_system_moves_frames_and_leaves_nothing() {
    let alone = thread::available_parallelism().unwrap().get() < 2;
    for (case, unit, variants) in CASES {
        // All systems once; the others have the same ends.
        let only: &[&str] = if case == "tx" { &[] } else { &["ringway", "dpdk-testpmd"] };
        let report = measured(case, only);
        for m in &report.missing {
            eprintln!("SKIP: {} {} {}: {}", m.case, m.variant, m.system, m.reason);
            // Two testpmds alone are not Ringway's to mend: one may receive nothing. In `forward` the far end is Ringway's.
            let both_of_dpdk =
                m.case != "forward" && ["dpdk-testpmd", "dpdk-zero-copy"].contains(&&*m.system);
            let not_here = m.skipped && (alone || !OWN.contains(&&*m.system));
            assert!(not_here || both_of_dpdk, "{m:?}");
        }
        let count = |system| {
            let rows = report.rows.iter().filter(|row| row.system == system).count();
            rows + report.missing.iter().filter(|m| m.system == system).count()
        };
        assert_eq!(count("ringway"), variants, "{case}");
        assert_eq!(count("dpdk-testpmd"), variants, "{case}");
        assert_contract(&report, unit);
    }
    assert_eq!(children(process::id()), [] as [(u32, String); 0]);
}

/// All keys of all rows, as the JSON has them.
fn assert_contract(report: &Report, unit: &str) {
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!((&json["suite"], &json["interrupted"]), (&"memif".into(), &false.into()));
    for row in json["rows"].as_array().unwrap() {
        for key in ["frame", "burst", "cores", "median", "min", "max", "runs"] {
            assert!(row[key].as_f64().is_some_and(|v| v > 0.0), "{key}: {row}");
        }
        assert!(
            row["unit"] == unit && ["client", "server"].iter().any(|role| row["variant"] == *role),
            "{row}"
        );
        assert!(!row["note"].as_str().unwrap().is_empty(), "{row}");
        assert_eq!(row["gbit"].is_number(), unit == "Mpps", "{row}");
    }
}
