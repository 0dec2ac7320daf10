//! Accepting connections that are not there.
//!
//! The kernel makes a socket and a file for a connection before it looks whether there is one, and undoes both: some 3 us for
//! nothing. Switches and monitors that ask their control sockets on each turn of their loop (Open vSwitch: three) pay that for each
//! burst of frames. A look first, with the same answer, takes two short calls; the first look at a descriptor takes a third.

use std::ffi::c_int;

use libc::{pollfd, sockaddr, socklen_t};
use ringway_shim::set_errno;

use super::kinds::listens;
use super::quiet::{self, Lack, Moment, told};
use crate::inlet;
use crate::report::{self, Call};
use crate::sys::real;

/// Whether the kernel would answer `EAGAIN`: a socket that listens, does not block, and nobody connects. All else is left to the kernel.
fn nobody(fd: c_int) -> bool {
    if inlet::receiving() == 0 {
        return false;
    }
    if quiet::was_empty(fd, Lack::Connection) {
        return true;
    }
    let begun = Moment::now();
    let mut look = pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor, which lives across the call.
    if unsafe { real::poll(&raw mut look, 1, 0) } != 0 {
        return false;
    }
    // SAFETY: no memory is involved.
    let nobody = listens(fd) && unsafe { real::fcntl(fd, libc::F_GETFL, 0) } & libc::O_NONBLOCK != 0;
    if nobody {
        quiet::note_empty(fd, Lack::Connection, begun);
    }
    nobody
}

fn try_again() -> c_int {
    report::served(Call::Accept);
    set_errno(libc::EAGAIN);
    -1
}

/// # Safety
/// As accept(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept(fd: c_int, from: *mut sockaddr, len: *mut socklen_t) -> c_int {
    if nobody(fd) {
        return try_again();
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::accept(fd, from, len) })
}

/// # Safety
/// As accept4(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    from: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // Flags that there are not are the kernel's to refuse.
    if flags & !(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) == 0 && nobody(fd) {
        return try_again();
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::accept4(fd, from, len, flags) })
}
