//! The threads of a measurement go before others, where this process may say so: other work disturbs them less. Without that right they
//! stay where they were, and the share of the CPU says how they fared.

use ringway_sys::realtime::run_first;
use rustix::process::{Pid, setpriority_process};

/// The priority of a generator: above all programs, below the kernel's own work for the memory of packets, which it must not starve.
const NICE: i32 = -19;

/// Has the thread of a device run before all others. It sleeps when no packets come.
pub(super) fn raise_device(thread: i32) {
    let _ = run_first(thread);
}

/// Has the calling thread, a generator, go before programs.
pub(super) fn raise_generator() {
    let _ = setpriority_process(Pid::from_raw(nix::unistd::gettid().as_raw()), NICE);
}
