//! Processes that mean harm, and processes that are killed.
//!
//! Objective: whatever one process asks, writes into rings that it shares, or dies of, a process that shares them goes on, and
//! nothing stays behind. These variables make it longer: `RINGWAY_NETMAP_REQUESTS=1000000`,
//! `RINGWAY_NETMAP_WRITES=10000000`, `RINGWAY_KILLS=200`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod beside;

use std::ops::Deref;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use beside::{Bed, LIMIT, compile, finish, frame, number, stop, times};
use nix::sys::signal::Signal;
use ringway_lab::program::Program;
use ringway_lab::raw::RawSender;

/// How far a careful process is.
#[derive(Debug, Clone, Copy)]
struct Progress {
    polls: u64,
    received: u64,
}

/// The bed, and a program for it.
struct Place {
    bed: Bed,
    hostile: PathBuf,
}

impl Deref for Place {
    type Target = Bed;

    fn deref(&self) -> &Bed {
        &self.bed
    }
}

impl Place {
    fn new() -> Option<Self> {
        let bed = Bed::new()?;
        Some(Self { bed, hostile: compile("hostile") })
    }

    /// A careful process on a port.
    fn share(&self, port: &str) -> Program {
        self.start(self.command(&self.hostile, &["share", port]))
    }

    /// Runs `work` while frames come to a1.
    fn under_traffic<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Ends the traffic, also when `work` panics.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Relaxed);
            }
        }
        let sender = RawSender::open(&self.lab, "a0").unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0.. {
                    if over.load(Relaxed) {
                        return;
                    }
                    let _ = sender.send(&frame(1, number)); // whether frames arrive is looked at elsewhere
                    sleep(Duration::from_micros(200));
                }
            });
            let _stop = Stop(&over);
            work()
        })
    }
}

fn progress(sharer: &mut Program) -> Progress {
    let parse =
        |line: &str| Some(Progress { polls: number(line, "polls")?, received: number(line, "received")? });
    sharer.ask_by_signal(Signal::SIGUSR1, parse).unwrap()
}

/// Waits until a careful process has polled again and received more.
fn goes_on(sharer: &mut Program, what: &str) {
    let (start, before) = (Instant::now(), progress(sharer));
    loop {
        let now = progress(sharer);
        if now.polls > before.polls && now.received > before.received {
            return;
        }
        assert!(start.elapsed() < LIMIT, "{what}: {before:?}, then {now:?}");
        sleep(Duration::from_millis(1));
    }
}

/// Marsaglia's xorshift.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn random_requests_get_an_errno_of_netmap() {
    let Some(place) = Place::new() else { return };
    let fuzz = compile("fuzz");
    let requests = times("RINGWAY_NETMAP_REQUESTS", 100_000).to_string();
    let mut sharer = place.share("a1");
    let worked = place.under_traffic(|| {
        let worked = finish(place.launch(place.apart(&fuzz, &["a1", "1", &requests])));
        goes_on(&mut sharer, "after random requests");
        worked
    });
    assert!(worked.last().and_then(|line| number(line, "worked")).is_some_and(|n| n > 0), "{worked:?}");
    stop(sharer);
    place.nothing_stays();
}

/// A process writes into the rings of `wild`, another one shares `careful`, and `from` sends to that.
fn writes(place: &Place, wild: &str, careful: &str, from: Option<&str>) {
    let count = times("RINGWAY_NETMAP_WRITES", 1_000_000).to_string();
    let mut sharer = place.share(careful);
    place.under_traffic(|| {
        let said = finish(place.start(place.command(&place.hostile, &["wild", wild, "1", &count])));
        assert!(number(&said[0], "polls").is_some_and(|n| n > 0), "{said:?}");
        let sender = from.map(|port| place.share(port));
        goes_on(&mut sharer, &format!("{careful} after wild writes into {wild}"));
        sender.into_iter().for_each(|sender| drop(stop(sender)));
    });
    stop(sharer);
    place.nothing_stays();
}

#[test]
fn wild_writes_into_rings_of_an_interface_harm_no_other() {
    let Some(place) = Place::new() else { return };
    writes(&place, "a1", "a1", None);
}

#[test]
fn wild_writes_into_one_end_of_a_pipe_do_not_harm_the_other() {
    let Some(place) = Place::new() else { return };
    writes(&place, "a1{1", "a1}1", Some("a1{1"));
}

/// Kills of the same side in a row.
const IN_A_ROW: u64 = 8;

/// Kills one of two again and again: while it works, and while it starts.
fn kills(place: &Place, ports: [&str; 2]) {
    let mut dice = Dice(u64::from(process::id()) * 2 + 1);
    let mut sharers = ports.map(|port| Some(place.share(port)));
    place.under_traffic(|| {
        for kill in 0..times("RINGWAY_KILLS", 40) / 2 {
            // First the same again and again: one stays that has outlived many.
            let dies = if kill < IN_A_ROW { 1 } else { dice.below(2) as usize };
            sleep(Duration::from_micros(dice.below(20_000)));
            drop(sharers[dies].take()); // kills it
            if dice.below(4) == 0 {
                let early = place.launch(place.command(&place.hostile, &["share", ports[dies]]));
                sleep(Duration::from_micros(dice.below(30_000)));
                drop(early);
            }
            let mut next = place.share(ports[dies]);
            let stays = sharers[1 - dies].as_mut().unwrap();
            goes_on(stays, &format!("{} after kill {kill} of {}", ports[1 - dies], ports[dies]));
            goes_on(&mut next, &format!("{} after kill {kill} of the one before", ports[dies]));
            sharers[dies] = Some(next);
        }
        drop(sharers[0].take());
        sharers.into_iter().flatten().for_each(|last| drop(stop(last)));
    });
    place.nothing_stays();
}

#[test]
fn one_of_two_sharers_of_an_interface_is_killed() {
    let Some(place) = Place::new() else { return };
    kills(&place, ["a1", "a1"]);
}

#[test]
fn one_of_two_ends_of_a_pipe_is_killed() {
    let Some(place) = Place::new() else { return };
    kills(&place, ["a1{1", "a1}1"]);
}
