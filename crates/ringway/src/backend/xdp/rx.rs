//! Receiving: the buffers of free slots are lent to the kernel, frames come back in them.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use super::loans::Loans;
use super::queue::Queue;
use crate::abi::cursor;
use crate::abi::layout::{MAX_CHAIN, NS_BUF_CHANGED, NS_MOREFRAG};
use crate::abi::slot::Slot;
use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::nic::LOOK_NS;
use crate::ring::{Finisher, RingView, RxSync};
use crate::sys::time;
use crate::sys::xsk::{RxRings, Umem, XskFd};

/// The receiving half of a socket, with the slots of an rx ring.
#[derive(Debug)]
pub(super) struct RxHalf {
    socket: Option<(Arc<XskFd>, RxRings)>,
    umem: Umem,
    loans: Loans,
    /// First slot not filled.
    tail: u32,
    /// Slots from `tail` on that were lent. One whose index the program destroyed counts, though there was nothing to
    /// lend: it moves along behind those that frames came to.
    lent: u32,
    /// What the kernel counted as lost and was folded into the ring's counters.
    lost: u64,
    /// Frames that were lost with a socket before this one, and not folded in yet.
    owed: u64,
}

/// What a look at the rx ring found.
#[derive(Debug, Default)]
struct Found {
    frames: u64,
    bytes: u64,
    long: u64,
    odd: u64,
}

impl RxHalf {
    pub(super) fn new(umem: Umem, bufs: u32) -> Self {
        Self { socket: None, umem, loans: Loans::new(bufs), tail: 0, lent: 0, lost: 0, owed: 0 }
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
        self.loans.clear();
        (self.lent, self.lost) = (0, 0);
    }

    /// Frames that the kernel lost and no ring has counted.
    pub(super) fn uncounted(&self) -> u64 {
        let lost = self.socket.as_ref().and_then(|(fd, _)| fd.lost().ok());
        self.owed + lost.map_or(0, |lost| lost.saturating_sub(self.lost))
    }

    /// Counts what the kernel lost. No free chunk and no free descriptor both mean a program that reads too slowly.
    fn fold(&mut self, stats: &RingStats) {
        let lost = self.uncounted();
        self.lost += lost - self.owed;
        self.owed = 0;
        stats.count(Field::In, lost);
        stats.drop(DropReason::RingFull, lost);
    }

    /// Lends the buffers of the slots from `tail` to `head` that are not lent yet.
    fn lend(&mut self, ring: &RingView, head: u32) {
        let Some((fd, RxRings { fill, .. })) = &mut self.socket else { return };
        let free = ring.num() - ring.dist(head, self.tail);
        let count = (free - self.lent).min(fill.room(free - self.lent));
        let mut at = cursor::add(self.tail, self.lent, ring.num());
        for _ in 0..count {
            let s = Slot { len: 0, ..ring.slot(at) };
            if ring.valid(s) && self.loans.lend(s.buf, at) {
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
    fn take(&mut self, ring: &RingView, head: u32) -> Found {
        let mut found = Found::default();
        let Some((_, rings)) = &mut self.socket else { return found };
        let room = ring.num() - 1 - ring.dist(head, self.tail);
        let limit = rings.rx.ready().min(room);
        let (mut read, mut at) = (0, self.tail);
        while read < limit {
            let d = rings.rx.peek(read);
            if d.more {
                let chain = Chain { first: read, limit, umem: self.umem, ring };
                let Some(parts) = chain.take(rings, &mut self.loans, &mut at, &mut found) else { break };
                read += parts;
                continue;
            }
            read += 1;
            match self.umem.buf(d.addr) {
                Some(buf) if self.loans.back(buf, at, ring) => {
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
    fn take(
        &self,
        RxRings { fill, rx }: &mut RxRings,
        loans: &mut Loans,
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
        let ours = all.clone().all(|i| loans.lent(self.umem.buf(rx.peek(i).addr)));
        for d in all.map(|i| rx.peek(i)) {
            let Some(buf) = self.umem.buf(d.addr).filter(|&b| loans.lent(Some(b))) else { continue };
            if whole && ours {
                loans.back(buf, *at, self.ring);
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

/// The receiving side of one queue.
#[derive(Debug)]
pub(super) struct XdpRx {
    queue: Arc<Queue>,
    stats: RingStats,
    finisher: Finisher,
    looked_ns: u64,
}

impl XdpRx {
    /// The side of a fresh ring. Frames are received from now on.
    pub(super) fn new(queue: Arc<Queue>, stats: RingStats, ring: &RingView, raw: bool) -> Self {
        let finisher = Finisher::new(&queue.core.driver, raw);
        queue.rx().lend(ring, 0);
        Self { queue, stats, finisher, looked_ns: 0 }
    }
}

impl RxSync for XdpRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let Self { queue, stats, finisher, looked_ns } = self;
        queue.check()?;
        let mut half = queue.rx();
        if let Some((fd, _)) = &half.socket {
            queue.look_away(fd.as_raw_fd());
        }
        half.lend(ring, head);
        let first = half.tail;
        let found = half.take(ring, head);
        finisher.finish(ring, first, half.tail);
        stats.count(Field::In, found.frames + found.long + found.odd);
        stats.count(Field::Out, found.frames);
        stats.count(Field::Bytes, found.bytes);
        if found.long + found.odd > 0 {
            stats.drop(DropReason::TooLong, found.long);
            stats.drop(DropReason::BadSlot, found.odd);
        }
        look(queue, stats, looked_ns, &mut half)?;
        Ok(half.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        let Self { queue, stats, looked_ns, .. } = self;
        queue.check()?;
        let mut half = queue.rx();
        look(queue, stats, looked_ns, &mut half)?;
        let Some((fd, rings)) = &half.socket else { return Ok(false) };
        if rings.fill.needs_wakeup() {
            fd.wake_receiver();
        }
        queue.watch(fd.as_raw_fd())?;
        Ok(rings.rx.has_more())
    }

    fn fd(&self) -> RawFd {
        self.queue.as_raw_fd()
    }
}

/// From time to time: what did the kernel lose, and is the interface still what it was?
fn look(queue: &Queue, stats: &RingStats, looked_ns: &mut u64, half: &mut RxHalf) -> Result<()> {
    let now = time::coarse_ns();
    if now.saturating_sub(*looked_ns) < LOOK_NS {
        return Ok(());
    }
    *looked_ns = now;
    half.fold(stats);
    queue.core.look()
}
