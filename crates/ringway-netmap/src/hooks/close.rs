//! Descriptors closed: the program's, which may be netmap descriptors, and not the library's own.

use std::ffi::c_int;

use ringway_shim::{errno, fail, set_errno};

use crate::descriptors::Last;
use crate::inside::Inside;
use crate::sys::real;
use crate::{descriptors, epolls, internal, process};

/// Whether a close of the number by the program has to fail: the library needs it.
fn is_kept(fd: c_int) -> bool {
    if !internal::was_noted(fd) || !process::is_here() {
        return false;
    }
    match Inside::enter() {
        Some(_inside) => internal::is(fd),
        None => {
            internal::forget(fd);
            false
        }
    }
}

/// Forgets what a number stood for, which is about to be closed, or was. The caller drops what it gets when the kernel has closed it.
#[must_use]
pub(super) fn closing(fd: c_int) -> Option<Last> {
    if internal::is_tracking() && process::is_here() {
        internal::returned(fd);
    }
    if descriptors::is_unknown(fd) && !epolls::is(fd) || !process::is_here() {
        return None;
    }
    let _inside = Inside::enter()?;
    epolls::remove(fd);
    descriptors::leave(fd)
}

/// # Safety
/// As close(2); the others of this file as theirs.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if is_kept(fd) {
        return fail(libc::EBADF);
    }
    let last = closing(fd);
    // SAFETY: the caller's argument.
    let done = unsafe { real::close(fd) };
    let code = errno();
    drop(last);
    set_errno(code);
    done
}

/// # Safety
/// As close_range(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn close_range(from: u32, to: u32, flags: c_int) -> c_int {
    let closes = flags & !(libc::CLOSE_RANGE_UNSHARE as c_int) == 0;
    if !closes || from > to {
        // SAFETY: the caller's arguments.
        return unsafe { real::close_range(from, to, flags) };
    }
    let (mut next, mut last) = (from, Vec::new());
    let known = u32::try_from(internal::highest()).map_or(0, |highest| highest + 1);
    for fd in from..known.min(to.saturating_add(1)) {
        if is_kept(fd as c_int) {
            // SAFETY: the caller's arguments, but for what is kept.
            if next < fd && unsafe { real::close_range(next, fd - 1, flags) } < 0 {
                return -1;
            }
            next = fd + 1;
        } else {
            last.extend(closing(fd as c_int));
        }
    }
    // SAFETY: as above.
    let done = if next <= to { unsafe { real::close_range(next, to, flags) } } else { 0 };
    let code = errno();
    drop(last);
    set_errno(code);
    done
}

/// # Safety
/// As closefrom(3).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn closefrom(from: c_int) {
    // SAFETY: the caller's argument. It fails on old kernels only, on which there are no ports.
    unsafe { close_range(from.max(0) as u32, u32::MAX, 0) };
}
