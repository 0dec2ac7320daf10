//! Counting frames of rings that no port of Ringway counts.

use ringway_count::{DropReason, Field};

use crate::bound::Bound;
use crate::plan::RingPlan;
use crate::ring_words::RingWords;

/// Frames that passed a ring, and frames that did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    /// Frames with a wrong index or length, or without an end.
    pub(super) bad: u64,
}

impl Passed {
    /// Frames in slots `[at, end)` that a ring has got.
    #[inline]
    pub(super) fn of(words: &RingWords<'_>, (mut at, end): (u32, u32)) -> Self {
        let mut passed = Self::default();
        while at != end {
            let slot = words.slot(at);
            passed.frames += u64::from(!slot.more());
            passed.bytes += u64::from(slot.len);
            at = words.next(at);
        }
        passed
    }
}

impl Bound {
    /// Counts a sync of a tx ring, after which the program has `avail` slots.
    #[inline]
    pub(super) fn count_sent(&self, plan: &RingPlan, passed: &Passed, avail: u32) {
        let Some(stats) = self.tally.ring(plan.number) else { return };
        stats.sent(passed.frames, passed.bytes);
        if passed.bad > 0 {
            stats.count(Field::In, passed.bad);
            stats.drop(DropReason::BadSlot, passed.bad);
        }
        stats.synced(passed.frames > 0, avail);
    }

    /// Counts a sync of an rx ring, for which `missed` frames had no room.
    #[inline]
    pub(super) fn count_received(&self, plan: &RingPlan, passed: &Passed, missed: u32, avail: u32) {
        let Some(stats) = self.tally.ring(plan.number) else { return };
        let counts = [(Field::In, passed.frames), (Field::Out, passed.frames), (Field::Bytes, passed.bytes)];
        counts.into_iter().for_each(|(field, n)| stats.count(field, n));
        if missed > 0 {
            stats.count(Field::In, missed.into());
            stats.drop(DropReason::RingFull, missed.into());
        }
        stats.synced(passed.frames > 0, avail);
    }

    /// Counts frames that a ring delivered, and that were lost behind it.
    #[cold]
    pub(super) fn count_lost(&self, plan: &RingPlan, lost: &[DropReason]) {
        if let Some(stats) = self.tally.ring(plan.number) {
            lost.iter().for_each(|why| stats.undeliver(*why));
        }
    }

    /// Counts a ring that was reset.
    #[cold]
    pub(super) fn count_reset(&self, plan: &RingPlan) {
        if let Some(stats) = self.tally.ring(plan.number) {
            stats.count(Field::Resets, 1);
        }
    }
}
