//! Packet sockets, and where things lie in the frames of their rings.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::fd::{check, set_option};
use crate::mmap::Mmap;

use super::geometry::Geometry;

/// Bytes of metadata before each frame, both ways: `struct virtio_net_hdr` (`PACKET_VNET_HDR`).
pub const METADATA: usize = 10;

/// Offset of `tp_len` in a frame's header; `tp_status` is at 0.
pub(super) const LEN: usize = 4;

/// Bytes of memory that the kernel may queue on a socket, in frames too long for a ring's slots or not yet sent.
pub(super) const SOCKET_BUFFER: i32 = 8 << 20;

pub(super) fn get<T: Copy>(fd: &OwnedFd, level: i32, option: i32, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as u32;
    let out = (&raw mut value).cast();
    // SAFETY: `value` is plain data of `len` bytes and lives across the call.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, out, &raw mut len) })?;
    Ok(value)
}

/// A packet socket that receives nothing yet.
pub(super) fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the call just made this descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    set_option(&fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
    Ok(fd)
}

/// Binds to an interface; `protocol` 0 receives nothing.
pub(super) fn bind(fd: &OwnedFd, ifindex: u32, protocol: i32) -> io::Result<()> {
    // SAFETY: plain data; zero is a valid value for each field.
    let mut a: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    a.sll_family = libc::AF_PACKET as u16;
    a.sll_protocol = (protocol as u16).to_be();
    a.sll_ifindex = ifindex as i32;
    let len = size_of::<libc::sockaddr_ll>() as u32;
    // SAFETY: `a` is `len` bytes and lives across the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const a).cast(), len) }).map(drop)
}

/// Raises a socket buffer, beyond the system's limit where the process may.
pub(super) fn raise(fd: &OwnedFd, force: i32, ask: i32) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, force, &SOCKET_BUFFER)
        .or_else(|_| set_option(fd, libc::SOL_SOCKET, ask, &SOCKET_BUFFER))
}

pub(super) fn map(fd: &OwnedFd, option: i32, geometry: Geometry) -> io::Result<Mmap> {
    set_option(fd, libc::SOL_PACKET, option, &geometry.request())?;
    Mmap::shared(fd.as_fd(), geometry.bytes(), 0, true)
}
