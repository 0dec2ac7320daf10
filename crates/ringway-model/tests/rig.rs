//! Devices under load in namespaces: packets come out, and the thread that forwards has a time.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use ringway_engine::Signals;
use ringway_lab::is_root;
use ringway_model::rig::{Bed, Cpus, Length, measure};
use ringway_model::sweep::{Point, Run};
use ringway_tester::Fault;
use ringway_tester::dut::{Backend, DutKind};

const SHORT: Length = Length { warm_up: Duration::from_millis(50), counted: Duration::from_millis(200) };

/// A run of a device; `None` where this machine has no such device.
fn run(kind: DutKind, point: &Point) -> Option<Run> {
    if !is_root() {
        eprintln!("SKIP: devices need root (namespaces); run these tests with sudo");
        return None;
    }
    let mut bed = match Bed::new(kind, Backend::Ebpf, point.routes, Cpus::default()) {
        Err(Fault::Unavailable(why)) => {
            eprintln!("SKIP: {kind}: {why}");
            return None;
        }
        bed => bed.unwrap(),
    };
    let run = measure(&mut bed, point, SHORT, &Signals::new()).unwrap().unwrap();
    eprintln!("{kind} {}: {:.0} ns, {run:?}", point.describe(), run.ns().unwrap_or(0.0));
    Some(run)
}

#[test]
fn each_device_forwards_and_has_a_time() {
    for kind in DutKind::ALL {
        let Some(run) = run(kind, &Point::default()) else { continue };
        assert!(run.passed > 0 && run.offered > 0, "{kind}: {run:?}");
        assert!(run.ns().is_some_and(|ns| ns > 1.0 && ns < 1e6), "{kind}: {run:?}");
    }
}

#[test]
fn flows_by_routes_of_their_own_arrive() {
    let point = Point { flows: 256, routes: 256, ..Point::default() };
    for kind in [DutKind::LinuxRouter, DutKind::RingwayRouter] {
        let Some(run) = run(kind, &point) else { continue };
        assert!(run.passed > 0, "{kind}: {run:?}");
    }
}

#[test]
fn a_stop_ends_a_run_at_once() {
    if !is_root() {
        return eprintln!("SKIP: devices need root (namespaces); run these tests with sudo");
    }
    let mut bed = Bed::new(DutKind::Veth, Backend::Ebpf, 1, Cpus::default()).unwrap();
    let stop = Signals::new();
    stop.stop();
    let hours = Length { warm_up: Duration::from_secs(3600), counted: Duration::from_secs(3600) };
    assert_eq!(measure(&mut bed, &Point::default(), hours, &stop).unwrap(), None);
}
