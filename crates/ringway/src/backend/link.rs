//! One direction of a pipe: a tx ring and an rx ring that exchange slots, zero copy.
//!
//! Both rings lie in one region, maybe shared by two processes, and have the same number of slots. The sender's
//! sync moves frames: slot words change places, so each ring always has the same number of buffers.
//!
//! The control block of the rx ring holds what the two sides tell each other. Each word has one writer, except
//! the wishes, which one side sets and the other clears:
//!
//! ```text
//!  line 0, sender's    0 PROD  4 TX_WISH  8 JOURNAL  16 FRAMES  24 BYTES
//!  line 1, receiver's 64 CONS 68 RX_WISH
//! ```
//!
//! Trust: a side checks each word of the other against what it knows; a wrong one is ignored. Where the other side is another
//! process, slot words are taken into private memory, and each buffer is claimed ([`Claims`]): one that this end holds already is
//! refused. A side that is killed leaves at worst one pair of slots half exchanged; the journal holds the missing index.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::link_claims::{Takeover, Trusted, give_up, take_in, take_in_all};
use crate::abi::Slot;
use crate::abi::handshake;
use crate::abi::layout::NS_BUF_CHANGED;
use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::memory::Claims;
use crate::ring::{RingView, RxSync, TxSync};
use crate::sys::fd;

const PROD: usize = 0;
const TX_WISH: usize = 4;
const JOURNAL: usize = 8;
const FRAMES: usize = 16;
const BYTES: usize = 24;
const CONS: usize = 64;
const RX_WISH: usize = 68;

/// What both sides of a direction hold.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) tx: RingView,
    pub(crate) rx: RingView,
    /// Wakes the receiver, then the sender.
    pub(crate) bells: (Arc<OwnedFd>, Arc<OwnedFd>),
}

impl Link {
    fn word(&self, at: usize) -> &AtomicU32 {
        let s = self.rx.region().shared();
        s.mem.u32(s.layout.ctl(self.rx.number()) + at)
    }

    fn word64(&self, at: usize) -> &AtomicU64 {
        let s = self.rx.region().shared();
        s.mem.u64(s.layout.ctl(self.rx.number()) + at)
    }

    /// A cursor of the other side: believed only when it lies between `from` and `to`.
    fn cursor(&self, at: usize, from: u32, to: u32) -> Option<u32> {
        let v = handshake::observe(self.word(at));
        (v < self.rx.num() && self.rx.dist(from, v) <= self.rx.dist(from, to)).then_some(v)
    }
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct LinkTx {
    link: Link,
    /// First slot of the tx ring not sent yet.
    sent: u32,
    prod: u32,
    cons: u32,
    stats: RingStats,
    armed: bool,
    /// `None` when the other side is this process.
    claims: Option<Claims>,
}

/// What moving one burst did.
#[derive(Default)]
struct Moved {
    frames: u64,
    bytes: u64,
    bad: u64,
    long: u64,
}

impl LinkTx {
    /// Takes the sending side over from the process that had it before; from nobody in a fresh
    /// region. Frames that were not synced are gone with their process. `ring` is the program's
    /// view of the tx ring. Returns the side and the cursors of the tx ring.
    pub(crate) fn take(
        link: Link,
        ring: &RingView,
        claims: Option<Claims>,
        stats: RingStats,
    ) -> (Self, u32, u32) {
        let n = link.rx.num();
        let bound = |v: u32| if v < n { v } else { 0 };
        let (prod, cons) = (bound(link.word(PROD).load(Relaxed)), bound(link.word(CONS).load(Relaxed)));
        let tail = bound(link.tx.tail());
        let sent = link.tx.next(tail);
        link.tx.set_cursors(sent, tail);
        let side = Self { link, sent, prod, cons, stats, armed: false, claims };
        side.repair();
        if let Some(claims) = &side.claims {
            take_in_all(claims, ring);
        }
        (side, sent, tail)
    }

    /// If the last owner died between the two stores of an exchange, both rings name one buffer and nobody names
    /// the one in the journal.
    fn repair(&self) {
        let (tx, rx) = (&self.link.tx, &self.link.rx);
        let mine: HashMap<u32, u32> = (0..tx.num()).map(|i| (tx.slot(i).buf, i)).collect();
        let twice = (0..rx.num()).find_map(|j| mine.get(&rx.slot(j).buf));
        if let Some(&i) = twice {
            let buf = self.link.word(JOURNAL).load(Relaxed);
            tx.set_slot(i, Slot { buf, len: 0, flags: NS_BUF_CHANGED });
        }
    }

    /// Free slots of the rx ring; asks the receiver only when the known ones do not suffice.
    fn room(&mut self, want: u32) -> u32 {
        let n = self.link.rx.num();
        let known = n - 1 - self.link.rx.dist(self.cons, self.prod);
        if known >= want {
            return known;
        }
        if let Some(cons) = self.link.cursor(CONS, self.cons, self.prod) {
            self.cons = cons;
        }
        n - 1 - self.link.rx.dist(self.cons, self.prod)
    }

    /// Exchanges slots of `tx` up to `head` while `room` lasts.
    fn exchange(&mut self, tx: &RingView, head: u32, room: u32) -> Moved {
        match self.claims.take() {
            None => self.exchange_by(&Trusted, tx, head, room),
            Some(claims) => {
                let moved = self.exchange_by(&claims, tx, head, room);
                self.claims = Some(claims);
                moved
            }
        }
    }

    fn exchange_by(&mut self, takeover: &impl Takeover, tx: &RingView, head: u32, mut room: u32) -> Moved {
        let mut m = Moved::default();
        let rx = &self.link.rx;
        let journal = self.link.word(JOURNAL);
        let (mut from, mut to) = (self.sent, self.prod);
        let mut replaced = from; // since the last slot that kept its buffer
        while from != head && room > 0 {
            let s = tx.slot(from);
            if s.more() || !tx.valid(s) {
                match tx.measure(from, head) {
                    Ok((slots, _)) if slots >= rx.num() => {
                        takeover.settle(tx, replaced, from);
                        from = crate::abi::cursor::add(from, slots, tx.num());
                        replaced = from;
                        m.long += 1;
                        continue;
                    }
                    Ok((slots, _)) if slots > room => break,
                    // The last slot of the chain is exchanged below.
                    Ok((slots, _)) => {
                        for _ in 1..slots {
                            m.bytes += swap(takeover, tx, from, rx, to, journal);
                            (from, to, room) = (tx.next(from), rx.next(to), room - 1);
                        }
                    }
                    Err(slots) => {
                        takeover.settle(tx, replaced, from);
                        from = crate::abi::cursor::add(from, slots, tx.num());
                        replaced = from;
                        m.bad += 1;
                        continue;
                    }
                }
            }
            m.bytes += swap(takeover, tx, from, rx, to, journal);
            (from, to, room) = (tx.next(from), rx.next(to), room - 1);
            m.frames += 1;
        }
        takeover.settle(tx, replaced, from);
        (self.sent, self.prod) = (from, to);
        m
    }

    fn count(&self, m: &Moved) {
        let s = &self.stats;
        s.count(Field::In, m.frames + m.bad + m.long);
        s.count(Field::Out, m.frames);
        s.count(Field::Bytes, m.bytes);
        s.drop(DropReason::BadSlot, m.bad);
        s.drop(DropReason::TooLong, m.long);
        for (at, n) in [(FRAMES, m.frames), (BYTES, m.bytes)] {
            let w = self.link.word64(at);
            w.store(w.load(Relaxed).wrapping_add(n), Relaxed);
        }
    }
}

/// Exchanges one pair of slots; returns the bytes that changed hands.
#[inline]
fn swap(
    takeover: &impl Takeover,
    tx: &RingView,
    from: u32,
    rx: &RingView,
    to: u32,
    journal: &AtomicU32,
) -> u64 {
    let (s, r) = (tx.slot(from), rx.slot(to));
    journal.store(r.buf, Relaxed);
    rx.set_slot(to, Slot { flags: s.flags | NS_BUF_CHANGED, ..s });
    takeover.replace(tx, from, s, Slot { buf: r.buf, len: 0, flags: NS_BUF_CHANGED });
    u64::from(s.len)
}

impl TxSync for LinkTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        if self.armed {
            self.armed = false;
            handshake::withdraw(self.link.word(TX_WISH));
            fd::drain_bell(self.link.bells.1.as_fd());
        }
        let want = ring.dist(self.sent, head);
        if want > 0 {
            let room = self.room(want);
            let moved = self.exchange(ring, head, room);
            self.count(&moved);
            if handshake::publish(self.link.word(PROD), self.prod, self.link.word(RX_WISH)) {
                self.stats.count(Field::Wakeups, 1);
                fd::ring_bell(self.link.bells.0.as_fd());
            }
        }
        Ok(ring.prev(self.sent))
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.armed = true;
        let known = self.cons;
        let now = handshake::wish(self.link.word(CONS), self.link.word(TX_WISH));
        Ok(now != known)
    }

    fn waits(&self) -> bool {
        true
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.link.bells.1.as_fd()
    }
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct LinkRx {
    link: Link,
    cons: u32,
    prod: u32,
    seen: (u64, u64),
    stats: RingStats,
    armed: bool,
    /// `None` when the other side is this process.
    claims: Option<Claims>,
}

impl LinkRx {
    /// Takes the receiving side over; frames that were received but not released by the program are delivered from
    /// where it stopped. `ring` is the program's view of the rx ring. Returns the side and the cursors of the rx ring.
    pub(crate) fn take(
        link: Link,
        ring: &RingView,
        claims: Option<Claims>,
        stats: RingStats,
    ) -> (Self, u32, u32) {
        let n = link.rx.num();
        let bound = |v: u32| if v < n { v } else { 0 };
        let cons = bound(link.word(CONS).load(Relaxed));
        let (tail, prod) = (bound(link.rx.tail()), bound(link.word(PROD).load(Relaxed)));
        let tail = if link.rx.dist(cons, tail) <= link.rx.dist(cons, prod) { tail } else { cons };
        let seen = (link.word64(FRAMES).load(Relaxed), link.word64(BYTES).load(Relaxed));
        if let Some(claims) = &claims {
            take_in(claims, ring, cons, tail);
        }
        (Self { link, cons, prod: tail, seen, stats, armed: false, claims }, cons, tail)
    }

    fn count(&mut self) {
        let now = (self.link.word64(FRAMES).load(Relaxed), self.link.word64(BYTES).load(Relaxed));
        let frames = now.0.wrapping_sub(self.seen.0);
        self.stats.count(Field::In, frames);
        self.stats.count(Field::Out, frames);
        self.stats.count(Field::Bytes, now.1.wrapping_sub(self.seen.1));
        self.seen = now;
    }
}

impl RxSync for LinkRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        if self.armed {
            self.armed = false;
            handshake::withdraw(self.link.word(RX_WISH));
            fd::drain_bell(self.link.bells.0.as_fd());
        }
        // A program that missed the last answer, as when a capture of its frames failed, may give back what it gave back before.
        let head =
            if ring.dist(self.cons, head) <= ring.dist(self.cons, self.prod) { head } else { self.cons };
        // Nothing given back, nothing told: the sender's cache keeps the line.
        if head != self.cons {
            if let Some(claims) = &self.claims {
                give_up(claims, ring, self.cons, head);
            }
            self.cons = head;
            if handshake::publish(self.link.word(CONS), head, self.link.word(TX_WISH)) {
                fd::ring_bell(self.link.bells.1.as_fd());
            }
        }
        // From what was known to one slot behind head: a full ring.
        if let Some(prod) = self.link.cursor(PROD, self.prod, ring.prev(head)) {
            if let Some(claims) = &self.claims {
                take_in(claims, ring, self.prod, prod);
            }
            self.prod = prod;
            self.count();
        }
        Ok(self.prod)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.armed = true;
        let now = handshake::wish(self.link.word(PROD), self.link.word(RX_WISH));
        Ok(now != self.prod)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.link.bells.0.as_fd()
    }
}
