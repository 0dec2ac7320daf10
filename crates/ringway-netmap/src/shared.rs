//! What is reached under locks in shared memory.
#![allow(unsafe_code, reason = "a lock in shared memory stands for the borrow checker")]

use std::cell::UnsafeCell;

use crate::ledger::Held;

/// A value of this process that only the holder of one lock in shared memory touches. A fork copies the value and shares the lock, so
/// no lock of the process itself stays locked in a child.
#[derive(Debug)]
pub(crate) struct UnderLock<T> {
    value: UnsafeCell<T>,
    /// Where the lock lies.
    lock: usize,
}

// SAFETY: one thread of this process at a time reaches the value, for `get` asks for the guard of the lock that belongs to it. A lock word
// has one guard: threads take it by an exchange from 0, or from a thread that no longer exists. Only this library maps the ledger with the
// word, and processes that share a ledger trust each other with it.
unsafe impl<T: Send> Sync for UnderLock<T> {}

impl<T> UnderLock<T> {
    /// A value that belongs to the lock at this address.
    pub(crate) fn new(value: T, lock: usize) -> Self {
        Self { value: UnsafeCell::new(value), lock }
    }

    /// The value, which nobody else has yet.
    pub(crate) fn own(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value, for as long as the lock is held.
    ///
    /// # Panics
    /// When another lock is held.
    #[allow(clippy::mut_from_ref, reason = "the lock gives the right, and its guard is borrowed mutably")]
    #[inline]
    pub(crate) fn get<'a>(&'a self, held: &'a mut Held<'_>) -> &'a mut T {
        assert_eq!(held.address(), self.lock, "the lock of another value");
        // SAFETY: the guard is the only one of this lock (above), and it is borrowed mutably as long as the result lives. `own` borrows the
        // whole value mutably.
        unsafe { &mut *self.value.get() }
    }
}
