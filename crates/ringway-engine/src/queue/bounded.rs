//! A bounded queue of blocks, and so of tokens.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ringway::{Error, ErrorKind, Result};

use super::block::Block;
use super::ring::Ring;
use super::store::Store;
use super::word::{Held, MOST_TOKENS, NO_BLOCK};

/// Slots for blocks that dropped handles leave when the ring is full.
const LEFT: usize = 16;

/// How large a queue with a store of its own is.
///
/// ```
/// use ringway_engine::queue::{Queue, Size};
/// // A handle of a queue with blocks of one token caches nothing.
/// let queue: Queue<u64> = Queue::new(Size { block: 1, ..Size::of(1024) })?;
/// assert_eq!(queue.capacity(), 1024);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Tokens that fit when all blocks are full: blocks times tokens a block, rounded up to a power of two of blocks.
    pub tokens: usize,
    /// Tokens that travel together, from 1 to [`MOST_TOKENS`].
    pub block: usize,
    /// Handles and [`Block`]s that may exist at once. A handle that is leaked counts for ever.
    pub owners: usize,
}

impl Size {
    /// Room for so many tokens, in blocks of 64, with 256 owners.
    #[must_use]
    pub const fn of(tokens: usize) -> Self {
        Self { tokens, block: MOST_TOKENS, owners: 256 }
    }

    /// Slots of the ring.
    pub(super) fn slots(self) -> usize {
        self.tokens.div_ceil(self.block.max(1)).max(2).next_power_of_two()
    }
}

/// A bounded queue for any number of producers and consumers, in which no stopped thread stops another.
///
/// Tokens travel in blocks. A [`Producer`](super::Producer) fills a block that it owns, and one exchange of a word trades it for an
/// empty one in the ring. A [`Consumer`](super::Consumer) trades an empty one for a full one. So a thread that is preempted, or killed, costs the
/// tokens in its block at most. Tokens of one producer come in order to each consumer.
///
/// Clones are the same queue.
///
/// ```
/// use ringway_engine::queue::{Queue, Size};
/// let queue = Queue::new(Size::of(4096))?;
/// let (mut producer, mut consumer) = (queue.producer()?, queue.consumer()?);
/// std::thread::spawn(move || {
///     for token in 0..100_u64 {
///         producer.push(token).expect("there is room for 4096");
///     }
/// }); // when a producer is dropped, what it holds goes into the queue
/// let mut seen = 0;
/// while seen < 100 {
///     seen += u64::from(consumer.pop() == Some(seen));
/// }
/// # Ok::<(), ringway::Error>(())
/// ```
pub struct Queue<T: Send>(Arc<Shared<T>>);

struct Shared<T: Send> {
    store: Arc<Store<T>>,
    ring: Ring<AtomicU64>,
    left: Ring<AtomicU64>,
}

impl<T: Send> Queue<T> {
    /// A queue with a store of its own.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when a number is out of bounds.
    pub fn new(size: Size) -> Result<Self> {
        let store = Store::for_queues(1, size)?;
        Self::over(&store, size)
    }

    /// A queue whose blocks are of a store that other queues have as well: blocks go from one queue to the other whole. Their size is
    /// the store's.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the store has too few spare blocks.
    pub fn over(store: &Arc<Store<T>>, size: Size) -> Result<Self> {
        let slots = Size { block: store.room(), ..size }.slots();
        let Some(mut blocks) = store.slots(slots + LEFT) else {
            let what = format!("{} blocks are needed, and {} are spare", slots + LEFT, store.spare());
            return Err(Error::new(ErrorKind::Invalid, "queue", what).cure("make a larger store"));
        };
        let left = Ring::of(blocks.drain(slots..));
        Ok(Self(Arc::new(Shared { store: store.clone(), ring: Ring::of(blocks.into_iter()), left })))
    }

    /// A block for a handle.
    pub(super) fn block(&self) -> Result<Block<T>> {
        self.0.store.block().ok_or_else(|| {
            Error::new(ErrorKind::Busy, "queue", "each block has an owner")
                .cure("drop handles, or make the queue for more owners")
        })
    }

    /// Trades a block for an empty one; false when the queue is full. An empty block stays where it is.
    ///
    /// # Panics
    /// When the block is of another store.
    #[inline]
    pub fn put(&self, block: &mut Block<T>) -> bool {
        assert!(block.is_of(&self.0.store), "a block of another store");
        if block.is_empty() {
            return true;
        }
        put(&self.0.ring, block)
    }

    /// Trades an empty block for one with tokens; false when the queue is empty.
    ///
    /// # Panics
    /// When the block is of another store, or not empty.
    #[inline]
    pub fn take(&self, block: &mut Block<T>) -> bool {
        assert!(
            block.is_of(&self.0.store) && block.is_empty(),
            "a block of another store, or one with tokens"
        );
        take(&self.0.left, block) || take(&self.0.ring, block)
    }

    /// Puts the tokens of a handle that goes away where the next consumer finds them; false when there is no place left.
    pub(super) fn leave(&self, block: &mut Block<T>) -> bool {
        self.put(block) || put(&self.0.left, block)
    }

    /// Whether nothing is in the queue; handles may hold tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks() == 0
    }

    /// Whether each slot has a block with tokens, as exact as [`blocks`](Self::blocks).
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.ring.full() == self.slots()
    }

    /// Blocks with tokens in the queue. It is exact when nobody changes the queue meanwhile.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.0.ring.full() + self.0.left.full()
    }

    /// Blocks that it has room for.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.0.ring.slots()
    }

    /// Tokens that fit when all blocks are full.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.ring.slots() * self.0.store.room()
    }

    /// The store of its blocks.
    #[must_use]
    pub fn store(&self) -> &Arc<Store<T>> {
        &self.0.store
    }
}

impl<T: Send> Store<T> {
    /// A store for `queues` queues of one size.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when a number is out of bounds.
    pub fn for_queues(queues: usize, size: Size) -> Result<Arc<Self>> {
        let most = 1 << 22;
        let fits = (1..=MOST_TOKENS).contains(&size.block) && size.tokens <= most << 5 && size.owners <= most;
        let blocks = if fits { queues.saturating_mul(size.slots() + LEFT) + size.owners } else { usize::MAX };
        if blocks > most {
            let what = format!("{queues} queues of {size:?} are out of bounds");
            return Err(Error::new(ErrorKind::Invalid, "queue", what)
                .cure("ask for 1 to 64 tokens a block, and for 4 million blocks at most"));
        }
        Ok(Self::new(blocks, size.block))
    }
}

/// Trades a block for the empty one at the end of a ring.
#[inline]
pub(super) fn put<T: Send>(ring: &Ring<AtomicU64>, block: &mut Block<T>) -> bool {
    let Some(empty) = ring.put(block.held()) else { return false };
    block.become_owner_of(Held { block: empty, tokens: 0 });
    true
}

/// Trades an empty block for the full one at the beginning of a ring.
#[inline]
pub(super) fn take<T: Send>(ring: &Ring<AtomicU64>, block: &mut Block<T>) -> bool {
    let Some(held) = ring.take(block.held().block) else { return false };
    block.become_owner_of(held);
    true
}

impl<T: Send> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Send> Drop for Shared<T> {
    /// Drops the tokens, and gives the blocks back to the store.
    fn drop(&mut self) {
        empty(&self.ring, &self.store);
        empty(&self.left, &self.store);
    }
}

/// Gives the blocks of a ring back, which nobody else can reach any more.
pub(super) fn empty<T: Send>(ring: &Ring<AtomicU64>, store: &Arc<Store<T>>) {
    while let Some(held) = ring.take(NO_BLOCK) {
        drop(store.owner_of(held));
    }
    ring.empty_blocks().for_each(|block| store.give(block));
}

impl<T: Send> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("blocks", &self.blocks()).field("capacity", &self.capacity()).finish()
    }
}
