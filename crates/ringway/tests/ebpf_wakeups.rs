//! A sleeper at an `ebpf:` port misses no frame, at whatever moment it falls asleep. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;
use std::time::{Duration, Instant};

use ringway::Waiter;

use support::{assert_balanced, assert_detached, frame, identify, new_pair, open, whole};

/// Frames, of which each is waited for alone.
const FRAMES: u64 = 2000;
/// A wake-up that was lost takes so long.
const LOST: Duration = Duration::from_secs(60);

/// Has the sender go on to its end when the reader fails.
struct Asking<'a>(&'a AtomicU64);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, Release);
    }
}

/// The reader asks for the next frame just before it falls asleep. The frame comes up to 40 us later, so that it meets the reader in each
/// step of that.
#[test]
fn each_single_frame_wakes_the_reader() {
    let Some(lab) = new_pair() else { return };
    let (mut a, mut b) = (open(&lab, "ebpf:a0"), open(&lab, "ebpf:a1"));
    let asked = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..FRAMES {
                while asked.load(Acquire) <= number {
                    thread::yield_now();
                }
                let (start, pause) = (Instant::now(), number * 7919 % 40_000);
                while start.elapsed() < Duration::from_nanos(pause) {
                    std::hint::spin_loop();
                }
                if asked.load(Acquire) == u64::MAX {
                    return;
                }
                assert!(a.tx[0].push(&frame(1, number, 60)));
                a.tx[0].sync().unwrap();
            }
        });
        let asking = Asking(&asked);
        let mut waiter = Waiter::new(Duration::ZERO).unwrap();
        for number in 0..FRAMES {
            asking.0.store(number + 1, Release);
            loop {
                // A wait may end early, without a frame.
                let start = Instant::now();
                let is_there = waiter.wait(&mut [&mut b.rx[0]], LOST).unwrap();
                assert!(is_there || start.elapsed() < LOST, "no wake-up for frame {number}");
                b.rx[0].sync().unwrap();
                let received = b.rx[0].burst(1).next().map(|f| identify(&whole(&f)).unwrap());
                if let Some(received) = received {
                    assert_eq!(received, (1, number));
                    break;
                }
            }
            b.rx[0].sync().unwrap();
        }
    });
    let c = b.counters().rx;
    assert_balanced(&c);
    assert_eq!((c.frames_out, c.dropped()), (FRAMES, 0), "{c}");
    drop((a, b));
    assert_detached(&lab);
}
