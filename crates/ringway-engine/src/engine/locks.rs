//! Locks beside the way of frames: who joins and leaves, names of threads, errors of ports, outboxes.
//!
//! The scheduler may stop a thread of the program while it has one. An I/O thread only tries them, and goes on when it can't have
//! one: frames of all other threads wait for it.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// What is in a lock, for a thread of the program. Nothing in an engine's locks is half done when a thread panics.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same for an I/O thread; `None` when another thread has it.
pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(inside) => Some(inside),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
