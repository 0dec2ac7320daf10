//! Netmap descriptors that came by ways that no hook saw: by exec, over a socket, by a system call that passed libc by.

use std::ffi::c_int;

use libc::pollfd;

use crate::descriptor::Descriptor;
use crate::sys::counted::Use;
use crate::{descriptors, process};

/// The path of the device.
pub(super) const DEVICE: [u8; 12] = *b"/dev/netmap\0";

/// What the number stands for by the kernel's word. The thread is inside the library.
pub(super) fn find(fd: c_int) -> Option<Use<Descriptor>> {
    process::prepare();
    descriptors::find(fd)
}

/// Looks at a number that was not looked at before; whether it is a netmap descriptor.
pub(super) fn discover(fd: c_int) -> bool {
    descriptors::is_unknown(fd) && find(fd).is_some()
}

/// Looks at the numbers that a poll found hung up: the other end of a netmap descriptor's socket is closed. Whether one is such a descriptor.
pub(super) fn discover_among(fds: &[pollfd]) -> bool {
    let hung_up = fds.iter().filter(|p| p.revents & libc::POLLHUP != 0);
    hung_up.filter(|p| discover(p.fd)).count() > 0
}

/// Whether a path is that of the device.
///
/// # Safety
/// The path must be readable as far as its end.
pub(super) unsafe fn is_device(path: *const std::ffi::c_char) -> bool {
    // SAFETY: by the contract; bytes after the end are not read.
    DEVICE.iter().enumerate().all(|(i, b)| unsafe { *path.add(i) } as u8 == *b)
}
