//! What counters of stages take of the throughput: rounds without and with them in turn, A B A B, on one thread.
//!
//! `cargo run --release -p ringway-tester --example stage_cost`. The switch needs root; without, only the router is measured.

#[path = "../tests/support/frame.rs"]
mod frame;

use std::time::{Duration, Instant};

use ringway::switch::{PortAccess, Switch, SwitchSpec};
use ringway::{Port, Result};
use ringway_count::{MeteredLoop, metered_loops};
use ringway_tester::device::{Router, RouterSpec};
use ringway_tester::trial::polled::Polled;
use ringway_wire::MacAddr;

use frame::frame;

/// Time of a round, and pairs of rounds.
const ROUND: Duration = Duration::from_millis(20);
const PAIRS: usize = 101;
/// Counters end by themselves soon after a round that had them.
const LEASE: Duration = Duration::from_millis(60);

fn main() -> Result<()> {
    for burst in [1, 8, 32, 64, 256] {
        router(burst)?;
        if ringway_lab::is_root() {
            switch(burst)?;
        }
    }
    Ok(())
}

/// From a to b of a switch; b gives its slots back in the same thread, whose whole time counts.
fn switch(burst: u64) -> Result<()> {
    let switch = Switch::create("vale-cost", &SwitchSpec::default())?;
    let result = through_switch(&switch, burst);
    switch.delete()?;
    result
}

fn through_switch(switch: &Switch, burst: u64) -> Result<()> {
    for port in ["a", "b"] {
        switch.add_port(port, &PortAccess::default())?;
    }
    let (mut from, mut to) = (Port::open("vale-cost:a")?, Port::open("vale-cost:b")?);
    // The switch learns b, so that frames go to it alone.
    let mut back = frame();
    back.copy_within(..6, 6);
    back[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    to.tx[0].push(&back);
    to.tx[0].sync()?;
    let pass = || pass(&mut from, &mut to, burst, || Ok(()));
    // b sends no more, and does not find out that nobody watches.
    compare("switch", burst, || switch.watch_stages(LEASE), || switch.watched_ports() > 1, pass)
}

/// Through the router of the tester, by two pipes.
fn router(burst: u64) -> Result<()> {
    let macs = [1, 2].map(|side| MacAddr([2, 0x52, 0x57, 0, 0, side]));
    let mut router = Router::open(&RouterSpec { routes: 0 }, macs)?;
    let [from, to] = router.ports();
    let (mut from, mut to) = (Port::open(&from)?, Port::open(&to)?);
    let own = |of: &MeteredLoop| of.pid == std::process::id();
    let Some(found) = metered_loops().into_iter().find(own) else {
        println!("router: no run directory, so nobody can watch it");
        return Ok(());
    };
    let pass = || pass(&mut from, &mut to, burst, || router.poll().map(|_| ()));
    compare("router", burst, || found.watch(LEASE), || found.is_watched(), pass)
}

/// Sends a burst, which `forward` brings on, and receives it.
fn pass(from: &mut Port, to: &mut Port, burst: u64, forward: impl FnOnce() -> Result<()>) -> Result<u64> {
    let frame = frame();
    (0..burst).for_each(|_| _ = from.tx[0].push(&frame));
    from.tx[0].sync()?;
    forward()?;
    to.rx[0].sync()?;
    Ok(to.rx[0].burst(1024).count() as u64)
}

/// Prints the median and the quartiles of the differences within pairs.
fn compare(
    what: &str,
    burst: u64,
    watch: impl Fn(),
    is_watched: impl Fn() -> bool,
    mut pass: impl FnMut() -> Result<u64>,
) -> Result<()> {
    let mut round = |long: Duration| -> Result<f64> {
        let (start, mut frames) = (Instant::now(), 0);
        while start.elapsed() < long {
            for _ in 0..64 {
                frames += pass()?;
            }
        }
        Ok(frames as f64 / start.elapsed().as_secs_f64() / 1e6)
    };
    let (mut off, mut taken) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        while is_watched() {
            round(ROUND / 10)?;
        }
        let without = round(ROUND)?;
        watch();
        let with = round(ROUND)?;
        off.push(without);
        taken.push(100.0 * (1.0 - with / without));
    }
    let quartiles = |of: &mut Vec<f64>| {
        of.sort_by(f64::total_cmp);
        [1, 2, 3].map(|part| of[of.len() * part / 4])
    };
    let ([_, rate, _], [low, middle, high]) = (quartiles(&mut off), quartiles(&mut taken));
    println!(
        "{what}, burst {burst}: {rate:.2} Mpps without; counters take {middle:.2} % ({low:.2} to {high:.2})"
    );
    Ok(())
}
