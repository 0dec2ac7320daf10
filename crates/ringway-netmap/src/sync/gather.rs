//! Frames of several rings come together in one: what a host sends, for which Ringway has a ring for each CPU, and programs one.
//!
//! A sync moves whole frames into the slots that are free, and gives the slots that they came in back to the kernel at once. The one
//! ring's lock is taken before that of another.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use ringway::RxRing;
use ringway_abi::layout::{NS_BUF_CHANGED, NS_MOREFRAG};
use ringway_abi::{Slot, cursor};
use ringway_count::DropReason;

use super::counts::Passed;
use super::exchange::{exchange, mend};
use super::forward::NR_FORWARD;
use super::monitor::{Seen, measure};
use super::{Skipped, Sleep};
use crate::bound::Bound;
use crate::ledger::{Held, RingRecord};
use crate::plan::{RingPlan, Sources};
use crate::ring_words::RingWords;
use crate::served::Local;

impl Bound {
    /// Gives the slots before head back, and fills them with what came to the other rings.
    pub(super) fn rx_gathered(&self, plan: &RingPlan, sources: Sources) -> Result<(), Skipped> {
        let (record, words) = (self.record(plan), self.words(plan));
        if words.flags() & NR_FORWARD != 0 {
            self.open_crossing(sources.served as usize);
        }
        let held = record.lock().ok_or(Skipped::Failed)?;
        let before = record.range();
        let Some(head) = words.advance(before) else {
            self.count_reset(plan);
            words.reset(before);
            return Err(Skipped::Reset);
        };
        if words.flags() & NR_FORWARD != 0 {
            let lost = self.forward_marked(sources.served as usize, &words, (before.0, head));
            self.count_lost(plan, &lost);
        }
        if record.is_monitored() {
            self.show(&record, &words, (before.0, head), Seen::Consumed { sent: false });
        }
        record.set_range(head, before.1);
        if held.stolen {
            self.mend_gathered(&record, &words, sources)?;
        }
        let synced = self.gather(&record, &words, sources);
        let tail = record.produced();
        record.set_range(head, tail);
        record.count_sync();
        words.set_tail(tail);
        words.stamp();
        self.count_received(plan, &Passed::of(&words, (before.1, tail)), 0, words.dist(head, tail));
        if record.is_monitored() {
            self.show(&record, &words, (before.1, tail), Seen::Arrived);
        }
        synced
    }

    /// Moves frames of all other rings. The next sync begins with the ring behind the first one that had some, so that a busy CPU does
    /// not keep the others waiting.
    fn gather(
        &self,
        record: &RingRecord<'_>,
        words: &RingWords<'_>,
        sources: Sources,
    ) -> Result<(), Skipped> {
        let mut found = None;
        let mut synced = Ok(());
        for k in turns(sources.count, record.turn().load(Relaxed)) {
            match self.gather_from(record, words, sources, k) {
                Ok(0) => {}
                Ok(_) => found = found.or(Some(k)),
                failed => synced = failed.map(drop),
            }
        }
        if let Some(k) = found {
            record.turn().store((k + 1) % sources.count, Relaxed);
        }
        synced
    }

    /// Moves frames of one ring; returns how many slots it gave back.
    fn gather_from(
        &self,
        record: &RingRecord<'_>,
        words: &RingWords<'_>,
        sources: Sources,
        k: u32,
    ) -> Result<u32, Skipped> {
        let (source, from) = self.source(sources, k);
        let mut held = source.lock().ok_or(Skipped::Failed)?;
        let local = self.served_source(sources, k, &mut held)?;
        local.catch_up(&source);
        let collected = local.ring.collect();
        let (first, tail) = (local.ring.first(), local.ring.tail());
        let end = record.produced();
        let (after, produced, bad) = move_frames(record, (&from, first..tail), (words, end));
        (0..bad).for_each(|_| local.ring.lose(DropReason::BadSlot));
        // In this order a killed process leaves slots without frames at most, which the next one passes over.
        record.set_produced(produced);
        source.set_range(after, tail);
        let returned = if after != first {
            local.ring.adopt(after, tail);
            local.ring.collect().map(drop)
        } else {
            Ok(())
        };
        source.set_range(local.ring.first(), local.ring.tail());
        local.generation = source.count_sync();
        collected.and(returned).map_err(|e| self.failed(&e))?;
        Ok(from.dist(first, after))
    }

    /// Puts right what an exchange left whose process was killed, before the next one writes the journal.
    #[cold]
    fn mend_gathered(
        &self,
        record: &RingRecord<'_>,
        words: &RingWords<'_>,
        sources: Sources,
    ) -> Result<(), Skipped> {
        for k in 0..sources.count {
            let (source, from) = self.source(sources, k);
            let mut held = source.lock().ok_or(Skipped::Failed)?;
            self.served_source(sources, k, &mut held)?; // learns that its lock was stolen
            mend(record.journal(), &from, words);
        }
        Ok(())
    }

    fn served_source<'a>(
        &'a self,
        sources: Sources,
        k: u32,
        held: &'a mut Held<'_>,
    ) -> Result<&'a mut Local<RxRing>, Skipped> {
        self.served[sources.served as usize].rx(k as usize, held).ok_or(Skipped::Failed)
    }

    fn source(&self, sources: Sources, k: u32) -> (RingRecord<'_>, RingWords<'_>) {
        let number = sources.first + k;
        let record = self.region().ledger.ring(number);
        let words = self.region().ring(number, record.slots());
        (record, words)
    }

    /// Asks all other rings for a wake-up. True: frames are there for which there is room.
    pub(super) fn arm_gathered(&self, plan: &RingPlan, sources: Sources, sleep: &mut Sleep) -> bool {
        let (record, words) = (self.record(plan), self.words(plan));
        let room = room(&record, &words) > 0;
        let mut found = record.produced() != words.tail();
        for k in 0..sources.count {
            let source = self.source(sources, k).0;
            let (first, tail) = source.range();
            found |= self.arm_served_rx(&source, (sources.served, k), sleep) || room && first != tail;
        }
        found
    }
}

/// Numbers of the rings in their port, beginning with ring `turn`.
fn turns(count: u32, turn: u32) -> impl Iterator<Item = u32> {
    (0..count).map(move |k| (turn % count + k) % count)
}

/// Slots that may be filled.
fn room(record: &RingRecord<'_>, words: &RingWords<'_>) -> u32 {
    words.slots - 1 - words.dist(record.range().0, record.produced())
}

/// Moves whole frames out of slots `span`, as far as there is room; returns where both rings go on, and how many frames were bad. Passes
/// over these, and over slots that a killed process left without a frame.
fn move_frames(
    record: &RingRecord<'_>,
    (from, span): (&RingWords<'_>, Range<u32>),
    (to, mut end): (&RingWords<'_>, u32),
) -> (u32, u32, u32) {
    let (mut at, mut bad) = (span.start, 0);
    let mut room = room(record, to);
    while at != span.end {
        let (slots, whole) = measure(from, at, span.end);
        let here = |k| cursor::add(at, k, from.slots);
        if whole && (0..slots).all(|k| from.slot(here(k)).len > 0) {
            if slots > room {
                break;
            }
            for k in 0..slots {
                let (ours, theirs) = (from.place(here(k)), to.place(end));
                let sent = ours.slot();
                let (buf, more) = (theirs.slot().buf, sent.flags & NS_MOREFRAG);
                let left = Slot { buf, len: 0, flags: NS_BUF_CHANGED | more };
                let sent = Slot { flags: sent.flags | NS_BUF_CHANGED, ..sent };
                exchange(record.journal(), (ours, left), (theirs, sent));
                end = to.next(end);
            }
            room -= slots;
        } else if !whole {
            bad += 1;
        }
        at = cursor::add(at, slots, from.slots);
    }
    (at, end, bad)
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;
    use crate::tests::rings::{buffers, region};

    const SLOTS: u32 = 16;

    /// Fills slots from `at` on with frames of so many slots, as far as they fit, or with slots without frames. Returns the end, and
    /// what the slots of each frame have as lengths.
    fn fill(ring: &RingWords<'_>, at: u32, frames: &[(u32, bool)]) -> (u32, Vec<Vec<u16>>) {
        let (mut end, mut left, mut len, mut filled) = (at, SLOTS - 1, 0, Vec::new());
        for &(slots, good) in frames {
            if slots > left {
                break;
            }
            let mut frame = Vec::new();
            for k in 0..slots {
                len += 1;
                let flags = if k + 1 < slots { NS_MOREFRAG } else { 0 };
                let len = if good { len } else { 0 };
                ring.set_slot(end, Slot { len, flags, ..ring.slot(end) });
                frame.push(len);
                end = ring.next(end);
            }
            left -= slots;
            if good {
                filled.push(frame);
            }
        }
        (end, filled)
    }

    proptest! {
        /// Whole frames come in order as far as there is room, and no buffer is lost.
        #[test]
        fn frames_move_whole(
            at in 0..SLOTS, end in 0..SLOTS, held in 0..SLOTS,
            frames in prop::collection::vec((1u32..5, any::<bool>()), 0..12),
        ) {
            let region = region(SLOTS);
            let (from, to) = (region.ring(0, SLOTS), region.ring(1, SLOTS));
            let all = buffers([&from, &to]);
            let record = region.ledger.ring(1);
            let first = cursor::add(end, SLOTS - held, SLOTS);
            record.set_range(first, end);
            record.set_produced(end);
            let (tail, filled) = fill(&from, at, &frames);
            let (after, produced, bad) = move_frames(&record, (&from, at..tail), (&to, end));
            prop_assert_eq!(bad, 0);
            prop_assert_eq!(buffers([&from, &to]), all);
            let (mut expected, mut room) = (Vec::new(), (SLOTS - 1 - held) as usize);
            for frame in &filled {
                if frame.len() > room {
                    break;
                }
                room -= frame.len();
                expected.push(frame.clone());
            }
            let moved = (0..to.dist(end, produced)).map(|k| to.slot(cursor::add(end, k, SLOTS)).len);
            prop_assert_eq!(moved.collect::<Vec<_>>(), expected.concat());
            prop_assert_eq!(expected.len() == filled.len(), after == tail);
        }

        /// A process that is killed between the two stores of an exchange loses its frame, and no buffer.
        #[test]
        fn a_kill_loses_no_buffer(at in 0..SLOTS, end in 0..SLOTS, slots in 1u32..5) {
            let region = region(SLOTS);
            let (from, to) = (region.ring(0, SLOTS), region.ring(1, SLOTS));
            let all = buffers([&from, &to]);
            let record = region.ledger.ring(1);
            let (tail, _) = fill(&from, at, &[(slots, true)]);
            record.journal().store(to.slot(end).buf, Relaxed);
            to.set_slot(end, from.slot(at));
            prop_assert!(buffers([&from, &to]) != all);
            mend(record.journal(), &from, &to);
            prop_assert_eq!(buffers([&from, &to]), all.clone());
            prop_assert_eq!(move_frames(&record, (&from, at..tail), (&to, 0)), (tail, 0, 0));
            mend(record.journal(), &from, &to);
            prop_assert_eq!(buffers([&from, &to]), all);
        }
    }

    #[test]
    fn each_ring_has_its_turn() {
        assert_eq!(turns(3, 2).collect::<Vec<_>>(), [2, 0, 1]);
        assert_eq!(turns(2, u32::MAX).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(turns(0, 5).count(), 0);
    }
}
