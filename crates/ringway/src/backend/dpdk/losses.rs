//! Frames that a device lost, as it counts them itself, in the counters of the port's rings.
//!
//! | the device counts | a frame | counter |
//! | --- | --- | --- |
//! | `imissed` | for which it had no descriptor | rx `ring_full` |
//! | `rx_nombuf` | for which it had no buffer | rx `no_memory` |
//! | `ierrors` | that came with an error | rx `device_refused` |
//! | `oerrors` | that it took and could not send | tx `device_refused` |
//!
//! Some drivers count in `oerrors` also what they did not take, which waits in the ring. So no more frames count as lost than the device
//! took and did not count as sent.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, Weak};

use crate::count::{DropReason, Field, PortCounters, RingStats};
use crate::sys::dpdk::{Device, Stats};

/// Frames lost since the port was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lost {
    missed: u64,
    no_memory: u64,
    broken: u64,
    unsent: u64,
}

/// What is known, and how much of it the rings' counters have.
#[derive(Debug, Default)]
struct Book {
    known: Lost,
    told: Lost,
}

/// The losses of a port. A ring's counters have one writer, the thread that syncs it. The first rx ring takes over what was received. A
/// device does not say which queue lost a frame that it took to send: each tx ring takes over as many as it sent itself. Readers add what
/// no ring has yet.
#[derive(Debug)]
pub(super) struct Losses {
    device: Weak<Device>,
    taken: Taken,
    book: Mutex<Book>,
}

/// What the device took to send.
#[derive(Debug, Default)]
struct Taken {
    /// Frames of the device's: each segment of a super-frame is one.
    given: AtomicU64,
    /// Frames of rings.
    frames: AtomicU64,
}

impl Losses {
    pub(super) fn new(device: Weak<Device>) -> Self {
        Self { device, taken: Taken::default(), book: Mutex::default() }
    }

    /// Notes what the device took to send: so many frames, which were so many in a ring.
    #[inline]
    pub(super) fn took(&self, given: u64, frames: u64) {
        self.taken.given.fetch_add(given, Relaxed);
        self.taken.frames.fetch_add(frames, Relaxed);
    }

    /// Asks the device, and has `then` take over what is new. Of a device that is closed, what it said last stays known.
    fn with<T>(&self, then: impl FnOnce(&mut Book) -> T) -> T {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let (given, frames) = (self.taken.given.load(Relaxed), self.taken.frames.load(Relaxed));
        if let Some(Ok(stats)) = self.device.upgrade().map(|device| device.stats()) {
            book.learn(&stats, given, frames);
        }
        then(&mut book)
    }

    /// Puts losses of received frames that are new into a ring's counters.
    pub(super) fn tell_rx(&self, stats: &RingStats) {
        self.with(|book| {
            let tell = |known: u64, told: &mut u64, why| {
                let new = known.saturating_sub(std::mem::replace(told, known));
                stats.count(Field::In, new);
                stats.drop(why, new);
            };
            tell(book.known.missed, &mut book.told.missed, DropReason::RingFull);
            tell(book.known.no_memory, &mut book.told.no_memory, DropReason::NoMemory);
            tell(book.known.broken, &mut book.told.broken, DropReason::DeviceRefused);
        });
    }

    /// The same for sent frames, which counted as sent when the device took them: a ring takes over no more than it sent. Each frame has
    /// the mean length of the ring's frames, for the device does not say which ones it lost.
    pub(super) fn tell_tx(&self, stats: &RingStats) {
        let sent = stats.read();
        let new = self.with(|book| {
            let new = (book.known.unsent - book.told.unsent).min(sent.frames_out);
            book.told.unsent += new;
            new
        });
        if new > 0 {
            stats.unsend(DropReason::DeviceRefused, new, share(sent.bytes_out, new, sent.frames_out));
        }
    }

    /// Adds what no ring's counters have yet. Frames that a ring sent since `sum` was read are not in it, nor are their losses then.
    pub(super) fn add_untold(&self, sum: &mut PortCounters) {
        let (known, told) = self.with(|book| (book.known, book.told));
        let (missed, no_memory) = (known.missed - told.missed, known.no_memory - told.no_memory);
        let broken = known.broken - told.broken;
        sum.rx.frames_in = sum.rx.frames_in.wrapping_add(missed + no_memory + broken);
        sum.rx.add_drops(DropReason::RingFull, missed);
        sum.rx.add_drops(DropReason::NoMemory, no_memory);
        sum.rx.add_drops(DropReason::DeviceRefused, broken);
        let tx = &mut sum.tx;
        let unsent = (known.unsent - told.unsent).min(tx.frames_out);
        tx.bytes_out -= share(tx.bytes_out, unsent, tx.frames_out);
        tx.frames_out -= unsent;
        tx.add_drops(DropReason::DeviceRefused, unsent);
    }
}

impl Book {
    /// Numbers of a device that start again, or go back, change nothing.
    fn learn(&mut self, stats: &Stats, given: u64, frames: u64) {
        let known = &mut self.known;
        known.missed = known.missed.max(stats.missed);
        known.no_memory = known.no_memory.max(stats.out_of_memory);
        known.broken = known.broken.max(stats.broken);
        let unsent = stats.failed.min(given.saturating_sub(stats.sent));
        known.unsent = known.unsent.max(share(frames, unsent, given));
    }
}

/// The part of `all` that `n` of `of` have.
fn share(all: u64, n: u64, of: u64) -> u64 {
    if of == 0 { 0 } else { (u128::from(all) * u128::from(n) / u128::from(of)) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_that_the_device_took_are_lost_in_it() {
        let mut book = Book::default();
        // A driver that counts what it does not take; one that loses 3 of 10; 5 on their way, none lost.
        for (sent, failed, taken, unsent) in [(10, 7, 10, 0), (7, 3, 10, 3), (5, 0, 10, 0), (12, 1, 10, 0)] {
            let stats = Stats { sent, failed, ..Stats::default() };
            book.known = Lost::default();
            book.learn(&stats, taken, taken);
            assert_eq!(book.known.unsent, unsent, "{stats:?} of {taken}");
            // As segments of half as many super-frames.
            book.known = Lost::default();
            book.learn(&stats, taken, taken / 2);
            assert_eq!(book.known.unsent, unsent / 2, "{stats:?} of {taken}");
        }
    }

    #[test]
    fn numbers_that_go_back_change_nothing() {
        let mut book = Book::default();
        book.learn(&Stats { missed: 5, broken: 2, out_of_memory: 1, ..Stats::default() }, 0, 0);
        book.learn(&Stats::default(), 0, 0);
        assert_eq!(book.known, Lost { missed: 5, broken: 2, no_memory: 1, unsent: 0 });
    }

    #[test]
    fn each_loss_is_told_once() {
        let registration = crate::count::Registration::new("dpdk:test", 1, 1).unwrap();
        let (rx, tx) = (registration.rx(0), registration.tx(0));
        let losses = Losses::new(Weak::new());
        losses.took(10, 10);
        tx.sent(10, 1000);
        losses.book.lock().unwrap().known = Lost { missed: 4, no_memory: 2, broken: 1, unsent: 3 };
        let mut sum = registration.counters();
        losses.add_untold(&mut sum);
        for _ in 0..2 {
            losses.tell_rx(&rx);
            losses.tell_tx(&tx);
        }
        let mut told = registration.counters();
        losses.add_untold(&mut told);
        assert_eq!(told, sum);
        assert_eq!((told.rx.frames_in, told.rx.dropped()), (7, 7));
        assert_eq!((told.tx.frames_in, told.tx.frames_out, told.tx.bytes_out), (10, 7, 700));
        assert_eq!(told.tx.drops(DropReason::DeviceRefused), 3);
    }

    #[test]
    fn a_ring_takes_over_no_more_than_it_sent() {
        let registration = crate::count::Registration::new("dpdk:test", 2, 1).unwrap();
        let rings = [registration.tx(0), registration.tx(1)];
        let losses = Losses::new(Weak::new());
        losses.took(10, 10);
        rings[0].sent(2, 3000);
        rings[1].sent(8, 480);
        losses.book.lock().unwrap().known.unsent = 6;
        for _ in 0..2 {
            rings.iter().for_each(|ring| losses.tell_tx(ring));
        }
        let of = |ring: &RingStats| {
            let tx = ring.read();
            (tx.frames_in, tx.frames_out, tx.bytes_out, tx.drops(DropReason::DeviceRefused))
        };
        assert_eq!(rings.each_ref().map(of), [(2, 0, 0, 2), (8, 4, 240, 4)]);
        // A loss that is known before the frames are counted waits for them.
        losses.took(5, 5);
        losses.book.lock().unwrap().known.unsent = 11;
        let mut sum = registration.counters();
        losses.add_untold(&mut sum);
        assert_eq!((sum.tx.frames_in, sum.tx.frames_out, sum.tx.bytes_out), (10, 0, 0));
    }
}
