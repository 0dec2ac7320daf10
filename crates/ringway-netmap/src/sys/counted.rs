//! A value that calls use while another thread may end it: it is dropped when the last of them has left.

use std::cell::{Cell, UnsafeCell};
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

use crate::inside::Inside;

/// Threads count their calls in as many places, so that two of them seldom meet.
const STRIPES: usize = 8;

/// There is no value.
const FREE: u32 = 0;
/// Calls may use the value.
const LIVE: u32 = 1;
/// No call may begin to use it.
const ENDED: u32 = 2;
/// One thread puts a value in, or takes it out.
const CHANGES: u32 = 3;

#[derive(Debug)]
#[repr(align(64))]
struct Stripe(AtomicUsize);

/// A place for one value after the other. It is never freed itself.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    state: AtomicU32,
    users: [Stripe; STRIPES],
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is changed by the one thread that moved `state` to CHANGES, when no call uses it; else it is only shared.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[inline]
fn stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let known = STRIPE.try_with(Cell::get).unwrap_or(0);
    if known < STRIPES {
        return known;
    }
    let new = NEXT.fetch_add(1, Relaxed) % STRIPES;
    let _ = STRIPE.try_with(|s| s.set(new));
    new
}

impl<T> Counted<T> {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
            users: [const { Stripe(AtomicUsize::new(0)) }; STRIPES],
            value: UnsafeCell::new(None),
        }
    }

    /// Puts a value in; gives it back where there is one already.
    pub(crate) fn begin(&self, value: T) -> Result<(), T> {
        if self.state.compare_exchange(FREE, CHANGES, SeqCst, Relaxed).is_err() {
            return Err(value);
        }
        // SAFETY: this thread moved the state to CHANGES. A call that counts itself meanwhile finds the state and leaves.
        unsafe { *self.value.get() = Some(value) };
        self.state.store(LIVE, SeqCst);
        Ok(())
    }

    /// Uses the value for as long as the answer lives.
    #[inline]
    pub(crate) fn enter(&'static self) -> Option<Use<T>> {
        let stripe = stripe();
        // Before the look at the state: who ends the value changes the state, then looks at the counts.
        self.users[stripe].0.fetch_add(1, SeqCst);
        let used = Use { of: self, stripe };
        (self.state.load(SeqCst) == LIVE).then_some(used)
    }

    /// No call begins to use the value from now on. It is dropped when all have left: here, or by the last of them.
    pub(crate) fn end(&self) {
        if self.state.compare_exchange(LIVE, ENDED, SeqCst, Relaxed).is_ok() {
            self.reap();
        }
    }

    #[cold]
    fn reap(&self) {
        if self.users.iter().any(|s| s.0.load(SeqCst) > 0) {
            return;
        }
        if self.state.compare_exchange(ENDED, CHANGES, SeqCst, Relaxed).is_ok() {
            // SAFETY: this thread moved the state to CHANGES. A call that uses the value counted itself before the state was ENDED, and the
            // counts, which were read after that, are zero.
            let value = unsafe { (*self.value.get()).take() };
            // Also where a thread that is cancelled leaves a sleep, and is the last.
            let inside = Inside::enter();
            drop(value);
            drop(inside);
            self.state.store(FREE, SeqCst);
        }
    }

    /// In the child of a fork: the calls of the parent's other threads do not go on here.
    pub(crate) fn forked(&self) {
        self.users.iter().for_each(|s| s.0.store(0, SeqCst));
        if self.state.load(SeqCst) == ENDED {
            self.reap();
        }
    }
}

/// A use of a value.
#[derive(Debug)]
pub(crate) struct Use<T: 'static> {
    of: &'static Counted<T>,
    stripe: usize,
}

impl<T> Deref for Use<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `enter` found the state LIVE after it had counted this use, so the value is there until this is dropped.
        match unsafe { &*self.of.value.get() } {
            Some(value) => value,
            None => unreachable!("a place that is LIVE has a value"),
        }
    }
}

impl<T> Drop for Use<T> {
    #[inline]
    fn drop(&mut self) {
        self.of.users[self.stripe].0.fetch_sub(1, SeqCst);
        if self.of.state.load(SeqCst) == ENDED {
            self.of.reap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how many there are.
    struct Alive(&'static AtomicUsize);

    impl Alive {
        fn new(count: &'static AtomicUsize) -> Self {
            count.fetch_add(1, SeqCst);
            Self(count)
        }
    }

    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }

    #[test]
    fn the_last_call_drops_the_value() {
        static ALIVE: AtomicUsize = AtomicUsize::new(0);
        static PLACE: Counted<Alive> = Counted::new();
        assert!(PLACE.enter().is_none());
        assert!(PLACE.begin(Alive::new(&ALIVE)).is_ok());
        let (first, second) = (PLACE.enter(), PLACE.enter());
        assert!(first.is_some() && PLACE.begin(Alive::new(&ALIVE)).is_err());
        PLACE.end();
        assert!(PLACE.enter().is_none(), "it has ended");
        drop(first);
        assert_eq!(ALIVE.load(SeqCst), 1, "a call still uses it");
        drop(second);
        assert_eq!(ALIVE.load(SeqCst), 0);
        assert!(PLACE.begin(Alive::new(&ALIVE)).is_ok() && PLACE.enter().is_some());
    }

    #[test]
    fn threads_never_see_a_dropped_value() {
        static ALIVE: AtomicUsize = AtomicUsize::new(0);
        static PLACE: Counted<Alive> = Counted::new();
        let users: Vec<_> = (0..3)
            .map(|_| {
                std::thread::spawn(|| {
                    for _ in 0..20_000 {
                        if let Some(used) = PLACE.enter() {
                            assert!(used.0.load(SeqCst) > 0);
                        }
                    }
                })
            })
            .collect();
        for _ in 0..5_000 {
            let _ = PLACE
                .begin(Alive::new(&ALIVE))
                .map_err(std::mem::forget)
                .map_err(|()| ALIVE.fetch_sub(1, SeqCst));
            PLACE.end();
        }
        users.into_iter().for_each(|u| u.join().unwrap());
        PLACE.end();
        assert_eq!(ALIVE.load(SeqCst), 0);
    }
}
