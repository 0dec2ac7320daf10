//! A ring as programs see it: its header and slots.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use ringway_abi::layout::{RING_HEADER, SLOT_SIZE, ring as at};
use ringway_abi::{Layout, Slot, cursor};
use ringway_sys::mmap::Mmap;
use ringway_sys::time;

/// Flags of a ring, which the program writes.
pub(crate) const FLAGS: usize = 32;

/// Words of a header that are read and written here.
const HEADER_WORDS: usize = 16;

const _: () = assert!(SLOT_SIZE == 16 && FLAGS < 4 * HEADER_WORDS && 4 * HEADER_WORDS <= RING_HEADER);

/// A ring as programs see it: its header and slots, found inside the region once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RingWords<'a> {
    mem: &'a Mmap,
    at: usize,
    header: &'a [AtomicU32; HEADER_WORDS],
    places: &'a [[AtomicU64; 2]],
    pub(crate) slots: u32,
    /// Buffers of the region, and bytes of each.
    bufs: (u32, u32),
}

/// A slot in shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a>(&'a [AtomicU64; 2]);

impl<'a> Place<'a> {
    #[inline]
    pub(crate) fn slot(self) -> Slot {
        Slot::from_word(self.0[0].load(Relaxed))
    }

    #[inline]
    pub(crate) fn set_slot(self, slot: Slot) {
        self.0[0].store(slot.word(), Release);
    }

    #[inline]
    pub(crate) fn ptr(self) -> &'a AtomicU64 {
        &self.0[1]
    }
}

impl<'a> RingWords<'a> {
    /// The words of a ring with so many slots.
    #[inline]
    pub(crate) fn new(mem: &'a Mmap, layout: &'a Layout, number: u32, slots: u32) -> Self {
        let at = layout.ring(number);
        let places = mem.u64_pairs(at + RING_HEADER, slots as usize);
        Self { mem, at, header: mem.u32s(at), places, slots, bufs: (layout.bufs, layout.buf_size) }
    }

    #[inline]
    fn word(&self, at: usize) -> &'a AtomicU32 {
        &self.header[at / 4]
    }

    #[inline]
    pub(crate) fn head(&self) -> u32 {
        self.word(at::HEAD).load(Acquire)
    }

    #[inline]
    pub(crate) fn cur(&self) -> u32 {
        self.word(at::CUR).load(Relaxed)
    }

    #[inline]
    pub(crate) fn tail(&self) -> u32 {
        self.word(at::TAIL).load(Relaxed)
    }

    #[inline]
    pub(crate) fn flags(&self) -> u32 {
        self.word(FLAGS).load(Relaxed)
    }

    #[inline]
    pub(crate) fn set_tail(&self, tail: u32) {
        self.word(at::TAIL).store(tail, Release);
    }

    pub(crate) fn set_cursors(&self, head: u32, tail: u32) {
        self.set_tail(tail);
        self.word(at::CUR).store(head, Relaxed);
        self.word(at::HEAD).store(head, Release);
    }

    /// Writes the time of a sync.
    #[inline]
    pub(crate) fn stamp(&self) {
        let (s, ns) = time::wall();
        self.mem.u64(self.at + at::TS).store(s as u64, Relaxed);
        self.mem.u64(self.at + at::TS + 8).store(ns as u64 / 1000, Relaxed);
    }

    #[inline]
    pub(crate) fn place(&self, i: u32) -> Place<'a> {
        Place(&self.places[i as usize])
    }

    #[inline]
    pub(crate) fn slot(&self, i: u32) -> Slot {
        self.place(i).slot()
    }

    #[inline]
    pub(crate) fn set_slot(&self, i: u32, slot: Slot) {
        self.place(i).set_slot(slot);
    }

    #[inline]
    pub(crate) fn ptr(&self, i: u32) -> &'a AtomicU64 {
        self.place(i).ptr()
    }

    #[inline]
    pub(crate) fn valid(&self, slot: Slot) -> bool {
        slot.valid(self.bufs.0, self.bufs.1)
    }

    #[inline]
    pub(crate) fn next(&self, i: u32) -> u32 {
        cursor::next(i, self.slots)
    }

    #[inline]
    pub(crate) fn dist(&self, from: u32, to: u32) -> u32 {
        cursor::dist(from, to, self.slots)
    }

    /// The program's head, if head and cur are where they may be after `[first, tail)` was handed out.
    #[inline]
    pub(crate) fn advance(&self, (first, tail): (u32, u32)) -> Option<u32> {
        let head = self.head();
        cursor::checked_advance(first, tail, head, self.cur(), self.slots).map(|_| head)
    }

    /// Puts a ring right whose cursors made no sense: the program begins again where the last sync left it. A slot with an index
    /// that is no buffer's gets none. A slot that is too long is empty.
    pub(crate) fn reset(&self, (first, tail): (u32, u32)) {
        self.set_cursors(first, tail);
        for i in 0..self.slots {
            let slot = self.slot(i);
            if !self.valid(Slot { len: 0, ..slot }) {
                self.set_slot(i, Slot { buf: 0, len: 0, ..slot });
            } else if !self.valid(slot) {
                self.set_slot(i, Slot { len: 0, ..slot });
            }
        }
    }
}
