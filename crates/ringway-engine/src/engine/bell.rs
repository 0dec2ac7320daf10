//! Waking threads that wait for something: the one that makes it there rings, and only when somebody waits.
//!
//! A sleeper *says that it sleeps, then looks*; a waker *makes something there, then looks for sleepers*. Both have a full
//! barrier between the two steps, as in `ringway_abi::handshake`, so at least one sees the other. Several may sleep at one
//! bell. One that wakes clears the bell, and may so take another one's ring: it rings again when something is left.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::time::Duration;

use ringway::{Error, Result};
use ringway_sys::fd::{Epoll, drain_bell, eventfd, ring_bell};

/// A count of sleepers, generic so that loom checks the very code that runs.
pub(super) trait Count {
    fn none() -> Self;
    fn get(&self) -> u32;
    fn add(&self, n: u32);
    fn take(&self) -> u32;
    fn full_fence();
}

impl Count for AtomicU32 {
    fn none() -> Self {
        Self::new(0)
    }

    #[inline]
    fn get(&self) -> u32 {
        self.load(Relaxed)
    }

    fn add(&self, n: u32) {
        self.fetch_add(n, Relaxed);
    }

    fn take(&self) -> u32 {
        self.swap(0, Relaxed)
    }

    #[inline]
    fn full_fence() {
        fence(SeqCst);
    }
}

/// Who waits: threads that sleep, and a poller that armed the bell.
#[derive(Debug)]
pub(super) struct Wishes<C> {
    sleepers: C,
    armed: C,
}

impl<C: Count> Wishes<C> {
    pub(super) fn none() -> Self {
        Self { sleepers: C::none(), armed: C::none() }
    }

    /// To be called after something was made there: whether to ring.
    #[inline]
    pub(super) fn want_ring(&self) -> bool {
        C::full_fence();
        self.sleepers.get() > 0 || (self.armed.get() > 0 && self.armed.take() > 0)
    }

    /// Says that this thread is about to sleep. It looks once more before it does, and says [`awake`](Self::awake) after.
    pub(super) fn sleeping(&self) {
        self.sleepers.add(1);
        C::full_fence();
    }

    pub(super) fn awake(&self) {
        self.sleepers.add(1_u32.wrapping_neg());
    }

    /// Asks for one ring, for a poller. It looks once more before it polls.
    pub(super) fn arm(&self) {
        self.armed.add(1);
        C::full_fence();
    }
}

/// A descriptor that is readable after a ring, until it is cleared.
#[derive(Debug)]
pub(super) struct Bell {
    wishes: Wishes<AtomicU32>,
    fd: OwnedFd,
}

impl Bell {
    pub(super) fn new() -> Result<Self> {
        let fd = eventfd().map_err(|e| Error::io("engine", "eventfd failed", e))?;
        Ok(Self { wishes: Wishes::none(), fd })
    }

    /// Wakes the threads that wait, if any do. Something was made there before.
    #[inline]
    pub(super) fn ring(&self) {
        if self.wishes.want_ring() {
            ring_bell(self.fd.as_fd());
        }
    }

    /// Makes the descriptor readable whether somebody waits or not.
    pub(super) fn ring_always(&self) {
        ring_bell(self.fd.as_fd());
    }

    /// Asks for a ring; true, when `there` is something already.
    pub(super) fn arm(&self, there: impl Fn() -> bool) -> bool {
        drain_bell(self.fd.as_fd());
        self.wishes.arm();
        let found = there();
        if found {
            self.ring(); // the ring that was cleared may have been for another sleeper
        }
        found
    }

    /// Sleeps until a ring, or for `timeout`, unless `there` is something already.
    pub(super) fn sleep(&self, epoll: &Epoll, timeout: Duration, there: impl Fn() -> bool) -> io::Result<()> {
        epoll.add(self.fd.as_fd())?;
        self.wishes.sleeping();
        let slept = if there() { Ok(true) } else { epoll.wait(millis(timeout)) };
        self.wishes.awake();
        epoll.remove(self.fd.as_fd());
        drain_bell(self.fd.as_fd());
        Wishes::<AtomicU32>::after_clearing();
        if there() {
            self.ring();
        }
        slept.map(drop)
    }
}

impl<C: Count> Wishes<C> {
    /// Between clearing a bell and the look whether something is left.
    pub(super) fn after_clearing() {
        C::full_fence();
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whole milliseconds, one at least unless it is nothing at all.
fn millis(timeout: Duration) -> i32 {
    let ms = timeout.as_nanos().div_ceil(1_000_000);
    ms.min(i32::MAX as u128) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as LoomU32;

    impl Count for LoomU32 {
        fn none() -> Self {
            Self::new(0)
        }

        fn get(&self) -> u32 {
            self.load(Relaxed)
        }

        fn add(&self, n: u32) {
            self.fetch_add(n, Relaxed);
        }

        fn take(&self) -> u32 {
            self.swap(0, Relaxed)
        }

        fn full_fence() {
            loom::sync::atomic::fence(SeqCst);
        }
    }

    /// A queue of so many things, and a bell that is a word.
    struct Model {
        wishes: Wishes<LoomU32>,
        things: LoomU32,
        bell: LoomU32,
    }

    impl Model {
        fn ring(&self) {
            if self.wishes.want_ring() {
                self.bell.store(1, SeqCst);
            }
        }

        /// Takes a thing, or would sleep: true when the sleep would never end, because the bell is silent.
        fn take_or_sleep(&self) -> Option<bool> {
            if self.take() {
                return None;
            }
            self.wishes.sleeping();
            if self.take() {
                self.wishes.awake();
                return None;
            }
            Some(true)
        }

        fn take(&self) -> bool {
            let mut now = self.things.load(SeqCst);
            while now > 0 {
                match self.things.compare_exchange(now, now - 1, SeqCst, SeqCst) {
                    Ok(_) => return true,
                    Err(other) => now = other,
                }
            }
            false
        }
    }

    /// Somebody who sleeps while something is there hears the bell.
    #[test]
    fn no_ring_is_lost() {
        loom::model(|| {
            let m =
                Arc::new(Model { wishes: Wishes::none(), things: LoomU32::new(0), bell: LoomU32::new(0) });
            let waker = {
                let m = m.clone();
                loom::thread::spawn(move || {
                    m.things.fetch_add(1, Relaxed);
                    m.ring();
                })
            };
            let other = {
                let m = m.clone();
                loom::thread::spawn(move || m.take_or_sleep())
            };
            let one = m.take_or_sleep();
            waker.join().unwrap();
            let two = other.join().unwrap();
            let left = m.things.load(SeqCst);
            assert!(one.is_none() as u32 + two.is_none() as u32 + left == 1);
            assert!(
                left == 0 || m.bell.load(SeqCst) == 1,
                "something is there, all sleep, and the bell is silent"
            );
        });
    }

    #[test]
    fn a_timeout_is_no_shorter_in_milliseconds() {
        let of = |ns| millis(Duration::from_nanos(ns));
        assert_eq!(
            (of(0), of(1), of(1_000_000), of(1_000_001), millis(Duration::MAX)),
            (0, 1, 1, 2, i32::MAX)
        );
    }
}
