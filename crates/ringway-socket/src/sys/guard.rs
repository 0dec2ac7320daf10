//! Whether the calling thread is inside this library already, and `errno`.
//!
//! A signal handler may send while the thread that it interrupted holds our locks, and what we call (std, the library
//! of ports) calls the functions that we stand before. Both then get the kernel's function, and nothing waits for itself.

use std::cell::Cell;
use std::ffi::c_int;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread is inside until this is dropped.
#[derive(Debug)]
pub(crate) struct Inside(());

impl Inside {
    /// `None` when the thread is inside already, or ends.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        match INSIDE.try_with(|i| i.replace(true)) {
            Ok(false) => Some(Self(())),
            _ => None,
        }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|i| i.set(false));
    }
}

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
