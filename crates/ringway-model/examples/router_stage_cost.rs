//! What counters of stages take of a router in XDP: runs without and with them in turn, A B A B, at full load.
//!
//! The rate swings more than counters take, so the time of the program itself is compared.
//!
//! `cargo run --release -p ringway-model --example router_stage_cost`, as root.

use std::thread;
use std::time::{Duration, Instant};

use ringway_engine::Signals;
use ringway_model::programs::Programs;
use ringway_model::rig::{Bed, Cpus, Length, measure};
use ringway_model::sweep::Point;
use ringway_router::kernel::{Router, Stages};
use ringway_tester::Fault;
use ringway_tester::dut::{Backend, DutKind};

const PAIRS: usize = 101;
/// What the link holds.
const BURST: u32 = 256;
const RUN: Length = Length { warm_up: Duration::from_millis(40), counted: Duration::from_millis(120) };
/// Counters end by themselves soon after a run that had them.
const LEASE: Duration = Duration::from_millis(600);
/// Runs until one passes packets.
const TRIES: usize = 5;
/// The control process looks for a watcher a few times a second.
const LIMIT: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for flows in [1, 256] {
        let point = Point { flows, routes: flows, burst: BURST, ..Point::default() };
        let mut bed = Bed::new(DutKind::RingwayRouter, Backend::Ebpf, point.routes, Cpus::default())?;
        let name = bed.device().own().ok_or("the device has no router")?.to_owned();
        let stages = Router::open(&name)?.stages()?;
        compare(&mut bed, &point, &stages)?;
    }
    Ok(())
}

/// Prints medians and quartiles of the time of the router's program, and its share of the time of the thread that forwards.
fn compare(bed: &mut Bed, point: &Point, stages: &Stages) -> Result<(), Box<dyn std::error::Error>> {
    let (mut plain, mut dearer, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    let before = stages.counts();
    for _ in 0..PAIRS {
        let (of_program, of_thread) =
            run(bed, point, || until(|| !stages.are_timed()), || !stages.are_timed())?;
        let watch = || {
            stages.watch(LEASE);
            stages.are_timed()
        };
        let (timed, _) = run(bed, point, || until(watch), || stages.are_timed())?;
        plain.push(of_program);
        dearer.push(timed - of_program);
        whole.push(of_thread);
    }
    let packets = stages.counts().packets - before.packets;
    let ([low, of_program, high], [least, more, most]) = (quartiles(&mut plain), quartiles(&mut dearer));
    let [_, of_thread, _] = quartiles(&mut whole);
    let taken = 100.0 * more / (of_thread + more);
    println!(
        "{}: the program takes {of_program:.1} ns ({low:.1} to {high:.1}), with counters {more:.1} more ({least:.1} to {most:.1}), \
         and its thread {of_thread:.0}: counters take {taken:.2} %; {packets} packets were timed",
        point.describe(),
    );
    Ok(())
}

/// Nanoseconds a packet of the router's program, by the kernel's count, and of the thread that forwards. `prepare` has members use the
/// programs to measure, and `held` says whether they still do at the end. A run with nothing is run again: the kernel takes back what
/// the generator's bursts needed only a second after their packets have gone.
fn run(
    bed: &mut Bed,
    point: &Point,
    prepare: impl Fn() -> Result<(), Fault>,
    held: impl Fn() -> bool,
) -> Result<(f64, f64), Fault> {
    for _ in 0..TRIES {
        prepare()?;
        let programs = Programs::start()?;
        let ran = measure(bed, point, RUN, &Signals::new())?;
        let held = held();
        let programs = programs.stop()?;
        let router = programs.iter().filter(|p| p.name.starts_with("router")).max_by_key(|p| p.runs);
        match (ran.and_then(|run| run.ns()), router) {
            (Some(ns), Some(router)) if held => return Ok((router.ns as f64 / router.runs as f64, ns)),
            (Some(_), _) => {}
            (None, _) => thread::sleep(Duration::from_secs(2)),
        }
    }
    Err(Fault::Failed("no run was whole: no packet came out, or the programs were exchanged in it".into()))
}

fn until(met: impl Fn() -> bool) -> Result<(), Fault> {
    let start = Instant::now();
    while !met() {
        if start.elapsed() > LIMIT {
            return Err(Fault::Failed("the control process exchanges no programs".into()));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn quartiles(of: &mut [f64]) -> [f64; 3] {
    of.sort_by(f64::total_cmp);
    [1, 2, 3].map(|part| of[of.len() * part / 4])
}
