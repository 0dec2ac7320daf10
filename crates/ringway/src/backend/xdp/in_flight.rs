//! Buffers of a ring's slots that are lent to the kernel, which gives them back in any order.
//!
//! A ring is a circle of slots, each with a buffer. The backend lends the buffers of a run of slots
//! and needs the slots back in order. A buffer may come back that was lent from another slot than
//! the next one in turn. The two slots then exchange their words. At any time exactly one slot
//! names each buffer.
//!
//! ```text
//!  slots lent     4    5    6    7          buffer d comes back first
//!  buffers        a    b    c    d    ->    slot 4 gets d, slot 7 gets a; a, b, c are still lent
//! ```
//!
//! Trust: `home` is private; slot words may be changed by a hostile program at any time. What comes back is believed only
//! if it was lent; everything else is for the caller to count.

use crate::ring::RingView;

const NOT_LENT: u32 = u32::MAX;

/// Which slot each lent buffer belongs to.
#[derive(Debug)]
pub(crate) struct InFlight {
    home: Vec<u32>,
    out: u32,
}

impl InFlight {
    /// None lent, of a region with `bufs` buffers.
    pub(crate) fn new(bufs: u32) -> Self {
        Self { home: vec![NOT_LENT; bufs as usize], out: 0 }
    }

    /// Buffers lent now.
    pub(crate) fn out(&self) -> u32 {
        self.out
    }

    /// Notes that the buffer of a slot is lent; false when it is lent already, from another slot, or no buffer at all.
    #[inline]
    pub(crate) fn lend(&mut self, buf: u32, slot: u32) -> bool {
        match self.home.get_mut(buf as usize) {
            Some(h) if *h == NOT_LENT => {
                *h = slot;
                self.out += 1;
                true
            }
            _ => false,
        }
    }

    /// Whether this is a buffer and lent.
    #[inline]
    pub(crate) fn lent(&self, buf: Option<u32>) -> bool {
        buf.and_then(|b| self.home.get(b as usize)).is_some_and(|&h| h != NOT_LENT)
    }

    /// The kernel gave a buffer back: it is in slot `to` now, the next one in turn. False when it was not lent.
    #[inline]
    pub(crate) fn back(&mut self, buf: u32, to: u32, ring: &RingView) -> bool {
        let Some(h) = self.home.get_mut(buf as usize) else { return false };
        let from = std::mem::replace(h, NOT_LENT);
        if from == NOT_LENT {
            return false;
        }
        self.out -= 1;
        if from != to {
            self.exchange(from, to, ring);
        }
        true
    }

    /// Two slots exchange their words; a buffer lent from `to` is now lent from `from`.
    pub(crate) fn exchange(&mut self, from: u32, to: u32, ring: &RingView) {
        let (a, b) = (ring.slot(from), ring.slot(to));
        ring.set_slot(from, b);
        ring.set_slot(to, a);
        if let Some(h) = self.home.get_mut(b.buf as usize)
            && *h == to
        {
            *h = from;
        }
    }

    /// A loan that did not come about.
    pub(crate) fn undo(&mut self, buf: u32) {
        if let Some(h) = self.home.get_mut(buf as usize)
            && *h != NOT_LENT
        {
            *h = NOT_LENT;
            self.out -= 1;
        }
    }

    /// Forgets all of them: the kernel has let go of everything.
    pub(crate) fn clear(&mut self) {
        self.home.fill(NOT_LENT);
        self.out = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Slot;
    use crate::memory::{Region, RegionSpec};
    use proptest::prelude::*;

    const SLOTS: u32 = 8;

    fn ring() -> RingView {
        let spec = RegionSpec { interfaces: 1, rings: 1, slots: SLOTS, buffers: SLOTS + 2, buf_size: 2048 };
        let view = RingView::new(&Region::memfd(&spec).unwrap(), 0, SLOTS);
        (0..SLOTS).for_each(|i| view.set_slot(i, Slot { buf: i + 2, len: 0, flags: 0 }));
        view
    }

    fn bufs(ring: &RingView) -> Vec<u32> {
        let mut all: Vec<u32> = (0..SLOTS).map(|i| ring.slot(i).buf).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn what_was_not_lent_is_not_taken_back() {
        let (ring, mut in_flight) = (ring(), InFlight::new(SLOTS + 2));
        assert!(in_flight.lend(2, 0));
        assert!(!in_flight.lend(2, 1), "lent twice");
        assert!(!in_flight.lend(1000, 1), "no such buffer");
        assert!(!in_flight.back(3, 0, &ring));
        assert!(!in_flight.back(1000, 0, &ring));
        assert!(in_flight.back(2, 0, &ring));
        assert!(!in_flight.back(2, 0, &ring), "back twice");
        assert_eq!(in_flight.out(), 0);
    }

    proptest! {
        /// Buffers come back in random order; each is found in the slot in turn, and none is ever lost or doubled.
        #[test]
        fn slots_come_back_in_order(steps in prop::collection::vec((any::<bool>(), 0usize..8), 1..200)) {
            let (ring, mut in_flight) = (ring(), InFlight::new(SLOTS + 2));
            let (mut lent, mut first, mut next) = (Vec::new(), 0, 0);
            for (lend, pick) in steps {
                if lend && lent.len() < SLOTS as usize {
                    let buf = ring.slot(next).buf;
                    prop_assert!(in_flight.lend(buf, next));
                    lent.push(buf);
                    next = ring.next(next);
                } else if !lend && !lent.is_empty() {
                    let buf = lent.swap_remove(pick % lent.len());
                    prop_assert!(in_flight.back(buf, first, &ring));
                    prop_assert_eq!(ring.slot(first).buf, buf);
                    first = ring.next(first);
                }
                prop_assert_eq!(in_flight.out() as usize, lent.len());
                prop_assert_eq!(bufs(&ring), (2..SLOTS + 2).collect::<Vec<_>>());
            }
        }
    }
}
