//! The systems of `ringway bench python`, in short runs. Links need root; says so and checks the rest without.
//!
//! Objective: each script of Python moves frames, or looks addresses up with the right answers, and has a number. What
//! is not installed is named, with the cure. No namespace, process or folder stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/left.rs"]
mod left;

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use ringway_bench::suite::fib::Source;
use ringway_bench::suite::report::Report;
use ringway_bench::suite::{Bed, Options, python, run};
use ringway_engine::Signals;
use ringway_lab::{Conditions, Lab, is_root};

use left::nothing_is_left;

/// On a busy machine a script may not get to run for so long, so each has two runs, and one may be spoilt.
const SECONDS: f64 = 0.3;
const RUNS: u32 = 2;

/// Routes of both families: every answer is compared.
const TABLE: &str = "0.0.0.0/0 1\n10.0.0.0/8 2\n10.1.0.0/16 3\n10.1.2.0/24 4\n10.1.2.3/32 5\n::/0 6\n2001:db8::/32 7\n2001:db8::/64 8\n";

/// The systems of each case.
const CASES: [(&str, &[&str]); 3] = [
    ("receive", &["ringway", "ringway-views", "scapy", "pcapy-ng", "pcapy-ng-batch", "af_packet"]),
    ("send", &["ringway", "scapy", "pcapy-ng", "af_packet"]),
    ("lookups", &["ringway", "pytricia", "rust", "ringway", "pytricia", "rust"]),
];

#[test]
fn every_script_has_a_number_or_a_cure() {
    let (lab, signals, table) = (Lab::new(), Signals::new(), table());
    let cases = python::cases(Bed::new(&lab, SECONDS, &signals), &Source::new(Some(table.clone())));
    let options = Options { runs: RUNS, ..Options::default() };
    let report = run("python", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"));
    for m in report.missing.iter().filter(|m| m.skipped || m.runs == 0) {
        eprintln!("SKIP: {} {}: {}", m.case, m.system, m.reason);
        assert!(m.skipped, "{m:?}");
        let root = !is_root() && m.reason.contains("root");
        assert!(
            root || ["scripts/setup --bench", "cargo build", "built"]
                .iter()
                .any(|cure| m.reason.contains(cure)),
            "{m:?}"
        );
    }
    for (case, systems) in CASES {
        assert_eq!(named(&report, case), sorted(systems.iter().map(|s| (*s).to_owned()).collect()), "{case}");
    }
    assert!(report.rows.iter().all(|row| row.median > 0.0 && !row.note.is_empty()), "{report:?}");
    for line in python::bars(&report) {
        eprintln!("{line}");
    }
    fs::remove_file(table).unwrap();
    drop(lab);
    nothing_is_left();
    let mine = format!("-{}-", process::id());
    let folders = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let left: Vec<PathBuf> = folders.map(|f| f.path()).filter(|f| has(f, &mine)).collect();
    assert_eq!(left, [] as [PathBuf; 0]);
}

fn has(path: &Path, words: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(words))
}

fn table() -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("suite-python-{}", process::id()));
    fs::write(&file, TABLE).unwrap();
    file
}

/// The systems of a case with a number, or without any.
fn named(report: &Report, case: &str) -> Vec<String> {
    let found = report.rows.iter().filter(|row| row.case == case).map(|row| row.system.clone());
    let missing = report.missing.iter().filter(|m| m.case == case && m.runs == 0).map(|m| m.system.clone());
    sorted(found.chain(missing).collect())
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}
