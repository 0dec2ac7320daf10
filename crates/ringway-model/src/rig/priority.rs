//! The threads of a measurement run before others, where this process may say so: other work disturbs them less.

use ringway_sys::realtime::run_first;

/// Has a thread run before others. Without the right to do so it stays where it was, and its share of the CPU says how it fared.
pub(super) fn raise(thread: i32) {
    let _ = run_first(thread);
}

/// The same of the calling thread.
pub(super) fn raise_own() {
    raise(nix::unistd::gettid().as_raw());
}
