//! How far two CPUs are from each other: the time of a cache line there and back.
//!
//! A virtual machine's CPUs may share a last-level cache at one minute and not at the next, as the host moves them. That changes the
//! rate of every case of two cores, so a suite says it.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::bed::{SENDER, receiver};
use super::statistics;

/// Turns of a game: each side moves in every other one.
const TURNS: u32 = 10_000;
/// The other side's first moves find it waking up.
const WARM_UP: u32 = 100;
const GAMES: usize = 5;
/// Longest time for a game: other work may hold a CPU.
const PATIENCE: Duration = Duration::from_millis(100);
/// Looks at the line between two looks at the clock.
const LOOKS: u32 = 64;

/// Whose turn it is, alone in its cache line and in the one that a processor fetches beside it.
#[repr(align(128))]
struct Turn(AtomicU32);

/// Nanoseconds for a cache line from the generator's CPU to the receiver's and back. `None` with one CPU, or where other work holds
/// one of the two.
pub fn apart_ns() -> Option<u64> {
    let (here, there) = (SENDER, receiver());
    if here == there {
        return None;
    }
    let games: Vec<f64> = (0..GAMES).filter_map(|_| game(here, there)).collect();
    if games.len() > GAMES / 2 { statistics::median(&games).map(|ns| ns.round() as u64) } else { None }
}

fn game(here: usize, there: usize) -> Option<f64> {
    let turn = Turn(AtomicU32::new(0));
    thread::scope(|scope| {
        let other = scope.spawn(|| play(&turn, there, 1));
        let took = scope.spawn(|| play(&turn, here, 0)).join().ok().flatten();
        other.join().ok().flatten().and(took)
    })
}

/// Moves in the turns of one side. Returns how long two turns took, in ns.
fn play(turn: &Turn, cpu: usize, first: u32) -> Option<f64> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu).ok()?;
    sched_setaffinity(Pid::from_raw(0), &cpus).ok()?;
    let begun = Instant::now();
    let mut warm = begun;
    for mine in (first..TURNS).step_by(2) {
        while turn.0.load(Ordering::Acquire) != mine {
            if begun.elapsed() > PATIENCE {
                return None;
            }
            for _ in 0..LOOKS {
                if turn.0.load(Ordering::Acquire) == mine {
                    break;
                }
                spin_loop();
            }
        }
        turn.0.store(mine + 1, Ordering::Release);
        if mine / 2 == WARM_UP / 2 {
            warm = Instant::now();
        }
    }
    Some(warm.elapsed().as_nanos() as f64 / f64::from((TURNS - WARM_UP) / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_time_between_two_cpus_and_none_goes_to_one() {
        if receiver() == SENDER {
            eprintln!("SKIP: this machine has one CPU");
            assert_eq!(apart_ns(), None);
            return;
        }
        // Other tests may hold a CPU.
        let ns = (0..50).find_map(|_| apart_ns()).expect("no game ended in 50 tries");
        assert!((5..100_000).contains(&ns), "{ns}");
        assert_eq!(game(usize::MAX, SENDER), None, "no such CPU");
    }
}
