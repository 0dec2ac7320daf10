//! What an end of a pipe makes sure of before it believes a slot word that the other end could have written.

use crate::abi::Slot;
use crate::abi::cursor;
use crate::memory::Claims;
use crate::ring::RingView;

/// How the sending side takes a slot over in exchange for one that it gave away.
pub(super) trait Takeover {
    /// The slot at `at` of the tx ring, which held `given`, now holds `got`.
    fn replace(&self, tx: &RingView, at: u32, given: Slot, got: Slot);

    /// Ends a burst of replacements, in slots `[from, to)`.
    fn settle(&self, tx: &RingView, from: u32, to: u32);
}

/// Both sides are this process: slot words are what it wrote.
pub(super) struct Trusted;

impl Takeover for Trusted {
    #[inline]
    fn replace(&self, tx: &RingView, at: u32, _: Slot, got: Slot) {
        tx.set_slot(at, got);
    }

    #[inline]
    fn settle(&self, _: &RingView, _: u32, _: u32) {}
}

impl Takeover for Claims {
    #[inline]
    fn replace(&self, tx: &RingView, at: u32, given: Slot, got: Slot) {
        self.release(given.buf);
        tx.set_shared_slot(at, got);
        tx.set_slot(at, claimed(self, tx, got));
    }

    fn settle(&self, tx: &RingView, from: u32, to: u32) {
        confirm(self, tx, from, to);
    }
}

/// `slot` if its buffer is free to be held by this side; otherwise a slot that names no buffer.
#[inline]
fn claimed(claims: &Claims, ring: &RingView, slot: Slot) -> Slot {
    let good = ring.valid(slot) && claims.claim(slot.buf);
    Slot { buf: if good { slot.buf } else { 0 }, ..slot }
}

/// Ends the claims of slots `[from, to)`: those whose buffer the other side of this end holds name none.
fn confirm(claims: &Claims, ring: &RingView, from: u32, to: u32) {
    claims.settle();
    let mut at = from;
    while at != to {
        let s = ring.slot(at);
        if ring.valid(s) && !claims.confirm(s.buf) {
            ring.set_slot(at, Slot { buf: 0, ..s });
        }
        at = ring.next(at);
    }
}

/// Takes slots `[from, to)` from the region, reading each word once.
pub(super) fn take_in(claims: &Claims, ring: &RingView, from: u32, to: u32) {
    let mut at = from;
    while at != to {
        ring.set_slot(at, claimed(claims, ring, ring.shared_slot(at)));
        at = ring.next(at);
    }
    confirm(claims, ring, from, to);
}

/// Takes all slots of a ring from the region.
pub(super) fn take_in_all(claims: &Claims, ring: &RingView) {
    let last = ring.num() - 1;
    take_in(claims, ring, 0, last);
    take_in(claims, ring, last, cursor::next(last, ring.num()));
}

/// Gives up the buffers of slots `[from, to)`, which name none from then on: a program that did not hear of it has nothing there.
pub(super) fn give_up(claims: &Claims, ring: &RingView, from: u32, to: u32) {
    let mut at = from;
    while at != to {
        let s = ring.slot(at);
        if ring.valid(s) {
            claims.release(s.buf);
            ring.set_slot(at, Slot { buf: 0, ..s });
        }
        at = ring.next(at);
    }
}
