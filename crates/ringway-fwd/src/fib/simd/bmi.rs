//! The scalar paths for x86-64 processors that count ones and shift by an instruction each.
//!
//! The same walk as in `lookup`, with fewer instructions: bytes are loaded where they are, indexes are not checked, and keys of
//! buckets are compared by SSE2.

use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use super::scalar::{self, Steps};
use super::scalar_v6;
use crate::fib::form::{HANDLE, bucket_parts};
use crate::fib::memory::{Memory, NODE};

/// The forms of a table, by address. Made only where the processor has POPCNT, BMI1 and BMI2.
#[derive(Debug, Clone, Copy)]
struct Raw<'a> {
    nodes: *const u8,
    words: *const u8,
    memory: PhantomData<&'a Memory>,
}

impl<'a> Raw<'a> {
    #[inline(always)]
    fn of(memory: &'a Memory) -> Self {
        let (nodes, words) = (memory.nodes().as_ptr().cast(), memory.words().as_ptr().cast());
        Self { nodes, words, memory: PhantomData }
    }

    /// Where the leaf of a slot is, as a byte of the words, less what the run adds for its width; the width; and the run.
    ///
    /// # Safety
    /// `number` is that of a published node of this table.
    #[inline(always)]
    unsafe fn run_of(self, number: u32, slot: u8) -> (u32, u32, u32) {
        let quarter = usize::from(slot >> 6);
        // SAFETY: a node has a head of 8 bytes, whose bytes 4 to 7 belong to its quarters, and 8 bytes for each quarter.
        let (first, below, bits) = unsafe {
            let node = self.nodes.add(number as usize * (NODE * 8));
            (
                AtomicU32::from_ptr(node.cast_mut().cast()).load(Relaxed),
                AtomicU8::from_ptr(node.add(4 + quarter).cast_mut()).load(Relaxed),
                AtomicU64::from_ptr(node.add(8 + 8 * quarter).cast_mut().cast()).load(Relaxed),
            )
        };
        (first & !3, first & 3, u32::from(below) + (bits << (!slot & 63)).count_ones())
    }

    /// The leaf of a slot.
    ///
    /// # Safety
    /// As for [`run_of`](Self::run_of).
    #[inline(always)]
    unsafe fn any_leaf(self, number: u32, slot: u8) -> u32 {
        // SAFETY: the run is one of the node's leaves, which begin at this byte of the words.
        unsafe {
            let (first, width, run) = self.run_of(number, slot);
            self.leaf_at(first + (run << width), width)
        }
    }

    /// The leaf of a slot, where most leaves have this width, 0 or 2: worth a branch.
    ///
    /// # Safety
    /// As for [`run_of`](Self::run_of).
    #[inline(always)]
    unsafe fn leaf_of_width<const WIDTH: u32>(self, number: u32, slot: u8) -> u32 {
        const { assert!(WIDTH == 0 || WIDTH == 2) };
        // SAFETY: as in `any_leaf`; leaves start on a word, so those of 32 bits are words.
        unsafe {
            let (first, width, run) = self.run_of(number, slot);
            if width != WIDTH {
                return self.leaf_at(first + (run << width), width);
            }
            match WIDTH {
                0 => self.narrow_at(first + run).into(),
                _ => {
                    let word = self.words.add((first + (run << 2)) as usize).cast_mut();
                    AtomicU32::from_ptr(word.cast()).load(Acquire)
                }
            }
        }
    }

    /// The leaf of 8 bits at a byte of the words.
    ///
    /// # Safety
    /// As for [`leaf_at`](Self::leaf_at).
    #[inline(always)]
    unsafe fn narrow_at(self, byte: u32) -> u8 {
        // SAFETY: the caller's promise.
        unsafe { AtomicU8::from_ptr(self.words.add(byte as usize).cast_mut()).load(Acquire) }
    }

    /// The leaf that begins with a byte of the words.
    ///
    /// # Safety
    /// It is one of a published form.
    #[inline(always)]
    unsafe fn leaf_at(self, byte: u32, width: u32) -> u32 {
        // SAFETY: the word that holds the leaf.
        let word = unsafe {
            AtomicU32::from_ptr(self.words.add((byte & !3) as usize).cast_mut().cast()).load(Acquire)
        };
        (word >> (8 * (byte & 3))) & ((1u64 << (8 << width)) - 1) as u32
    }

    /// Asks for a cache line, which need not be there.
    #[inline(always)]
    fn ask(base: *const u8, byte: usize) {
        // SAFETY: every x86-64 processor has SSE; a prefetch of any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add(byte).cast()) };
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

impl Steps for Raw<'_> {
    #[inline(always)]
    fn leaf(self, handle: u32, slot: u8) -> u32 {
        // SAFETY: handles come from the root or a leaf of the table.
        unsafe { self.any_leaf(handle & !HANDLE, slot) }
    }

    #[inline(always)]
    fn wide_leaf(self, handle: u32, slot: u8) -> u32 {
        // SAFETY: as above.
        unsafe { self.leaf_of_width::<2>(handle & !HANDLE, slot) }
    }

    #[inline(always)]
    fn narrow_leaf(self, handle: u32, slot: u8) -> u32 {
        // SAFETY: as above.
        unsafe { self.leaf_of_width::<0>(handle & !HANDLE, slot) }
    }

    #[inline(always)]
    fn bucket(self, handle: u32, value: u16) -> u32 {
        let (width, keys, first) = bucket_parts(handle);
        // SAFETY: as above; leaves of a bucket follow its keys.
        unsafe {
            let run = self.keys_up_to(4 * first, keys, value);
            self.leaf_at((4 * (first + keys.div_ceil(2))) as u32 + (run << width), width)
        }
    }

    #[inline(always)]
    fn expect_slot(self, number: u32, slot: u8) {
        let node = number as usize * (NODE * 8);
        Self::ask(self.nodes, node);
        Self::ask(self.nodes, node + 8 + 8 * usize::from(slot >> 6));
    }

    #[inline(always)]
    fn expect_node(self, handle: u32) {
        let node = (handle & !HANDLE) as usize * (NODE * 8);
        Self::ask(self.nodes, node);
        Self::ask(self.nodes, node + NODE * 8 - 1);
    }

    #[inline(always)]
    fn expect_bucket(self, handle: u32) {
        let (_, keys, first) = bucket_parts(handle);
        Self::ask(self.words, 4 * first);
        Self::ask(self.words, 4 * first + 2 * keys);
    }

    #[inline(always)]
    fn below4(self, top: u16, addr: u32) -> u16 {
        // SAFETY: nodes that the root and leaves name are published; leaves are where runs say.
        unsafe {
            let (first, width, run) = self.run_of(top.into(), (addr >> 8) as u8);
            if width == 0 {
                return self.narrow_at(first + run).into(); // 8 bits: no handle
            }
            let leaf = self.leaf_at(first + (run << width), width);
            (if leaf & HANDLE == 0 { leaf } else { self.leaf_of_width::<0>(leaf & !HANDLE, addr as u8) })
                as u16
        }
    }
}

/// # Safety
/// The processor has POPCNT, BMI1 and BMI2.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
pub(super) unsafe fn one4(memory: &Memory, addr: u32) -> u16 {
    Raw::of(memory).one4(memory.root16(), addr)
}

/// # Safety
/// The processor has POPCNT, BMI1 and BMI2.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
pub(super) unsafe fn one6(memory: &Memory, addr: u128) -> u16 {
    Raw::of(memory).one6(memory.root32(), addr)
}

/// # Safety
/// The processor has POPCNT, BMI1 and BMI2.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
pub(super) unsafe fn burst4(memory: &Memory, addrs: &[u32], next_hops: &mut [u16]) {
    scalar::burst4(Raw::of(memory), memory.root16(), addrs, next_hops);
}

/// # Safety
/// The processor has POPCNT, BMI1 and BMI2.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
pub(super) unsafe fn burst6(memory: &Memory, addrs: &[u128], next_hops: &mut [u16]) {
    scalar_v6::burst6(Raw::of(memory), memory.root32(), addrs, next_hops);
}
