//! The lookup form of one step: how leaves, nodes and buckets look in memory.
//!
//! A **leaf** is a next hop, or with the topmost bit a **handle**: where to go on.
//!
//! | bits of a handle | 31 | 30-26 | 25-3 | 2 | 1-0 |
//! | --- | --- | --- | --- | --- | --- |
//! | node | 1 | first unit, bits 30-3 | | 0 | width of leaves |
//! | bucket | 1 | keys less 1 | first unit | 1 | width of leaves |
//!
//! A **unit** is two words of 32 bits, on 8 bytes. So the handle of a node whose leaves have 8 bits, as most have that lookups end
//! at, is the byte where the node starts, without a further step.
//!
//! Leaves that follow each other and are equal are a **run**, and stored once. They start on a word. They have 8 bits
//! (width 0) while all next hops are below 256, and 16 bits (width 1) while there is no handle among them. Else they have 32 bits (width 2).
//!
//! A **node** decides 8 bits: 256 slots, in four quarters.
//!
//! | bytes | |
//! | --- | --- |
//! | 0-31 | a bit for each slot, which tells whether a run starts there; the first slot's is clear |
//! | 32-35 | for each quarter how many bits are set in those before it |
//! | from 36 on | the leaves |
//!
//! The run of a slot is the number of bits up to and with its own. So all that a lookup needs of a node is found by the handle but the
//! leaf, which is in the same cache line or the next ones.
//!
//! A **bucket** decides 16 bits where there are few runs. It has keys, then leaves from the next full word on. Keys are the values at which
//! its second and later runs start: 1 to 32 numbers of 16 bits in ascending order, two in a word.

use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed},
};

use super::SLOTS;
use super::memory::Forms;

/// The bit that tells a handle from a next hop.
pub(super) const HANDLE: u32 = 1 << 31;

/// The bit that tells a bucket from a node.
pub(super) const BUCKET: u32 = 1 << 2;

/// Keys in a bucket at most.
pub(super) const KEYS: usize = 32;

/// Units that handles of nodes and of buckets can name.
pub(super) const NODE_UNITS: u32 = 1 << 28;
pub(super) const BUCKET_UNITS: u32 = 1 << 23;

/// Words of a unit.
pub(super) const UNIT: usize = 2;

/// Words of a node before its leaves.
pub(super) const HEAD: usize = 9;

/// The bits of a node's handle that are the byte where the node starts.
pub(super) const NODE_BYTE: u32 = (NODE_UNITS - 1) << 3;

/// The bits of a handle that tell the width of leaves.
pub(super) const WIDTH: u32 = 3;

/// Runs of equal leaves: values, and in what form they are stored.
#[derive(Debug, Default)]
pub(super) struct Runs {
    values: Vec<u32>,
    pub(super) width: u32,
}

impl Runs {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.width = 0;
    }

    pub(super) fn push(&mut self, value: u32) {
        self.values.push(value);
        self.width = self.width.max(if value < 1 << 8 { 0 } else { u32::from(value >= 1 << 16) + 1 });
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.values.last().copied()
    }

    /// The value, if there is just one.
    pub(super) fn only(&self) -> Option<u32> {
        if let [value] = self.values[..] { Some(value) } else { None }
    }

    /// The runs of a node's slots, which start at these.
    pub(super) fn set(&mut self, slots: &[u32; SLOTS], starts: &[u64; 4]) {
        self.clear();
        self.push(slots[0]);
        ones(*starts).for_each(|at| self.push(slots[at]));
    }

    /// The runs of `runs`, split where more keys are stored. They start at `keys`, but for the first one. False: not all keys are stored.
    pub(super) fn split(&mut self, runs: &Self, keys: &[u16], stored: impl Iterator<Item = u16>) -> bool {
        self.clear();
        self.push(runs.values[0]);
        let mut found = 0;
        for key in stored {
            found += usize::from(keys.get(found) == Some(&key));
            self.push(runs.values[found]);
        }
        found == keys.len()
    }

    /// Whether `count` stored leaves of a width can be these, and waste little: a route that goes and comes back then costs but
    /// a store.
    pub(super) fn fit(&self, count: usize, width: u32) -> bool {
        let (wanted, stored) = (self.words(), leaf_words(count, width));
        width >= self.width && stored <= wanted + wanted / 4 + 2
    }

    /// Words that the leaves take.
    pub(super) fn words(&self) -> usize {
        leaf_words(self.values.len(), self.width)
    }

    /// The leaves as words.
    pub(super) fn packed(&self) -> impl Iterator<Item = u32> {
        let (width, per_word) = (self.width, 4 >> self.width);
        self.values.chunks(per_word).map(move |chunk| {
            let place = |word, (k, &v): (usize, &u32)| word | v << ((k << width) * 8);
            chunk.iter().enumerate().fold(0, place)
        })
    }
}

/// Words that leaves of a width take.
pub(super) fn leaf_words(count: usize, width: u32) -> usize {
    (count << width).div_ceil(4)
}

/// The slots at which a run starts, but for the first one, as bits.
pub(super) fn run_starts(slots: &[u32; SLOTS]) -> [u64; 4] {
    let mut differ = [0; SLOTS];
    for (out, pair) in differ[1..].iter_mut().zip(slots.windows(2)) {
        *out = u8::from(pair[0] != pair[1]);
    }
    let mut starts = [0; 4];
    for (k, eight) in differ.as_chunks::<8>().0.iter().enumerate() {
        // The product gathers the lowest bit of each byte in the topmost byte.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        starts[k / 8] |= bits << (8 * (k % 8));
    }
    starts
}

/// The places of ones, in ascending order.
pub(super) fn ones(bits: [u64; 4]) -> impl Iterator<Item = usize> {
    (0..).step_by(64).zip(bits).flat_map(|(first, word)| {
        let rest = std::iter::successors(Some(word), |w| Some(w & w.wrapping_sub(1)));
        rest.take_while(|w| *w != 0).map(move |w| first + w.trailing_zeros() as usize)
    })
}

/// The words of a node before its leaves.
pub(super) fn node_head(starts: [u64; 4]) -> impl Iterator<Item = u32> {
    let ones = starts.map(u64::count_ones);
    let before = ones[0] << 8 | (ones[0] + ones[1]) << 16 | (ones[0] + ones[1] + ones[2]) << 24;
    starts.into_iter().flat_map(|bits| [bits as u32, (bits >> 32) as u32]).chain([before])
}

/// The slots of a node at which runs start but for the first one, as bits.
pub(super) fn node_starts(words: &[AtomicU32], first: usize) -> [u64; 4] {
    let word = |k: usize| u64::from(words[first + k].load(Relaxed));
    std::array::from_fn(|quarter| word(2 * quarter) | word(2 * quarter + 1) << 32)
}

/// Whether a leaf is the handle of a node.
#[inline(always)]
pub(super) fn is_node(leaf: u32) -> bool {
    leaf & (HANDLE | BUCKET) == HANDLE
}

/// Whether a leaf is the handle of a bucket.
#[inline(always)]
pub(super) fn is_bucket(leaf: u32) -> bool {
    leaf & (HANDLE | BUCKET) == HANDLE | BUCKET
}

/// The handle of a node.
pub(super) fn node_handle(unit: u32, width: u32) -> u32 {
    HANDLE | unit << 3 | width
}

/// Width of leaves and first word of a node.
#[inline(always)]
pub(super) fn node_parts(handle: u32) -> (u32, usize) {
    (handle & WIDTH, (handle & NODE_BYTE) as usize / 4)
}

/// Words that a node or bucket takes, by its handle.
pub(super) fn form_words(words: &[AtomicU32], handle: u32) -> usize {
    if is_bucket(handle) {
        let (width, keys, _) = bucket_parts(handle);
        return keys.div_ceil(2) + leaf_words(keys + 1, width);
    }
    let (width, first) = node_parts(handle);
    let runs = 1 + node_starts(words, first).iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
    HEAD + leaf_words(runs, width)
}

/// The handle of a bucket.
pub(super) fn bucket_handle(unit: u32, keys: usize, width: u32) -> u32 {
    HANDLE | (keys as u32 - 1) << 26 | unit << 3 | BUCKET | width
}

/// Width of leaves, number of keys and first word of a bucket.
#[inline]
pub(super) fn bucket_parts(handle: u32) -> (u32, usize, usize) {
    let unit = handle >> 3 & (BUCKET_UNITS - 1);
    (handle & WIDTH, (handle >> 26 & 31) as usize + 1, unit as usize * UNIT)
}

/// Where the leaf of a slot of a node is, as a byte of the words, and its width.
#[inline(always)] // into functions for processors that count ones by an instruction
pub(super) fn locate(forms: Forms<'_>, handle: u32, slot: u8) -> (u32, u32) {
    let (width, first) = node_parts(handle);
    let node = &forms.words[first..first + HEAD];
    let quarter = usize::from(slot >> 6);
    let [low, high] = [0, 1].map(|k| u64::from(node[2 * quarter + k].load(Relaxed)));
    let up_to = (low | high << 32) << (!slot & 63);
    let run = u32::from((node[HEAD - 1].load(Relaxed) >> (8 * quarter)) as u8) + up_to.count_ones();
    ((4 * (first + HEAD)) as u32 + (run << width), width)
}

/// The leaf that begins with a byte of the words.
#[inline(always)]
pub(super) fn load(words: &[AtomicU32], byte: u32, width: u32) -> u32 {
    // Acquire: the leaf may be the handle of a node that was written just before.
    let word = words[(byte >> 2) as usize].load(Acquire);
    (word >> (8 * (byte & 3))) & ((1u64 << (8 << width)) - 1) as u32
}

/// How many of the `count` keys from word `first` on are not above `value`.
#[inline(always)]
pub(super) fn keys_up_to(forms: Forms<'_>, first: usize, count: usize, value: u16) -> u32 {
    let key = |k: usize| (forms.words[first + k / 2].load(Relaxed) >> (16 * (k & 1))) as u16;
    let (mut run, mut rest) = (0, count);
    while rest > 0 {
        let half = rest.div_ceil(2);
        run += if key(run + half - 1) <= value { half } else { 0 };
        rest -= half;
    }
    run as u32
}

/// The bits of a leaf by width.
#[cfg(target_arch = "x86_64")]
pub(super) const MASKS: [u32; 4] = [0xff, 0xffff, u32::MAX, 0];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is stored for 256 slots is found again, in each width.
        #[test]
        fn nodes_give_back_what_they_were_made_of(
            lengths in prop::collection::vec((1..60usize, any::<u32>()), 1..256),
            bits in 1..32u32,
        ) {
            let mut slots = [0; SLOTS];
            let values = lengths.into_iter().flat_map(|(n, v)| std::iter::repeat_n(v >> (32 - bits), n));
            slots.iter_mut().zip(values.chain(std::iter::repeat(1))).for_each(|(slot, v)| *slot = v);
            let starts = run_starts(&slots);
            let mut runs = Runs::default();
            runs.push(slots[0]);
            ones(starts).for_each(|at| runs.push(slots[at]));
            let packed = [0; 6].into_iter().chain(node_head(starts)).chain(runs.packed());
            let words: Vec<AtomicU32> = packed.map(AtomicU32::new).collect();
            let handle = node_handle(3, runs.width);
            prop_assert_eq!(words.len(), 6 + form_words(&words, handle));
            prop_assert_eq!(node_starts(&words, 6), starts);
            let leaf = |slot| {
                let (at, width) = locate(Forms { words: &words }, handle, slot);
                load(&words, at, width)
            };
            for slot in 0..=255 {
                prop_assert_eq!(leaf(slot), slots[slot as usize]);
            }
        }

        #[test]
        fn buckets_find_the_run(
            keys in prop::collection::btree_set(1..=u16::MAX, 1..=KEYS),
            values in prop::collection::vec(any::<u16>(), 50),
        ) {
            let keys: Vec<u16> = keys.into_iter().collect();
            let mut runs = Runs::default();
            (0..=keys.len()).for_each(|k| runs.push(300 + k as u32));
            let packed = keys.chunks(2).map(|p| u32::from(p[0]) | u32::from(*p.get(1).unwrap_or(&0)) << 16);
            let words: Vec<AtomicU32> = packed.chain(runs.packed()).map(AtomicU32::new).collect();
            let handle = bucket_handle(0, keys.len(), runs.width);
            for value in values.into_iter().chain(keys.clone()) {
                let run = keys.iter().filter(|k| **k <= value).count();
                let (width, count, first) = bucket_parts(handle);
                prop_assert_eq!(keys_up_to(Forms { words: &words }, first, count, value), run as u32);
                let at = 4 * (first + count.div_ceil(2)) + (run << width);
                prop_assert_eq!(load(&words, at as u32, width), 300 + run as u32);
            }
        }
    }

    #[test]
    fn handles_keep_their_parts() {
        for (width, keys, unit) in [(0, 1, 0), (2, 32, BUCKET_UNITS - 1), (1, 17, 12345)] {
            let handle = bucket_handle(unit, keys, width);
            assert_eq!(bucket_parts(handle), (width, keys, unit as usize * UNIT));
            assert!(is_bucket(handle) && !is_node(handle));
        }
        for (width, unit) in [(0, 0), (2, NODE_UNITS - 1), (1, 12345)] {
            let handle = node_handle(unit, width);
            assert_eq!(node_parts(handle), (width, unit as usize * UNIT));
            assert!(is_node(handle) && !is_bucket(handle));
        }
    }
}
