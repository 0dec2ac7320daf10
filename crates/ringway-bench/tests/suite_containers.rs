//! The systems of `ringway bench containers`, in short runs of each case at the ordinary MTU, and of TCP with jumbo frames. Containers need root; says
//! so without.
//!
//! Objective: between two containers each system carries streams, datagrams and pings, what is not installed is named, and no namespace,
//! switch or router stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/again.rs"]
mod again;

use std::process;

use again::again;
use ringway::switch::switches;
use ringway_bench::suite::report::{Report, Row};
use ringway_bench::suite::{Bed, Options, Unit, containers, run};
use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_lab::{Lab, LabError, is_root, labs};
use ringway_router::kernel::routers;

/// On a busy machine neither end may get to run in much less.
const SECONDS: f64 = 0.3;

const SWITCHES: &[&str] = &["ringway-switch", "ringway-switch-xdp", "linux-bridge", "ovs-userspace"];
const ROUTERS: &[&str] = &["ringway-router", "ringway-router-xdp", "linux-forward"];

/// Cases, how many variants each has, and their systems.
const CASES: [(&str, usize, &[&str]); 9] = [
    ("tcp-1", 2, SWITCHES),
    ("tcp-4", 2, SWITCHES),
    ("udp-small", 1, SWITCHES),
    ("frames-small", 1, SWITCHES),
    ("ping", 1, SWITCHES),
    ("route-tcp-1", 2, ROUTERS),
    ("route-tcp-4", 2, ROUTERS),
    ("route-udp-small", 1, ROUTERS),
    ("route-frames-small", 1, ROUTERS),
];

/// What root may miss: Open vSwitch may not be installed, routers may go by XDP alone, and by XDP switches carry no TCP in jumbo frames.
fn may_be_missing(variant: &str, system: &str) -> bool {
    match system {
        "ringway-switch-xdp" => variant == "MTU 9000",
        _ => system == "ovs-userspace",
    }
}

fn measured(lab: &Result<Lab, LabError>, case: &str) -> Report {
    let signals = Signals::new();
    let options = Options { runs: 1, case: Some(case.to_owned()), ..Options::default() };
    let cases = containers::cases(Bed::new(lab, SECONDS, &signals));
    run("containers", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"))
}

#[test]
fn every_system_joins_containers_and_leaves_nothing() {
    let lab = Lab::new();
    for (case, variants, systems) in CASES {
        let report = again(|| measured(&lab, case));
        for m in &report.missing {
            eprintln!("SKIP: {} {} {}: {}", m.case, m.variant, m.system, m.reason);
            assert!(m.skipped && (!is_root() || may_be_missing(&m.variant, &m.system)), "{m:?}");
        }
        assert_eq!(report.rows.len() + report.missing.len(), variants * systems.len(), "{case}");
        report.rows.iter().for_each(assert_contract);
    }
    drop(lab);
    let (of_us, lab_of_us) = (format!("{:07}-", process::id()), format!("rwb-{}-", process::id()));
    for name in switches().into_iter().chain(routers()) {
        assert!(!name.contains(&of_us), "{name} stays");
    }
    assert!(!labs().iter().any(|name| name.starts_with(&lab_of_us)), "{:?}", labs());
}

/// What each row of a case has.
fn assert_contract(row: &Row) {
    let (unit, tcp) = match row.case.as_str() {
        "ping" => (Unit::Us, false),
        case if case.contains("small") => (Unit::Mpps, false),
        _ => (Unit::Gbit, true),
    };
    assert!(row.median > 0.0 && row.unit == unit && !row.note.is_empty(), "{row:?}");
    assert_eq!(
        (row.cpu.is_some(), row.frame == 0, row.variant.starts_with("MTU ")),
        (tcp, tcp, tcp),
        "{row:?}"
    );
    assert_eq!(row.lost.is_some(), row.case == "ping", "{row:?}");
}
