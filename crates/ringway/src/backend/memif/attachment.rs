//! Which link a ring works on. A link comes and goes behind the ring's back; the ring notices at its next sync.

use std::sync::Arc;

use ringway_memif::Link;

use super::core::Core;
use crate::count::{DropReason, Field, RingStats};

/// A ring's hold on a link.
#[derive(Debug)]
pub(super) struct Attachment {
    index: usize,
    generation: u64,
    link: Option<Arc<Link>>,
    syncs: u32,
    stats: RingStats,
}

/// While a link is up, a ring looks after the connection once in so many syncs: reading the clock costs as much as a frame.
const SYNCS: u32 = 16;

impl Attachment {
    /// Of ring `index`, to no link.
    pub(super) fn new(index: usize, stats: RingStats) -> Self {
        Self { index, generation: 0, link: None, syncs: 0, stats }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the link is the one of the port now, or there is none.
    #[inline]
    pub(super) fn is_current(&self, core: &Core) -> bool {
        self.generation == core.generation()
    }

    /// Looks after the connection, if it is time.
    #[inline]
    pub(super) fn look(&mut self, core: &Core) {
        self.syncs = self.syncs.wrapping_add(1);
        if self.link.is_none() || self.syncs.is_multiple_of(SYNCS) {
            core.look();
        }
    }

    /// The link that it holds.
    #[inline]
    pub(super) fn link(&self) -> Option<Arc<Link>> {
        self.link.clone()
    }

    /// Takes the link out for the time of a sync, which costs less than to count one more holder. [`give_back`](Self::give_back) ends that.
    #[inline]
    pub(super) fn take_out(&mut self) -> Option<Arc<Link>> {
        self.link.take()
    }

    /// Holds the link again that [`take_out`](Self::take_out) gave.
    #[inline]
    pub(super) fn give_back(&mut self, link: Arc<Link>) {
        self.link = Some(link);
    }

    /// Takes the link of the port now.
    pub(super) fn renew(&mut self, core: &Core) -> Option<Arc<Link>> {
        self.take(core.link())
    }

    /// Takes the next link of the port that frames may come from, which may have ended already.
    pub(super) fn advance(&mut self, core: &Core) -> Option<Arc<Link>> {
        let next = core.link_after(self.generation);
        let missed = core.sees(self.index, next.0);
        self.stats.count(Field::In, missed);
        self.stats.drop(DropReason::PeerGone, missed);
        self.take(next)
    }

    /// Counts how often the link changed.
    fn take(&mut self, (generation, link): (u64, Option<Arc<Link>>)) -> Option<Arc<Link>> {
        self.stats.count(Field::LinkChanges, generation.wrapping_sub(self.generation));
        self.generation = generation;
        self.link.clone_from(&link);
        link
    }
}
