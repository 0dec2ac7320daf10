//! Waking threads that wait for something: the one that makes it there rings, and only when somebody waits.
//!
//! Threads sleep at a futex, where a ring wakes as many as there are things, and not all. Pollers have an eventfd.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use ringway::{Error, Result};
use ringway_sys::fd::{drain_bell, eventfd, ring_bell};
use ringway_sys::futex;

use super::wishes::Wishes;

/// Longest sleep. The word of [`Wishes`] may be the same again after a call and an answer, and then a thread on its way into the
/// kernel sleeps through a call. Something that happens once, such as the end of all ports, calls nobody again.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_millis(250);

/// A place to sleep at, and a descriptor that is readable after a ring, until it is cleared.
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

    /// Wakes a thread that sleeps, and a poller, if there are any. Something was made there before.
    #[inline]
    pub(super) fn ring(&self) {
        self.ring_for(1);
    }

    /// The same for so many things: as many threads wake.
    #[inline]
    pub(super) fn ring_for(&self, things: u32) {
        Wishes::<AtomicU32>::made();
        let called = self.wishes.call(things);
        if called > 0 {
            futex::wake(self.wishes.place(), called);
        }
        if self.wishes.want_ring() {
            ring_bell(self.fd.as_fd());
        }
    }

    /// Wakes all threads, and makes the descriptor readable whether somebody waits or not.
    pub(super) fn ring_always(&self) {
        self.ring_for(u32::MAX);
        ring_bell(self.fd.as_fd());
    }

    /// Asks for a ring of the descriptor; true, when `there` is something already.
    pub(super) fn arm(&self, there: impl Fn() -> bool) -> bool {
        drain_bell(self.fd.as_fd());
        self.wishes.arm();
        let found = there();
        if found {
            self.ring(); // the ring that was cleared may have been for another poller
        }
        found
    }

    /// Sleeps until a ring, or for `timeout`, unless `there` is something already. It may also return for nothing, and does so
    /// after [`LONGEST_SLEEP`].
    pub(super) fn sleep(&self, timeout: Duration, there: impl Fn() -> bool) {
        self.wishes.sleeping();
        if !there()
            && let Some(now) = self.wishes.uncalled()
        {
            futex::wait(self.wishes.place(), now, timeout.min(LONGEST_SLEEP));
        }
        self.wishes.awake();
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    /// One ring wakes one thread at least; a ring for good wakes all.
    #[test]
    fn threads_sleep_and_wake() {
        let (bell, things) = (Bell::new().unwrap(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while things.load(SeqCst) == 0 {
                        bell.sleep(Duration::MAX, || things.load(SeqCst) > 0);
                    }
                });
            }
            while bell.wishes.place().load(SeqCst) < 4 {
                std::thread::yield_now();
            }
            things.store(1, SeqCst);
            bell.ring();
            while bell.wishes.place().load(SeqCst) > 3 {
                std::thread::yield_now();
            }
            bell.ring_always();
        });
        assert_eq!(bell.wishes.place().load(SeqCst), 0);
    }

    /// A sleeper that a call passed by looks again.
    #[test]
    fn no_sleep_is_for_ever() {
        let bell = std::sync::Arc::new(Bell::new().unwrap());
        let (awake, woke) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            bell.sleep(Duration::MAX, || false);
            awake.send(()).unwrap();
        });
        woke.recv_timeout(Duration::from_secs(20)).expect("nobody rang");
    }
}
