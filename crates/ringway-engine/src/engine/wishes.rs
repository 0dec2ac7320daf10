//! Who waits for something, so that the one that makes it there wakes nobody in vain.
//!
//! A sleeper *says that it sleeps, then looks*; a waker *makes something there, then looks for sleepers*. Both have a full
//! barrier between the two steps, as in `ringway_abi::handshake`, so at least one sees the other.
//!
//! Several may sleep. A waker calls as many of them as there are things, and counts them as called at once: until
//! a called sleeper runs, it costs no further system call. One word has both numbers, sleepers and calls that nobody
//! answered yet. Who stops to sleep answers a call, if there is one, and looks again in any case.
//!
//! A thread that read the word and is stopped before the kernel compares it may find the same word after another thread answered
//! its call. It then sleeps through the call, so each sleep has a bound, after which the thread looks again.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, fence};

/// One call, in the upper half of the word of sleepers. An engine has at most 4096 threads.
const CALL: u32 = 1 << 16;

/// A word, generic so that loom checks the very code that runs.
pub(super) trait Count {
    fn none() -> Self;
    fn get(&self) -> u32;
    fn add(&self, n: u32);
    fn take(&self) -> u32;
    /// Changes the word from `old` to `new`, or returns what it is instead.
    fn exchange(&self, old: u32, new: u32) -> Result<u32, u32>;
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

    fn exchange(&self, old: u32, new: u32) -> Result<u32, u32> {
        self.compare_exchange(old, new, AcqRel, Acquire)
    }

    #[inline]
    fn full_fence() {
        fence(SeqCst);
    }
}

/// Who waits: threads that sleep, and a poller that armed the bell.
#[derive(Debug)]
pub(super) struct Wishes<C> {
    /// Sleepers that nobody called, and calls that no sleeper answered.
    sleepers: C,
    armed: C,
}

impl<C: Count> Wishes<C> {
    pub(super) fn none() -> Self {
        Self { sleepers: C::none(), armed: C::none() }
    }

    /// Between making something there, and looking who waits for it.
    #[inline]
    pub(super) fn made() {
        C::full_fence();
    }

    /// Calls sleepers, `most` at most; returns how many are to be woken.
    #[inline]
    pub(super) fn call(&self, most: u32) -> u32 {
        let mut now = self.sleepers.get();
        loop {
            let count = (now % CALL).min(most);
            if count == 0 {
                return 0;
            }
            match self.sleepers.exchange(now, now - count + count * CALL) {
                Ok(_) => return count,
                Err(other) => now = other,
            }
        }
    }

    /// Whether to ring for a poller.
    #[inline]
    pub(super) fn want_ring(&self) -> bool {
        self.armed.get() > 0 && self.armed.take() > 0
    }

    /// Says that this thread is about to sleep. It looks once more before it does, and says [`awake`](Self::awake) after.
    pub(super) fn sleeping(&self) {
        self.sleepers.add(1);
        C::full_fence();
    }

    /// The word that sleepers sleep at.
    #[inline]
    pub(super) fn place(&self) -> &C {
        &self.sleepers
    }

    /// What the word is; `None` when a call came.
    pub(super) fn uncalled(&self) -> Option<u32> {
        Some(self.sleepers.get()).filter(|&now| now < CALL)
    }

    /// Answers a call, or stops to wait for one. The caller looks again.
    pub(super) fn awake(&self) {
        let mut now = self.sleepers.get();
        while let Err(other) =
            self.sleepers.exchange(now, if now < CALL { now.wrapping_sub(1) } else { now - CALL })
        {
            now = other;
        }
    }

    /// Asks for one ring, for a poller. It looks once more before it polls.
    pub(super) fn arm(&self) {
        self.armed.add(1);
        C::full_fence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as LoomU32;
    use proptest::prelude::*;

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

        fn exchange(&self, old: u32, new: u32) -> Result<u32, u32> {
            self.compare_exchange(old, new, AcqRel, Acquire)
        }

        fn full_fence() {
            loom::sync::atomic::fence(SeqCst);
        }
    }

    /// A queue of so many things, and who waits for them. The kernel's part is left out: a sleeper that a call is there for
    /// wakes, and one of the others may.
    struct Model {
        wishes: Wishes<LoomU32>,
        things: LoomU32,
    }

    impl Model {
        fn new() -> Arc<Self> {
            Arc::new(Self { wishes: Wishes::none(), things: LoomU32::new(0) })
        }

        fn make(&self) {
            self.things.fetch_add(1, Relaxed);
            Wishes::<LoomU32>::made();
            self.wishes.call(1);
        }

        /// Sleeps, or takes a thing: true when it took one. With a time that is over at once it does not sleep, but looks again.
        fn take_or_sleep(&self, time_is_over: bool) -> bool {
            loop {
                self.wishes.sleeping();
                if self.things.load(Relaxed) == 0 && self.wishes.uncalled().is_some() && !time_is_over {
                    return false;
                }
                self.wishes.awake();
                let taken = self.take();
                if taken || time_is_over {
                    return taken;
                }
            }
        }

        fn take(&self) -> bool {
            let mut now = self.things.load(Relaxed);
            while now > 0 {
                match self.things.compare_exchange(now, now - 1, AcqRel, Acquire) {
                    Ok(_) => return true,
                    Err(other) => now = other,
                }
            }
            false
        }

        /// Things are left, and no sleeper was called.
        fn is_stuck(&self, asleep: u32) -> bool {
            let (left, word) = (self.things.load(SeqCst), self.wishes.sleepers.get());
            assert_eq!(word % CALL + word / CALL, asleep, "each that sleeps is counted once");
            left > 0 && asleep > 0 && word / CALL < left.min(asleep)
        }
    }

    /// Up to so many threads are preempted in the midst of something: all interleavings of three threads would take hours.
    fn check(model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    /// Two wait while a thread makes `things`.
    fn two_wait(things: u32, time_is_over: bool) {
        let m = Model::new();
        let waker = {
            let m = m.clone();
            loom::thread::spawn(move || (0..things).for_each(|_| m.make()))
        };
        let other = {
            let m = m.clone();
            loom::thread::spawn(move || m.take_or_sleep(false))
        };
        let one = m.take_or_sleep(time_is_over);
        waker.join().unwrap();
        let two = other.join().unwrap();
        assert_eq!(u32::from(one) + u32::from(two) + m.things.load(SeqCst), things);
        let asleep = u32::from(!one && !time_is_over) + u32::from(!two);
        assert!(!m.is_stuck(asleep), "something is there, and nobody was called for it");
    }

    /// Somebody who sleeps while something is there was called.
    #[test]
    fn no_call_is_lost() {
        check(|| two_wait(1, false));
    }

    /// Nor when another one stops to wait meanwhile, and answers the call.
    #[test]
    fn no_call_is_lost_to_one_whose_time_is_over() {
        check(|| two_wait(1, true));
    }

    proptest! {
        /// One ring calls as many as there are things, each once, and who stops to sleep is counted no more.
        #[test]
        fn sleepers_and_calls_add_up(steps in proptest::collection::vec(0..6_u32, 1..60)) {
            let wishes = Wishes::<AtomicU32>::none();
            let (mut asleep, mut called) = (0_u32, 0_u32);
            for step in steps {
                match step {
                    0 | 1 => {
                        wishes.sleeping();
                        asleep += 1;
                    }
                    2 if asleep + called > 0 => {
                        wishes.awake();
                        *(if called > 0 { &mut called } else { &mut asleep }) -= 1;
                    }
                    _ => {
                        let count = wishes.call(step);
                        prop_assert_eq!(count, asleep.min(step));
                        (asleep, called) = (asleep - count, called + count);
                    }
                }
                prop_assert_eq!(wishes.sleepers.get(), asleep + called * CALL);
                prop_assert_eq!(wishes.uncalled().is_some(), called == 0);
            }
        }
    }
}
