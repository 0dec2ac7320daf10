//! Blocks of bytes: messages that are kept until they are acknowledged, and segments that came out of order.
//!
//! Memory is cut into chunks of 64 KiB. A chunk has blocks of one size while any of them is used, and is free for each size
//! when none is. So many small blocks at one time do not keep large ones from a later time.

use std::collections::TryReserveError;
use std::ops::{Index, IndexMut, Range};

/// Sizes of blocks in bytes.
pub const SIZES: [usize; 3] = [64, 256, 2048];

const CHUNK: usize = 1 << 16;
/// Bits of an id for the block in its chunk: 1024 blocks of the smallest size.
const INDEX_BITS: u32 = 10;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
/// The end of a list.
const END: u32 = u32::MAX;
/// The class of a chunk without blocks.
const NO_CLASS: u8 = u8::MAX;

/// What is known of a chunk.
#[derive(Clone, Debug)]
struct Chunk {
    /// Index of its size.
    class: u8,
    /// Blocks in use.
    used: u16,
    /// Blocks that were never used since the chunk got its size begin here.
    fresh: u16,
    /// The first free block before them, or `END`. Each free block begins with the next one's number.
    free: u32,
    /// Neighbours in the list of chunks of this size with free blocks; `next` also in the list of free chunks.
    next: u32,
    prev: u32,
}

/// Blocks of 64, 256 and 2048 bytes by ids, with one bound for all.
///
/// ```
/// use ringway_flows::base::blocks::Blocks;
///
/// let mut blocks = Blocks::new(1 << 20)?;
/// let id = blocks.take(100).unwrap();
/// assert_eq!(blocks[id].len(), 256);
/// blocks[id][..5].copy_from_slice(b"220 r");
/// blocks.give(id);
/// assert_eq!((blocks.take(3000), blocks.used_bytes()), (None, 0));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
#[derive(Debug)]
pub struct Blocks {
    bytes: Vec<u8>,
    chunks: Vec<Chunk>,
    limit: usize,
    /// First chunk with a free block, for each size.
    partial: [u32; SIZES.len()],
    /// First chunk without a size.
    empty: u32,
    used_bytes: usize,
}

impl Blocks {
    /// No blocks yet, and at most `limit` bytes of them, rounded up to 64 KiB.
    ///
    /// # Errors
    /// When the address space for them can't be had.
    pub fn new(limit: usize) -> Result<Self, TryReserveError> {
        let limit = limit.div_ceil(CHUNK).min(1 << (32 - INDEX_BITS));
        let (mut bytes, mut chunks) = (Vec::new(), Vec::new());
        bytes.try_reserve_exact(limit * CHUNK)?;
        chunks.try_reserve_exact(limit)?;
        Ok(Self { bytes, chunks, limit, partial: [END; SIZES.len()], empty: END, used_bytes: 0 })
    }

    /// A block of the smallest size that holds `len` bytes. `None` when there is no memory, or no such size.
    ///
    /// It holds what it held before.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<u32> {
        let class = SIZES.iter().position(|&size| len <= size)?;
        let at = match self.partial[class] {
            END => self.new_chunk(class)?,
            at => at,
        };
        let chunk = &mut self.chunks[at as usize];
        let index = if chunk.free == END {
            chunk.fresh += 1;
            u32::from(chunk.fresh) - 1
        } else {
            let from = place(at, chunk.free, class);
            let next = self.bytes[from..].first_chunk().expect("a block has four bytes");
            std::mem::replace(&mut chunk.free, u32::from_ne_bytes(*next))
        };
        chunk.used += 1;
        if chunk.is_full() {
            self.leave(at, class);
        }
        self.used_bytes += SIZES[class];
        Some(at << INDEX_BITS | index)
    }

    /// Gives a block back. The caller has it from [`take`](Self::take), and gives it back once.
    #[inline]
    pub fn give(&mut self, id: u32) {
        let (at, index) = (id >> INDEX_BITS, id & INDEX_MASK);
        let chunk = &mut self.chunks[at as usize];
        let class = usize::from(chunk.class);
        let was_full = chunk.is_full();
        let from = place(at, index, class);
        self.bytes[from..from + 4].copy_from_slice(&chunk.free.to_ne_bytes());
        chunk.free = index;
        chunk.used -= 1;
        let is_empty = chunk.used == 0;
        self.used_bytes -= SIZES[class];
        if was_full {
            self.join(at, class);
        }
        if is_empty {
            self.leave(at, class);
            self.chunks[at as usize] = Chunk { next: self.empty, ..Chunk::EMPTY };
            self.empty = at;
        }
    }

    /// Bytes of the blocks in use.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// Most bytes of blocks.
    pub fn limit(&self) -> usize {
        self.limit * CHUNK
    }

    /// A chunk without blocks in use, for blocks of a size.
    fn new_chunk(&mut self, class: usize) -> Option<u32> {
        let at = if self.empty != END {
            let at = self.empty;
            self.empty = self.chunks[at as usize].next;
            at
        } else if self.chunks.len() < self.limit {
            self.bytes.resize(self.bytes.len() + CHUNK, 0);
            self.chunks.push(Chunk::EMPTY);
            self.chunks.len() as u32 - 1
        } else {
            return None;
        };
        self.chunks[at as usize].class = class as u8;
        self.join(at, class);
        Some(at)
    }

    /// Puts a chunk at the head of the list of those with free blocks.
    fn join(&mut self, at: u32, class: usize) {
        let next = std::mem::replace(&mut self.partial[class], at);
        if next != END {
            self.chunks[next as usize].prev = at;
        }
        let chunk = &mut self.chunks[at as usize];
        (chunk.next, chunk.prev) = (next, END);
    }

    /// Takes a chunk out of that list.
    fn leave(&mut self, at: u32, class: usize) {
        let Chunk { next, prev, .. } = self.chunks[at as usize];
        match prev {
            END => self.partial[class] = next,
            prev => self.chunks[prev as usize].next = next,
        }
        if next != END {
            self.chunks[next as usize].prev = prev;
        }
    }

    /// Where a block is, and its size.
    #[inline]
    fn range(&self, id: u32) -> Range<usize> {
        let at = id >> INDEX_BITS;
        let class = usize::from(self.chunks[at as usize].class);
        let from = place(at, id & INDEX_MASK, class);
        from..from + SIZES[class]
    }
}

impl Index<u32> for Blocks {
    type Output = [u8];

    #[inline]
    fn index(&self, id: u32) -> &[u8] {
        &self.bytes[self.range(id)]
    }
}

impl IndexMut<u32> for Blocks {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut [u8] {
        let range = self.range(id);
        &mut self.bytes[range]
    }
}

impl Chunk {
    const EMPTY: Self = Self { class: NO_CLASS, used: 0, fresh: 0, free: END, next: END, prev: END };

    #[inline]
    fn is_full(&self) -> bool {
        usize::from(self.used) * SIZES[usize::from(self.class)] == CHUNK
    }
}

/// Where a block begins.
#[inline]
fn place(chunk: u32, index: u32, class: usize) -> usize {
    chunk as usize * CHUNK + index as usize * SIZES[class]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_are_apart_and_keep_their_bytes(
            steps in proptest::collection::vec((0u32..5, any::<u32>(), 0usize..2200), 0..400), chunks in 0usize..5,
        ) {
            let mut blocks = Blocks::new(chunks * CHUNK).unwrap();
            let mut model: BTreeMap<u32, (usize, u8)> = BTreeMap::new();
            for (at, (kind, pick, len)) in steps.into_iter().enumerate() {
                let picked = model.keys().nth(pick as usize % model.len().max(1)).copied();
                match picked {
                    Some(id) if kind == 0 => {
                        let (size, fill) = model.remove(&id).unwrap();
                        prop_assert_eq!(&blocks[id], &vec![fill; size][..]);
                        blocks.give(id);
                    }
                    _ => {
                        let size = SIZES.into_iter().find(|&size| len <= size);
                        if let Some(id) = blocks.take(len) {
                            blocks[id].fill(at as u8);
                            prop_assert_eq!(model.insert(id, (size.unwrap(), at as u8)), None, "a used block");
                        }
                    }
                }
                prop_assert_eq!(blocks.used_bytes(), model.values().map(|&(size, _)| size).sum::<usize>());
            }
            for (id, (size, fill)) in model {
                prop_assert_eq!(&blocks[id], &vec![fill; size][..]);
                blocks.give(id);
            }
            // All that was given back is free for the largest size.
            let largest = (0..).take_while(|_| blocks.take(2048).is_some()).count();
            prop_assert_eq!(largest * 2048, blocks.limit());
        }
    }

    #[test]
    fn every_byte_can_be_used() {
        for size in SIZES {
            let mut blocks = Blocks::new(3 * CHUNK).unwrap();
            let ids: Vec<u32> = std::iter::from_fn(|| blocks.take(size)).collect();
            assert_eq!((ids.len() * size, blocks.used_bytes()), (3 * CHUNK, 3 * CHUNK));
            ids.iter().step_by(2).for_each(|&id| blocks.give(id));
            let again = std::iter::from_fn(|| blocks.take(size)).count();
            assert_eq!(again, ids.len().div_ceil(2));
        }
    }

    #[test]
    fn refused() {
        let mut blocks = Blocks::new(CHUNK).unwrap();
        assert_eq!(blocks.take(2049), None);
        let small = blocks.take(0).unwrap();
        assert_eq!(blocks.take(2048), None, "the one chunk has small blocks");
        blocks.give(small);
        assert!(blocks.take(2048).is_some());
        assert_eq!(Blocks::new(0).unwrap().take(1), None);
    }
}
