//! Accepting connections that are not there.
//!
//! The kernel makes a socket and a file for a connection before it looks whether there is one, and undoes both: some 3 us for
//! nothing. Switches and monitors that ask their control sockets on each turn of their loop (Open vSwitch: three) pay that for each
//! burst of frames. A look first, with the same answer, takes two short calls; the first look at a descriptor takes a third.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use libc::{pollfd, sockaddr, socklen_t};
use ringway_shim::{FDS, set_errno};

use super::quiet::{self, Moment, told};
use crate::inlet;
use crate::report::{self, Call};
use crate::sys::real;

/// Descriptors that were found to listen, a bit for each. A socket listens until it is closed. connect(2) to no family ends that for TCP, too:
/// `accept` then gives `EAGAIN` in place of `EINVAL`.
static LISTENING: [AtomicU64; FDS / 64] = [const { AtomicU64::new(0) }; FDS / 64];

fn bit(fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    let fd = usize::try_from(fd).ok()?;
    LISTENING.get(fd / 64).map(|word| (word, 1 << (fd % 64)))
}

/// The descriptor is closed, or names something else now.
#[inline]
pub(super) fn forget(fd: c_int) {
    if let Some((word, bit)) = bit(fd)
        && word.load(Relaxed) & bit != 0
    {
        word.fetch_and(!bit, Relaxed);
    }
}

/// Whether a descriptor names a socket that listens.
fn listens(fd: c_int) -> bool {
    let Some((word, bit)) = bit(fd) else { return asks_listens(fd) };
    if word.load(Relaxed) & bit != 0 {
        return true;
    }
    let listens = asks_listens(fd);
    if listens {
        word.fetch_or(bit, Relaxed);
    }
    listens
}

fn asks_listens(fd: c_int) -> bool {
    let (mut listens, mut len) = (0 as c_int, size_of::<c_int>() as socklen_t);
    let value = (&raw mut listens).cast();
    // SAFETY: a number and its length.
    let asked = unsafe { real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN, value, &raw mut len) };
    asked == 0 && listens != 0
}

/// Whether the kernel would answer `EAGAIN`: a socket that listens, does not block, and nobody connects. All else is left to the kernel.
fn nobody(fd: c_int) -> bool {
    if inlet::receiving() == 0 {
        return false;
    }
    if quiet::was_empty(fd) {
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
        quiet::note_empty(fd, begun);
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
