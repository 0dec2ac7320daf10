//! Locks that no thread holds while the process forks, or while it runs a signal handler: neither the child nor the handler could ever
//! take them.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::reentry::ReentryGuard;
use crate::signals::SignalsBlocked;

/// A thread that holds the lock of a port reads this, and a thread that forks writes it.
static FORK: RwLock<()> = RwLock::new(());

/// A locked value of a port.
#[derive(Debug)]
pub(crate) struct Locked<'a, T> {
    value: MutexGuard<'a, T>,
    _fork: RwLockReadGuard<'static, ()>,
    /// Dropped last: a handler that waited finds the lock free.
    _signals: Option<SignalsBlocked>,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// Locks a value of a port; a thread has one at a time. Signals wait, but for a thread that is [`ReentryGuard`]: there handlers get the kernel's
/// functions, and two system calls for each frame are spared.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Locked<'_, T> {
    let signals = (!ReentryGuard::is_entered()).then(SignalsBlocked::new);
    let fork = FORK.read().unwrap_or_else(PoisonError::into_inner);
    Locked { value: mutex.lock().unwrap_or_else(PoisonError::into_inner), _fork: fork, _signals: signals }
}

/// Waits until no thread holds the lock of a port; none takes one until this is dropped.
pub(crate) fn hold_all() -> RwLockWriteGuard<'static, ()> {
    FORK.write().unwrap_or_else(PoisonError::into_inner)
}
