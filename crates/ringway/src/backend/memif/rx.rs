//! Receiving on a ring of a link by copying: out of the own buffers of a client, or out of buffers that the client named.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use ringway_memif::{Descriptors, Link, LinkRing, Reason};

use super::attachment::Attachment;
use super::core::Core;
use super::tx::MIN_FRAME;
use super::waker::RxWaker;
use crate::abi::Slot;
use crate::abi::layout::{MAX_CHAIN, NS_MOREFRAG};
use crate::count::{DropReason, Field, RingStats};
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
    /// First slot of the program's ring that is not filled.
    tail: u32,
    /// The counter of the shared ring up to which frames were taken.
    at: u16,
    /// Slots that are still to be taken from a peer that is gone. It may go on publishing; nobody looks.
    rest: Option<u16>,
    scratch: Vec<u8>,
    stats: RingStats,
    counted: Counted,
}

/// What a sync counts.
#[derive(Debug, Default)]
struct Counted {
    frames_in: u64,
    frames_out: u64,
    bytes: u64,
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
        let (scratch, counted) = (Vec::new(), Counted::default());
        Ok(Self { core, attachment, waker, tail: 0, at: 0, rest: None, scratch, stats, counted })
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
        let Some(link) = self.attachment.link() else { return false };
        let Some(lr) = link.rx(self.attachment.index()) else { return false };
        let source = Source::new(&link, lr);
        let before = self.at;
        let ready = source.ready(before).map(|ready| self.rest.map_or(ready, |rest| rest.min(ready)));
        let taken = ready.and_then(|ready| self.copy(ring, ring.prev(head), &source, ready));
        if self.at != before {
            source.publish(self.at);
            self.rest = self.rest.map(|rest| rest - self.at.wrapping_sub(before));
        }
        self.count();
        match taken {
            Ok(left) => left,
            Err(why) => {
                self.core.break_off(self.attachment.generation(), why);
                false
            }
        }
    }

    /// Copies frames of `ready` slots into the slots before `end`; true when some are left.
    fn copy(
        &mut self,
        ring: &RingView,
        end: u32,
        source: &Source<'_>,
        mut ready: u16,
    ) -> std::result::Result<bool, Reason> {
        for k in 0..AHEAD.min(ready) {
            source.fetch(self.at.wrapping_add(k));
        }
        while ready > 0 && self.tail != end {
            let part = source.part(self.at)?;
            if part.more || part.len > ring.buf_size() || part.len < MIN_FRAME.into() {
                match self.copy_chain(ring, end, source, ready)? {
                    Some(used) => ready -= used,
                    None => return Ok(true),
                }
                continue;
            }
            if ready > AHEAD {
                source.fetch(self.at.wrapping_add(AHEAD));
            }
            let slot = Slot { len: part.len as u16, flags: 0, ..ring.slot(self.tail) };
            let good = ring.valid(slot);
            if good {
                ring.fill(slot, |buf| part.mem.read(part.at, &mut buf[..part.len as usize]));
            }
            self.put(ring, slot, good);
            self.counted.frames_in += 1;
            self.counted.frames_out += 1;
            self.counted.bytes += u64::from(part.len);
            source.post(self.at);
            self.at = self.at.wrapping_add(1);
            ready -= 1;
        }
        Ok(ready > 0)
    }

    /// Fills the next slot of the program; a slot whose words the program spoilt becomes a bad one.
    #[inline]
    fn put(&mut self, ring: &RingView, slot: Slot, good: bool) {
        ring.set_slot(self.tail, if good { slot } else { Slot::from_word(0) });
        self.tail = ring.next(self.tail);
    }

    /// Copies a frame of several parts, or one that is longer than a slot, or drops it by name. Returns the slots of the shared ring
    /// that it took; `None` when the program has no room for it now.
    #[cold]
    fn copy_chain(
        &mut self,
        ring: &RingView,
        end: u32,
        source: &Source<'_>,
        ready: u16,
    ) -> std::result::Result<Option<u16>, Reason> {
        let longest = MAX_CHAIN.min(ring.num() - 1) as usize * ring.buf_size() as usize;
        self.scratch.clear();
        let (mut used, mut total, mut more) = (0, 0, true);
        while more {
            if used == ready {
                return Err(Reason::Chain);
            }
            let part = source.part(self.at.wrapping_add(used))?;
            let from = self.scratch.len();
            total += part.len as usize;
            if total <= longest {
                self.scratch.resize(total, 0);
                part.mem.read(part.at, &mut self.scratch[from..]);
            }
            (used, more) = (used + 1, part.more);
        }
        let why = match total {
            _ if total > longest => Some(DropReason::TooLong),
            _ if total < MIN_FRAME.into() => Some(DropReason::TooShort),
            _ => None,
        };
        let need = total.div_ceil(ring.buf_size() as usize);
        if why.is_none() && need > ring.dist(self.tail, end) as usize {
            return Ok(None);
        }
        self.counted.frames_in += 1;
        match why {
            Some(why) => self.stats.drop(why, 1),
            None => {
                self.place_scratch(ring, need);
                self.counted.frames_out += 1;
                self.counted.bytes += total as u64;
            }
        }
        for _ in 0..used {
            source.clear_chain(self.at);
            source.post(self.at);
            self.at = self.at.wrapping_add(1);
        }
        Ok(Some(used))
    }

    fn place_scratch(&mut self, ring: &RingView, need: usize) {
        let scratch = std::mem::take(&mut self.scratch);
        for (k, part) in scratch.chunks(ring.buf_size() as usize).enumerate() {
            let flags = if k + 1 < need { NS_MOREFRAG } else { 0 };
            let slot = Slot { len: part.len() as u16, flags, ..ring.slot(self.tail) };
            let good = ring.valid(slot);
            if good {
                ring.write(slot, part);
            }
            self.put(ring, slot, good);
        }
        self.scratch = scratch;
    }

    fn count(&mut self) {
        let Counted { frames_in, frames_out, bytes } = std::mem::take(&mut self.counted);
        self.stats.count(Field::In, frames_in);
        self.stats.count(Field::Out, frames_out);
        self.stats.count(Field::Bytes, bytes);
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
            return Ok(self.tail);
        }
        // What peers sent before they went, then the link that is up, if there is one.
        while !self.attachment.is_current(&self.core) {
            self.rest = self.rest.or_else(|| Some(self.ready()));
            if self.take(ring, head) {
                return Ok(self.tail);
            }
            self.attach();
        }
        self.take(ring, head);
        Ok(self.tail)
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
