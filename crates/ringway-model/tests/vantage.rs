//! Vantage points in namespaces: packets end where they should, and after each place the path is whole again.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Mutex;
use std::time::Duration;

use ringway_engine::Signals;
use ringway_lab::is_root;
use ringway_model::rig::{Bed, Cpus, Length, measure};
use ringway_model::sweep::Point;
use ringway_model::vantage::{cuts, run, stages};
use ringway_tester::Fault;
use ringway_tester::dut::{Backend, DutKind};

const SHORT: Length = Length { warm_up: Duration::from_millis(20), counted: Duration::from_millis(100) };

/// Generators of several tests at once are slower than one, and the kernel has room for some thousands of bursts a second.
static ONE: Mutex<()> = Mutex::new(());

fn each_place(device: DutKind) {
    let _one = ONE.lock();
    if !is_root() {
        return eprintln!("SKIP: devices need root (namespaces); run these tests with sudo");
    }
    let cuts = cuts(device).unwrap();
    let mut bed = match Bed::new(device, Backend::Ebpf, 1, Cpus::default()) {
        Err(Fault::Unavailable(why)) => return eprintln!("SKIP: {device}: {why}"),
        bed => bed.unwrap(),
    };
    let (point, stop) = (Point::default(), Signals::new());
    // A path that is not whole again after a place fails the run.
    let rounds = match run(&mut bed, cuts, &point, (1, SHORT), &stop, |_, _| {}) {
        Err(Fault::Unavailable(why)) => return eprintln!("SKIP: {device}: {why}"),
        rounds => rounds.unwrap(),
    };
    let found = stages(&rounds);
    assert_eq!(found.len(), cuts.len());
    assert!(!rounds.partial && found.iter().all(|s| s.until_ns.value > 0.0), "{found:?}");
    eprintln!(
        "{device}: {:?}",
        found.iter().map(|s| (s.place, s.until_ns.value.round())).collect::<Vec<_>>()
    );
    // The kernel may hold the pages of the last bursts for a while, so that nothing can be sent.
    let whole = (0..100).any(|_| measure(&mut bed, &point, SHORT, &stop).unwrap().unwrap().passed > 0);
    assert!(whole, "packets pass after the last place");
}

#[test]
fn the_router_of_the_kernel() {
    each_place(DutKind::LinuxRouter);
}

#[test]
fn the_bridge_of_the_kernel() {
    each_place(DutKind::LinuxBridge);
}

#[test]
fn the_switch_of_ringway() {
    each_place(DutKind::RingwaySwitch);
}

#[test]
fn the_router_of_ringway() {
    each_place(DutKind::RingwayRouter);
}
