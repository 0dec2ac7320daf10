//! Forks: all locks are held across them, and the child knows that it is one.
//!
//! A port belongs to the process that opened it: its rings' cursors are in that process's memory. The child of a fork lets
//! its copy go without a trace when it first uses it, and opens the port anew.

use std::cell::RefCell;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::flusher;
use crate::link::{self, Inner, Link};
use crate::socket::{self, Socket, State};
use crate::sys::guard::ReentryGuard;

static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that the memory belongs to.
static PID: AtomicU32 = AtomicU32::new(0);

/// What is locked while the process forks, in the order in which it is taken.
#[derive(Debug)]
struct Held {
    _sockets: (MutexGuard<'static, Vec<&'static Socket>>, Vec<MutexGuard<'static, State>>),
    _links: (MutexGuard<'static, Vec<&'static Link>>, Vec<MutexGuard<'static, Inner>>),
    _guard: ReentryGuard,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// Forks of this process and its ancestors since the library was loaded.
#[inline]
pub(crate) fn count() -> u32 {
    FORKS.load(Relaxed)
}

/// Whether this is the process that the memory belongs to. The child of a vfork closes descriptors of its own in its
/// parent's memory: those of the parent stay as they are.
pub(crate) fn is_here() -> bool {
    PID.load(Relaxed) == std::process::id()
}

/// Notes the process.
pub(crate) fn here() {
    PID.store(std::process::id(), Relaxed);
}

/// Called around each fork.
pub(crate) extern "C" fn before() {
    // ReentryGuard, the thread holds locks already; a child of such a fork is one of the library of ports, which only execs.
    let Some(inside) = ReentryGuard::enter() else { return };
    let sockets = socket::all();
    let states = sockets.iter().map(|s| s.state()).collect();
    let links = link::all();
    let inners = links.iter().map(|l| l.lock()).collect();
    let held = Held { _sockets: (sockets, states), _links: (links, inners), _guard: inside };
    let _ = HELD.try_with(|h| *h.borrow_mut() = Some(held));
}

/// Called around each fork.
pub(crate) extern "C" fn in_parent() {
    let _ = HELD.try_with(|h| h.borrow_mut().take());
}

/// Called around each fork.
pub(crate) extern "C" fn in_child() {
    FORKS.fetch_add(1, Relaxed);
    here();
    flusher::forget();
    in_parent();
}
