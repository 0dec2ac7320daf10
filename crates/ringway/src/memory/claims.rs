//! Which buffers an end of a pipe holds. The other end, maybe in a process that means harm, writes the slots from which this one
//! learns its buffers, so it may name one buffer twice. Two slices of one buffer, of which one is for writing, must never exist.
//!
//! The receiving and the sending side of an end may run in two threads. Each has a row of marks, one for each buffer. A side sets
//! its own mark, then looks for that of the other side. With a full barrier between the two steps at least one of both sees the
//! other, as in `abi::handshake`, and gives way. The barrier is needed once for a burst, not for each buffer. A buffer that was
//! forwarded from one side to the other keeps the mark of the side that learned of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release, Ordering::SeqCst, fence};

/// A mark, generic so that loom checks the very code that runs.
pub(crate) trait Mark {
    fn clear() -> Self;
    fn is_set(&self) -> bool;
    fn set(&self, on: bool);
    fn full_fence();
}

impl Mark for AtomicBool {
    fn clear() -> Self {
        Self::new(false)
    }

    #[inline]
    fn is_set(&self) -> bool {
        self.load(Acquire)
    }

    #[inline]
    fn set(&self, on: bool) {
        self.store(on, Release);
    }

    #[inline]
    fn full_fence() {
        fence(SeqCst);
    }
}

/// The buffers that one side of an end has claimed, and what it sees of the other side.
#[derive(Debug)]
pub(crate) struct Claims<M = AtomicBool> {
    own: Arc<[M]>,
    other: Arc<[M]>,
}

impl<M: Mark> Claims<M> {
    /// The claims of both sides of an end, in a region with so many buffers; none yet.
    pub(crate) fn of_both_sides(bufs: u32) -> [Self; 2] {
        let [a, b]: [Arc<[M]>; 2] = [(); 2].map(|()| (0..bufs).map(|_| M::clear()).collect());
        [Self { own: a.clone(), other: b.clone() }, Self { own: b, other: a }]
    }

    /// Marks a buffer, unless this side holds it already. It may not be used before [`confirm`](Self::confirm).
    #[inline]
    pub(crate) fn claim(&self, buf: u32) -> bool {
        let mark = &self.own[buf as usize];
        let free = !mark.is_set();
        if free {
            mark.set(true);
        }
        free
    }

    /// The barrier between the claims of a burst and their confirmations.
    pub(crate) fn settle(&self) {
        M::full_fence();
    }

    /// Whether a claimed buffer may be used; otherwise the claim ends, because the other side holds the buffer.
    #[inline]
    pub(crate) fn confirm(&self, buf: u32) -> bool {
        let free = !self.other[buf as usize].is_set();
        if !free {
            self.own[buf as usize].set(false);
        }
        free
    }

    /// Gives up a buffer that this side or, before it was forwarded, the other side has claimed.
    #[inline]
    pub(crate) fn release(&self, buf: u32) {
        let own = &self.own[buf as usize];
        if own.is_set() {
            own.set(false);
        } else {
            self.other[buf as usize].set(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A claim and its confirmation at once.
    fn take<M: Mark>(side: &Claims<M>, buf: u32) -> bool {
        side.claim(buf) && {
            side.settle();
            side.confirm(buf)
        }
    }

    #[test]
    fn a_buffer_has_one_holder() {
        let [rx, tx] = Claims::<AtomicBool>::of_both_sides(4);
        assert!(take(&rx, 2) && !take(&rx, 2) && !take(&tx, 2) && take(&tx, 3));
        rx.release(2);
        assert!(take(&tx, 2) && !take(&rx, 2));
        // Forwarded: the other side gives up what this one has claimed.
        rx.release(2);
        assert!(take(&rx, 2));
    }

    impl Mark for loom::sync::atomic::AtomicBool {
        fn clear() -> Self {
            Self::new(false)
        }

        fn is_set(&self) -> bool {
            self.load(Acquire)
        }

        fn set(&self, on: bool) {
            self.store(on, Release);
        }

        fn full_fence() {
            loom::sync::atomic::fence(SeqCst);
        }
    }

    /// The other end names one buffer to both sides at once, and again after one of them gave it up.
    #[test]
    fn both_sides_never_hold_one_buffer() {
        loom::model(|| {
            let sides = Claims::<loom::sync::atomic::AtomicBool>::of_both_sides(1);
            let held = loom::sync::Arc::new(loom::sync::atomic::AtomicBool::new(false));
            let threads = sides.map(|side| {
                let held = held.clone();
                loom::thread::spawn(move || {
                    if take(&side, 0) {
                        assert!(!held.swap(true, SeqCst), "two holders");
                        held.store(false, SeqCst);
                        side.release(0);
                    }
                })
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
