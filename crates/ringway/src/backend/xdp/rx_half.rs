//! The receiving half of a socket, with the slots of its ring.

use super::in_flight::InFlight;
use crate::abi::Slot;
use crate::abi::cursor;
use crate::abi::layout::{MAX_CHAIN, NS_BUF_CHANGED, NS_MOREFRAG};
use crate::count::{DropReason, Field, RingStats};
use crate::ring::RingView;
use crate::sys::xsk::{RxRings, Umem, XskFd};
use std::sync::Arc;
/// The receiving half of a socket, with the slots of an rx ring.
#[derive(Debug)]
pub(super) struct RxHalf {
    pub(super) socket: Option<(Arc<XskFd>, RxRings)>,
    pub(super) umem: Umem,
    pub(super) in_flight: InFlight,
    /// First slot not filled.
    pub(super) tail: u32,
    /// Slots from `tail` on that were lent. One whose index the program destroyed counts, though
    /// there was nothing to lend: it moves along behind the slots that frames came to.
    pub(super) lent: u32,
    /// What the kernel counted as lost and was folded into the ring's counters.
    pub(super) lost: u64,
    /// Frames that were lost with a socket before this one, and not folded in yet.
    pub(super) owed: u64,
}

/// What a look at the rx ring found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    pub(super) long: u64,
    pub(super) odd: u64,
}

impl RxHalf {
    pub(super) fn new(umem: Umem, bufs: u32) -> Self {
        Self { socket: None, umem, in_flight: InFlight::new(bufs), tail: 0, lent: 0, lost: 0, owed: 0 }
    }

    pub(super) fn connect(&mut self, fd: Arc<XskFd>, rings: RxRings) {
        self.socket = Some((fd, rings));
    }

    /// The kernel lets go of everything; what it put into the ring and nobody took is lost.
    pub(super) fn disconnect(&mut self) {
        self.owed = self.uncounted();
        if let Some((_, RxRings { rx, .. })) = &mut self.socket {
            self.owed += (0..rx.ready()).filter(|&i| !rx.peek(i).more).count() as u64;
        }
        self.socket = None;
        self.in_flight.clear();
        (self.lent, self.lost) = (0, 0);
    }

    /// Frames that the kernel lost and no ring has counted.
    pub(super) fn uncounted(&self) -> u64 {
        let lost = self.socket.as_ref().and_then(|(fd, _)| fd.lost().ok());
        self.owed + lost.map_or(0, |lost| lost.saturating_sub(self.lost))
    }

    /// Counts what the kernel lost. No free chunk and no free descriptor both mean a program that reads too slowly.
    #[inline]
    pub(super) fn fold(&mut self, stats: &RingStats) {
        let lost = self.uncounted();
        self.lost += lost - self.owed;
        self.owed = 0;
        stats.count(Field::In, lost);
        stats.drop(DropReason::RingFull, lost);
    }

    /// Lends the buffers of the slots from `tail` to `head` that are not lent yet.
    #[inline]
    pub(super) fn lend(&mut self, ring: &RingView, head: u32) {
        let Some((fd, RxRings { fill, .. })) = &mut self.socket else { return };
        let free = ring.num() - ring.dist(head, self.tail);
        let count = (free - self.lent).min(fill.room(free - self.lent));
        let mut at = cursor::add(self.tail, self.lent, ring.num());
        for _ in 0..count {
            let s = Slot { len: 0, ..ring.slot(at) };
            if ring.valid(s) && self.in_flight.lend(s.buf, at) {
                fill.put_addr(self.umem.chunk(s.buf));
            }
            at = ring.next(at);
        }
        self.lent += count;
        if count > 0 {
            fill.publish();
        }
        if fill.needs_wakeup() {
            fd.wake_receiver();
        }
    }

    /// Takes what arrived into slots, whole frames only.
    #[inline]
    pub(super) fn take(&mut self, ring: &RingView, head: u32) -> Found {
        let mut found = Found::default();
        let Some((_, rings)) = &mut self.socket else { return found };
        let room = ring.num() - 1 - ring.dist(head, self.tail);
        let limit = rings.rx.ready().min(room);
        let (mut read, mut at) = (0, self.tail);
        while read < limit {
            let d = rings.rx.peek(read);
            if d.more {
                let chain = Chain { first: read, limit, umem: self.umem, ring };
                let Some(parts) = chain.take(rings, &mut self.in_flight, &mut at, &mut found) else { break };
                read += parts;
                continue;
            }
            read += 1;
            match self.umem.buf(d.addr) {
                Some(buf) if self.in_flight.back(buf, at, ring) => {
                    ring.set_slot(at, Slot { buf, len: d.len as u16, flags: NS_BUF_CHANGED });
                    at = ring.next(at);
                    found.frames += 1;
                    found.bytes += u64::from(d.len);
                }
                _ => found.odd += 1,
            }
        }
        rings.rx.release(read);
        self.lent -= ring.dist(self.tail, at).min(self.lent);
        self.tail = at;
        found
    }
}

/// A frame of several descriptors, the first of them `first` ahead, all before `limit`.
struct Chain<'a> {
    first: u32,
    limit: u32,
    umem: Umem,
    ring: &'a RingView,
}

impl Chain<'_> {
    /// Takes the frame into the slots from `at`, or drops it by name and lends its buffers again. Returns its
    /// descriptors, `None` when some are still to come.
    #[cold]
    pub(super) fn take(
        &self,
        RxRings { fill, rx }: &mut RxRings,
        in_flight: &mut InFlight,
        at: &mut u32,
        found: &mut Found,
    ) -> Option<u32> {
        let last = (self.first..self.limit).position(|i| !rx.peek(i).more);
        let parts = match last {
            Some(last) => last as u32 + 1,
            // The ring, though empty, can't hold it.
            None if self.limit == self.ring.num() - 1 => self.limit - self.first,
            None => return None,
        };
        let all = self.first..self.first + parts;
        let whole = last.is_some() && parts <= MAX_CHAIN;
        let ours = all.clone().all(|i| in_flight.lent(self.umem.buf(rx.peek(i).addr)));
        for d in all.map(|i| rx.peek(i)) {
            let Some(buf) = self.umem.buf(d.addr).filter(|&b| in_flight.lent(Some(b))) else { continue };
            if whole && ours {
                in_flight.back(buf, *at, self.ring);
                let more = if d.more { NS_MOREFRAG } else { 0 };
                self.ring.set_slot(*at, Slot { buf, len: d.len as u16, flags: NS_BUF_CHANGED | more });
                *at = self.ring.next(*at);
                found.bytes += u64::from(d.len);
            } else if fill.room(1) > 0 {
                fill.put_addr(self.umem.chunk(buf));
                fill.publish();
            }
        }
        *(if !whole {
            &mut found.long
        } else if ours {
            &mut found.frames
        } else {
            &mut found.odd
        }) += 1;
        Some(parts)
    }
}
