//! A pool of tokens, such as free buffers, with a cache for each thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ringway::{Error, ErrorKind, Result};

use super::block::Block;
use super::bounded::{Size, empty, put, take};
use super::ring::Ring;
use super::store::Store;
use super::word::MOST_TOKENS;

/// Tokens that any thread takes and gives back. Clones are the same pool.
///
/// A thread has a [`Cache`] of two blocks, and only every 64th call or so goes to the pool. With [`Pool::uncached`] each
/// call does.
///
/// ```
/// use ringway_engine::queue::Pool;
/// let pool = Pool::cached(0..1000_u32, 16)?;
/// let mut cache = pool.cache()?;
/// let token = cache.take().expect("1000 are there");
/// cache.give(token).expect("there is room for 1000");
/// drop(cache);
/// assert_eq!(pool.available(), 1000);
/// # Ok::<(), ringway::Error>(())
/// ```
pub struct Pool<T: Send>(Arc<Shared<T>>);

struct Shared<T: Send> {
    store: Arc<Store<T>>,
    /// Full blocks, so there is a slot for each that there can be.
    full: Ring<AtomicU64>,
    /// At most one block that is not full: caches that go away pour what they have into it.
    rest: Ring<AtomicU64>,
}

impl<T: Send> Pool<T> {
    /// A pool of these tokens, and so many caches at once.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for more than about a hundred million tokens, or four million caches.
    pub fn cached(tokens: impl ExactSizeIterator<Item = T>, caches: usize) -> Result<Self> {
        Self::new(tokens, MOST_TOKENS, caches)
    }

    /// The same without caches: each call goes to the pool. It is there to see what the caches are worth.
    ///
    /// # Errors
    /// As [`cached`](Self::cached), for more than about four million tokens.
    pub fn uncached(tokens: impl ExactSizeIterator<Item = T>, caches: usize) -> Result<Self> {
        Self::new(tokens, 1, caches)
    }

    fn new(mut tokens: impl ExactSizeIterator<Item = T>, block: usize, caches: usize) -> Result<Self> {
        // A cache has two blocks, and there is one in here first.
        let owners = caches.saturating_mul(2).saturating_add(2);
        let size = Size { tokens: tokens.len(), block, owners };
        let store = Store::for_queues(1, size)?;
        let lacking = || Error::new(ErrorKind::Invalid, "pool", "its store is too small");
        let ring = |slots| Some(Ring::of(store.slots(slots)?.into_iter()));
        let (full, rest) = (ring(size.slots()).ok_or_else(lacking)?, ring(1).ok_or_else(lacking)?);
        let pool = Self(Arc::new(Shared { store, full, rest }));
        let mut cache = pool.cache()?;
        while cache.loaded.fill(&mut tokens) > 0 {
            pool.keep(&mut cache.loaded, &mut cache.other);
        }
        drop(cache);
        Ok(pool)
    }

    /// A cache, for one thread at a time.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there are as many caches as the pool was made for.
    pub fn cache(&self) -> Result<Cache<T>> {
        Ok(Cache { pool: self.clone(), loaded: self.block()?, other: self.block()? })
    }

    fn block(&self) -> Result<Block<T>> {
        self.0.store.block().ok_or_else(|| {
            Error::new(ErrorKind::Busy, "pool", "each cache is in use").cure("make the pool for more caches")
        })
    }

    /// Tokens in the pool, not counting the caches, while nobody takes or gives one; an estimate otherwise.
    #[must_use]
    pub fn available(&self) -> usize {
        self.0.full.full() * self.0.store.room() + self.0.rest.first_tokens()
    }

    /// Puts all tokens of `block` into the pool, where at most one block is not full. `other` is empty before and after.
    fn keep(&self, block: &mut Block<T>, other: &mut Block<T>) {
        let rest = &self.0.rest;
        while !block.is_empty() {
            if block.free() == 0 {
                self.keep_full(block);
            } else if !put(rest, block) && take(rest, other) {
                block.pour_from(other);
                if block.free() == 0 {
                    self.keep_full(block);
                    std::mem::swap(block, other);
                }
            }
        }
    }

    /// There is a slot for each full block that the pool's tokens make. Tokens beyond them are dropped.
    fn keep_full(&self, block: &mut Block<T>) {
        if !put(&self.0.full, block) {
            block.clear();
        }
    }
}

impl<T: Send> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Send> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("available", &self.available()).finish()
    }
}

impl<T: Send> Drop for Shared<T> {
    fn drop(&mut self) {
        empty(&self.full, &self.store);
        empty(&self.rest, &self.store);
    }
}

/// What one thread takes from a [`Pool`] and gives to it, last in first out, so that warm buffers are used again.
///
/// Of two blocks one is worked on. The other one is full or empty, so a thread that takes and gives in turn does not go
/// to the pool each time. Dropping a cache gives its tokens to the pool.
pub struct Cache<T: Send> {
    pool: Pool<T>,
    loaded: Block<T>,
    other: Block<T>,
}

impl<T: Send> Cache<T> {
    /// Takes a token; `None` when neither the cache nor the pool has one. Other caches may.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        if self.loaded.is_empty() && !self.load() {
            return None;
        }
        self.loaded.pop_last()
    }

    /// Takes tokens, `max` at most, to the end of `out`; returns how many. They are fewer when the cache and the pool have no more.
    ///
    /// ```
    /// use ringway_engine::queue::Pool;
    /// let pool = Pool::cached(0..100_u32, 1)?;
    /// let (mut cache, mut tokens) = (pool.cache()?, Vec::new());
    /// assert_eq!((cache.take_burst(&mut tokens, 32), cache.take_burst(&mut tokens, 1000)), (32, 68));
    /// assert_eq!((cache.give_burst(&mut tokens), tokens.len()), (100, 0));
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[inline]
    pub fn take_burst(&mut self, out: &mut Vec<T>, max: usize) -> usize {
        let mut done = 0;
        while done < max && (!self.loaded.is_empty() || self.load()) {
            done += self.loaded.move_last_to(out, max - done);
        }
        done
    }

    #[cold]
    fn load(&mut self) -> bool {
        if !self.other.is_empty() {
            std::mem::swap(&mut self.loaded, &mut self.other);
            return true;
        }
        let Shared { full, rest, .. } = &*self.pool.0;
        take(full, &mut self.loaded) || take(rest, &mut self.loaded)
    }

    /// Gives a token back, or one that another cache took.
    ///
    /// # Errors
    /// The token itself, when the pool has as many as it was made with.
    #[inline]
    pub fn give(&mut self, token: T) -> std::result::Result<(), T> {
        if self.loaded.free() == 0 && !self.unload() {
            return Err(token);
        }
        let given = self.loaded.push(token);
        if self.loaded.free() == 0 && self.pool.0.store.room() == 1 {
            self.unload();
        }
        given
    }

    /// Gives tokens back, from the end of `tokens`; returns how many. Tokens for which the pool has no room stay: it has room for as
    /// many as it was made with.
    #[inline]
    pub fn give_burst(&mut self, tokens: &mut Vec<T>) -> usize {
        let before = tokens.len();
        while !tokens.is_empty() && (self.loaded.free() > 0 || self.unload()) {
            self.loaded.fill_from(tokens);
            if self.pool.0.store.room() == 1 {
                self.unload();
            }
        }
        before - tokens.len()
    }

    #[cold]
    fn unload(&mut self) -> bool {
        if self.pool.0.store.room() > 1 {
            std::mem::swap(&mut self.loaded, &mut self.other);
        }
        self.loaded.is_empty() || put(&self.pool.0.full, &mut self.loaded)
    }

    /// Tokens in the cache.
    #[must_use]
    pub fn held(&self) -> usize {
        self.loaded.len() + self.other.len()
    }
}

impl<T: Send> Drop for Cache<T> {
    fn drop(&mut self) {
        let Self { pool, loaded, other } = self;
        if !other.is_empty() {
            pool.keep_full(other); // it is full or empty
        }
        pool.keep(loaded, other);
    }
}

impl<T: Send> fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("held", &self.held()).finish_non_exhaustive()
    }
}
