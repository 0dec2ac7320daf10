//! The standing guard: a client without rights owns a port of a switch, and does all the harm that it can think of, at random. Meanwhile two honest
//! ports exchange frames, and root goes on working. Needs root; says so and passes without.
//!
//! Objective: the honest ports lose nothing and get nothing of others, each of root's commands succeeds, no file of root's changes,
//! and the accounts of the switch close. `RINGWAY_GUARD_SECONDS=600` goes on for that long, instead of a minute.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod calls;
mod canaries;
mod honest;
mod hostile;
mod root;
#[path = "../support/mod.rs"]
mod support;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use canaries::Canaries;
use honest::Honest;
use hostile::Hostile;
use root::Root;
use support::room::Room;

/// The switch of the test, and the port of the hostile client.
const SWITCH: &str = "vale0";
const PORT: &str = "evil";

fn duration() -> Duration {
    let seconds = std::env::var("RINGWAY_GUARD_SECONDS").ok().map(|s| s.parse().unwrap());
    Duration::from_secs(seconds.unwrap_or(60))
}

/// Random numbers that are the same in each run.
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 16) % n
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Tells a thread to end, also when the test fails.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn honest_ports_and_root_are_safe_from_a_hostile_client() {
    let Some(room) = Room::new() else { return };
    let canaries = Canaries::new(&room.path("canaries"));
    let mut root = Root::new(&room);
    let mut honest = Honest::new(&room);
    let mut hostile = [1, 2].map(|seed| Hostile::start(&room, seed));
    let (start, lasts, done) = (Instant::now(), duration(), AtomicBool::new(false));
    let exchanged = thread::scope(|s| {
        let _end = AtEnd(&done);
        let frames = s.spawn(|| honest.exchange_until(&done));
        while start.elapsed() < lasts {
            root.acts();
            hostile.iter_mut().for_each(Hostile::assert_alive);
            assert!(!frames.is_finished(), "the honest ports stopped");
        }
        done.store(true, Relaxed);
        frames.join().unwrap()
    });
    let acts = hostile.map(Hostile::end);
    honest.assert_lossless();
    canaries.assert_untouched();
    root.finds_all_closed();
    drop(honest);
    root.removes_all();
    eprintln!("{exchanged} frames exchanged, root acted {} times in {:?}", root.count(), start.elapsed());
    acts.iter().for_each(|said| eprintln!("hostile: {said}"));
    assert!(exchanged > 1000 && root.count() > 20);
}
