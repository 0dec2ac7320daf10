//! A lock for a value that one thread uses all the time and others now and then.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use super::bias::{self, Bias};

/// Looks before a thread that waits for the favourite sleeps, and how long it then sleeps. The favourite may wait for the very
/// CPU.
const LOOKS: u32 = 100;
const NAP: Duration = Duration::from_micros(20);

/// Nobody is the favourite, for good.
const NOBODY: usize = usize::MAX;

/// A lock that the first thread to use it takes without atomic exchanges from then on.
///
/// Other threads pay more: each has to have the kernel run a barrier on all CPUs of the process (`membarrier(2)`). So a second
/// thread that calls [`with`](Self::with) makes this a common lock, for good. A thread that comes now and then calls
/// [`visit`](Self::visit).
///
/// A thread that has the lock is refused, and does not wait for ever: programs call back from callbacks and from signal handlers.
///
/// ```
/// use ringway_shim::BiasedLock;
///
/// let lock = BiasedLock::new(1);
/// let nested = lock.with(|n| {
///     *n += 1;
///     lock.with(|_| ())
/// });
/// assert_eq!(nested, Some(None), "this thread has it");
/// std::thread::scope(|s| s.spawn(|| assert_eq!(lock.visit(|n| *n), Some(2))).join()).unwrap();
/// ```
pub struct BiasedLock<T> {
    value: UnsafeCell<T>,
    bias: Bias<AtomicBool>,
    /// The thread that takes it without `mutex`; 0 while no thread took it, [`NOBODY`].
    favourite: AtomicUsize,
    mutex: Mutex<()>,
    /// The thread that has `mutex`; 0 for none.
    owner: AtomicUsize,
}

// SAFETY: one thread at a time reaches the value: the favourite inside, or the thread that has `mutex` and keeps the favourite out
// (see `bias`).
unsafe impl<T: Send> Sync for BiasedLock<T> {}

impl<T> fmt::Debug for BiasedLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BiasedLock").finish_non_exhaustive()
    }
}

/// The favourite has the lock.
struct Inside<'a>(&'a Bias<AtomicBool>);

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// A thread has the lock by the mutex.
struct Held<'a, T> {
    lock: &'a BiasedLock<T>,
    _mutex: MutexGuard<'a, ()>,
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.lock.owner.store(0, Relaxed);
        if self.lock.favourite.load(Relaxed) != NOBODY {
            self.lock.bias.end_recall();
        }
    }
}

/// Whether a thread waits for others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Waits,
    Leaves,
}

impl<T> BiasedLock<T> {
    /// Makes a lock that nobody has. Where the kernel has no `membarrier` for a process, it is a common lock.
    pub fn new(value: T) -> Self {
        let favourite = if bias::register() { 0 } else { NOBODY };
        Self {
            value: UnsafeCell::new(value),
            bias: Bias::new(),
            favourite: AtomicUsize::new(favourite),
            mutex: Mutex::new(()),
            owner: AtomicUsize::new(0),
        }
    }

    /// Waits for other threads, and runs `f`. `None` when the calling thread has the lock, or when the kernel refuses the barrier
    /// that it allowed before.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let here = this_thread();
        if self.favourite.load(Relaxed) == here {
            if self.bias.is_inside() || self.owner.load(Relaxed) == here {
                return None;
            }
            if self.bias.enter() {
                let _inside = Inside(&self.bias);
                // SAFETY: this thread is the favourite, was not inside, and is now. So `hold` keeps all others out until `leave`.
                return Some(f(unsafe { &mut *self.value.get() }));
            }
        }
        self.with_mutex(f)
    }

    /// The same for a thread that comes now and then, and is not to become the favourite.
    pub fn visit<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.favourite.load(Relaxed) == this_thread() {
            return self.with(f);
        }
        self.hold(Patience::Waits).map(|held| held.run(f))
    }

    /// The same without waiting; `None` when any thread has it.
    pub fn try_visit<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.favourite.load(Relaxed) == this_thread() && self.bias.is_inside() {
            return None;
        }
        self.hold(Patience::Leaves).map(|held| held.run(f))
    }

    #[cold]
    fn with_mutex<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let held = self.hold(Patience::Waits)?;
        let here = this_thread();
        match self.favourite.load(Relaxed) {
            0 => self.favourite.store(here, Relaxed),
            thread if thread == here || thread == NOBODY => {}
            // Two threads use it all the time. The first one may be about to enter: it stays recalled.
            _ => self.favourite.store(NOBODY, Relaxed),
        }
        Some(held.run(f))
    }

    /// Takes the mutex, and keeps a favourite out that is another thread.
    fn hold(&self, patience: Patience) -> Option<Held<'_, T>> {
        let here = this_thread();
        // Only the thread itself stores its own number, so no other order is needed to recognise it.
        if self.owner.load(Relaxed) == here {
            return None;
        }
        let mutex = match patience {
            Patience::Waits => self.mutex.lock().unwrap_or_else(PoisonError::into_inner),
            Patience::Leaves => match self.mutex.try_lock() {
                Ok(mutex) => mutex,
                Err(TryLockError::Poisoned(e)) => e.into_inner(),
                Err(TryLockError::WouldBlock) => return None,
            },
        };
        let alone = [0, here, NOBODY].contains(&self.favourite.load(Relaxed));
        if !alone && !self.keep_favourite_out(patience) {
            return None;
        }
        self.owner.store(here, Relaxed);
        Some(Held { lock: self, _mutex: mutex })
    }

    fn keep_favourite_out(&self, patience: Patience) -> bool {
        if !self.bias.recall() {
            return false;
        }
        let mut looks = 0;
        while self.bias.is_inside() {
            if patience == Patience::Leaves {
                self.bias.end_recall();
                return false;
            }
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { thread::sleep(NAP) }
        }
        true
    }
}

impl<T> Held<'_, T> {
    fn run<R>(self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: only `hold` makes this. The thread has the mutex, and the favourite stays out until this is dropped.
        f(unsafe { &mut *self.lock.value.get() })
    }
}

/// An address that no other living thread has. A thread that gets the address of an ended one may be its lock's favourite.
#[inline]
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn elsewhere<R: Send>(run: impl FnOnce() -> R + Send) -> R {
        thread::scope(|s| s.spawn(run).join().unwrap())
    }

    /// A lock whose favourite is the calling thread.
    fn favouring<T>(value: T) -> BiasedLock<T> {
        let lock = BiasedLock::new(value);
        assert!(lock.with(|_| ()).is_some());
        lock
    }

    fn refuses<T>(lock: &BiasedLock<T>) -> bool {
        lock.with(|_| ()).is_none() && lock.visit(|_| ()).is_none() && lock.try_visit(|_| ()).is_none()
    }

    #[test]
    fn the_holder_is_refused_and_others_wait() {
        let lock = &favouring(0);
        thread::scope(|s| {
            let (told, heard) = channel();
            lock.with(|_| {
                assert!(lock.bias.is_inside(), "the first thread is the favourite");
                assert!(refuses(lock));
                let other = s.spawn(move || {
                    assert!(lock.try_visit(|_| ()).is_none());
                    told.send(()).unwrap();
                    lock.visit(|n| *n += 1)
                });
                heard.recv().unwrap();
                thread::sleep(Duration::from_millis(20));
                assert!(!other.is_finished());
            });
        });
        assert_eq!(lock.with(|n| *n), Some(1));
    }

    #[test]
    fn a_visitor_that_has_it_keeps_the_favourite_out() {
        let lock = favouring(());
        elsewhere(|| {
            lock.visit(|()| {
                assert!(refuses(&lock));
                assert!(!lock.bias.enter());
            })
        });
        assert_eq!(lock.with(|()| lock.bias.is_inside()), Some(true), "it comes again after a visit");
    }

    /// A visitor that waited for the favourite made it take the mutex.
    #[test]
    fn the_favourite_is_refused_while_it_has_the_mutex() {
        let lock = favouring(());
        lock.bias.recall();
        let ran = lock.with(|()| {
            lock.bias.end_recall();
            refuses(&lock)
        });
        assert_eq!(ran, Some(true));
    }

    #[test]
    fn a_second_thread_makes_it_a_common_lock() {
        let lock = favouring(());
        elsewhere(|| lock.with(|()| ()));
        assert_eq!(lock.favourite.load(Relaxed), NOBODY);
        assert!(!lock.bias.enter(), "a favourite that was about to enter");
        assert_eq!(lock.with(|()| lock.bias.is_inside()), Some(false));
        assert!(elsewhere(|| lock.with(|()| ())).is_some());
    }

    /// As where the kernel has no `membarrier`.
    #[test]
    fn a_common_lock_has_no_favourite() {
        let lock = BiasedLock::new(0);
        lock.favourite.store(NOBODY, Relaxed);
        assert_eq!(lock.with(|_| lock.bias.is_inside()), Some(false));
        assert_eq!(lock.with(|_| refuses(&lock)), Some(true));
        assert!(elsewhere(|| lock.with(|n| *n += 1)).is_some());
        assert_eq!((lock.favourite.load(Relaxed), lock.try_visit(|n| *n)), (NOBODY, Some(1)));
    }

    #[test]
    fn a_visitor_never_becomes_the_favourite() {
        let lock = BiasedLock::new(());
        lock.visit(|()| ());
        assert_eq!(lock.favourite.load(Relaxed), 0);
    }

    #[test]
    fn a_panic_inside_leaves_the_lock() {
        let lock = favouring(());
        for _ in 0..2 {
            let ran =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lock.with(|()| panic!("inside"))));
            assert!(ran.is_err());
        }
        assert!(elsewhere(|| lock.visit(|()| ())).is_some());
    }

    /// With real barriers, and a value that two threads at once would damage.
    #[test]
    fn no_visit_is_lost_beside_a_busy_favourite() {
        const VISITS: u64 = 20_000;
        let (lock, over) = (favouring((0_u64, 0_u64)), AtomicBool::new(false));
        let add = |both: &mut (u64, u64)| {
            assert_eq!(both.0, both.1);
            both.0 += 1;
            std::hint::black_box(&mut *both);
            both.1 += 1;
        };
        let mut own = 0;
        thread::scope(|s| {
            s.spawn(|| {
                (0..VISITS).for_each(|_| lock.visit(add).unwrap());
                over.store(true, Relaxed);
            });
            while !over.load(Relaxed) {
                lock.with(add).unwrap();
                own += 1;
            }
        });
        assert_eq!(lock.with(|v| *v), Some((own + VISITS, own + VISITS)));
    }
}
