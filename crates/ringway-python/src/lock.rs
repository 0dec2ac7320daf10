//! Locks of what threads of Python share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a part. A thread that panicked leaves it as the library left it, which is usable.
pub(crate) fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
