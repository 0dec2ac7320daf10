//! The 64-bit words of a ring, and the atomics that hold them: the machine's, or loom's in tests.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// Bits of a block's number.
const INDEX_BITS: u32 = 24;
/// A flag behind the number and seven bits of length.
const FULL: u64 = 1 << 31;

/// More blocks a ring can't name. The number itself stands for "no block".
pub(super) const NO_BLOCK: u32 = (1 << INDEX_BITS) - 1;
/// Most tokens in a block.
pub const MOST_TOKENS: usize = 64;

/// A block as a ring hands it over: its number, and how many tokens are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) block: u32,
    pub(super) tokens: u32,
}

/// What a slot holds: a block with tokens, or an empty one, and in which round over the ring it was put there.
///
/// A round has 32 bits. A thread that sleeps between its look at a slot and its exchange would have to sleep while
/// the others go round 2^32 times for a word to look unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) round: u32,
    pub(super) full: bool,
    pub(super) held: Held,
}

impl Word {
    #[inline]
    pub(super) fn of(bits: u64) -> Self {
        let block = bits as u32 & NO_BLOCK;
        let tokens = (bits >> INDEX_BITS) as u32 & 0x7f;
        Self { round: (bits >> 32) as u32, full: bits & FULL != 0, held: Held { block, tokens } }
    }

    /// Whether the slot was last changed in a round before this one.
    #[inline]
    pub(super) fn is_behind(self, round: u32) -> bool {
        (self.round.wrapping_sub(round) as i32) < 0
    }

    #[inline]
    pub(super) fn bits(self) -> u64 {
        let full = if self.full { FULL } else { 0 };
        u64::from(self.round) << 32
            | full
            | u64::from(self.held.tokens) << INDEX_BITS
            | u64::from(self.held.block)
    }
}

/// An atomic word, generic so that loom checks the very code that runs.
pub(super) trait Atom {
    fn holding(v: u64) -> Self;
    fn look(&self) -> u64;
    /// Replaces `old` by `new`; false when something else is there.
    fn exchange(&self, old: u64, new: u64) -> bool;
}

macro_rules! atom {
    ($atomic:ty) => {
        impl Atom for $atomic {
            fn holding(v: u64) -> Self {
                Self::new(v)
            }
            #[inline]
            fn look(&self) -> u64 {
                self.load(Acquire)
            }
            #[inline]
            fn exchange(&self, old: u64, new: u64) -> bool {
                self.compare_exchange(old, new, AcqRel, Acquire).is_ok()
            }
        }
    };
}
#[cfg(test)]
pub(super) use atom;
atom!(AtomicU64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_its_parts() {
        for (round, full, block, tokens) in
            [(0, false, 0, 0), (7, true, NO_BLOCK, 64), (u32::MAX, true, 5, 127)]
        {
            let word = Word { round, full, held: Held { block, tokens } };
            assert_eq!(Word::of(word.bits()), word);
        }
    }
}
