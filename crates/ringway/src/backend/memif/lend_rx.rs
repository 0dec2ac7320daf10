//! Receiving without a copy: a client posts the buffers of its free slots, and the server writes frames right there.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use ringway_memif::{Descriptor, LinkRing, Reason};

use super::attachment::Attachment;
use super::core::Core;
use super::shared_buffers::SharedBuffers;
use super::tx::MIN_FRAME;
use super::waker::RxWaker;
use crate::abi::Slot;
use crate::abi::layout::{MAX_CHAIN, NS_BUF_CHANGED, NS_MOREFRAG};
use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::ring::{RingView, RxSync};

/// The receiving side of a ring whose buffers the server sees.
///
/// Slots `[tail, posted)` are lent. Which buffers that are is in private memory: the server may write any descriptor.
#[derive(Debug)]
pub(super) struct LendRx {
    core: Arc<Core>,
    attachment: Attachment,
    waker: RxWaker,
    ring: RingView,
    buffers: SharedBuffers,
    tail: u32,
    posted: u32,
    /// Counters of the shared ring: up to which frames were taken, and buffers posted.
    at: u16,
    head: u16,
    /// Bytes of each slot of the frame that is looked at.
    lens: Vec<u16>,
    stats: RingStats,
}

impl LendRx {
    pub(super) fn new(core: Arc<Core>, index: usize, ring: RingView, stats: RingStats) -> Result<Self> {
        let (attachment, waker) = (Attachment::new(index, stats.clone()), RxWaker::new(&core)?);
        let buffers = SharedBuffers::of(ring.region());
        let (tail, posted, at, head, lens) = (0, 0, 0, 0, Vec::new());
        Ok(Self { core, attachment, waker, ring, buffers, tail, posted, at, head, lens, stats })
    }

    /// All that is lent comes back: each slot names a buffer again.
    fn withdraw(&mut self) {
        let mut to = self.tail;
        while self.at != self.head {
            self.ring.set_slot(to, Slot { buf: self.buffers.get(self.at), len: 0, flags: NS_BUF_CHANGED });
            to = self.ring.next(to);
            self.at = self.at.wrapping_add(1);
        }
        while to != self.posted {
            self.ring.set_slot(to, Slot::from_word(0));
            to = self.ring.next(to);
        }
        self.posted = self.tail;
    }

    fn attach(&mut self) {
        self.withdraw();
        (self.at, self.head) = (0, 0);
        let link = self.attachment.advance(&self.core);
        let lr = link.as_ref().and_then(|link| link.rx(self.attachment.index()));
        lr.inspect(|lr| lr.ring.mask_interrupts(true));
        self.buffers.resize(lr.map_or(0, |lr| lr.ring.size()));
    }

    /// Takes the frames that the server wrote.
    fn take(&mut self, lr: &LinkRing) -> std::result::Result<(), Reason> {
        let mut ready = lr.ring.tail().wrapping_sub(self.at);
        if ready > self.head.wrapping_sub(self.at) {
            return Err(Reason::Counter);
        }
        let (mut frames, mut bytes) = (0, 0);
        while ready > 0 {
            let len = self.measure(lr, ready)?;
            let slots = self.lens.len() as u16;
            let why = match len {
                _ if len < MIN_FRAME.into() => Some(DropReason::TooShort),
                _ if u32::from(slots) > MAX_CHAIN => Some(DropReason::TooLong),
                _ => None,
            };
            match why {
                Some(why) => {
                    self.stats.count(Field::In, 1);
                    self.stats.drop(why, 1);
                    (0..slots).for_each(|_| self.post_again(lr));
                }
                None => {
                    (0..self.lens.len()).for_each(|k| self.deliver(k));
                    (frames, bytes) = (frames + 1, bytes + u64::from(len));
                }
            }
            ready -= slots;
        }
        self.stats.count(Field::In, frames);
        self.stats.count(Field::Out, frames);
        self.stats.count(Field::Bytes, bytes);
        Ok(())
    }

    /// Bytes of a slot: a buffer, as far as its length can say.
    fn capacity(&self) -> u32 {
        self.ring.buf_size().min(u16::MAX.into())
    }

    /// Reads the lengths of the next frame; returns its bytes.
    fn measure(&mut self, lr: &LinkRing, ready: u16) -> std::result::Result<u32, Reason> {
        self.lens.clear();
        for k in 0..ready {
            let (len, more) = lr.ring.descriptors().read_len(self.at.wrapping_add(k));
            if len > self.capacity() {
                return Err(Reason::Outside);
            }
            self.lens.push(len as u16);
            if !more {
                return Ok(self.lens.iter().map(|&len| u32::from(len)).sum());
            }
        }
        Err(Reason::Chain)
    }

    /// Gives slot `k` of the frame to the program.
    fn deliver(&mut self, k: usize) {
        let (len, last) = (self.lens[k], k + 1 == self.lens.len());
        let flags = if last { NS_BUF_CHANGED } else { NS_BUF_CHANGED | NS_MOREFRAG };
        self.ring.set_slot(self.tail, Slot { buf: self.buffers.get(self.at), len, flags });
        self.tail = self.ring.next(self.tail);
        self.at = self.at.wrapping_add(1);
    }

    /// The buffer of a frame that is dropped goes behind the others.
    fn post_again(&mut self, lr: &LinkRing) {
        let buf = self.buffers.get(self.at);
        self.at = self.at.wrapping_add(1);
        self.post(lr, buf);
    }

    fn post(&mut self, lr: &LinkRing, buf: u32) {
        let (region, offset) = self.buffers.place(buf);
        let empty = Descriptor { more: false, region, len: self.capacity(), offset };
        lr.ring.descriptors().write(self.head, empty);
        self.buffers.set(self.head, buf);
        self.head = self.head.wrapping_add(1);
    }

    /// Posts the buffers of the free slots before `end`. A slot whose index the program spoilt has none.
    fn post_free(&mut self, lr: &LinkRing, end: u32) {
        while self.posted != end && self.head.wrapping_sub(self.at) < lr.ring.size() {
            let s = Slot { len: 0, ..self.ring.slot(self.posted) };
            if self.ring.valid(s) {
                self.post(lr, s.buf);
            }
            self.posted = self.ring.next(self.posted);
        }
    }

    fn exchange(&mut self, end: u32) {
        let Some(link) = self.attachment.link() else { return };
        let Some(lr) = link.rx(self.attachment.index()) else { return };
        let before = self.head;
        if let Err(why) = self.take(lr) {
            self.core.break_off(self.attachment.generation(), why);
            return;
        }
        if self.attachment.is_current(&self.core) {
            self.post_free(lr, end);
        }
        if self.head != before {
            lr.ring.set_head(self.head);
        }
    }

    fn has_work(&self) -> bool {
        let link = self.attachment.link();
        let ring = link.as_ref().and_then(|link| link.rx(self.attachment.index()));
        ring.is_some_and(|lr| lr.ring.tail() != self.at) || !self.attachment.is_current(&self.core)
    }
}

impl RxSync for LendRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        if self.waker.is_armed() {
            self.waker.disarm(self.attachment.link().as_deref(), self.attachment.index());
        }
        self.attachment.look(&self.core);
        // What the old peer wrote before it went comes first. No buffer is posted for it again, so that has an end.
        self.exchange(ring.prev(head));
        while !self.attachment.is_current(&self.core) {
            self.attach();
            self.exchange(ring.prev(head));
        }
        Ok(self.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.core.look_now();
        self.waker.arm(&self.core, self.attachment.link().as_deref(), self.attachment.index())?;
        Ok(self.has_work())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

impl Drop for LendRx {
    /// Each slot names a buffer again, so that the region loses none.
    fn drop(&mut self) {
        self.withdraw();
    }
}
