//! The memory of blocks.
#![allow(
    unsafe_code,
    reason = "a block's tokens lie in memory that moves between threads by the block's number"
)]

use std::alloc::{self, Layout};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::ring::Ring;
use super::word::{Held, MOST_TOKENS, NO_BLOCK};

/// Blocks of tokens, of which each has one owner: a slot of a [`Queue`](super::Queue), a [`Block`](super::Block), or the store itself,
/// which keeps spare ones.
#[derive(Debug)]
pub struct Store<T> {
    base: NonNull<T>,
    layout: Layout,
    /// Bytes from one block to the next: whole pairs of cache lines, so that two blocks share none.
    stride: usize,
    pub(super) room: usize,
    pub(super) spare: Ring<AtomicU64>,
}

// SAFETY: the tokens of a block are reached through its owner alone (see `Block`), and owners may be sent where tokens may.
unsafe impl<T: Send> Send for Store<T> {}
// SAFETY: as above; the store itself gives out numbers of blocks by atomics.
unsafe impl<T: Send> Sync for Store<T> {}

impl<T: Send> Store<T> {
    /// So many blocks, each with room for `room` tokens.
    ///
    /// # Panics
    /// When `room` is 0 or more than [`MOST_TOKENS`], or there are too many blocks to name or to hold in memory.
    pub(super) fn new(blocks: usize, room: usize) -> Arc<Self> {
        assert!((1..=MOST_TOKENS).contains(&room), "{room} tokens a block");
        assert!((1..NO_BLOCK as usize).contains(&blocks), "{blocks} blocks");
        let block = Layout::array::<T>(room)
            .and_then(|l| l.align_to(128))
            .expect("64 tokens are small")
            .pad_to_align();
        let stride = block.size().max(128);
        let bytes = stride.checked_mul(blocks).expect("so many blocks are more than the address space holds");
        let layout = Layout::from_size_align(bytes, block.align()).expect("as above");
        // SAFETY: the layout has a size, because the stride and the number of blocks are not 0.
        let Some(base) = NonNull::new(unsafe { alloc::alloc(layout) }) else {
            alloc::handle_alloc_error(layout)
        };
        let spare = Ring::of(vec![NO_BLOCK; blocks.next_power_of_two()].into_iter());
        (0..blocks as u32).for_each(|block| {
            spare.put(Held { block, tokens: 0 });
        });
        Arc::new(Self { base: base.cast(), layout, stride, room, spare })
    }

    /// Spare blocks that become the first empty blocks of a ring.
    pub(super) fn slots(&self, count: usize) -> Option<Vec<u32>> {
        let taken: Vec<u32> =
            (0..count).map_while(|_| self.spare.take(NO_BLOCK)).map(|held| held.block).collect();
        if taken.len() == count {
            return Some(taken);
        }
        taken.into_iter().for_each(|block| self.give(block));
        None
    }

    /// Takes an empty block back.
    pub(super) fn give(&self, block: u32) {
        // There are as many slots as blocks, so only a look that is out of date finds no room.
        while self.spare.put(Held { block, tokens: 0 }).is_none() {
            std::hint::spin_loop();
        }
    }

    /// Most tokens in a block.
    #[must_use]
    pub fn room(&self) -> usize {
        self.room
    }

    /// Blocks without an owner.
    #[must_use]
    pub fn spare(&self) -> usize {
        self.spare.full()
    }

    #[inline]
    pub(super) fn at(&self, block: u32, token: usize) -> *mut T {
        // SAFETY: only numbers that `new` gave out exist, and a token's place lies in its block.
        unsafe { self.base.byte_add(block as usize * self.stride).add(token).as_ptr() }
    }
}

impl<T> Drop for Store<T> {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout. No owner of a block is left, because each keeps the store.
        unsafe { alloc::dealloc(self.base.as_ptr().cast(), self.layout) }
    }
}
