//! The scalar paths for x86-64 processors that count ones and shift by an instruction each.
//!
//! The same walk as in `scalar`, with fewer instructions: bytes are loaded where they are, indexes are not checked, and keys of
//! buckets are compared by SSE2.

use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Acquire;
use std::sync::atomic::{AtomicU8, AtomicU32};

use super::scalar::{self, Steps};
use super::scalar_v6;
use crate::form::{HANDLE, HEAD, WIDTH, bucket_parts, node_parts};
use crate::memory::Memory;

/// Bytes of a cache line.
const LINE: usize = 64;

/// The forms of a table, by address. Made only where the processor has POPCNT, BMI1 and BMI2.
#[derive(Debug, Clone, Copy)]
struct Raw<'a> {
    words: *const u8,
    /// Before the words by the bit [`HANDLE`], so that a node is so far behind as its handle says, but for the width.
    handles: *const u8,
    memory: PhantomData<&'a Memory>,
}

impl<'a> Raw<'a> {
    #[inline(always)]
    fn of(memory: &'a Memory) -> Self {
        let words = memory.words().as_ptr().cast::<u8>();
        Self { words, handles: words.wrapping_sub(HANDLE as usize), memory: PhantomData }
    }

    /// Where a node starts whose leaves have this width.
    #[inline(always)]
    fn node(self, handle: u32, width: u32) -> *const u8 {
        self.handles.wrapping_add(handle as usize).wrapping_sub(width as usize)
    }

    /// The run of a slot.
    ///
    /// # Safety
    /// `node` is where a published node of this table starts.
    #[inline(always)]
    unsafe fn run_of(self, node: *const u8, slot: u8) -> usize {
        let quarter = usize::from(slot >> 6);
        // SAFETY: a node has 8 bytes for each quarter, and starts on as many; a byte for each follows. These do not change.
        let (bits, before) =
            unsafe { (node.cast::<u64>().add(quarter).read(), node.add(32 + quarter).read()) };
        usize::from(before) + (bits << (!slot & 63)).count_ones() as usize
    }

    /// The leaf of a slot.
    ///
    /// # Safety
    /// `handle` is that of a published node of this table.
    #[inline(always)]
    unsafe fn any_leaf(self, handle: u32, slot: u8) -> u32 {
        let (width, first) = node_parts(handle);
        // SAFETY: the node's first word is among the words; the run is one of its leaves.
        unsafe {
            let run = self.run_of(self.words.add(4 * first), slot);
            self.leaf_at(4 * (first + HEAD) + (run << width), width)
        }
    }

    /// The leaf of a slot, where most leaves have this width, 0 or 2: worth a branch.
    ///
    /// # Safety
    /// As for [`any_leaf`](Self::any_leaf).
    #[inline(always)]
    unsafe fn leaf_of_width<const W: u32>(self, handle: u32, slot: u8) -> u32 {
        const { assert!(W == 0 || W == 2) };
        // SAFETY: the caller's promise; the run is one of the leaves, which have this width and start on a word.
        unsafe {
            if handle & WIDTH != W {
                rarely();
                return self.any_leaf(handle, slot);
            }
            let node = self.node(handle, W);
            let leaf = node.add(4 * HEAD + (self.run_of(node, slot) << W)).cast_mut();
            match W {
                0 => AtomicU8::from_ptr(leaf).load(Acquire).into(),
                _ => AtomicU32::from_ptr(leaf.cast()).load(Acquire),
            }
        }
    }

    /// The leaf that begins with a byte of the words.
    ///
    /// # Safety
    /// It is one of a published form.
    #[inline(always)]
    unsafe fn leaf_at(self, byte: usize, width: u32) -> u32 {
        // SAFETY: the word that holds the leaf.
        let word = unsafe { AtomicU32::from_ptr(self.words.add(byte & !3).cast_mut().cast()).load(Acquire) };
        (word >> (8 * (byte & 3))) & ((1u64 << (8 << width)) - 1) as u32
    }

    /// Asks for the cache line of a byte of the words, which need not be there.
    #[inline(always)]
    fn ask(self, byte: usize) {
        // SAFETY: every x86-64 processor has SSE; a prefetch of any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(self.words.wrapping_add(byte).cast()) };
    }

    /// How many of the `count` keys (1 to 32) from byte `first` of the words on are not above `value`.
    ///
    /// # Safety
    /// `first` is in the words; 64 bytes from there on are in them or in their tail.
    #[inline(always)]
    unsafe fn keys_up_to(self, first: usize, count: usize, value: u16) -> u32 {
        // SAFETY: the caller's promise; every x86-64 processor has SSE2.
        let bits = unsafe {
            let keys = self.words.add(first).cast::<__m128i>();
            let (value, zero) = (_mm_set1_epi16(value as i16), _mm_setzero_si128());
            let not_above = |k: usize| {
                let eight = _mm_loadu_si128(keys.add(k));
                _mm_cmpeq_epi16(_mm_subs_epu16(eight, value), zero)
            };
            let low = _mm_movemask_epi8(_mm_packs_epi16(not_above(0), not_above(1))) as u32;
            let high = _mm_movemask_epi8(_mm_packs_epi16(not_above(2), not_above(3))) as u32;
            low | high << 16
        };
        (bits & (u32::MAX >> (32 - count as u32))).count_ones()
    }
}

/// Tells the compiler which side of a branch is the rare one.
#[cold]
#[inline]
fn rarely() {}

impl Steps for Raw<'_> {
    #[inline(always)]
    fn leaf(self, handle: u32, slot: u8) -> u32 {
        // SAFETY: handles come from the root or a leaf of the table.
        unsafe { self.any_leaf(handle, slot) }
    }

    #[inline(always)]
    fn wide_leaf(self, handle: u32, slot: u8) -> u32 {
        // SAFETY: as above.
        unsafe { self.leaf_of_width::<2>(handle, slot) }
    }

    #[inline(always)]
    fn narrow_leaf(self, handle: u32, slot: u8) -> u32 {
        // SAFETY: as above.
        unsafe { self.leaf_of_width::<0>(handle, slot) }
    }

    #[inline(always)]
    fn bucket(self, handle: u32, value: u16) -> u32 {
        let (width, keys, first) = bucket_parts(handle);
        // SAFETY: as above; leaves of a bucket follow its keys.
        unsafe {
            let run = self.keys_up_to(4 * first, keys, value);
            let leaves = 4 * (first + keys.div_ceil(2));
            if width == 0 {
                let leaf = self.words.add(leaves + run as usize).cast_mut();
                return AtomicU8::from_ptr(leaf).load(Acquire).into();
            }
            rarely();
            self.leaf_at(leaves + (run << width) as usize, width)
        }
    }

    #[inline(always)]
    fn expect_top(self, handle: u32) {
        // SAFETY: every x86-64 processor has SSE; a prefetch of any address is allowed. Nodes start on 8 bytes: the width does not matter.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(self.node(handle, 0).wrapping_add(24).cast()) };
    }

    #[inline(always)]
    fn expect_node(self, handle: u32) {
        let (_, first) = node_parts(handle);
        self.ask(4 * first);
        self.ask(4 * (first + HEAD));
    }

    #[inline(always)]
    fn expect_bucket(self, handle: u32) {
        let (_, keys, first) = bucket_parts(handle);
        self.ask(4 * first);
        self.ask(4 * first + 2 * keys);
    }

    #[inline(always)]
    fn below4(self, top: u32, addr: u32) -> u16 {
        // SAFETY: nodes that the root and leaves name are published.
        unsafe {
            let leaf = self.leaf_of_width::<0>(top, (addr >> 8) as u8);
            (if leaf & HANDLE == 0 { leaf } else { self.leaf_of_width::<0>(leaf, addr as u8) }) as u16
        }
    }
}

/// # Safety
/// The processor has POPCNT, BMI1 and BMI2.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
pub(super) unsafe fn one4(memory: &Memory, addr: u32) -> u16 {
    let (steps, top) = (Raw::of(memory), memory.root()[(addr >> 16) as usize].load(Acquire));
    // The leaf of a node with many runs is in the second line or behind it, which is fetched beside the first.
    steps.ask(4 * node_parts(top).1 + LINE);
    steps.below4(top, addr)
}

/// # Safety
/// The processor has POPCNT, BMI1 and BMI2.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
pub(super) unsafe fn one6(memory: &Memory, addr: u128) -> u16 {
    Raw::of(memory).one6(memory.root(), addr)
}

/// # Safety
/// The processor has POPCNT, BMI1 and BMI2.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
pub(super) unsafe fn burst4(memory: &Memory, addrs: &[u32], next_hops: &mut [u16]) {
    scalar::burst4(Raw::of(memory), memory.root(), addrs, next_hops);
}

/// # Safety
/// The processor has POPCNT, BMI1 and BMI2.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
pub(super) unsafe fn burst6(memory: &Memory, addrs: &[u128], next_hops: &mut [u16]) {
    scalar_v6::burst6(Raw::of(memory), memory.root(), addrs, next_hops);
}
