//! Sending without a copy: a client names the buffers of its slots, and gets them back in order when the server has read them.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use ringway_memif::{Descriptor, Link, LinkRing, Reason};

use super::attachment::Attachment;
use super::core::Core;
use super::sent::Sent;
use super::shared_buffers::SharedBuffers;
use super::tx::{MIN_FRAME, not_woken};
use super::waker::TxWaker;
use crate::abi::Slot;
use crate::abi::layout::NS_BUF_CHANGED;
use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::ring::{RingView, TxSync};

/// The sending side of a ring whose buffers the server sees.
///
/// Slots `[done, sent)` are lent. Which buffers that are is in private memory: a slot that comes back gets the next one of them.
#[derive(Debug)]
pub(super) struct LendTx {
    core: Arc<Core>,
    attachment: Attachment,
    waker: TxWaker,
    ring: RingView,
    buffers: SharedBuffers,
    done: u32,
    sent: u32,
    at: u16,
    given_back: u16,
    published: Sent,
    stats: RingStats,
}

impl LendTx {
    pub(super) fn new(core: Arc<Core>, index: usize, ring: RingView, stats: RingStats) -> Result<Self> {
        let (attachment, waker) = (Attachment::new(index, stats.clone()), TxWaker::new(&core)?);
        let buffers = SharedBuffers::of(ring.region());
        let (published, at) = (Sent::default(), 0);
        Ok(Self {
            core,
            attachment,
            waker,
            ring,
            buffers,
            done: 0,
            sent: 0,
            at,
            given_back: 0,
            published,
            stats,
        })
    }

    /// Goes over to the link that is up now, if it is another one. What the old peer has not read is lost, and comes back.
    fn attach(&mut self) -> Option<Arc<Link>> {
        if self.attachment.is_current(&self.core) {
            return self.attachment.link();
        }
        if let Some(link) = self.attachment.link()
            && let Some(lr) = link.tx(self.attachment.index())
        {
            // A counter that jumped gives nothing back: all that is lent counts as unread.
            let _ = self.take_back(lr);
            let (frames, bytes) = self.published.last(self.at, self.at.wrapping_sub(self.given_back));
            self.stats.unsend(DropReason::PeerGone, frames, bytes);
            self.give_back_to(self.at);
        }
        let link = self.attachment.renew(&self.core);
        let size =
            link.as_ref().and_then(|link| link.tx(self.attachment.index())).map_or(0, |r| r.ring.size());
        (self.at, self.given_back) = (0, 0);
        self.published = Sent::new(size);
        self.buffers.resize(size);
        link
    }

    /// Takes back the slots that the server has read.
    fn take_back(&mut self, lr: &LinkRing) -> std::result::Result<(), Reason> {
        let tail = lr.ring.tail();
        if tail.wrapping_sub(self.given_back) > self.at.wrapping_sub(self.given_back) {
            return Err(Reason::Counter);
        }
        self.give_back_to(tail);
        Ok(())
    }

    fn give_back_to(&mut self, counter: u16) {
        while self.given_back != counter {
            let slot = Slot { buf: self.buffers.get(self.given_back), len: 0, flags: NS_BUF_CHANGED };
            self.ring.set_slot(self.done, slot);
            self.done = self.ring.next(self.done);
            self.given_back = self.given_back.wrapping_add(1);
        }
    }

    /// Lends the slots of whole frames before `head`, as far as there is room; returns frames and bytes.
    fn lend(&mut self, head: u32, lr: &LinkRing) -> (u64, u64) {
        let (mut frames, mut bytes) = (0, 0);
        let mut free = lr.ring.size() - self.at.wrapping_sub(self.given_back);
        while self.sent != head && free > 0 {
            let s = self.ring.slot(self.sent);
            let measured = if s.more() || !self.ring.valid(s) {
                self.ring.measure(self.sent, head)
            } else {
                Ok((1, s.len.into()))
            };
            let (slots, why) = match measured {
                Err(slots) => (slots, Some(DropReason::BadSlot)),
                Ok((slots, _)) if s.offload() => (slots, Some(DropReason::BadOffload)),
                Ok((slots, len)) if len < MIN_FRAME.into() => (slots, Some(DropReason::TooShort)),
                Ok((slots, _)) if slots > lr.ring.size().into() => (slots, Some(DropReason::TooLong)),
                Ok((slots, _)) => (slots, None),
            };
            if let Some(why) = why {
                self.skip(slots, why);
                continue;
            }
            if slots > free.into() {
                break;
            }
            for k in 0..slots {
                bytes += self.lend_slot(lr, k + 1 == slots);
            }
            free -= slots as u16;
            frames += 1;
        }
        (frames, bytes)
    }

    fn lend_slot(&mut self, lr: &LinkRing, last: bool) -> u64 {
        let s = self.ring.slot(self.sent);
        // A program that changes the slot meanwhile sends other bytes of the region, or none.
        let len = if self.ring.valid(s) { u32::from(s.len) } else { 0 };
        let (region, offset) = self.buffers.place(s.buf);
        lr.ring.descriptors().write(self.at, Descriptor { more: !last, region, len, offset });
        self.buffers.set(self.at, s.buf);
        self.published.note(self.at, len, last);
        self.at = self.at.wrapping_add(1);
        self.sent = self.ring.next(self.sent);
        len.into()
    }

    /// Slots that are not sent come back before lent ones.
    fn skip(&mut self, slots: u32, why: DropReason) {
        self.stats.count(Field::In, 1);
        self.stats.drop(why, 1);
        for _ in 0..slots {
            let s = self.ring.slot(self.sent);
            self.ring.set_slot(self.done, Slot { len: 0, flags: NS_BUF_CHANGED, ..s });
            self.done = self.ring.next(self.done);
            self.sent = self.ring.next(self.sent);
        }
    }

    fn exchange(&mut self, head: u32, lr: &LinkRing) -> std::result::Result<(), Reason> {
        self.take_back(lr)?;
        let before = self.at;
        let (frames, bytes) = self.lend(head, lr);
        self.stats.sent(frames, bytes);
        if self.at != before {
            lr.ring.set_head(self.at);
            if lr.ring.wants_interrupt() {
                self.stats.count(Field::Wakeups, 1);
                lr.bell.ring().map_err(not_woken)?;
            }
        }
        Ok(())
    }
}

impl TxSync for LendTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.waker.disarm();
        self.attachment.look(&self.core);
        let Some(link) = self.attach() else { return Ok(ring.prev(self.done)) };
        let Some(lr) = link.tx(self.attachment.index()) else { return Ok(ring.prev(self.done)) };
        if let Err(why) = self.exchange(head, lr) {
            self.core.break_off(self.attachment.generation(), why);
        }
        Ok(ring.prev(self.done))
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.core.look_now();
        self.waker.arm(&self.core, self.attachment.link().is_some())?;
        Ok(!self.attachment.is_current(&self.core))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }

    fn waits(&self) -> bool {
        true
    }
}

impl Drop for LendTx {
    /// Each slot names a buffer again, so that the region loses none.
    fn drop(&mut self) {
        self.give_back_to(self.at);
    }
}
