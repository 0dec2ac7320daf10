//! Two slots of rings in one region change places, with their buffers. No byte of a frame is touched.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use ringway_abi::Slot;
use ringway_abi::layout::{FIRST_BUF, NS_BUF_CHANGED, NS_MOREFRAG};

use crate::region::RingWords;

/// Makes slot `at` of one ring `left`, which has the buffer of slot `end` of the other, and slot `end` `sent`, which has that of `at`.
/// The journal is the other ring's.
#[inline]
pub(super) fn exchange(
    journal: &AtomicU32,
    (from, at, left): (&RingWords<'_>, u32, Slot),
    (to, end, sent): (&RingWords<'_>, u32, Slot),
) {
    journal.store(left.buf, Relaxed);
    to.set_slot(end, sent);
    let ptr = to.ptr(end).swap_relaxed(from.ptr(at).load(Relaxed));
    from.set_slot(at, left);
    from.ptr(at).store(ptr, Relaxed);
}

/// After a kill between the two stores of an exchange both rings name one buffer, and the journal has the other one.
#[cold]
pub(super) fn mend(journal: &AtomicU32, from: &RingWords<'_>, to: &RingWords<'_>) {
    let lost = journal.load(Relaxed);
    let there: HashSet<u32> = (0..to.slots).map(|i| to.slot(i).buf).collect();
    if lost < FIRST_BUF || there.contains(&lost) {
        return;
    }
    let twice = (0..from.slots).find(|i| there.contains(&from.slot(*i).buf));
    if let Some(i) = twice {
        let flags = NS_BUF_CHANGED | from.slot(i).flags & NS_MOREFRAG;
        from.set_slot(i, Slot { buf: lost, len: 0, flags });
    }
}

/// A word that one thread at a time writes.
trait SwapRelaxed {
    fn swap_relaxed(&self, value: u64) -> u64;
}

impl SwapRelaxed for AtomicU64 {
    #[inline]
    fn swap_relaxed(&self, value: u64) -> u64 {
        let old = self.load(Relaxed);
        self.store(value, Relaxed);
        old
    }
}
