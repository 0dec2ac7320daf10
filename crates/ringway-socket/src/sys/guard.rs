//! `errno`, and whether the calling thread is inside this library already.

use std::ffi::c_int;

pub(crate) use ringway_shim::ReentryGuard;

pub(crate) fn set_errno(code: c_int) {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = code };
}

pub(crate) fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// Fails a call as libc does.
#[cold]
pub(crate) fn fail(code: c_int) -> c_int {
    set_errno(code);
    -1
}
