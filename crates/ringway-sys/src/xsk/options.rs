//! Options of sockets.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::super::fd::check;

/// Sets an option of AF_XDP.
pub(in super::super) fn set<T>(fd: &OwnedFd, option: i32, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as u32;
    // SAFETY: passes a live value and its size.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_XDP, option, (&raw const *value).cast(), len) })
        .map(drop)
}

/// An option of a socket.
pub(super) fn get<T>(fd: &OwnedFd, level: i32, option: i32) -> io::Result<T> {
    // SAFETY: used with plain data for which zero is a valid value.
    let mut value: T = unsafe { std::mem::zeroed() };
    let mut len = size_of::<T>() as u32;
    let out = (&raw mut value).cast();
    // SAFETY: `value` is `len` bytes and lives across the call.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, out, &mut len) })?;
    Ok(value)
}
