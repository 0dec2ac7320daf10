//! Sending.

use ringway_abi::Slot;
use ringway_abi::layout::{NS_BUF_CHANGED, NS_INDIRECT};

use super::Skipped;
use super::counts::Passed;
use super::header::{hide, restore};
use super::monitor::Seen;
use crate::bound::Bound;
use crate::ledger::RegionKind;
use crate::memory::CallerMemory;
use crate::plan::{RingPlan, Service};
use crate::ring_words::RingWords;
use crate::sys::own_memory::OwnMemory;

/// Flag of a ring: the time of each sync is written.
const NR_TIMESTAMP: u32 = 0x2;

impl Bound {
    /// Sends what the program put before head.
    #[inline]
    pub(super) fn tx(&self, ring: &RingPlan) -> Result<(), Skipped> {
        self.open_monitors(ring);
        let synced = match ring.service {
            Service::Served { served, ring: k } => self.tx_served(ring, served, k),
            Service::Pipe { peer, peer_bell, .. } => self.tx_pipe(ring, peer, peer_bell),
            Service::Monitor { .. } | Service::Gather(_) | Service::Alone => self.tx_alone(ring),
        };
        let words = self.words(ring);
        if words.flags() & NR_TIMESTAMP != 0 {
            words.stamp();
        }
        synced
    }

    #[inline]
    fn tx_served(&self, plan: &RingPlan, plan_served: u32, k: u32) -> Result<(), Skipped> {
        let (record, words) = (self.record(plan), self.words(plan));
        let mut held = record.lock().ok_or(Skipped::Failed)?;
        let served = &self.served[plan_served as usize];
        let local = served.tx(k as usize, &mut held).ok_or(Skipped::Failed)?;
        local.catch_up(&record);
        let before = record.range();
        let Some(head) = words.advance(before) else {
            local.ring.reset_cursors(); // counts it
            words.reset(before);
            return Err(Skipped::Reset);
        };
        let of_switch = self.region().ledger.kind == RegionKind::SwitchPort;
        prepare(self, &words, (before.0, head), of_switch);
        let monitored = record.is_monitored();
        if monitored {
            self.show(&record, &words, (before.0, head), Seen::Sent);
        }
        let header = if of_switch { self.header(plan_served) } else { 0 };
        let hidden = match header {
            0 => Vec::new(),
            header => hide(self.region(), &words, (before.0, head), header),
        };
        let synced = local.ring.sync();
        if header > 0 {
            restore(self.region(), &words, &hidden);
        }
        let (first, tail) = (local.ring.first(), local.ring.tail());
        record.set_range(first, tail);
        local.generation = record.count_sync();
        if monitored {
            self.show(&record, &words, (before.0, first), Seen::Consumed { sent: true });
        }
        synced.map(drop).map_err(|e| self.failed(&e))
    }

    /// What is sent is gone.
    fn tx_alone(&self, plan: &RingPlan) -> Result<(), Skipped> {
        let (record, words) = (self.record(plan), self.words(plan));
        let _held = record.lock().ok_or(Skipped::Failed)?;
        let before = record.range();
        let Some(head) = words.advance(before) else {
            self.count_reset(plan);
            words.reset(before);
            return Err(Skipped::Reset);
        };
        let tail = ringway_abi::cursor::prev(head, words.slots);
        record.set_range(head, tail);
        record.count_sync();
        words.set_tail(tail);
        self.count_sent(plan, &Passed::of(&words, (before.0, head)), words.slots - 1);
        Ok(())
    }
}

/// Takes the notes of exchanged buffers off the slots, and fetches frames that lie elsewhere.
#[inline]
fn prepare(bound: &Bound, words: &RingWords<'_>, (mut at, end): (u32, u32), of_switch: bool) {
    while at != end {
        let slot = words.slot(at);
        if slot.flags & (NS_BUF_CHANGED | NS_INDIRECT) != 0 {
            if slot.flags & NS_INDIRECT != 0 && of_switch {
                fetch(bound, words, at, slot);
            } else {
                words.set_slot(at, Slot { flags: slot.flags & !NS_BUF_CHANGED, ..slot });
            }
        }
        at = words.next(at);
    }
}

/// Copies a frame from where the program says it is into the slot's buffer. One that can't be read becomes a frame without bytes, which
/// the switch drops.
#[cold]
fn fetch(bound: &Bound, words: &RingWords<'_>, at: u32, slot: Slot) {
    let mut bytes = vec![0; usize::from(slot.len)];
    let from = words.ptr(at).load(std::sync::atomic::Ordering::Relaxed);
    let done = words.valid(slot) && OwnMemory.read(from, &mut bytes).is_ok();
    if done {
        bound.region().write_slot(slot.buf, &bytes);
    }
    let flags = slot.flags & !(NS_INDIRECT | NS_BUF_CHANGED);
    words.set_slot(at, Slot { flags, len: if done { slot.len } else { 0 }, ..slot });
}
