//! A program that balances the flows of an interface over eight pipes, and eight others that take them.
//!
//! Objective: at a rate that all of them bear nothing is lost, and each flow stays on one pipe and in order. Frames
//! that find a pipe full wait in extra buffers. The extra buffers are all there, and nothing stays behind.
#![allow(clippy::unwrap_used, reason = "tests")]

mod beside;

use std::collections::BTreeMap;
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

use beside::{Bed, compile, finish, frame, number, stop};
use nix::sys::signal::Signal;
use ringway_lab::program::Program;
use ringway_lab::raw::RawSender;

const PIPES: usize = 8;
const FLOWS: u32 = 500;

/// Frames of each flow while the taker of the first pipe does nothing: more in all than its ring holds.
const EARLY: u32 = 80;

/// Frames of each flow in all.
const FRAMES: u32 = 200;

/// Frames sent at once, with a pause of a millisecond behind them.
const BURST: u32 = 8;

/// Frames after which the sender waits until the balancer has them: an eighth of its ring.
const AHEAD: u32 = 512;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn flows_are_balanced_over_pipes_without_a_loss() {
    let Some(bed) = Bed::new() else { return };
    let lb = compile("lb");
    let run = |words: &[&str]| {
        let mut command = bed.command(&lb, words);
        command.env("RINGWAY_NETMAP_SLOTS", "4096").env("RINGWAY_NETMAP_MEMORY", "512");
        bed.start(command)
    };
    let mut balancer = run(&["balance", "a1"]);
    let takers = (0..PIPES).map(|pipe| {
        let name = format!("a1}}{pipe}");
        let words = ["consume", &name, "late"];
        run(&words[..if pipe == 0 { 3 } else { 2 }])
    });
    let mut takers: Vec<_> = takers.collect();
    let sender = RawSender::open(&bed.lab, "a0").unwrap();
    send(&sender, &mut balancer, 0..EARLY);
    takers[0].ask_by_signal(Signal::SIGUSR1, |line| (line == "going").then_some(())).unwrap();
    send(&sender, &mut balancer, EARLY..FRAMES);
    let mut flows = BTreeMap::new();
    for (pipe, taker) in takers.into_iter().enumerate() {
        let lines = finish(taker);
        assert!(!lines.is_empty(), "pipe {pipe} has no flow");
        for line in lines.iter().filter(|line| line.starts_with("flow ")) {
            let mut numbers = line.split_whitespace().skip(1).map(|n| n.parse::<u32>().unwrap());
            let (flow, frames) = (numbers.next().unwrap(), numbers.next().unwrap());
            assert_eq!(frames, FRAMES, "pipe {pipe}: flow {flow}");
            assert_eq!(flows.insert(flow, pipe), None, "flow {flow} is on two pipes");
        }
    }
    assert_eq!(flows.len(), FLOWS as usize);
    let said = stop(balancer).pop().unwrap();
    assert_eq!(number(&said, "received"), Some(u64::from(FLOWS * FRAMES)), "{said}");
    assert_eq!(number(&said, "lost"), Some(0), "{said}");
    assert!(number(&said, "delayed").is_some_and(|n| n > 0), "{said}");
    bed.nothing_stays();
}

/// Sends the frames of these numbers of all flows, so that the balancer's ring never fills up.
fn send(sender: &RawSender, balancer: &mut Program, numbers: Range<u32>) {
    let before = numbers.start * FLOWS;
    let frames = numbers.flat_map(|number| (0..FLOWS).map(move |flow| (flow, number)));
    for (count, (flow, number)) in (1..).zip(frames) {
        sender.send(&frame(flow, number)).unwrap();
        if count % BURST == 0 {
            sleep(Duration::from_millis(1));
        }
        if count % AHEAD == 0 {
            await_received(balancer, u64::from(before + count));
        }
    }
}

fn await_received(balancer: &mut Program, frames: u64) {
    let so_far = |line: &str| line.strip_prefix("so far ")?.parse::<u64>().ok();
    let start = Instant::now();
    while balancer.ask_by_signal(Signal::SIGUSR1, so_far).unwrap() < frames {
        assert!(start.elapsed() < LIMIT, "a frame of the first {frames} is lost");
        sleep(Duration::from_millis(1));
    }
}
