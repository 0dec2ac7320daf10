//! A ring of blocks. Each slot always holds one. To put a full block in is to get the empty one that lay there. To take a
//! full one out is to leave an empty one. So blocks are neither made nor lost.
//!
//! ```text
//!   tail: where the next full block goes in      head: the next one to come out
//!   slot i at position p = i + round * slots:    (round, empty) -> (round, full) -> (round + 1, empty) -> ...
//! ```
//!
//! One compare-and-exchange of a slot's word does the whole step. `head` and `tail` follow: a thread that finds the
//! slot at `tail` filled moves `tail` on, whether it filled it or not, and the same for `head`. A slot may be rounds ahead
//! of the position that a thread looks at: then `tail` or `head` is behind, and the thread moves it on as well. So a
//! thread that the scheduler stops between two instructions, or that is killed there, makes nobody wait.
//!
//! Positions are filled in order, because a slot is filled only at `tail`, and `tail` moves behind a filled slot only.
//! They are emptied in order for the same reason. So an empty slot at `head` means an empty ring, and a slot at `tail`
//! that is full since the round before means a full one.

use super::word::{Atom, Held, NO_BLOCK, Word};

/// On a pair of cache lines of its own, because processors fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Padded<T>(T);

/// On a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Line<T>(T);

#[derive(Debug)]
pub(super) struct Ring<A> {
    tail: Padded<A>,
    head: Padded<A>,
    slots: Box<[Line<A>]>,
}

impl<A: Atom> Ring<A> {
    /// A ring in whose slots these empty blocks lie.
    ///
    /// # Panics
    /// When their number is no power of two.
    pub(super) fn of(empty: impl ExactSizeIterator<Item = u32>) -> Self {
        assert!(empty.len().is_power_of_two(), "{} slots", empty.len());
        let word = |block| Word { round: 0, full: false, held: Held { block, tokens: 0 } };
        let slots = empty.map(|block| Line(A::holding(word(block).bits()))).collect();
        Self { tail: Padded(A::holding(0)), head: Padded(A::holding(0)), slots }
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Puts a full block in and returns the empty one that lay there; `None` when the ring is full.
    pub(super) fn put(&self, full: Held) -> Option<u32> {
        loop {
            let at = self.tail.0.look();
            let (slot, round) = self.slot(at);
            let bits = slot.look();
            let word = Word::of(bits);
            if word.round == round && !word.full {
                let filled = Word { round, full: true, held: full };
                if slot.exchange(bits, filled.bits()) {
                    self.tail.0.exchange(at, at + 1);
                    return Some(word.held.block);
                }
            } else if word.is_behind(round) {
                return None;
            } else {
                self.tail.0.exchange(at, at + 1); // filled, and maybe emptied and filled again
            }
        }
    }

    /// Takes a full block out and leaves an empty one; `None` when the ring is empty.
    pub(super) fn take(&self, empty: u32) -> Option<Held> {
        loop {
            let at = self.head.0.look();
            let (slot, round) = self.slot(at);
            let bits = slot.look();
            let word = Word::of(bits);
            if word.round == round && word.full {
                let held = Held { block: empty, tokens: 0 };
                let emptied = Word { round: round.wrapping_add(1), full: false, held };
                if slot.exchange(bits, emptied.bits()) {
                    self.head.0.exchange(at, at + 1);
                    return Some(word.held);
                }
            } else if word.round == round || word.is_behind(round) {
                return None;
            } else {
                self.head.0.exchange(at, at + 1); // emptied, and maybe filled again
            }
        }
    }

    /// Full blocks in the ring now, while nobody changes it; otherwise some number between what it was and is.
    pub(super) fn full(&self) -> usize {
        let head = self.head.0.look();
        (self.tail.0.look().saturating_sub(head) as usize).min(self.slots())
    }

    /// Tokens in the block that comes out next, as [`full`](Self::full) counts.
    pub(super) fn first_tokens(&self) -> usize {
        let (slot, round) = self.slot(self.head.0.look());
        let word = Word::of(slot.look());
        if word.full && word.round == round { word.held.tokens as usize } else { 0 }
    }

    /// The empty blocks in the slots, once nothing else can change them and all full ones are taken out.
    pub(super) fn empty_blocks(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().map(|slot| Word::of(slot.0.look()).held.block).filter(|&block| block != NO_BLOCK)
    }

    #[inline]
    fn slot(&self, at: u64) -> (&A, u32) {
        let slots = self.slots.len() as u64;
        let round = at >> slots.trailing_zeros();
        (&self.slots[(at & (slots - 1)) as usize].0, round as u32)
    }
}
