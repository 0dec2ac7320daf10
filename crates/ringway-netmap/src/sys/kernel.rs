//! Questions to the kernel about a number that may be a descriptor.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;

use rustix::fs::{FileType, OFlags};

use super::real;

/// What a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) socket: bool,
}

/// The number as a descriptor, for calls that the kernel refuses if it is none.
pub(crate) fn borrowed(fd: &RawFd) -> Option<BorrowedFd<'_>> {
    // SAFETY: it is not -1. The program may close it meanwhile; then the kernel refuses the call, or answers it for another descriptor.
    (*fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(*fd) })
}

pub(crate) fn kind(fd: RawFd) -> Option<Kind> {
    let stat = rustix::fs::fstat(borrowed(&fd)?).ok()?;
    let socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
    Some(Kind { device: stat.st_dev, inode: stat.st_ino, socket })
}

fn socket_option(fd: RawFd, name: c_int) -> Option<c_int> {
    socket_option_bytes(fd, name).map(c_int::from_ne_bytes)
}

/// The option if it has just as many bytes.
fn socket_option_bytes<const N: usize>(fd: RawFd, name: c_int) -> Option<[u8; N]> {
    let mut value = [0; N];
    let mut len = N as libc::socklen_t;
    let at = (&raw mut value).cast();
    // SAFETY: `value` has this length and lives across the call.
    let done = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, at, &raw mut len) };
    (done == 0 && len as usize == N).then_some(value)
}

/// The number of the thread's network namespace that no other one has, or had, since the machine started.
pub(crate) fn namespace_cookie() -> io::Result<u64> {
    let socket = UnixDatagram::unbound()?;
    let cookie = socket_option_bytes(socket.as_raw_fd(), libc::SO_NETNS_COOKIE);
    cookie.map(u64::from_ne_bytes).ok_or_else(io::Error::last_os_error)
}

/// The family of a socket.
pub(crate) fn socket_domain(fd: RawFd) -> Option<c_int> {
    socket_option(fd, libc::SO_DOMAIN)
}

/// Whether it is a socket as netmap descriptors are.
pub(crate) fn is_unix_seqpacket(fd: RawFd) -> bool {
    socket_option(fd, libc::SO_TYPE) == Some(libc::SOCK_SEQPACKET) && socket_domain(fd) == Some(libc::AF_UNIX)
}

/// Has the descriptor say that it does not block.
pub(crate) fn set_nonblocking(fd: &OwnedFd) {
    // It fails for no flag that sockets have.
    let _ = rustix::fs::fcntl_getfl(fd).and_then(|old| rustix::fs::fcntl_setfl(fd, old | OFlags::NONBLOCK));
}
/// Closes a number of the program's, which stands for a netmap descriptor.
pub(crate) fn close_number(fd: RawFd) {
    // SAFETY: the process exits, and nobody else has the number as an `OwnedFd`.
    unsafe { real::close(fd) };
}

/// Calls this when the process exits.
pub(crate) fn at_exit(leave: extern "C" fn()) {
    // SAFETY: a function without arguments, which lives as long as the library: its thread-local data keeps it loaded.
    unsafe { libc::atexit(leave) };
}
