//! The lookup form of one step: how leaves, nodes and buckets look in memory.
//!
//! A **leaf** is a next hop, or with the topmost bit a **handle**: where to go on.
//!
//! | bits of a handle | 31 | 30 | 29-28 | 27-23 | 22-0 |
//! | --- | --- | --- | --- | --- | --- |
//! | node | 1 | 0 | number of the node, bits 29-0 | | |
//! | bucket | 1 | 1 | width of leaves | keys less 1 | first word |
//!
//! Leaves that follow each other and are equal are a **run**, and stored once. They have 8 bits (width 0) while all next hops are
//! below 256, 16 bits (width 1) while there is no handle among them, else 32 bits (width 2), and start on a 32-bit word.
//!
//! A **node** decides 8 bits: 256 slots. It has five 64-bit words, a head and four that tell by a bit for each slot whether a run
//! starts there; the first slot's bit is clear. The run of a slot is the number of bits up to and with its own.
//!
//! | bits of the head | 1-0 | 31-2 | 39-32 | 47-40 | 55-48 | 63-56 |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | | width | first word of the leaves | 0 | bits in word 1 | in 1 and 2 | in 1 to 3 |
//!
//! A **bucket** decides 16 bits where there are few runs: the values at which its second and later runs start, 1 to 32 numbers of 16
//! bits in ascending order, two in a word, then the leaves from the next full word on.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::SLOTS;
use super::memory::NODE;

/// The bit that tells a handle from a next hop.
pub(super) const HANDLE: u32 = 1 << 31;

/// The bit that tells a bucket from a node.
pub(super) const BUCKET: u32 = 1 << 30;

/// Keys in a bucket at most.
pub(super) const KEYS: usize = 32;

/// Words that handles of buckets can name.
pub(super) const BUCKET_WORDS: u32 = 1 << 23;

/// Runs of equal leaves: values, and in what form they are stored.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    values: [u32; SLOTS],
    pub(super) len: usize,
    pub(super) width: u32,
}

impl Runs {
    pub(super) fn new() -> Self {
        Self { values: [0; SLOTS], len: 0, width: 0 }
    }

    pub(super) fn clear(&mut self) {
        (self.len, self.width) = (0, 0);
    }

    pub(super) fn push(&mut self, value: u32) {
        self.values[self.len] = value;
        self.len += 1;
        self.width = self.width.max(if value < 1 << 8 { 0 } else { u32::from(value >= 1 << 16) + 1 });
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.values[..self.len].last().copied()
    }

    /// Words that the leaves take.
    pub(super) fn words(&self) -> usize {
        (self.len << self.width).div_ceil(4)
    }

    /// The leaves as words.
    pub(super) fn packed(&self) -> impl Iterator<Item = u32> {
        let (width, per_word) = (self.width, 4 >> self.width);
        self.values[..self.len].chunks(per_word).map(move |chunk| {
            let place = |word, (k, &v): (usize, &u32)| word | v << ((k << width) * 8);
            chunk.iter().enumerate().fold(0, place)
        })
    }
}

/// The bits of a node and its runs.
pub(super) fn node_runs(slots: &[u32; SLOTS], runs: &mut Runs) -> [u64; 4] {
    let mut starts = [0; 4];
    let mut before = [0; SLOTS];
    before[0] = slots[0];
    before[1..].copy_from_slice(&slots[..SLOTS - 1]);
    for (word, (own, before)) in starts.iter_mut().zip(slots.chunks(64).zip(before.chunks(64))) {
        let differ = own.iter().zip(before).enumerate();
        *word = differ.fold(0, |bits, (k, (a, b))| bits | u64::from(a != b) << k);
    }
    runs.clear();
    runs.push(slots[0]);
    for (k, &word) in starts.iter().enumerate() {
        let mut bits = word;
        while bits != 0 {
            runs.push(slots[64 * k + bits.trailing_zeros() as usize]);
            bits &= bits - 1;
        }
    }
    starts
}

/// The head of a node.
pub(super) fn node_head(first_word: u32, width: u32, starts: &[u64; 4]) -> u64 {
    let ones = starts.map(|w| u64::from(w.count_ones()));
    let below = ones[0] << 8 | (ones[0] + ones[1]) << 16 | (ones[0] + ones[1] + ones[2]) << 24;
    below << 32 | u64::from(first_word) << 2 | u64::from(width)
}

/// Width and first word of a node's leaves.
pub(super) fn node_leaves(head: u64) -> (u32, u32) {
    ((head & 3) as u32, (head as u32) >> 2)
}

/// The handle of a bucket.
pub(super) fn bucket_handle(first_word: u32, keys: usize, width: u32) -> u32 {
    HANDLE | BUCKET | width << 28 | (keys as u32 - 1) << 23 | first_word
}

/// Width of leaves, number of keys and first word of a bucket.
#[inline]
pub(super) fn bucket_parts(handle: u32) -> (u32, usize, usize) {
    (handle >> 28 & 3, (handle >> 23 & 31) as usize + 1, (handle & (BUCKET_WORDS - 1)) as usize)
}

/// The leaf of a slot of node `number`.
#[inline]
pub(super) fn node_leaf(nodes: &[AtomicU64], words: &[AtomicU32], number: u32, slot: u8) -> u32 {
    let at = number as usize * NODE;
    let node = &nodes[at..at + NODE];
    let head = node[0].load(Relaxed);
    let quarter = usize::from(slot >> 6);
    let up_to = node[1 + quarter].load(Relaxed) << (!slot & 63);
    let below = (head >> (32 + 8 * quarter)) as u8;
    let run = u32::from(below) + up_to.count_ones();
    leaf(words, (head as u32 >> 2) as usize, run, head as u32 & 3)
}

/// The leaf of a bucket for the 16 bits `value`.
#[inline]
pub(super) fn bucket_leaf(words: &[AtomicU32], handle: u32, value: u16) -> u32 {
    let (width, keys, first) = bucket_parts(handle);
    let key = |k: usize| (words[first + k / 2].load(Relaxed) >> (16 * (k & 1))) as u16;
    let (mut run, mut rest) = (0, keys);
    while rest > 0 {
        let half = rest.div_ceil(2);
        run += if key(run + half - 1) <= value { half } else { 0 };
        rest -= half;
    }
    leaf(words, first + keys.div_ceil(2), run as u32, width)
}

/// Leaf `run` of those from word `first` on.
#[inline]
fn leaf(words: &[AtomicU32], first: usize, run: u32, width: u32) -> u32 {
    let byte = run << width;
    let word = words[first + (byte >> 2) as usize].load(Relaxed);
    (word >> (8 * (byte & 3))) & MASKS[width as usize & 3]
}

/// The bits of a leaf by width.
pub(super) const MASKS: [u32; 4] = [0xff, 0xffff, u32::MAX, 0];
