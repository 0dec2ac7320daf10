//! Receiving on a ring of a link by copying: out of the own buffers of a client, or out of buffers that the client named.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use ringway_memif::{Descriptors, Link, LinkRing, Reason};

use super::attachment::Attachment;
use super::core::Core;
use super::tx::MIN_FRAME;
use super::waker::RxWaker;
use crate::backend::slots::Slots;
use crate::count::{DropReason, RingStats};
use crate::error::Result;
use crate::ring::{RingView, RxSync};
use crate::sys::mmap::Mmap;

/// Frames that are fetched ahead of the one that is read.
const AHEAD: u16 = 6;

/// The receiving side of a ring.
#[derive(Debug)]
pub(super) struct MemifRx {
    core: Arc<Core>,
    attachment: Attachment,
    waker: RxWaker,
    slots: Slots,
    /// The counter of the shared ring up to which frames were taken.
    at: u16,
    /// Slots that are still to be taken from a peer that is gone. It may go on publishing; nobody looks.
    rest: Option<u16>,
    scratch: Vec<u8>,
    stats: RingStats,
}

/// The shared ring as its receiver sees it.
struct Source<'a> {
    link: &'a Link,
    ring: &'a LinkRing,
    descriptors: Descriptors<'a>,
}

/// The bytes of a frame, or of a part of it.
struct Part<'a> {
    mem: &'a Mmap,
    at: usize,
    len: u32,
    more: bool,
}

impl<'a> Source<'a> {
    fn new(link: &'a Link, ring: &'a LinkRing) -> Self {
        Self { link, ring, descriptors: ring.ring.descriptors() }
    }

    /// Slots that were published and not taken yet.
    fn ready(&self, at: u16) -> std::result::Result<u16, Reason> {
        let published =
            if self.ring.buffers.is_some() { self.ring.ring.tail() } else { self.ring.ring.head() };
        Some(published.wrapping_sub(at)).filter(|&n| n <= self.ring.ring.size()).ok_or(Reason::Counter)
    }

    /// What the slot at a counter holds. Each word of the peer is read once, and checked.
    #[inline]
    fn part(&self, at: u16) -> std::result::Result<Part<'a>, Reason> {
        let (d, len, more) = match &self.ring.buffers {
            Some(buffers) => {
                let d = buffers.of_slot(at & (self.ring.ring.size() - 1));
                let (len, more) = self.descriptors.read_len(at);
                (d, Some(len).filter(|&len| len <= d.len).ok_or(Reason::Outside)?, more)
            }
            None => {
                let d = self.descriptors.read(at);
                (d, d.len, d.more)
            }
        };
        let mem = self.link.memory(d, len).ok_or(Reason::Outside)?;
        Ok(Part { mem, at: d.offset as usize, len, more })
    }

    /// Has the CPU fetch the beginning of a frame that is read soon.
    #[inline]
    fn fetch(&self, at: u16) {
        if let Ok(part) = self.part(at) {
            part.mem.fetch(part.at, false);
        }
    }

    /// Gives the slot at a counter back to the server; the client's `head` follows.
    #[inline]
    fn post(&self, at: u16) {
        if let Some(buffers) = &self.ring.buffers {
            self.descriptors.write(at, buffers.of_slot(at & (self.ring.ring.size() - 1)));
        }
    }

    /// Takes the mark of a chain from the slot at a counter. Some senders (DPDK 22.11) set it, and do not clear it when they use the slot
    /// again for a frame by itself.
    fn clear_chain(&self, at: u16) {
        if self.ring.buffers.is_none() {
            let d = self.descriptors.read(at);
            self.descriptors.write_len(at, d.len, false, d.region);
        }
    }

    /// Publishes that the slots before `at` were taken.
    fn publish(&self, at: u16) {
        match self.ring.buffers {
            Some(_) => self.ring.ring.set_head(at.wrapping_add(self.ring.ring.size())),
            None => self.ring.ring.set_tail(at),
        }
    }
}

impl MemifRx {
    pub(super) fn new(core: Arc<Core>, index: usize, stats: RingStats) -> Result<Self> {
        let waker = RxWaker::new(&core)?;
        let attachment = Attachment::new(index, stats.clone());
        let (slots, scratch) = (Slots::default(), Vec::new());
        Ok(Self { core, attachment, waker, slots, at: 0, rest: None, scratch, stats })
    }

    /// Goes over to the link that is up now. A client has posted all buffers of the ring.
    fn attach(&mut self) {
        (self.at, self.rest) = (0, None);
        let link = self.attachment.advance(&self.core);
        if let Some(lr) = link.as_ref().and_then(|link| link.rx(self.attachment.index())) {
            lr.ring.mask_interrupts(true);
        }
    }

    /// Takes what the link has; true when frames are left for which the program has no slots.
    fn take(&mut self, ring: &RingView, head: u32) -> bool {
        let Some(link) = self.attachment.take_out() else { return false };
        let left = self.take_from(&link, ring, head);
        self.attachment.give_back(link);
        left
    }

    fn take_from(&mut self, link: &Link, ring: &RingView, head: u32) -> bool {
        let Some(lr) = link.rx(self.attachment.index()) else { return false };
        let source = Source::new(link, lr);
        let before = self.at;
        let ready = source.ready(before).map(|ready| self.rest.map_or(ready, |rest| rest.min(ready)));
        self.slots.end = ring.prev(head);
        let taken = ready.and_then(|ready| self.copy(ring, &source, ready));
        if self.at != before {
            source.publish(self.at);
            self.rest = self.rest.map(|rest| rest - self.at.wrapping_sub(before));
        }
        self.slots.count(&self.stats);
        match taken {
            Ok(left) => left,
            Err(why) => {
                self.core.break_off(self.attachment.generation(), why);
                false
            }
        }
    }

    /// Copies frames of `ready` slots of the shared ring; true when the program has no slots for some of them.
    fn copy(
        &mut self,
        ring: &RingView,
        source: &Source<'_>,
        mut ready: u16,
    ) -> std::result::Result<bool, Reason> {
        for k in 0..AHEAD.min(ready) {
            source.fetch(self.at.wrapping_add(k));
        }
        while ready > 0 && self.slots.has(ring, 1) {
            let part = source.part(self.at)?;
            if part.more || part.len > ring.buf_size() || part.len < MIN_FRAME.into() {
                match self.copy_chain(ring, source, part, ready)? {
                    Some(used) => ready -= used,
                    None => return Ok(true),
                }
                continue;
            }
            if ready > AHEAD {
                source.fetch(self.at.wrapping_add(AHEAD));
            }
            self.slots.put_with(ring, part.len as usize, |buf| {
                part.mem.read(part.at, &mut buf[..part.len as usize])
            });
            source.post(self.at);
            self.at = self.at.wrapping_add(1);
            ready -= 1;
        }
        Ok(ready > 0)
    }

    /// Copies a frame of several parts, or one that is longer than a slot, or drops it by name. `first` is its first part. Returns the
    /// slots of the shared ring that it took; `None` when the program has no room for it now.
    #[cold]
    fn copy_chain(
        &mut self,
        ring: &RingView,
        source: &Source<'_>,
        first: Part<'_>,
        ready: u16,
    ) -> std::result::Result<Option<u16>, Reason> {
        self.scratch.clear();
        let (mut part, mut used, mut total) = (first, 1, 0);
        loop {
            let from = total;
            total += part.len as usize;
            // Of a frame that is too long only the end is looked for.
            if Slots::need(ring, total).is_ok() {
                self.scratch.resize(total, 0);
                part.mem.read(part.at, &mut self.scratch[from..]);
            }
            if !part.more {
                break;
            }
            if used == ready {
                return Err(Reason::Chain);
            }
            part = source.part(self.at.wrapping_add(used))?;
            used += 1;
        }
        if total < MIN_FRAME.into() {
            self.slots.drop(&self.stats, DropReason::TooShort);
        } else {
            match Slots::need(ring, total) {
                Err(why) => self.slots.drop(&self.stats, why),
                Ok(need) if !self.slots.has(ring, need) => return Ok(None),
                Ok(_) => self.slots.put(ring, &self.scratch),
            }
        }
        for _ in 0..used {
            source.clear_chain(self.at);
            source.post(self.at);
            self.at = self.at.wrapping_add(1);
        }
        Ok(Some(used))
    }

    /// Slots that wait on the link.
    fn ready(&self) -> u16 {
        let Some(link) = self.attachment.link() else { return 0 };
        let ready = link.rx(self.attachment.index()).map(|lr| Source::new(&link, lr).ready(self.at));
        ready.map_or(0, |ready| ready.unwrap_or(0))
    }
}

impl RxSync for MemifRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        if self.waker.is_armed() {
            self.waker.disarm(self.attachment.link().as_deref(), self.attachment.index());
        }
        self.attachment.look(&self.core);
        if self.attachment.is_current(&self.core) {
            self.take(ring, head);
            return Ok(self.slots.tail);
        }
        // What peers sent before they went, then the link that is up, if there is one.
        while !self.attachment.is_current(&self.core) {
            self.rest = self.rest.or_else(|| Some(self.ready()));
            if self.take(ring, head) {
                return Ok(self.slots.tail);
            }
            self.attach();
        }
        self.take(ring, head);
        Ok(self.slots.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.core.look_now();
        self.waker.arm(&self.core, self.attachment.link().as_deref(), self.attachment.index())?;
        Ok(self.ready() > 0 || !self.attachment.is_current(&self.core))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}
