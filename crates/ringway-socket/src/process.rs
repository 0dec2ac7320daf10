//! What this library does when the process forks or ends. All its locks are held across a fork.

use ringway_shim::ReentryGuard;
use std::cell::RefCell;
use std::sync::{MutexGuard, Once};

use crate::link::{self, Link, LinkState};
use crate::socket::{self, Socket, State};
use crate::{flusher, fork, report, sys};

/// Sees to forks and to the end, from the first packet socket on.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        fork::here();
        ringway_shim::prepare_for_forks();
        sys::at_fork(before, in_parent, in_child);
        sys::at_exit(at_exit);
    });
}

/// What is locked while the process forks, in the order in which it is taken.
#[derive(Debug)]
struct Held {
    _sockets: (MutexGuard<'static, Vec<&'static Socket>>, Vec<MutexGuard<'static, State>>),
    _links: (MutexGuard<'static, Vec<&'static Link>>, Vec<MutexGuard<'static, LinkState>>),
    _guard: ReentryGuard,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before() {
    // ReentryGuard, the thread holds locks already; a child of such a fork is one of the library of ports, which only execs.
    let Some(guard) = ReentryGuard::enter() else { return };
    let sockets = socket::all();
    let states = sockets.iter().map(|s| s.state()).collect();
    let links = link::all();
    let inners = links.iter().map(|l| l.lock()).collect();
    let held = Held { _sockets: (sockets, states), _links: (links, inners), _guard: guard };
    let _ = HELD.try_with(|h| *h.borrow_mut() = Some(held));
}

extern "C" fn in_parent() {
    let _ = HELD.try_with(|h| h.borrow_mut().take());
}

extern "C" fn in_child() {
    fork::forked();
    flusher::forget();
    in_parent();
}

/// Sends what waits, closes the ports and prints the summary, when the process ends.
extern "C" fn at_exit() {
    let Some(_guard) = ReentryGuard::enter() else { return };
    link::flush_all();
    let nth = |i| link::all().get(i).copied();
    (0..).map_while(nth).for_each(Link::shut);
    report::finish();
}
