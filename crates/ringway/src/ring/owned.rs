//! What rx and tx rings have in common.

use std::sync::Arc;

use super::lease::Lease;
use super::view::RingView;
use crate::abi::cursor;
use crate::count::{Field, RingStats};

/// The part of a ring's state that lives outside shared memory: what was handed out at the last sync.
#[derive(Debug)]
pub(super) struct Owned {
    pub(super) view: RingView,
    /// First slot of the range handed out.
    pub(super) first: u32,
    /// End of the range handed out, whatever the header says.
    pub(super) tail: u32,
    pub(super) stats: RingStats,
    /// Keeps the ring's place in its region.
    _lease: Arc<Lease>,
}

/// What a backend hands over to make a ring: the range `[first, tail]` that belongs to the program now.
#[derive(Debug)]
pub(crate) struct RingParts {
    pub(crate) view: RingView,
    pub(crate) first: u32,
    pub(crate) tail: u32,
    pub(crate) stats: RingStats,
    pub(crate) lease: Arc<Lease>,
}

/// Slots `[at, end)` of a ring, to read or to fill.
#[derive(Debug)]
pub(crate) struct Span<'a> {
    pub(crate) view: &'a RingView,
    pub(crate) at: u32,
    pub(crate) end: u32,
}

impl Owned {
    /// Starts from what the header says, or afresh when that makes no sense.
    pub(super) fn resume(p: RingParts) -> Self {
        let mut owned = Self::join(p);
        let head = owned.head();
        owned.view.set_tail(owned.tail);
        owned.stats.set_avail(owned.view.dist(head, owned.tail));
        owned
    }

    /// The same for a ring that other processes have as well: whatever the header says stays.
    pub(super) fn join(p: RingParts) -> Self {
        Self { view: p.view, first: p.first, tail: p.tail, stats: p.stats, _lease: p.lease }
    }

    /// Whether head and cur are what a program may have made of the range handed out.
    pub(super) fn is_sound(&self) -> bool {
        let (head, cur) = (self.view.head(), self.view.cur());
        cursor::checked_advance(self.first, self.tail, head, cur, self.view.num()).is_some()
    }

    /// The program's head: read once, checked against the range handed out; a wrong one resets the ring.
    #[inline]
    pub(super) fn head(&mut self) -> u32 {
        let (head, cur) = (self.view.head(), self.view.cur());
        match cursor::checked_advance(self.first, self.tail, head, cur, self.view.num()) {
            Some(_) => head,
            None => self.reset(),
        }
    }

    #[cold]
    pub(super) fn reset(&mut self) -> u32 {
        self.stats.count(Field::Resets, 1);
        self.view.set_cursors(self.first, self.tail);
        self.first
    }

    /// Publishes the result of a sync.
    pub(super) fn publish(&mut self, head: u32, tail: u32) -> u32 {
        let avail = self.view.dist(head, tail);
        self.stats.synced(tail != self.tail, avail);
        self.first = head;
        self.tail = tail;
        self.view.set_tail(tail);
        avail
    }
}
