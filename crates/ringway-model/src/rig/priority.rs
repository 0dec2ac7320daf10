//! The threads of a measurement go before others, where this process may say so: other work disturbs them less.

use rustix::process::{Pid, setpriority_process};

/// The priority of the threads of a measurement: below it are the kernel's threads only.
const NICE: i32 = -19;

/// Puts a thread before others. Without the right to do so it stays where it was, and its share of the CPU says how it fared.
pub(super) fn raise(thread: i32) {
    let _ = setpriority_process(Pid::from_raw(thread), NICE);
}

/// The same of the calling thread.
pub(super) fn raise_own() {
    raise(nix::unistd::gettid().as_raw());
}
