//! The code besides the hooks that is unsafe: libc's own functions, memory that programs name, forks.
#![allow(unsafe_code, reason = "system calls take pointers")]

pub(crate) mod isolated;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod real;
pub(crate) mod ring;

/// Calls these before each fork, and after it in both processes.
pub(crate) fn at_fork(before: extern "C" fn(), in_parent: extern "C" fn(), in_child: extern "C" fn()) {
    let wrap = |f: extern "C" fn()| -> unsafe extern "C" fn() { f };
    // SAFETY: functions without arguments that live as long as the library, which is never unloaded: it is preloaded.
    unsafe { libc::pthread_atfork(Some(wrap(before)), Some(wrap(in_parent)), Some(wrap(in_child))) };
}

/// Calls `f` when the process ends by `exit`.
pub(crate) fn at_exit(f: extern "C" fn()) {
    // SAFETY: as above.
    unsafe { libc::atexit(f) };
}

pub(crate) fn write_stderr(bytes: &[u8]) {
    // SAFETY: the bytes live across the call.
    unsafe { real::write(2, bytes.as_ptr().cast(), bytes.len()) };
}
