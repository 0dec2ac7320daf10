//! Counters of stages stand at the borders of a router's bursts, not in the loops over packets: callgrind counts the instructions.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/frame.rs"]
mod frame;

use std::env;
use std::process::Command;
use std::time::Duration;

use ringway::{Port, RxRing, TxRing};
use ringway_count::metered_loops;
use ringway_tester::device::{Router, RouterSpec};
use ringway_tester::trial::polled::Polled;
use ringway_wire::MacAddr;

use frame::frame;

/// Set for a run below callgrind: frames of a round, and whether somebody watches.
const FRAMES: &str = "RINGWAY_TEST_FRAMES";
const WATCHED: &str = "RINGWAY_TEST_WATCHED";
const ROUNDS: u64 = 50;

fn send(tx: &mut TxRing, frames: u64) {
    (0..frames).for_each(|_| assert!(tx.push(&frame())));
    tx.sync().unwrap();
}

fn received(rx: &mut RxRing) -> u64 {
    rx.sync().unwrap();
    rx.burst(1024).count() as u64
}

/// Rounds of a router with so many frames each. Returns what its counters of stages saw.
fn route(frames: u64, watched: bool) -> Option<u64> {
    let macs = [1, 2].map(|side| MacAddr([2, 0x52, 0x57, 0, 0, side]));
    let mut router = Router::open(&RouterSpec { routes: 0 }, macs).unwrap();
    let [mut from, mut to] = router.ports().map(|name| Port::open(&name).unwrap());
    let found = metered_loops().into_iter().find(|of| of.pid == std::process::id())?;
    if watched {
        found.watch(Duration::from_secs(3600));
    }
    for _ in 0..ROUNDS {
        send(&mut from.tx[0], frames);
        assert_eq!(router.poll().unwrap(), frames);
        assert_eq!(received(&mut to.rx[0]), frames);
    }
    let counts = found.counts();
    assert!(!watched || counts.time[..5].iter().all(|ticks| *ticks > 0), "{counts:?}");
    assert_eq!(counts.batches, if watched { ROUNDS * frames.div_ceil(64) } else { 0 });
    Some(counts.packets)
}

/// Instructions of all rounds, by callgrind; `None` without it.
fn instructions(frames: u64, watched: bool) -> Option<u64> {
    let ended = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(["--toggle-collect=ringway_router::user::path::Path::round*"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "packets_are_counted_while_somebody_watches", "--nocapture"])
        .env(FRAMES, frames.to_string())
        .env(WATCHED, u8::from(watched).to_string())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    let line =
        said.lines().find_map(|line| line.split_once("Collected :")).unwrap_or_else(|| panic!("{said}"));
    Some(line.1.trim().parse().unwrap())
}

#[test]
fn packets_are_counted_while_somebody_watches() {
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (frames, watched) = (number(FRAMES).unwrap_or(200), number(WATCHED).unwrap_or(1) == 1);
    match route(frames, watched) {
        Some(packets) => assert_eq!(packets, if watched { ROUNDS * frames } else { 0 }),
        None => eprintln!("SKIP: no run directory, so no loop can be watched"),
    }
}

#[test]
fn no_instruction_of_a_packet_is_for_stages() {
    if instructions(8, false).is_none() {
        return eprintln!("SKIP: no valgrind: `apt install valgrind`");
    }
    let more = |frames| {
        let [with, without] = [true, false].map(|watched| instructions(frames, watched).unwrap());
        with.saturating_sub(without)
    };
    let (few, many) = (more(8), more(64));
    assert!(few > 0, "borders take some instructions");
    let of_a_packet = few.abs_diff(many) as f64 / (56 * ROUNDS) as f64;
    assert!(of_a_packet < 0.1, "a round takes {few} more for 8 frames, and {many} for 64");
}
