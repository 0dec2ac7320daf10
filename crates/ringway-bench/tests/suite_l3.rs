//! The systems of `ringway bench l3`: each for one flow by eight routes, in a short run, and the bed alone. Routers need root; says so without.
//!
//! Objective: every router forwards a sample of frames rightly and loses none without a counter, the bed works, and nothing stays.
//! Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/again.rs"]
mod again;

use std::process;

use again::again;
use ringway_bench::suite::fib::Source;
use ringway_bench::suite::{Bed, Options, l3, names, run};
use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_lab::{Lab, is_root, labs};
use ringway_router::kernel::routers;

/// On a busy machine neither end may get to run in much less.
const SECONDS: f64 = 0.3;

#[test]
fn every_router_forwards_and_leaves_nothing() {
    let (lab, signals) = (Lab::new(), Signals::new());
    let report = again(|| {
        let mut cases = l3::cases(Bed::new(&lab, SECONDS, &signals), &Source::default());
        let stages: Vec<_> = cases.drain(9..11).collect(); // by eight routes
        cases.truncate(2); // the bed, and one flow
        cases.extend(stages);
        let (names, _) = names(&cases);
        assert_eq!(names, ["bed", "routes-8", "stages", "stages-clock"]);
        let options = Options { runs: 1, ..Options::default() };
        run("l3", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"))
    });
    for m in &report.missing {
        eprintln!("SKIP: {} {}: {}", m.case, m.system, m.reason);
        assert!(m.skipped && !is_root(), "{m:?}");
    }
    assert_eq!(report.rows.len() + report.missing.len(), 2 + 4 + 6 + 4);
    for row in &report.rows {
        // The difference of two rates may be anything on a busy machine.
        assert!((row.median > 0.0 || row.case.starts_with("stages")) && !row.note.is_empty(), "{row:?}");
    }
    assert_eq!(l3::agreement(&report).len(), if is_root() { 4 } else { 0 });
    drop(lab);
    let (router_of_us, lab_of_us) = (format!("{:07}-", process::id()), format!("rwb-{}-", process::id()));
    assert!(!labs().iter().any(|name| name.starts_with(&lab_of_us)), "{:?}", labs());
    assert!(!routers().iter().any(|name| name.contains(&router_of_us)), "{:?}", routers());
}

#[test]
fn without_root_all_is_skipped_by_name() {
    let (lab, signals) = (Err(ringway_lab::LabError::NotRoot), Signals::new());
    let cases = l3::cases(Bed::new(&lab, SECONDS, &signals), &Source::default());
    let report = run("l3", cases, &Options::default(), Conditions::read(), |_| ());
    assert!(report.rows.is_empty() && report.missing.iter().all(|m| m.skipped && m.reason.contains("root")));
    assert!(report.missing.iter().any(|m| m.system == "linux-ip_forward" && m.case == "routes-1m"));
}
