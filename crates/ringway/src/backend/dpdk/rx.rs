//! Receiving: a sync copies the frames of DPDK's buffers into slots, as far as there is room.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::core::Core;
use super::tick::Tick;
use crate::backend::slots::{Fate, Slots};
use crate::count::{DropReason, RingStats};
use crate::error::Result;
use crate::ring::{Finisher, RingView, RxSync};
use crate::sys::dpdk::{self, Unusable};

/// The receiving side of one rx ring.
#[derive(Debug)]
pub(super) struct Receiver {
    core: Arc<Core>,
    queue: dpdk::Receiver,
    /// Parts of frames that DPDK gave, and the first that is not in the ring.
    parts: usize,
    at: usize,
    slots: Slots,
    finisher: Finisher,
    /// A frame of several parts, put together.
    whole: Vec<u8>,
    tick: Tick,
    /// When it last asked what the device lost; `None` for rings that do not.
    asked_ns: Option<u64>,
    stats: RingStats,
}

impl Receiver {
    pub(super) fn new(
        core: Arc<Core>,
        queue: dpdk::Receiver,
        finisher: Finisher,
        asks: bool,
        stats: RingStats,
    ) -> Result<Self> {
        let tick = Tick::new(&core.name)?;
        let (slots, whole) = (Slots::default(), Vec::new());
        let asked_ns = asks.then_some(0);
        Ok(Self { core, queue, parts: 0, at: 0, slots, finisher, whole, tick, asked_ns, stats })
    }

    /// Takes frames until there are no more, or one has to wait. It takes no more than the ring has slots: a device may have frames
    /// without end that are all too long.
    fn collect(&mut self, ring: &RingView) {
        for _ in 0..ring.num() {
            if self.at == self.parts {
                if !self.slots.has(ring, 1) {
                    return;
                }
                self.fetch();
            }
            if self.at == self.parts || self.place(ring) == Fate::Waits {
                return;
            }
        }
    }

    fn fetch(&mut self) {
        self.at = 0;
        self.parts = self.queue.receive();
    }

    /// Puts the next frame into slots, or drops it.
    #[inline]
    fn place(&mut self, ring: &RingView) -> Fate {
        let part = self.queue.part(self.at);
        let (Ok(bytes), false) = (part.bytes, part.more) else { return self.place_whole(ring) };
        let fate = self.slots.place(ring, bytes, &self.stats);
        self.at += usize::from(fate == Fate::Settled);
        fate
    }

    /// The same for a frame of several parts, and for one that can't be had.
    #[cold]
    fn place_whole(&mut self, ring: &RingView) -> Fate {
        self.whole.clear();
        let (mut at, mut unusable) = (self.at, None);
        loop {
            let part = self.queue.part(at);
            at += 1;
            match part.bytes {
                Ok(bytes) => self.whole.extend_from_slice(bytes),
                Err(why) => unusable = Some(why),
            }
            if !part.more {
                break;
            }
        }
        let reason = |why| match why {
            Unusable::TooManyParts => DropReason::TooLong,
            Unusable::NoTag => DropReason::DeviceRefused,
        };
        let fate = match unusable.map(reason) {
            None => self.slots.place(ring, &self.whole, &self.stats),
            Some(why) => {
                self.slots.drop(&self.stats, why);
                Fate::Settled
            }
        };
        if fate == Fate::Settled {
            self.at = at;
        }
        fate
    }
}

impl RxSync for Receiver {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.tick.disarm();
        let before = self.slots.tail;
        self.slots.end = ring.prev(head);
        self.collect(ring);
        self.slots.count(&self.stats);
        if self.slots.tail != before {
            self.finisher.finish(ring, before, self.slots.tail);
            self.tick.restart();
        }
        if self.asked_ns.as_mut().is_some_and(|asked| self.core.is_time(asked)) {
            self.core.losses.tell_rx(&self.stats);
        }
        Ok(self.slots.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        if self.at == self.parts {
            self.fetch();
        }
        if self.at != self.parts {
            return Ok(true);
        }
        self.tick.arm(&self.core.name)?;
        Ok(false)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.tick.fd()
    }
}

impl Drop for Receiver {
    /// The queue is still open, and with it the device.
    fn drop(&mut self) {
        self.core.losses.tell_rx(&self.stats);
    }
}
