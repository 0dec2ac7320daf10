//! Registers of contexts, by the size that a program needs.

use std::collections::TryReserveError;

use crate::base::slab::{Record, Slab};

use super::context::NO_ID;
use super::message::Scratch;

/// Words that matchers of messages may use while they wait, behind the registers.
const SCRATCH: usize = size_of::<Scratch>() / size_of::<u64>();

const SMALL: usize = 8;
const LARGE: usize = 16 + SCRATCH;
const IS_LARGE: u32 = 1 << 31;

/// A block of `N` words.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Block<const N: usize> {
    words: [u64; N],
}

impl<const N: usize> Default for Block<N> {
    fn default() -> Self {
        Self { words: [0; N] }
    }
}

impl<const N: usize> Record for Block<N> {
    fn link(&self) -> u32 {
        self.words[0] as u32
    }

    fn set_link(&mut self, link: u32) {
        self.words[0] = link.into();
    }
}

/// Blocks of registers.
#[derive(Debug)]
pub(crate) struct Registers {
    small: Slab<Block<SMALL>>,
    large: Slab<Block<LARGE>>,
}

/// Bytes of the block of a context with so many registers, and with a parser's state if `scratch` is set.
pub(crate) const fn block_bytes(registers: u8, scratch: bool) -> usize {
    match words_of(registers, scratch) {
        0 => 0,
        1..=SMALL => size_of::<Block<SMALL>>(),
        _ => size_of::<Block<LARGE>>(),
    }
}

/// Words that a context needs.
#[inline]
const fn words_of(registers: u8, scratch: bool) -> usize {
    registers as usize + if scratch { SCRATCH } else { 0 }
}

impl Registers {
    /// For at most `limit` contexts.
    pub(crate) fn new(limit: u32) -> Result<Self, TryReserveError> {
        Ok(Self { small: Slab::new(limit)?, large: Slab::new(limit)? })
    }

    /// A block for a program: of `registers` words, and scratch words if it needs them. `None` without memory.
    #[inline]
    pub(crate) fn take(&mut self, registers: u8, scratch: bool) -> Option<u32> {
        match words_of(registers, scratch) {
            0 => Some(NO_ID),
            1..=SMALL => self.small.take(),
            _ => self.large.take().map(|id| id | IS_LARGE),
        }
    }

    /// Gives a block back.
    #[inline]
    pub(crate) fn give(&mut self, block: u32) {
        match block {
            NO_ID => {}
            _ if block & IS_LARGE == 0 => self.small.give(block),
            _ => self.large.give(block & !IS_LARGE),
        }
    }

    /// Asks the processor to fetch a block.
    #[inline(always)]
    pub(crate) fn fetch(&self, block: u32) {
        match block {
            NO_ID => {}
            _ if block & IS_LARGE == 0 => self.small.fetch(block),
            _ => self.large.fetch(block & !IS_LARGE),
        }
    }

    /// All words of a block.
    #[inline]
    pub(crate) fn words(&mut self, block: u32) -> &mut [u64] {
        match block {
            NO_ID => &mut [],
            _ if block & IS_LARGE == 0 => &mut self.small[block].words,
            _ => &mut self.large[block & !IS_LARGE].words,
        }
    }

    /// The first `registers` words of a block, and the scratch words behind them.
    #[inline]
    pub(crate) fn split(&mut self, block: u32, registers: u8) -> (&mut [u64], Option<&mut Scratch>) {
        let (first, rest) = self.words(block).split_at_mut_checked(registers.into()).unwrap_or_default();
        (first, rest.first_chunk_mut())
    }

    /// A register. 0 if the block has none with this number, which the verifier rules out.
    #[inline]
    pub(crate) fn get(&self, block: u32, register: u8) -> u64 {
        let words: &[u64] = match block {
            NO_ID => &[],
            _ if block & IS_LARGE == 0 => &self.small[block].words,
            _ => &self.large[block & !IS_LARGE].words,
        };
        words.get(usize::from(register)).copied().unwrap_or_default()
    }

    /// Writes a register.
    #[inline]
    pub(crate) fn set(&mut self, block: u32, register: u8, value: u64) {
        if let Some(word) = self.words(block).get_mut(usize::from(register)) {
            *word = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_words_that_a_program_needs() {
        let mut all = Registers::new(2).unwrap();
        assert_eq!(all.take(0, false), Some(NO_ID));
        for (registers, scratch) in [(1, false), (4, true), (5, true), (16, false), (16, true)] {
            let block = all.take(registers, scratch).unwrap();
            assert!(all.words(block).len() >= usize::from(registers) + if scratch { SCRATCH } else { 0 });
            all.set(block, registers - 1, 7);
            assert_eq!(all.get(block, registers - 1), 7);
            all.give(block);
        }
        assert!(all.take(1, false).is_some() && all.take(1, false).is_some());
        assert_eq!(all.take(1, false), None, "no more than the limit");
    }
}
