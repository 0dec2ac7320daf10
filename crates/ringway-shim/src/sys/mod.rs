//! What has no safe form: functions of libc, memory that programs name.
#![allow(unsafe_code, reason = "system calls and programs pass pointers")]

mod bias;
pub(crate) mod biased;
pub(crate) mod errno;
pub(crate) mod fd_sets;
pub(crate) mod next;
pub(crate) mod table;
pub mod time;

/// Calls these before each fork, and after it in the parent and in the child. The last ones registered run first before a fork,
/// and last after it.
pub fn at_fork(before: extern "C" fn(), after: extern "C" fn()) {
    let wrap = |f: extern "C" fn()| -> unsafe extern "C" fn() { f };
    // SAFETY: functions without arguments. They live as long as the library: its thread-local data keeps it loaded.
    unsafe { libc::pthread_atfork(Some(wrap(before)), Some(wrap(after)), Some(wrap(after))) };
}
