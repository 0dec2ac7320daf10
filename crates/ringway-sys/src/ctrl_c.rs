//! Handlers of SIGINT and SIGTERM that set a flag.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::fd::check;

/// Whether one of the signals came. Nothing else hangs on it, so no order is needed.
static CAME: AtomicBool = AtomicBool::new(false);

/// Whether a signal came since the start of the process.
pub fn came() -> bool {
    CAME.load(Relaxed)
}

/// Lets SIGINT and SIGTERM set the flag once each. The next one of the same number ends the process.
pub fn catch() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        handle(signal)?;
    }
    Ok(())
}

/// Sets the flag, which is all that it may do: a signal comes between any two instructions.
extern "C" fn set(_signal: libc::c_int) {
    CAME.store(true, Relaxed);
}

fn handle(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: all bytes zero are a valid `sigaction`: no handler, no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = set as extern "C" fn(libc::c_int) as usize;
    // The system's handling is back before `set` runs, so the second signal ends a process that hangs.
    action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
    // SAFETY: a valid action, and no wish for the former one. The handler only stores to an atomic.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }).map(drop)
}
