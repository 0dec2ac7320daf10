//! Calls that send.

use std::ffi::{c_int, c_void};
use std::net::Ipv4Addr;

use libc::{iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use ringway_shim::{ReentryGuard, set_errno};

use super::quiet::told;
use crate::address::{self, To};
use crate::outgoing::{Outgoing, Put};
use crate::raw;
use crate::report::{self, Call};
use crate::socket::Socket;
use crate::sockets;
use crate::sys::memory::Gather;
use crate::sys::real;

/// The destination that a call names, if any.
///
/// # Safety
/// `len` bytes must be readable at `at` unless it is null.
unsafe fn destination(at: *const c_void, len: socklen_t) -> Result<Option<To>, ()> {
    if at.is_null() || len == 0 {
        return Ok(None);
    }
    // SAFETY: by the contract.
    let bytes = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len as usize) };
    // The kernel has the right error for what is no address.
    address::parse(bytes).map(Some).ok_or(())
}

fn answer(result: Result<usize, c_int>) -> ssize_t {
    match result {
        Ok(n) => n as ssize_t,
        Err(code) => {
            set_errno(code);
            -1
        }
    }
}

/// The longest name that a call may have (`struct sockaddr_storage`), and the most pieces. The kernel refuses the rest.
const LONGEST: u32 = 128;
const MOST: usize = libc::UIO_MAXIOV as usize;

/// One frame; `None` leaves it to the kernel.
///
/// # Safety
/// The pieces must be readable, and the address as long as it says.
unsafe fn one(
    call: Call,
    fd: c_int,
    socket: &'static Socket,
    pieces: &[iovec],
    to: (*const c_void, socklen_t),
) -> Option<ssize_t> {
    let _guard = ReentryGuard::enter()?;
    // SAFETY: by the contract.
    let (to, frame) = unsafe { (destination(to.0, to.1).ok()?, Gather::new(pieces)) };
    let Some(frame) = frame else { return Some(answer(Err(libc::EFAULT))) };
    let mut state = socket.state();
    let mut out = Outgoing::new(fd, &mut state, 1);
    let put = out.put(frame, to);
    match (put, out.finish()) {
        (Put::Kernel, _) => {
            report::passed();
            None
        }
        (Put::Done(Ok(_)), Err(code)) | (Put::Done(Err(code)), _) => Some(answer(Err(code))),
        (Put::Done(Ok(n)), Ok(())) => {
            report::served(call);
            Some(answer(Ok(n)))
        }
    }
}

/// A packet of a raw socket; `None` leaves it to the kernel.
///
/// # Safety
/// The pieces must be readable, and the address as long as it says.
unsafe fn packet(call: Call, fd: c_int, pieces: &[iovec], to: (*const c_void, socklen_t)) -> Option<ssize_t> {
    if to.0.is_null() || (to.1 as usize) < size_of::<libc::sockaddr_in>() {
        return None;
    }
    // SAFETY: by the contract; programs need not align it.
    let at = unsafe { to.0.cast::<libc::sockaddr_in>().read_unaligned() };
    let _guard = ReentryGuard::enter().filter(|_| c_int::from(at.sin_family) == libc::AF_INET)?;
    // SAFETY: by the contract.
    let bytes = unsafe { Gather::new(pieces) }?;
    let sent = raw::send(fd, bytes, Ipv4Addr::from(u32::from_be(at.sin_addr.s_addr)))?;
    report::served(call);
    Some(answer(sent))
}

/// # Safety
/// As sendto(2); the others of this file as theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendto(
    fd: c_int,
    bytes: *const c_void,
    len: size_t,
    flags: c_int,
    to: *const sockaddr,
    tolen: socklen_t,
) -> ssize_t {
    if let Some(socket) = sockets::get(fd).filter(|_| tolen <= LONGEST) {
        let piece = [iovec { iov_base: bytes.cast_mut(), iov_len: len }];
        // SAFETY: the caller's bytes and address.
        if let Some(done) = unsafe { one(Call::Send, fd, socket, &piece, (to.cast(), tolen)) } {
            return done;
        }
    } else if raw::is(fd) {
        let piece = [iovec { iov_base: bytes.cast_mut(), iov_len: len }];
        // SAFETY: the caller's bytes and address.
        if let Some(done) = unsafe { packet(Call::Send, fd, &piece, (to.cast(), tolen)) } {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::sendto(fd, bytes, len, flags, to, tolen) })
}

/// # Safety
/// As send(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn send(fd: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    if let Some(socket) = sockets::get(fd) {
        let piece = [iovec { iov_base: bytes.cast_mut(), iov_len: len }];
        // SAFETY: the caller's bytes.
        if let Some(done) = unsafe { one(Call::Send, fd, socket, &piece, (std::ptr::null(), 0)) } {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::send(fd, bytes, len, flags) })
}

/// # Safety
/// As write(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t {
    if let Some(socket) = sockets::get(fd) {
        let piece = [iovec { iov_base: bytes.cast_mut(), iov_len: len }];
        // SAFETY: the caller's bytes.
        if let Some(done) = unsafe { one(Call::Write, fd, socket, &piece, (std::ptr::null(), 0)) } {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::write(fd, bytes, len) })
}

/// # Safety
/// As writev(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn writev(fd: c_int, iov: *const iovec, n: c_int) -> ssize_t {
    if let Some(socket) = sockets::get(fd).filter(|_| !iov.is_null() && n > 0 && n as usize <= MOST) {
        // SAFETY: the caller's pieces.
        let pieces = unsafe { std::slice::from_raw_parts(iov, n as usize) };
        // SAFETY: as above.
        if let Some(done) = unsafe { one(Call::Write, fd, socket, pieces, (std::ptr::null(), 0)) } {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::writev(fd, iov, n) })
}

/// Whether the kernel refuses a message before it looks at its frame.
fn refused(m: &msghdr) -> bool {
    m.msg_iovlen > MOST || m.msg_namelen > i32::MAX as u32
}

/// The pieces of a message.
///
/// # Safety
/// The message must be one that the kernel would read.
unsafe fn pieces(msg: &msghdr) -> &[iovec] {
    if msg.msg_iov.is_null() || msg.msg_iovlen == 0 {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(msg.msg_iov, msg.msg_iovlen) }
}

/// # Safety
/// As sendmsg(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t {
    if let Some(socket) = sockets::get(fd)
        // SAFETY: the caller's message.
        && let Some(m) = unsafe { msg.as_ref() }.filter(|m| !refused(m))
    {
        let to = (m.msg_name.cast_const(), m.msg_namelen.min(LONGEST));
        // SAFETY: as above.
        if let Some(done) = unsafe { one(Call::Sendmsg, fd, socket, pieces(m), to) } {
            return done;
        }
    } else if raw::is(fd)
        // SAFETY: the caller's message.
        && let Some(m) = unsafe { msg.as_ref() }.filter(|m| !refused(m))
    {
        let to = (m.msg_name.cast_const(), m.msg_namelen);
        // SAFETY: as above.
        if let Some(done) = unsafe { packet(Call::Sendmsg, fd, pieces(m), to) } {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::sendmsg(fd, msg, flags) })
}

/// # Safety
/// As sendmmsg(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmmsg(fd: c_int, msgs: *mut mmsghdr, n: u32, flags: c_int) -> c_int {
    if let Some(socket) = sockets::get(fd).filter(|_| !msgs.is_null() && n > 0) {
        // SAFETY: the caller's messages.
        let msgs =
            unsafe { std::slice::from_raw_parts_mut(msgs, (n as usize).min(libc::UIO_MAXIOV as usize)) };
        // SAFETY: as above.
        if let Some(done) = unsafe { many(fd, socket, msgs, flags) } {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::sendmmsg(fd, msgs, n, flags) })
}

/// A burst; `None` leaves all of it to the kernel.
///
/// # Safety
/// The kernel would read the messages.
unsafe fn many(fd: c_int, socket: &'static Socket, msgs: &mut [mmsghdr], flags: c_int) -> Option<c_int> {
    let _guard = ReentryGuard::enter()?;
    let mut state = socket.state();
    let mut out = Outgoing::new(fd, &mut state, msgs.len());
    let (mut done, mut failed, mut ours) = (0, None, false);
    for m in msgs.iter_mut() {
        // SAFETY: by the contract.
        let (to, frame) = unsafe {
            let h = &m.msg_hdr;
            let to = if refused(h) { Err(()) } else { destination(h.msg_name, h.msg_namelen.min(LONGEST)) };
            (to, Gather::new(if refused(h) { &[] } else { pieces(h) }))
        };
        let put = match (to, frame) {
            (Ok(to), Some(frame)) => out.put(frame, to),
            (Ok(_), None) => Put::Done(Err(libc::EFAULT)),
            (Err(()), _) => Put::Kernel,
        };
        let sent = match put {
            Put::Done(sent) => sent,
            Put::Kernel if done == 0 => {
                report::passed();
                return None;
            }
            // SAFETY: by the contract.
            Put::Kernel => match unsafe { real::sendmsg(fd, &raw const m.msg_hdr, flags) } {
                n if n < 0 => Err(ringway_shim::errno()),
                n => Ok(n as usize),
            },
        };
        match sent {
            Ok(len) => m.msg_len = len as u32,
            Err(code) => {
                failed = Some(code);
                break;
            }
        }
        (done, ours) = (done + 1, true);
    }
    let finished = out.finish();
    if ours {
        report::served(Call::Sendmmsg);
    }
    match (done, failed, finished) {
        (0, Some(code), _) | (1.., _, Err(code)) => Some(answer(Err(code)) as c_int),
        (n, ..) => Some(n),
    }
}
