//! Descriptors duplicated.

use std::ffi::c_int;

use ringway_shim::fail;

use super::close::closing;
use super::given::given;
use crate::inside::Inside;
use crate::sys::real;
use crate::{descriptors, epolls, internal, process};

/// `to` stands for what `from` stands for, once the kernel has said so.
fn copied(from: c_int, to: c_int) -> c_int {
    if to < 0 || to == from {
        return to;
    }
    drop(closing(to));
    given(&[to]);
    if (descriptors::is(from) || epolls::is(from))
        && process::is_here()
        && let Some(_inside) = Inside::enter()
    {
        descriptors::alias(from, to);
        if epolls::is(from) {
            epolls::alias(from, to);
        }
    }
    to
}

/// Whether the program may not have the number for itself: the library needs it.
fn is_taken(from: c_int, to: c_int) -> bool {
    from != to
        && internal::was_noted(to)
        && process::is_here()
        && Inside::enter().is_some_and(|_inside| internal::is(to))
}

/// # Safety
/// As dup(2); the others of this file as theirs.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller's argument.
    copied(fd, unsafe { real::dup(fd) })
}

/// # Safety
/// As dup2(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn dup2(from: c_int, to: c_int) -> c_int {
    if is_taken(from, to) {
        return fail(libc::EBUSY);
    }
    // SAFETY: the caller's arguments.
    copied(from, unsafe { real::dup2(from, to) })
}

/// # Safety
/// As dup3(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    if is_taken(from, to) {
        return fail(libc::EBUSY);
    }
    // SAFETY: the caller's arguments.
    copied(from, unsafe { real::dup3(from, to, flags) })
}

/// What `fcntl` has done.
fn changed(fd: c_int, what: c_int, done: c_int) -> c_int {
    match what {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => copied(fd, done),
        _ => done,
    }
}

/// # Safety
/// As fcntl(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn fcntl(fd: c_int, what: c_int, arg: usize) -> c_int {
    // SAFETY: the caller's arguments; one that it did not give is whatever its register held, and goes on as such.
    changed(fd, what, unsafe { real::fcntl(fd, what, arg) })
}

/// # Safety
/// As fcntl(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn fcntl64(fd: c_int, what: c_int, arg: usize) -> c_int {
    // SAFETY: the caller's arguments; one that it did not give is whatever its register held, and goes on as such.
    changed(fd, what, unsafe { real::fcntl64(fd, what, arg) })
}
