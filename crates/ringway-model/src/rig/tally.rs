//! A count that one thread keeps and others read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A count. One thread adds; no other cache line is shared with it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Tally(AtomicU64);

impl Tally {
    /// Adds to it; only its own thread does.
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed) + n, Relaxed);
    }

    /// The count so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
