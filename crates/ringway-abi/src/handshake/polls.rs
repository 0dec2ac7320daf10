//! The kernel half of an `ebpf:` port publishes frames without a barrier, and has one at the end of each poll of the device
//! (`bpf/port/rx.h` of `ringway-bpf`). Here are its steps, for loom.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;

use super::{Word, wish};

/// One rx ring, and what each CPU has noted.
#[derive(Default)]
struct Kernel {
    tail: AtomicU32,
    wish: AtomicU32,
    /// Frames, counted before they are published.
    out: AtomicU32,
    /// The same when the last frame that woke the client was published.
    rung: AtomicU32,
    bells: AtomicU32,
    /// The CPU, plus 1, that noted the ring.
    noted: AtomicU32,
    notes: [AtomicU32; 2],
    /// A device is polled by one CPU at a time. It gives the device up before the end of the poll is seen.
    device: AtomicU32,
}

/// The note of a CPU that has the ring.
const RING: u32 = 1;

impl Kernel {
    fn wake_client(&self) -> bool {
        let sleeps = self.wish.load(Relaxed) != 0 && self.wish.swap(0, SeqCst) != 0;
        if sleeps {
            AtomicU32::full_fence();
            self.bells.fetch_add(1, Release);
        }
        sleeps
    }

    fn note_ring(&self, cpu: u32) {
        if self.noted.load(Relaxed) == cpu + 1 {
            return;
        }
        let was = self.notes[cpu as usize].compare_exchange(0, RING, SeqCst, SeqCst);
        assert!(matches!(was, Ok(0) | Err(RING)));
        self.noted.store(cpu + 1, Relaxed);
    }

    fn publish_slots(&self, cpu: u32, tail: u32) {
        self.out.store(tail, Relaxed);
        self.tail.store(tail, Release);
        self.note_ring(cpu);
        if self.wake_client() {
            self.rung.store(tail, Release);
        }
    }

    fn end_poll(&self, cpu: u32) {
        if self.notes[cpu as usize].load(Relaxed) == 0 {
            return;
        }
        self.noted.store(0, Relaxed);
        self.notes[cpu as usize].swap(0, SeqCst);
        AtomicU32::full_fence();
        if self.rung.load(Acquire) != self.out.load(Relaxed) {
            self.wake_client();
        }
    }

    /// Frames up to `tail`, then the end of the poll.
    fn poll(&self, cpu: u32, tails: std::ops::RangeInclusive<u32>) {
        tails.for_each(|tail| self.publish_slots(cpu, tail));
        self.device.store(cpu + 1, Release);
        self.end_poll(cpu);
    }
}

/// A client that missed the last frame finds its bell rung.
fn no_wake_up_is_lost(polls: fn(Arc<Kernel>) -> Vec<loom::thread::JoinHandle<()>>) {
    let mut model = loom::model::Builder::new();
    // All orders of three threads would take half a minute.
    model.preemption_bound = Some(3);
    model.check(move || {
        let kernel = Arc::new(Kernel::default());
        let polls = polls(kernel.clone());
        let seen = wish(&kernel.tail, &kernel.wish);
        polls.into_iter().for_each(|poll| poll.join().unwrap());
        assert!(seen == kernel.tail.load(Acquire) || kernel.bells.load(Acquire) == 1);
    });
}

#[test]
fn one_barrier_is_enough_for_the_frames_of_a_poll() {
    no_wake_up_is_lost(|kernel| vec![loom::thread::spawn(move || kernel.poll(0, 1..=2))]);
}

/// The next poll of a device may be another CPU's, and begin before the end of the first one is seen.
#[test]
fn a_device_may_move_to_another_cpu() {
    no_wake_up_is_lost(|kernel| {
        let other = kernel.clone();
        let first = loom::thread::spawn(move || kernel.poll(0, 1..=1));
        let second = loom::thread::spawn(move || {
            if other.device.load(Acquire) == 1 {
                other.poll(1, 2..=2);
            }
        });
        vec![first, second]
    });
}
