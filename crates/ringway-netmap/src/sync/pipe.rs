//! Pipes: slots of a tx ring and of the other end's rx ring change places, with their buffers. No byte of a frame is touched.

use ringway_abi::layout::NS_BUF_CHANGED;
use ringway_abi::{Slot, cursor};

use super::exchange::{exchange, mend};
use super::monitor::Seen;
use super::{Skipped, wake};
use crate::bound::Bound;
use crate::ledger::RingRecord;
use crate::plan::RingPlan;
use crate::ring_words::RingWords;

impl Bound {
    /// Moves whole frames to the other end, as far as it has room. Its reader finds them at its next sync.
    #[inline]
    pub(super) fn tx_pipe(&self, plan: &RingPlan, peer: u32, bell: u32) -> Result<(), Skipped> {
        let (record, words) = (self.record(plan), self.words(plan));
        let held = record.lock().ok_or(Skipped::Failed)?;
        let before = record.range();
        let Some(head) = words.advance(before) else {
            words.reset(before);
            return Err(Skipped::Reset);
        };
        let (there, to) = (self.region().ledger.ring(peer), self.region().ring(peer, plan.slots));
        let peer_held = there.lock().ok_or(Skipped::Failed)?;
        if held.stolen || peer_held.stolen {
            self.mend_pipe(plan.number, peer, plan.slots);
        }
        if record.is_monitored() {
            self.show(&record, &words, (before.0, head), Seen::Sent);
        }
        let produced = there.produced();
        let room = to.slots - 1 - to.dist(there.range().0, produced);
        let count = whole_frames(&words, before.0, words.dist(before.0, head).min(room));
        let (first, end) = move_slots(&there, (&words, before.0), (&to, produced), count);
        let tail = writers_tail(&there, first, end, words.slots);
        record.set_range(first, tail);
        record.count_sync();
        words.set_tail(tail);
        if end != produced {
            there.set_produced(end);
            if there.is_monitored() {
                self.show(&there, &to, (produced, end), Seen::Arrived);
            }
            drop(peer_held);
            if let Some(bell) = self.bells.get(bell as usize) {
                wake::ring_if(there.reader_wish(), bell);
            }
        }
        Ok(())
    }

    /// Whether a writer would find more slots now than it has.
    pub(super) fn pipe_has_room(&self, plan: &RingPlan, peer: u32) -> bool {
        let there = self.region().ledger.ring(peer);
        let first = self.record(plan).range().0;
        writers_tail(&there, first, there.produced(), plan.slots) != self.words(plan).tail()
    }

    /// Shows monitors of the writer's ring, which look late, what the reader gave back in slots `[at, end)`.
    pub(super) fn show_passed(&self, writer: u32, words: &RingWords<'_>, span: (u32, u32)) {
        let record = self.region().ledger.ring(writer);
        if record.is_monitored() {
            self.show(&record, words, span, Seen::Consumed { sent: true });
        }
    }

    #[cold]
    pub(super) fn mend_pipe(&self, tx: u32, rx: u32, slots: u32) {
        let (from, to) = (self.region().ring(tx, slots), self.region().ring(rx, slots));
        mend(self.region().ledger.ring(rx).journal(), &from, &to);
    }
}

/// Where the slots end that a writer has. It may have as many frames on their way as a ring holds: a slot is free when the reader gave
/// back the one that it was exchanged for.
#[inline]
fn writers_tail(there: &RingRecord<'_>, first: u32, produced: u32, slots: u32) -> u32 {
    let used = cursor::dist(there.range().0, produced, slots);
    cursor::add(first, slots - 1 - used, slots)
}

/// How many of `count` slots make whole frames.
#[inline]
fn whole_frames(words: &RingWords<'_>, first: u32, mut count: u32) -> u32 {
    while count > 0 && words.slot(cursor::add(first, count - 1, words.slots)).more() {
        count -= 1;
    }
    count
}

/// Exchanges `count` slots; returns where both rings go on. A slot with a bad index stays behind with its frame.
#[inline]
fn move_slots(
    there: &RingRecord<'_>,
    (from, mut at): (&RingWords<'_>, u32),
    (to, mut end): (&RingWords<'_>, u32),
    count: u32,
) -> (u32, u32) {
    let journal = there.journal();
    for _ in 0..count {
        let (ours, theirs) = (from.place(at), to.place(end));
        let sent = ours.slot();
        if from.valid(sent) {
            let left = Slot { flags: NS_BUF_CHANGED, ..theirs.slot() };
            let sent = Slot { flags: sent.flags | NS_BUF_CHANGED, ..sent };
            exchange(journal, (ours, left), (theirs, sent));
            end = to.next(end);
        }
        at = from.next(at);
    }
    (at, end)
}
