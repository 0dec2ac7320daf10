//! What counters of stages take of a router in XDP: runs without and with them in turn, A B A B, at full load.
//!
//! The rate swings more than counters take, so the time of the program itself is compared.
//!
//! `cargo run --release -p ringway-model --example router_stage_cost [PAIRS]`, as root.

use std::thread;
use std::time::{Duration, Instant};

use ringway_count::TIMED_ONE_IN;
use ringway_engine::Signals;
use ringway_model::programs::Programs;
use ringway_model::rig::{Bed, Cpus, Length, measure};
use ringway_model::sweep::Point;
use ringway_router::kernel::{Router, Stages};
use ringway_tester::Fault;
use ringway_tester::dut::{Backend, DutKind};

/// Unless an argument says how many.
const PAIRS: usize = 101;
/// What the link holds.
const BURST: u32 = 256;
const RUN: Length = Length { warm_up: Duration::from_millis(40), counted: Duration::from_millis(120) };
/// Counters end by themselves soon after a run that had them.
const LEASE: Duration = Duration::from_millis(600);
/// Runs until one passes packets, all by the programs to measure.
const TRIES: usize = 20;
/// The control process looks for a watcher a few times a second.
const LIMIT: Duration = Duration::from_secs(10);
/// The share of a program's runs that its counters stand for.
const WHOLE: std::ops::Range<f64> = 0.95..1.05;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pairs = std::env::args().nth(1).map_or(Ok(PAIRS), |pairs| pairs.parse())?;
    for flows in [1, 256] {
        let point = Point { flows, routes: flows, burst: BURST, ..Point::default() };
        let bed = Bed::new(DutKind::RingwayRouter, Backend::Ebpf, point.routes, Cpus::default())?;
        let name = bed.device().own().ok_or("the device has no router")?.to_owned();
        let stages = Router::open(&name)?.stages()?;
        Runs { bed, point, stages, again: 0 }.compare(pairs)?;
    }
    Ok(())
}

/// Runs of one point.
struct Runs {
    bed: Bed,
    point: Point,
    stages: Stages,
    /// Runs that other programs had a part in, so that they were done again.
    again: usize,
}

impl Runs {
    /// Prints medians and quartiles of the time of the router's program, and its share of the time of the thread that forwards.
    fn compare(&mut self, pairs: usize) -> Result<(), Fault> {
        let (mut plain, mut dearer, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        let before = self.stages.counts();
        for _ in 0..pairs {
            let (of_program, of_thread) = self.run(false)?;
            let (timed, _) = self.run(true)?;
            plain.push(of_program);
            dearer.push(timed - of_program);
            whole.push(of_thread);
        }
        let packets = self.stages.counts().packets - before.packets;
        let ([low, of_program, high], [least, more, most]) = (quartiles(&mut plain), quartiles(&mut dearer));
        let [_, of_thread, _] = quartiles(&mut whole);
        let taken = 100.0 * more / (of_thread + more);
        println!(
            "{}: the program takes {of_program:.1} ns ({low:.1} to {high:.1}), with counters {more:.1} more ({least:.1} to {most:.1}), \
             and its thread {of_thread:.0}: counters take {taken:.2} %; {packets} packets were timed, and {} runs done again",
            self.point.describe(),
            self.again,
        );
        Ok(())
    }

    /// Nanoseconds a packet of the router's program, by the kernel's count, and of the thread that forwards. A run with nothing is run
    /// again: the kernel takes back what the generator's bursts needed only a second after their packets have gone. So is a run whose
    /// packets the counters do not know: the router exchanges the programs of its members one after the other.
    fn run(&mut self, timed: bool) -> Result<(f64, f64), Fault> {
        for _ in 0..TRIES {
            self.prepare(timed)?;
            let (programs, before) = (Programs::start()?, self.stages.counts());
            let ran = measure(&mut self.bed, &self.point, RUN, &Signals::new())?;
            let counted = self.stages.counts().since(&before).packets;
            let programs = programs.stop()?;
            let router = programs.iter().filter(|p| p.name.starts_with("router")).max_by_key(|p| p.runs);
            match (ran.and_then(|run| run.ns()), router) {
                (Some(ns), Some(router)) if is_whole(timed, counted, router.runs) => {
                    return Ok((router.ns as f64 / router.runs as f64, ns));
                }
                (Some(_), _) => self.again += 1,
                (None, _) => thread::sleep(Duration::from_secs(2)),
            }
        }
        Err(Fault::Failed("no run was whole: no packet came out, or programs were exchanged in it".into()))
    }

    /// Waits until all members have programs with counters, or without.
    fn prepare(&self, timed: bool) -> Result<(), Fault> {
        let start = Instant::now();
        loop {
            if timed {
                self.stages.watch(LEASE);
            }
            if self.stages.are_timed() == timed && self.stages.are_exchanged() {
                return Ok(());
            }
            if start.elapsed() > LIMIT {
                return Err(Fault::Failed("the control process exchanges no programs".into()));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Whether all runs of the router's program were with counters, or all without: by the packets that were counted meanwhile.
fn is_whole(timed: bool, counted: u64, runs: u64) -> bool {
    let share = (counted * u64::from(TIMED_ONE_IN)) as f64 / runs as f64;
    if timed { WHOLE.contains(&share) } else { counted == 0 }
}

fn quartiles(of: &mut [f64]) -> [f64; 3] {
    of.sort_by(f64::total_cmp);
    [1, 2, 3].map(|part| of[of.len() * part / 4])
}
