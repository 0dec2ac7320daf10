//! Calls that receive a frame into plain memory.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{iovec, size_t, sockaddr, socklen_t, ssize_t};
use ringway_shim::set_errno;

use super::quiet::told;
use crate::frame::Frame;
use crate::incoming::{Wanted, receive};
use crate::report::{self, Call};
use crate::socket::Socket;
use crate::sockets;
use crate::sys::memory::Scatter;
use crate::sys::real;
use crate::view::View;

/// Pieces and messages of a call at most: `UIO_MAXIOV`.
pub(super) const MOST: usize = libc::UIO_MAXIOV as usize;

/// A socket whose frames come from a port.
#[inline]
pub(super) fn ours(fd: c_int) -> Option<&'static Socket> {
    let socket = sockets::get(fd)?;
    if socket.is_isolated() && !socket.receives() {
        warn_unbound();
    }
    Some(socket).filter(|s| s.receives())
}

/// Says once why a process without CAP_NET_RAW receives nothing.
#[cold]
fn warn_unbound() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Relaxed) {
        report::say(
            "without CAP_NET_RAW a packet socket receives nothing until it is bound to a mapped interface",
        );
    }
}

pub(super) fn failed(code: c_int) -> ssize_t {
    set_errno(code);
    -1
}

/// What a call returns for a frame: the bytes written, or those there were when it asks for that.
pub(super) fn length((copied, len): (usize, usize), flags: c_int) -> usize {
    if flags & libc::MSG_TRUNC != 0 { len } else { copied }
}

/// Receives into one piece or several; `None` leaves the call to the kernel.
///
/// # Safety
/// The pieces must be writable; `from` and `fromlen` as recvfrom(2) wants them.
unsafe fn one(
    call: Call,
    fd: c_int,
    pieces: &[iovec],
    flags: c_int,
    from: *mut sockaddr,
    fromlen: *mut socklen_t,
) -> Option<ssize_t> {
    let socket = ours(fd)?;
    let mut len = 0;
    let mut write = |frame: &Frame<'_>, view: &View| {
        // SAFETY: by the contract.
        let room = unsafe { Scatter::new(pieces) }.ok_or(libc::EFAULT)?;
        len = length(view.write(frame, room)?, flags);
        if from.is_null() {
            return Ok(());
        }
        // SAFETY: by the contract.
        let fromlen = unsafe { fromlen.as_mut() }.ok_or(libc::EFAULT)?;
        let n = usize::try_from(*fromlen as c_int).map_err(|_| libc::EINVAL)?;
        let sender = view.sender(frame);
        // SAFETY: by the contract there are `n` bytes at `from`.
        unsafe { std::ptr::copy_nonoverlapping(sender.as_ptr(), from.cast(), n.min(sender.len())) };
        *fromlen = sender.len() as socklen_t;
        Ok(())
    };
    match receive(fd, socket, Wanted::one(flags), &mut write)? {
        Ok(_) => {
            report::served(call);
            Some(len as ssize_t)
        }
        Err(code) => Some(failed(code)),
    }
}

fn piece(bytes: *mut c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: bytes, iov_len: len }]
}

/// # Safety
/// As recvfrom(2); the others of this file as theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvfrom(
    fd: c_int,
    bytes: *mut c_void,
    len: size_t,
    flags: c_int,
    from: *mut sockaddr,
    fromlen: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller's memory.
    let done = unsafe { one(Call::Recv, fd, &piece(bytes, len), flags, from, fromlen) };
    // SAFETY: the caller's arguments.
    done.unwrap_or_else(|| told(unsafe { real::recvfrom(fd, bytes, len, flags, from, fromlen) }))
}

/// # Safety
/// As recv(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recv(fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    let null = std::ptr::null_mut();
    // SAFETY: the caller's memory.
    let done = unsafe { one(Call::Recv, fd, &piece(bytes, len), flags, null, std::ptr::null_mut()) };
    // SAFETY: the caller's arguments.
    done.unwrap_or_else(|| told(unsafe { real::recv(fd, bytes, len, flags) }))
}

/// # Safety
/// As read(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn read(fd: c_int, bytes: *mut c_void, len: size_t) -> ssize_t {
    // No bytes are read without a look at what is there.
    if len > 0 {
        let null = std::ptr::null_mut();
        // SAFETY: the caller's memory.
        if let Some(done) = unsafe { one(Call::Read, fd, &piece(bytes, len), 0, null, std::ptr::null_mut()) }
        {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::read(fd, bytes, len) })
}

/// # Safety
/// As readv(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn readv(fd: c_int, iov: *const iovec, n: c_int) -> ssize_t {
    if ours(fd).is_some() && !iov.is_null() && (1..=MOST as c_int).contains(&n) {
        // SAFETY: the caller's pieces.
        let pieces = unsafe { std::slice::from_raw_parts(iov, n as usize) };
        let null = std::ptr::null_mut();
        if pieces.iter().any(|p| p.iov_len > 0)
            // SAFETY: the caller's memory.
            && let Some(done) = unsafe { one(Call::Read, fd, pieces, 0, null, std::ptr::null_mut()) }
        {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::readv(fd, iov, n) })
}

/// `recv` as programs call it that were compiled with checks of buffer sizes.
///
/// # Safety
/// As recv(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __recv_chk(
    fd: c_int,
    bytes: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    check(len, room);
    // SAFETY: the caller's arguments.
    unsafe { recv(fd, bytes, len, flags) }
}

/// # Safety
/// As recvfrom(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __recvfrom_chk(
    fd: c_int,
    bytes: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
    from: *mut sockaddr,
    fromlen: *mut socklen_t,
) -> ssize_t {
    check(len, room);
    // SAFETY: the caller's arguments.
    unsafe { recvfrom(fd, bytes, len, flags, from, fromlen) }
}

/// # Safety
/// As read(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __read_chk(
    fd: c_int,
    bytes: *mut c_void,
    len: size_t,
    room: size_t,
) -> ssize_t {
    check(len, room);
    // SAFETY: the caller's arguments.
    unsafe { read(fd, bytes, len) }
}

/// What libc does about a buffer that is smaller than the program says.
fn check(len: size_t, room: size_t) {
    if len > room {
        report::say("buffer overflow detected");
        std::process::abort();
    }
}
