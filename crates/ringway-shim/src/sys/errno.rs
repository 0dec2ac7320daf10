//! `errno`, as functions of libc set it.

use std::ffi::c_int;

/// Sets the calling thread's `errno`.
pub fn set_errno(code: c_int) {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = code };
}

/// The calling thread's `errno`.
#[must_use]
pub fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// Fails a call as libc does.
#[cold]
pub fn fail(code: c_int) -> c_int {
    set_errno(code);
    -1
}
