//! A lock that refuses a thread that holds it already, instead of waiting for ever.
//!
//! Programs call back into a handle from its own callbacks and from signal handlers.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value used by one thread at a time.
pub(crate) struct Guarded<T> {
    value: Mutex<T>,
    /// The thread that has it, 0 for none.
    owner: AtomicUsize,
}

pub(crate) struct Guard<'a, T> {
    value: MutexGuard<'a, T>,
    owner: &'a AtomicUsize,
}

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), owner: AtomicUsize::new(0) }
    }

    /// Waits for other threads; `None` when the calling thread has it.
    pub(crate) fn lock(&self) -> Option<Guard<'_, T>> {
        // Only the thread itself ever stores its own number, so no other order is needed to recognise it.
        if self.owner.load(Relaxed) == this_thread() {
            return None;
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(this_thread(), Relaxed);
        Some(Guard { value, owner: &self.owner })
    }

    /// `None` when anybody has it.
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        let value = self.value.try_lock().ok()?;
        self.owner.store(this_thread(), Relaxed);
        Some(Guard { value, owner: &self.owner })
    }
}

/// An address that no other living thread has.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl<T> Drop for Guard<'_, T> {
    /// Runs before the lock is released.
    fn drop(&mut self) {
        self.owner.store(0, Relaxed);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_told_and_others_wait() {
        let lock = Guarded::new(0);
        std::thread::scope(|s| {
            let held = lock.lock();
            assert!(held.is_some() && lock.lock().is_none() && lock.try_lock().is_none());
            let ((told, heard), lock) = (std::sync::mpsc::channel(), &lock);
            let other = s.spawn(move || {
                assert!(lock.try_lock().is_none());
                told.send(()).unwrap();
                *lock.lock().unwrap() += 1;
            });
            heard.recv().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!other.is_finished());
            drop(held);
        });
        assert_eq!(*lock.lock().unwrap(), 1);
    }
}
