//! A socket that has memory and rings goes to a queue.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::super::fd::check;

/// What is wanted of a socket.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The interface.
    pub ifindex: u32,
    /// The queue of the interface.
    pub queue: u32,
    /// Descriptors of each ring, a power of two.
    pub ring: u32,
    /// Whether it has the rings of the receiving side.
    pub receive: bool,
    /// Whether the driver shall use the buffers themselves.
    pub zero_copy: ZeroCopy,
}

/// Whether the driver is to work on the buffers themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroCopy {
    /// The kernel copies.
    No,
    /// The kernel copies where the driver refuses.
    Try,
    /// Without it the socket is of no use.
    Only,
}

/// Binds, with frames of several buffers where they are known. In copy mode without need-wakeup: poll would send then
/// too, in whatever thread, and lose frames uncounted. Returns whether they are known, and why there is no zero copy.
pub(super) fn bind_best(fd: &OwnedFd, want: &Wanted) -> io::Result<(bool, Option<i32>)> {
    let zero = libc::XDP_ZEROCOPY | libc::XDP_USE_NEED_WAKEUP;
    let modes: &[u16] = match want.zero_copy {
        ZeroCopy::No => &[libc::XDP_COPY],
        ZeroCopy::Try => &[zero, libc::XDP_COPY],
        ZeroCopy::Only => &[zero],
    };
    let (mut last, mut refused) = (io::Error::from_raw_os_error(libc::EINVAL), None);
    for mode in modes {
        for (multi, flag) in [(true, libc::XDP_USE_SG), (false, 0)] {
            match bind(fd, want.ifindex, want.queue, mode | flag) {
                Ok(()) => return Ok((multi, refused)),
                Err(e) => last = e,
            }
            if !matches!(last.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) {
                return Err(last);
            }
        }
        refused = last.raw_os_error();
    }
    Err(last)
}

/// Binds a socket that has memory and rings to a queue.
pub(in super::super) fn bind(fd: &OwnedFd, ifindex: u32, queue: u32, flags: u16) -> io::Result<()> {
    // SAFETY: plain data; zero is a valid value for each field.
    let mut a: libc::sockaddr_xdp = unsafe { std::mem::zeroed() };
    a.sxdp_family = libc::AF_XDP as u16;
    (a.sxdp_ifindex, a.sxdp_queue_id, a.sxdp_flags) = (ifindex, queue, flags);
    let len = size_of::<libc::sockaddr_xdp>() as u32;
    // SAFETY: `a` is `len` bytes and lives across the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const a).cast(), len) }).map(drop)
}
