//! Pipes: slots of a tx ring and of the other end's rx ring change places, with their buffers. No byte of a frame is touched.

use ringway_abi::layout::NS_BUF_CHANGED;
use ringway_abi::{Slot, cursor};

use super::counts::Passed;
use super::exchange::{exchange, mend};
use super::monitor::{Seen, measure};
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
            self.count_reset(plan);
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
        let moved = move_frames(&there, (&words, before.0), (&to, produced), count);
        let tail = writers_tail(&there, moved.at, moved.end, words.slots);
        record.set_range(moved.at, tail);
        record.count_sync();
        words.set_tail(tail);
        if moved.end != produced {
            there.set_produced(moved.end);
            if there.is_monitored() {
                self.show(&there, &to, (produced, moved.end), Seen::Arrived);
            }
            drop(peer_held);
            if let Some(bell) = self.bells.get(bell as usize) {
                wake::ring_if(there.reader_wish(), bell);
            }
        }
        self.count_sent(plan, &moved.tally, words.dist(moved.at, tail));
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

/// Where both rings go on after frames moved, and which did.
#[derive(Debug, Clone, Copy)]
struct Moved {
    at: u32,
    end: u32,
    tally: Passed,
}

/// Exchanges the slots of the frames in `count` slots. A frame with a bad slot stays behind.
#[inline]
fn move_frames(
    there: &RingRecord<'_>,
    (from, mut at): (&RingWords<'_>, u32),
    (to, mut end): (&RingWords<'_>, u32),
    count: u32,
) -> Moved {
    let (journal, stop) = (there.journal(), cursor::add(at, count, from.slots));
    let mut tally = Passed::default();
    let mut left_of_frame = 0;
    while at != stop {
        let (ours, theirs) = (from.place(at), to.place(end));
        let sent = ours.slot();
        if left_of_frame == 0 {
            let (slots, good) = if sent.more() { measure(from, at, stop) } else { (1, from.valid(sent)) };
            if !good {
                tally.bad += 1;
                at = cursor::add(at, slots, from.slots);
                continue;
            }
            tally.frames += 1;
            left_of_frame = slots;
        }
        left_of_frame -= 1;
        tally.bytes += u64::from(sent.len);
        let left = Slot { flags: NS_BUF_CHANGED, ..theirs.slot() };
        let sent = Slot { flags: sent.flags | NS_BUF_CHANGED, ..sent };
        exchange(journal, (ours, left), (theirs, sent));
        (at, end) = (from.next(at), to.next(end));
    }
    Moved { at, end, tally }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::tests::rings::{buffers, region};

    const SLOTS: u32 = 16;

    proptest! {
        /// Whole frames of good slots arrive in order, bad ones are counted, and no buffer is lost.
        #[test]
        fn frames_move_whole(at in 0..SLOTS, end in 0..SLOTS, frames in prop::collection::vec((1u32..4, any::<bool>()), 0..4)) {
            let region = region(SLOTS);
            let (from, to) = (region.ring(0, SLOTS), region.ring(1, SLOTS));
            let record = region.ledger.ring(1);
            record.begin(SLOTS, (end, end), None);
            let mut stop = at;
            let mut arrive = Vec::new();
            let (mut hidden, mut count) = (BTreeSet::new(), 0);
            for (number, (slots, good)) in (1u16..).zip(&frames) {
                for k in 0..*slots {
                    let flags = if k + 1 < *slots { ringway_abi::layout::NS_MOREFRAG } else { 0 };
                    let mut slot = Slot { len: number, flags, ..from.slot(stop) };
                    if !good && k == slots / 2 {
                        hidden.insert(slot.buf);
                        slot.buf = u32::MAX;
                    }
                    from.set_slot(stop, slot);
                    stop = from.next(stop);
                    count += 1;
                }
                if *good {
                    arrive.extend((0..*slots).map(|_| number));
                }
            }
            let all = buffers([&from, &to]);
            let moved = move_frames(&record, (&from, at), (&to, end), count);
            prop_assert_eq!(buffers([&from, &to]), all);
            prop_assert_eq!(moved.at, stop);
            let (mut came, mut here) = (Vec::new(), end);
            while here != moved.end {
                came.push(to.slot(here).len);
                here = to.next(here);
            }
            let good = frames.iter().filter(|(_, good)| *good).count() as u64;
            prop_assert_eq!(moved.tally.frames, good);
            prop_assert_eq!(moved.tally.bad, frames.len() as u64 - good);
            prop_assert_eq!(moved.tally.bytes, arrive.iter().map(|len| u64::from(*len)).sum::<u64>());
            prop_assert_eq!(came, arrive);
        }
    }
}
