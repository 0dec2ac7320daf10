//! The record of a ring.
//!
//! ```text
//!  0 lock   8 first  12 tail  16 generation  20 produced  24 peer+1  28 slots  32 journal  36 turn
//! 40 wish of a reader  44 wish of a writer  48 frames missed  64 monitors: region id and ring, 8 of them
//! ```

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use ringway_sys::mmap::Mmap;

use super::lock::Held;

/// Bytes of a record: two lines.
pub(super) const SIZE: usize = 128;

/// Monitors of a ring at most.
pub(crate) const MONITORS: usize = 8;

const LOCK: usize = 0;
const FIRST: usize = 8;
const TAIL: usize = 12;
const GENERATION: usize = 16;
const PRODUCED: usize = 20;
const PEER: usize = 24;
const SLOTS: usize = 28;
const JOURNAL: usize = 32;
const TURN: usize = 36;
const READER_WISH: usize = 40;
const WRITER_WISH: usize = 44;
const MISSED: usize = 48;
const MONITORED: usize = 64;

/// The record of a ring. Its words change under its lock only, but for wishes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RingRecord<'a> {
    words: &'a [AtomicU32; SIZE / 4],
    lock: &'a AtomicU64,
}

impl<'a> RingRecord<'a> {
    #[inline]
    pub(super) fn new(mem: &'a Mmap, at: usize) -> Self {
        Self { words: mem.u32s(at), lock: mem.u64(at + LOCK) }
    }

    #[inline]
    fn word(&self, at: usize) -> &'a AtomicU32 {
        &self.words[at / 4]
    }

    /// Takes the ring's lock; `None` when the calling thread has it.
    #[inline]
    pub(crate) fn lock(&self) -> Option<Held<'a>> {
        Held::take(self.lock)
    }

    /// Where the lock lies.
    pub(crate) fn lock_address(&self) -> usize {
        std::ptr::from_ref(self.lock).addr()
    }

    /// A ring as its port begins with it: the program has slots from `first` up to and without `tail`.
    pub(crate) fn begin(&self, slots: u32, (first, tail): (u32, u32), peer: Option<u32>) {
        self.set_range(first, tail);
        self.word(PRODUCED).store(tail, Relaxed);
        self.word(PEER).store(peer.map_or(0, |p| p + 1), Relaxed);
        self.word(SLOTS).store(slots, Relaxed);
        for at in [MISSED, JOURNAL, TURN, READER_WISH, WRITER_WISH] {
            self.word(at).store(0, Relaxed);
        }
        for k in 0..MONITORS {
            self.word(MONITORED + 4 * k).store(0, Relaxed);
        }
        self.word(GENERATION).store(1, Release);
    }

    /// The first slot that the program had at the last sync, and the first that it had not.
    #[inline]
    pub(crate) fn range(&self) -> (u32, u32) {
        (self.word(FIRST).load(Relaxed), self.word(TAIL).load(Relaxed))
    }

    #[inline]
    pub(crate) fn set_range(&self, first: u32, tail: u32) {
        self.word(FIRST).store(first, Relaxed);
        self.word(TAIL).store(tail, Relaxed);
    }

    /// How often the ring was synced: a process that finds another number than it left reads the range again.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.word(GENERATION).load(Relaxed)
    }

    /// Counts a sync; returns the number.
    #[inline]
    pub(crate) fn count_sync(&self) -> u32 {
        let next = self.generation().wrapping_add(1);
        self.word(GENERATION).store(next, Relaxed);
        next
    }

    /// For a ring that other rings fill: where the next frame goes. A reader looks at it without the lock.
    #[inline]
    pub(crate) fn produced(&self) -> u32 {
        self.word(PRODUCED).load(Acquire)
    }

    #[inline]
    pub(crate) fn set_produced(&self, at: u32) {
        self.word(PRODUCED).store(at, Release);
    }

    /// The other ring of a pipe; the first of the rings that a ring gathers from.
    pub(crate) fn peer(&self) -> Option<u32> {
        self.word(PEER).load(Relaxed).checked_sub(1)
    }

    #[inline]
    pub(crate) fn slots(&self) -> u32 {
        self.word(SLOTS).load(Relaxed)
    }

    /// The buffer that an exchange is about to move, so that a kill between its two stores loses none.
    #[inline]
    pub(crate) fn journal(&self) -> &'a AtomicU32 {
        self.word(JOURNAL)
    }

    /// Which of the rings that this one gathers from has its turn.
    #[inline]
    pub(crate) fn turn(&self) -> &'a AtomicU32 {
        self.word(TURN)
    }

    /// Set by a reader that sleeps.
    #[inline]
    pub(crate) fn reader_wish(&self) -> &'a AtomicU32 {
        self.word(READER_WISH)
    }

    /// Set by a writer that sleeps until slots of this ring are free.
    #[inline]
    pub(crate) fn writer_wish(&self) -> &'a AtomicU32 {
        self.word(WRITER_WISH)
    }

    /// Counts frames that a monitor's ring had no room for, or that nobody could lock it for.
    #[inline]
    pub(crate) fn miss(&self, frames: u32) {
        if frames > 0 {
            self.word(MISSED).fetch_add(frames, Relaxed);
        }
    }

    /// How many there were since the last call.
    #[inline]
    pub(crate) fn take_missed(&self) -> u32 {
        if self.word(MISSED).load(Relaxed) == 0 { 0 } else { self.word(MISSED).swap(0, Relaxed) }
    }

    /// The rings of monitors, each as a region's id in the upper half and a ring in the lower one.
    #[inline]
    pub(crate) fn monitors(&self) -> impl Iterator<Item = u32> + 'a {
        let words = self.words;
        (0..MONITORS).map(move |k| words[MONITORED / 4 + k].load(Acquire)).filter(|m| *m != 0)
    }

    /// Whether there is a monitor.
    #[inline]
    pub(crate) fn is_monitored(&self) -> bool {
        self.word(MONITORED).load(Relaxed) != 0
    }

    /// Adds a monitor; false when there are [`MONITORS`].
    pub(crate) fn add_monitor(&self, monitor: u32) -> bool {
        let free = (0..MONITORS).find(|k| self.word(MONITORED + 4 * k).load(Relaxed) == 0);
        free.map(|k| self.word(MONITORED + 4 * k).store(monitor, Release)).is_some()
    }

    /// Removes a monitor, and closes the gap.
    pub(crate) fn remove_monitor(&self, monitor: u32) {
        let mut rest: Vec<u32> = self.monitors().filter(|m| *m != monitor).collect();
        rest.resize(MONITORS, 0);
        for (k, m) in rest.into_iter().enumerate() {
            self.word(MONITORED + 4 * k).store(m, Release);
        }
    }
}
