//! Descriptors that the program gets, of the kinds that the library has too. They are the program's to close, also when another thread opens
//! something for the library at the same time.

use std::ffi::{c_char, c_int, c_uint};

use libc::{msghdr, sockaddr, socklen_t};
use ringway_shim::ReentryGuard;

use crate::sys::real;
use crate::{internal, process};

/// The program got these numbers, unless the library called. What the child of a vfork gets is none of its parent's.
#[inline]
pub(super) fn given(fds: &[c_int]) {
    let matters = internal::is_tracking() || fds.iter().any(|fd| internal::was_noted(*fd));
    if matters && !ReentryGuard::is_entered() && process::is_here() {
        internal::given(fds);
    }
}

/// The answer of a call that makes a descriptor.
fn made(fd: c_int) -> c_int {
    if fd >= 0 {
        given(&[fd]);
    }
    fd
}

/// Descriptors that came with a message.
///
/// # Safety
/// The message must be one that `recvmsg` filled.
pub(super) unsafe fn received(msg: *const msghdr) {
    // SAFETY: the kernel has just written the headers, each behind the one before.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(msg) };
    while !at.is_null() {
        // SAFETY: a header inside the message.
        let header = unsafe { &*at };
        if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: numbers follow as far as the length says; the header's alignment is more than theirs.
            let fds = unsafe {
                let bytes = header.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                std::slice::from_raw_parts(libc::CMSG_DATA(at).cast::<c_int>(), bytes / size_of::<c_int>())
            };
            given(fds);
        }
        // SAFETY: as above.
        at = unsafe { libc::CMSG_NXTHDR(msg, at) };
    }
}

/// # Safety
/// As socket(2); the others of this file as theirs.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    made(unsafe { real::socket(domain, kind, protocol) })
}

/// # Safety
/// As socketpair(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    fds: *mut c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    let done = unsafe { real::socketpair(domain, kind, protocol, fds) };
    if done == 0 {
        // SAFETY: the kernel has just written two numbers there.
        let both = unsafe { fds.cast::<[c_int; 2]>().read_unaligned() };
        given(&both);
    }
    done
}

/// # Safety
/// As accept(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn accept(fd: c_int, from: *mut sockaddr, len: *mut socklen_t) -> c_int {
    // SAFETY: the caller's arguments.
    made(unsafe { real::accept(fd, from, len) })
}

/// # Safety
/// As accept4(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    from: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    made(unsafe { real::accept4(fd, from, len, flags) })
}

/// # Safety
/// As eventfd(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    made(unsafe { real::eventfd(count, flags) })
}

/// # Safety
/// As memfd_create(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn memfd_create(name: *const c_char, flags: c_uint) -> c_int {
    // SAFETY: the caller's arguments.
    made(unsafe { real::memfd_create(name, flags) })
}
