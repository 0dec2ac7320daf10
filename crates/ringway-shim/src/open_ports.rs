//! The ports that users of one name share, and what forks do with them.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, RwLockWriteGuard};

use crate::shared_port::SharedPort;
use crate::{lock, sys};

/// Ports of this process that users of the same name share. Taken before all other locks of this crate.
static OPEN: Mutex<Vec<Arc<SharedPort>>> = Mutex::new(Vec::new());

type Held = (MutexGuard<'static, Vec<Arc<SharedPort>>>, RwLockWriteGuard<'static, ()>);

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

pub(crate) fn list() -> MutexGuard<'static, Vec<Arc<SharedPort>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sees to forks from now on. A library that registers functions of its own for forks, which take locks, calls this before.
pub fn prepare_for_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| sys::at_fork(before, after));
}

extern "C" fn before() {
    let held = (list(), lock::hold_all());
    let _ = HELD.try_with(|h| *h.borrow_mut() = Some(held));
}

extern "C" fn after() {
    let _ = HELD.try_with(|h| h.borrow_mut().take());
}
