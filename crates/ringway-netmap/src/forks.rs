//! How a process learns that it is a fork.
#![allow(unsafe_code, reason = "libc calls the fork handler")]

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_fork() {
    FORKS.fetch_add(1, Relaxed);
}

/// Forks between the program's start and this process: a number that a child finds changed.
#[inline]
pub(crate) fn forks() -> u32 {
    static ONCE: Once = Once::new();
    if !ONCE.is_completed() {
        let child: unsafe extern "C" fn() = count_fork;
        // SAFETY: a function without arguments, which lives as long as the library.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(child));
        });
    }
    FORKS.load(Relaxed)
}
