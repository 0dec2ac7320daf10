//! Frames that a thread sent a few at a time: they gather for a while, so that the I/O thread gets them together.
//!
//! The thread that sends has its outbox alone, but for the moment in which an I/O thread empties one that is due. That
//! thread only tries the lock: should the sender be stopped while it has it, its own frames wait, and nobody else's.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard};

use super::locks::{lock, try_lock};
use super::token::{NOWHERE, Token};
use crate::queue::Block;

#[derive(Debug)]
pub(super) struct Outbox {
    inside: Mutex<Option<Block<Token>>>,
    /// The port that the frames are for.
    to: AtomicU32,
    /// When the first frame came, or 0 when there is none.
    since_ns: AtomicU64,
    frames: AtomicU32,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            inside: Mutex::new(None),
            to: AtomicU32::new(NOWHERE.into()),
            since_ns: AtomicU64::new(0),
            frames: AtomicU32::new(0),
        }
    }

    pub(super) fn frames(&self) -> u64 {
        self.frames.load(Relaxed).into()
    }

    /// The port that frames wait for, and since when.
    #[inline]
    pub(super) fn pending(&self) -> Option<(u16, u64)> {
        let since_ns = self.since_ns.load(Relaxed);
        (since_ns > 0).then(|| (self.to.load(Relaxed) as u16, since_ns))
    }

    /// What is in it, for its owner.
    pub(super) fn lock(&self) -> Opened<'_> {
        Opened { block: lock(&self.inside), outbox: self }
    }

    /// Its block, when nobody else has the engine any more.
    pub(super) fn take(&self) -> Option<Block<Token>> {
        self.lock().block.take()
    }

    /// The same for another thread, unless its owner has it.
    pub(super) fn try_lock(&self) -> Option<Opened<'_>> {
        Some(Opened { block: try_lock(&self.inside)?, outbox: self })
    }
}

/// An outbox that is looked into. Its numbers follow when it is closed.
#[derive(Debug)]
pub(super) struct Opened<'a> {
    pub(super) block: MutexGuard<'a, Option<Block<Token>>>,
    outbox: &'a Outbox,
}

impl Opened<'_> {
    /// Says that frames for a port gather from now on.
    pub(super) fn begin(&self, to: u16, now_ns: u64) {
        self.outbox.to.store(to.into(), Relaxed);
        self.outbox.since_ns.store(now_ns.max(1), Release);
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let frames = self.block.as_ref().map_or(0, Block::len);
        self.outbox.frames.store(frames as u32, Relaxed);
        if frames == 0 {
            self.outbox.since_ns.store(0, Relaxed);
        }
    }
}
