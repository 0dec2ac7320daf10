//! Two slots of rings in one region change places, with their buffers. No byte of a frame is touched.

use std::collections::HashSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ringway_abi::Slot;
use ringway_abi::layout::{FIRST_BUF, NS_BUF_CHANGED, NS_MOREFRAG};

use crate::ring_words::{Place, RingWords};

/// Makes one slot `left`, which has the buffer of the other one, and that one `sent`, which has its. The journal is the other ring's.
#[inline]
pub(super) fn exchange(journal: &AtomicU32, (from, left): (Place<'_>, Slot), (to, sent): (Place<'_>, Slot)) {
    journal.store(left.buf, Relaxed);
    to.set_slot(sent);
    from.set_slot(left);
    let (ours, theirs) = (from.ptr().load(Relaxed), to.ptr().load(Relaxed));
    if ours != theirs {
        to.ptr().store(ours, Relaxed);
        from.ptr().store(theirs, Relaxed);
    }
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
