//! The two words through which a producer and a consumer meet: a cursor that one publishes, and a wish to be woken
//! that the other leaves. Generic over the atomic type, so that loom checks the very code that runs.
//!
//! A sleeper *leaves its wish, then looks again*; a publisher *publishes, then looks for a wish*.
//! Both have a full barrier between the two steps, so at least one sees the other, and no wake-up
//! is lost (store buffering; Linux `memory-barriers.txt`, "Sleep and wake-up functions").

use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

/// A 32-bit word shared with the other side.
pub trait Word {
    /// The word, as [`AtomicU32::load`](std::sync::atomic::AtomicU32::load) reads it.
    fn load(&self, order: Ordering) -> u32;
    /// Writes the word, as [`AtomicU32::store`](std::sync::atomic::AtomicU32::store) does.
    fn store(&self, v: u32, order: Ordering);
    /// Writes the word and returns what it was, as [`AtomicU32::swap`](std::sync::atomic::AtomicU32::swap) does.
    fn swap(&self, v: u32, order: Ordering) -> u32;
    /// A full barrier: no access moves past it.
    fn full_fence();
}

macro_rules! word {
    ($atomic:ty, $fence:path) => {
        impl Word for $atomic {
            #[inline]
            fn load(&self, order: Ordering) -> u32 {
                <$atomic>::load(self, order)
            }
            #[inline]
            fn store(&self, v: u32, order: Ordering) {
                <$atomic>::store(self, v, order);
            }
            #[inline]
            fn swap(&self, v: u32, order: Ordering) -> u32 {
                <$atomic>::swap(self, v, order)
            }
            #[inline]
            fn full_fence() {
                $fence(SeqCst);
            }
        }
    };
}
word!(std::sync::atomic::AtomicU32, std::sync::atomic::fence);

/// Publishes `cursor`: everything written before is visible to who observes it. Returns true when the other side
/// wishes to be woken; its wish is then taken, so it is woken once.
#[inline]
pub fn publish<W: Word>(word: &W, cursor: u32, wish: &W) -> bool {
    word.store(cursor, Release);
    W::full_fence();
    wish.load(Relaxed) != 0 && wish.swap(0, Relaxed) != 0
}

/// The other side's cursor.
#[inline]
pub fn observe<W: Word>(word: &W) -> u32 {
    word.load(Acquire)
}

/// Leaves the wish to be woken, then looks again: returns the cursor as it is now. If it moved, the caller takes
/// its wish back with [`withdraw`] and does not sleep.
#[inline]
pub fn wish<W: Word>(word: &W, wish: &W) -> u32 {
    wish.store(1, Relaxed);
    W::full_fence();
    word.load(Acquire)
}

/// Takes a wish back. A wake-up that is already under way still comes.
#[inline]
pub fn withdraw<W: Word>(wish: &W) {
    wish.store(0, Relaxed);
}

#[cfg(test)]
mod polls;

#[cfg(test)]
word!(loom::sync::atomic::AtomicU32, loom::sync::atomic::fence);

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;

    struct Shared {
        cursor: AtomicU32,
        wish: AtomicU32,
        bell: AtomicU32,
        data: loom::cell::UnsafeCell<u32>,
    }

    fn shared() -> Arc<Shared> {
        Arc::new(Shared {
            cursor: AtomicU32::new(0),
            wish: AtomicU32::new(0),
            bell: AtomicU32::new(0),
            data: loom::cell::UnsafeCell::new(0),
        })
    }

    /// A sleeper that has not seen the cursor finds the bell rung in the end.
    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| {
            let s = shared();
            let t = s.clone();
            let producer = loom::thread::spawn(move || {
                if publish(&t.cursor, 1, &t.wish) {
                    t.bell.store(1, Release);
                }
            });
            let slept = wish(&s.cursor, &s.wish) == 0;
            producer.join().unwrap();
            assert!(!slept || s.bell.load(Acquire) == 1);
        });
    }

    /// What was written before the cursor is there for who observes it: loom refuses the access otherwise.
    #[test]
    #[allow(unsafe_code, reason = "loom's cells are reached by pointers")]
    fn data_comes_before_the_cursor() {
        loom::model(|| {
            let s = shared();
            let t = s.clone();
            let producer = loom::thread::spawn(move || {
                // SAFETY: the consumer reads only after it observed the cursor.
                t.data.with_mut(|d| unsafe { *d = 7 });
                publish(&t.cursor, 1, &t.wish);
            });
            if observe(&s.cursor) == 1 {
                // SAFETY: the producer wrote before it published and does not write again.
                assert_eq!(s.data.with(|d| unsafe { *d }), 7);
            }
            producer.join().unwrap();
        });
    }

    /// A ring of two slots, one unused: each frame arrives once and in order, and both sides may sleep.
    #[test]
    fn two_slots_pass_two_frames() {
        loom::model(|| {
            let s = Arc::new((AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)));
            let t = s.clone();
            let producer = loom::thread::spawn(move || {
                let (prod, cons, rx_wish, tx_wish) = (&t.0, &t.1, &t.2, &t.3);
                publish(prod, 1, rx_wish);
                while observe(cons) == 0 {
                    wish(cons, tx_wish);
                    loom::thread::yield_now();
                }
                publish(prod, 0, rx_wish);
            });
            let (prod, cons, rx_wish, tx_wish) = (&s.0, &s.1, &s.2, &s.3);
            while observe(prod) == 0 {
                wish(prod, rx_wish);
                loom::thread::yield_now();
            }
            withdraw(rx_wish);
            publish(cons, 1, tx_wish);
            producer.join().unwrap();
            assert_eq!(observe(prod), 0);
        });
    }
}
