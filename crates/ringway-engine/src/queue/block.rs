//! A block of tokens in the hands of its one owner.
#![allow(unsafe_code, reason = "the tokens of a block lie in the memory of its store")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::store::Store;
use super::word::{Held, NO_BLOCK};

/// Up to [`room`](Store::room) tokens, in order: an array that a [`Queue`](super::Queue) takes and gives whole.
///
/// The owner of a block is the only one to reach its tokens: the first of them are initialised, from `start` to `end`.
/// A ring hands a block's number from one owner to the next by an exchange that both orders memory and happens once.
/// Dropping a block drops its tokens and gives it back to its store.
///
/// A block is shared between threads only where its tokens may be:
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<ringway_engine::queue::Block<std::cell::Cell<u8>>>();
/// ```
pub struct Block<T: Send> {
    store: Arc<Store<T>>,
    index: u32,
    start: u32,
    end: u32,
    /// It may be shared between threads where its tokens may.
    owned: PhantomData<Box<[T]>>,
}

impl<T: Send> Store<T> {
    /// A spare block, which is empty; `None` when all are in use.
    #[must_use]
    pub fn block(self: &Arc<Self>) -> Option<Block<T>> {
        self.spare.take(NO_BLOCK).map(|held| self.owner_of(held))
    }

    /// The owner of a block that a ring gave.
    pub(super) fn owner_of(self: &Arc<Self>, held: Held) -> Block<T> {
        Block { store: self.clone(), index: held.block, start: 0, end: held.tokens, owned: PhantomData }
    }
}

impl<T: Send> Block<T> {
    /// Whether both blocks, or a queue's, are of one store.
    #[inline]
    pub(super) fn is_of(&self, store: &Arc<Store<T>>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }

    /// Whether no token is in it.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Tokens in it.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Tokens for which there is room behind the last one.
    #[inline]
    #[must_use]
    pub fn free(&self) -> usize {
        self.store.room - self.end as usize
    }

    /// The tokens, in order.
    #[inline]
    #[must_use]
    pub fn tokens(&self) -> &[T] {
        // SAFETY: tokens from `start` to `end` are initialised, and this is the block's only owner.
        unsafe { std::slice::from_raw_parts(self.store.at(self.index, self.start as usize), self.len()) }
    }

    /// The tokens, to change in place.
    #[inline]
    pub fn tokens_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `tokens`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.store.at(self.index, self.start as usize), self.len()) }
    }

    /// Appends a token.
    ///
    /// # Errors
    /// The token itself, when there is no room.
    #[inline]
    pub fn push(&mut self, token: T) -> Result<(), T> {
        if self.free() == 0 {
            return Err(token);
        }
        // SAFETY: there is room for one behind `end`, and nothing to drop there.
        unsafe { self.store.at(self.index, self.end as usize).write(token) };
        self.end += 1;
        Ok(())
    }

    /// Appends tokens of an iterator as far as there is room; returns how many.
    #[inline]
    pub fn fill(&mut self, tokens: &mut impl Iterator<Item = T>) -> usize {
        let first = self.end as usize;
        for at in first..self.store.room {
            let Some(token) = tokens.next() else { break };
            // SAFETY: as in `push`; `end` follows each token, so an iterator that panics leaves the block whole.
            unsafe { self.store.at(self.index, at).write(token) };
            self.end += 1;
        }
        self.end as usize - first
    }

    /// Takes the first token out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the token at `start` is initialised; it is moved out once, because `start` passes it.
        let token = unsafe { self.store.at(self.index, self.start as usize).read() };
        self.start += 1;
        self.rewind();
        Some(token)
    }

    /// Takes the last token out.
    #[inline]
    pub fn pop_last(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.end -= 1;
        // SAFETY: as in `pop`, for the last one.
        let token = unsafe { self.store.at(self.index, self.end as usize).read() };
        self.rewind();
        Some(token)
    }

    /// Moves the first tokens, `max` at most, to the end of `out`; returns how many.
    #[inline]
    pub fn move_to(&mut self, out: &mut Vec<T>, max: usize) -> usize {
        let (count, first) = (self.len().min(max), self.start);
        self.start += count as u32;
        // SAFETY: the tokens are initialised, and `start` passed them, so they move once.
        unsafe { self.copy_to(out, first, count) };
        self.rewind();
        count
    }

    /// Moves the last tokens, `max` at most, to the end of `out`; returns how many.
    #[inline]
    pub(super) fn move_last_to(&mut self, out: &mut Vec<T>, max: usize) -> usize {
        let count = self.len().min(max);
        self.end -= count as u32;
        // SAFETY: the tokens are initialised, and behind `end` now, so they move once.
        unsafe { self.copy_to(out, self.end, count) };
        self.rewind();
        count
    }

    /// Copies tokens to the end of `out`.
    ///
    /// # Safety
    /// The `count` tokens from `first` on are initialised, and the block has them no more.
    #[inline]
    unsafe fn copy_to(&self, out: &mut Vec<T>, first: u32, count: usize) {
        out.reserve(count);
        // SAFETY: `reserve` made room, and the caller gives the tokens away.
        unsafe {
            let from = self.store.at(self.index, first as usize);
            std::ptr::copy_nonoverlapping(from, out.as_mut_ptr().add(out.len()), count);
            out.set_len(out.len() + count);
        }
    }

    /// Appends tokens from the end of `tokens`, as far as there is room.
    #[inline]
    pub(super) fn fill_from(&mut self, tokens: &mut Vec<T>) {
        let count = self.free().min(tokens.len());
        let left = tokens.len() - count;
        // SAFETY: there is room behind `end`, and the vector gives its last tokens away, so they move once.
        unsafe {
            tokens.set_len(left);
            let to = self.store.at(self.index, self.end as usize);
            std::ptr::copy_nonoverlapping(tokens.as_ptr().add(left), to, count);
        }
        self.end += count as u32;
    }

    /// Drops all tokens.
    pub fn clear(&mut self) {
        while self.pop().is_some() {}
    }

    /// An empty block begins at its beginning.
    #[inline]
    fn rewind(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// What a ring takes over: the block with all its tokens, of which the first one lies at the beginning.
    #[inline]
    pub(super) fn held(&mut self) -> Held {
        if self.start > 0 {
            let count = self.len();
            // SAFETY: both ranges lie in the block, and the tokens move once, because `start` and `end` follow.
            unsafe {
                std::ptr::copy(
                    self.store.at(self.index, self.start as usize),
                    self.store.at(self.index, 0),
                    count,
                )
            };
            (self.start, self.end) = (0, count as u32);
        }
        Held { block: self.index, tokens: self.end }
    }

    /// Becomes the owner of another block, which a ring gave for this one.
    #[inline]
    pub(super) fn become_owner_of(&mut self, held: Held) {
        (self.index, self.start, self.end) = (held.block, 0, held.tokens);
    }

    /// Moves tokens from the end of another block to the end of this one, as far as there is room.
    pub(super) fn pour_from(&mut self, other: &mut Self) {
        while self.free() > 0
            && let Some(token) = other.pop_last()
            && self.push(token).is_ok()
        {}
    }
}

impl<T: Send> Drop for Block<T> {
    fn drop(&mut self) {
        self.clear();
        self.store.give(self.index);
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for Block<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tokens()).finish()
    }
}
