//! Where buffers come from and go back to: a thread's cache of the engine's pool.

use ringway::{BufToken, Region, Result};

use super::token::{Long, NOWHERE, Token};
use crate::queue::{Block, Cache, Pool};

/// Free buffers as one thread has them.
#[derive(Debug)]
pub(super) struct Home {
    region: Region,
    cache: Cache<BufToken>,
}

impl Home {
    pub(super) fn new(region: &Region, pool: &Pool<BufToken>) -> Result<Self> {
        Ok(Self { region: region.clone(), cache: pool.cache()? })
    }

    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<BufToken> {
        self.cache.take()
    }

    /// A buffer comes back.
    #[inline]
    pub(super) fn give(&mut self, buf: BufToken) {
        // The pool has a place for each buffer there is. Should there be none, the region takes it.
        if let Err(buf) = self.cache.give(buf) {
            let _ = self.region.give_token(buf);
        }
    }

    /// A frame ends here.
    #[inline]
    pub(super) fn release(&mut self, token: Token) {
        self.give(token.buf);
    }

    /// All frames of a block end here; returns how many.
    pub(super) fn release_all(&mut self, block: &mut Block<Token>) -> usize {
        let count = block.len();
        while let Some(token) = block.pop_last() {
            self.release(token);
        }
        count
    }

    /// A frame of `len` bytes, with whatever its buffer holds, or zeroes when it is longer than a buffer.
    pub(super) fn make(&mut self, len: usize) -> Option<Token> {
        let long = (len > self.region.buf_size() as usize).then(|| Box::new(Long(vec![0; len])));
        Some(Token { buf: self.take()?, long, len: len as u32, from: NOWHERE, to: NOWHERE })
    }

    /// Free buffers at hand.
    pub(super) fn held(&self) -> usize {
        self.cache.held()
    }
}
