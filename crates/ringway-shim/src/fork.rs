//! Locks that no thread holds while the process forks, or while it runs a signal handler: neither the child nor the handler could ever
//! take them.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::common::Common;
use crate::inside::Inside;
use crate::signals::SignalsBlocked;
use crate::sys;

/// Ports of this process that users of the same name share. Taken before all other locks of this crate.
static OPEN: Mutex<Vec<Arc<Common>>> = Mutex::new(Vec::new());

/// Read by who holds the lock of a port, written by who forks.
static FORK: RwLock<()> = RwLock::new(());

type Held = (MutexGuard<'static, Vec<Arc<Common>>>, RwLockWriteGuard<'static, ()>);

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

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

/// Locks a value of a port; a thread has one at a time. Signals wait, but for a thread that is [`Inside`]: there handlers get the kernel's
/// functions, and two system calls for each frame are spared.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Locked<'_, T> {
    let signals = (!Inside::is_entered()).then(SignalsBlocked::new);
    let fork = FORK.read().unwrap_or_else(PoisonError::into_inner);
    Locked { value: mutex.lock().unwrap_or_else(PoisonError::into_inner), _fork: fork, _signals: signals }
}

pub(crate) fn open() -> MutexGuard<'static, Vec<Arc<Common>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sees to forks from now on. A library that registers functions of its own for forks, which take locks, calls this before.
pub fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| sys::at_fork(before, after));
}

extern "C" fn before() {
    let held = (open(), FORK.write().unwrap_or_else(PoisonError::into_inner));
    let _ = HELD.try_with(|h| *h.borrow_mut() = Some(held));
}

extern "C" fn after() {
    let _ = HELD.try_with(|h| h.borrow_mut().take());
}
