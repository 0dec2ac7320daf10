//! Forks: the child has what its parent knew, and no lock that another thread held.

use std::cell::RefCell;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::inside::Inside;
use crate::sys::kernel;
use crate::{descriptors, epolls, internal, local, sync};

/// The process that the memory belongs to; 0 as long as nobody asked.
static PID: AtomicU32 = AtomicU32::new(0);

/// Whether this is the process that the memory belongs to. The child of a vfork closes descriptors of its own in its parent's memory: the
/// parent's descriptors stay as they are.
pub(crate) fn is_here() -> bool {
    let known = PID.load(Relaxed);
    known == 0 || known == std::process::id()
}

/// Sees to forks from the first netmap descriptor on.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        PID.store(std::process::id(), Relaxed);
        ringway_shim::at_fork(before, after);
        kernel::at_exit(leave);
    });
}

/// What is locked while the process forks, in the order in which it is taken.
struct Held {
    names: descriptors::Held,
    _epolls: epolls::Held,
    _tracking: internal::Held,
    _monitors: sync::MonitorsHeld,
    _inside: Inside,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before() {
    // A thread that is inside holds locks already; the child of such a fork is one of the library of ports, which only execs.
    let Some(inside) = Inside::enter() else { return };
    // A thread that waits in an epoll has that lock while it tracks, and one that closes has the names before it. Who opens a monitor
    // tracks, and then has the list of monitors.
    let held = Held {
        names: descriptors::hold(),
        _epolls: epolls::hold(),
        _tracking: internal::hold(),
        _monitors: sync::hold_monitors(),
        _inside: inside,
    };
    let _ = HELD.try_with(|h| *h.borrow_mut() = Some(held));
}

extern "C" fn after() {
    let held = HELD.try_with(|h| h.borrow_mut().take()).ok().flatten();
    if let Some(held) = &held
        && !is_here()
    {
        PID.store(std::process::id(), Relaxed);
        held.names.forked();
        local::forked();
    }
}

/// The kernel closes the descriptors of a process that ends. Its bindings end here, so that the last process leaves no folder behind.
extern "C" fn leave() {
    if is_here()
        && let Some(_inside) = Inside::enter()
    {
        descriptors::end_all(kernel::close_number);
    }
}
