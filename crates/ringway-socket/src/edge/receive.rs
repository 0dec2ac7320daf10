//! Calls that receive.

use std::ffi::{c_int, c_void};

use libc::{iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};

use crate::address;
use crate::incoming::{Got, control, receive};
use crate::report::{self, Call};
use crate::socket::Socket;
use crate::sys::guard::set_errno;
use crate::sys::memory::Scatter;
use crate::sys::{real, table};

/// A socket whose frames come from a port.
#[inline]
fn ours(fd: c_int) -> Option<&'static Socket> {
    table::get(fd).filter(|s| s.receives())
}

fn failed(code: c_int) -> ssize_t {
    set_errno(code);
    -1
}

/// What a call returns: the bytes written, or those there were when it asks for that.
fn length(got: &Got, flags: c_int) -> ssize_t {
    (if flags & libc::MSG_TRUNC != 0 { got.len } else { got.copied }) as ssize_t
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
    // SAFETY: by the contract.
    let Some(room) = (unsafe { Scatter::new(pieces) }) else { return Some(failed(libc::EFAULT)) };
    let got = match receive(fd, socket, flags, room)? {
        Ok(got) => got,
        Err(code) => return Some(failed(code)),
    };
    report::served(call);
    if !from.is_null() && !fromlen.is_null() {
        // SAFETY: by the contract there are `*fromlen` bytes at `from`.
        unsafe {
            let n = (*fromlen as usize).min(address::LEN);
            std::ptr::copy_nonoverlapping(got.from.as_ptr(), from.cast(), n);
            *fromlen = address::LEN as socklen_t;
        }
    }
    Some(length(&got, flags))
}

fn piece(bytes: *mut c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: bytes, iov_len: len }]
}

/// # Safety
/// As recvfrom(2); the others of this file as theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
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
    done.unwrap_or_else(|| unsafe { real::recvfrom(fd, bytes, len, flags, from, fromlen) })
}

/// # Safety
/// As recv(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    let null = std::ptr::null_mut();
    // SAFETY: the caller's memory.
    let done = unsafe { one(Call::Recv, fd, &piece(bytes, len), flags, null, std::ptr::null_mut()) };
    // SAFETY: the caller's arguments.
    done.unwrap_or_else(|| unsafe { real::recv(fd, bytes, len, flags) })
}

/// # Safety
/// As read(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, bytes: *mut c_void, len: size_t) -> ssize_t {
    let null = std::ptr::null_mut();
    // SAFETY: the caller's memory.
    let done = unsafe { one(Call::Read, fd, &piece(bytes, len), 0, null, std::ptr::null_mut()) };
    // SAFETY: the caller's arguments.
    done.unwrap_or_else(|| unsafe { real::read(fd, bytes, len) })
}

/// # Safety
/// As readv(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readv(fd: c_int, iov: *const iovec, n: c_int) -> ssize_t {
    if ours(fd).is_some() && !iov.is_null() && n > 0 {
        // SAFETY: the caller's pieces.
        let pieces = unsafe { std::slice::from_raw_parts(iov, n as usize) };
        let null = std::ptr::null_mut();
        // SAFETY: the caller's memory.
        if let Some(done) = unsafe { one(Call::Read, fd, pieces, 0, null, std::ptr::null_mut()) } {
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { real::readv(fd, iov, n) }
}

/// `recv` as programs call it that were compiled with checks of buffer sizes.
///
/// # Safety
/// As recv(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __recv_chk(
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
pub unsafe extern "C" fn __recvfrom_chk(
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
pub unsafe extern "C" fn __read_chk(fd: c_int, bytes: *mut c_void, len: size_t, room: size_t) -> ssize_t {
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

/// Receives into a message; `None` leaves the call to the kernel.
///
/// # Safety
/// The message must be one that the kernel would fill.
unsafe fn message(
    fd: c_int,
    socket: &'static Socket,
    msg: &mut msghdr,
    flags: c_int,
) -> Option<Result<ssize_t, c_int>> {
    let pieces: &[iovec] = if msg.msg_iov.is_null() {
        &[]
    } else {
        // SAFETY: by the contract.
        unsafe { std::slice::from_raw_parts(msg.msg_iov, msg.msg_iovlen) }
    };
    // SAFETY: by the contract.
    let Some(room) = (unsafe { Scatter::new(pieces) }) else { return Some(Err(libc::EFAULT)) };
    let got = match receive(fd, socket, flags, room)? {
        Ok(got) => got,
        Err(code) => return Some(Err(code)),
    };
    msg.msg_flags = if got.copied < got.len { libc::MSG_TRUNC } else { 0 };
    if !msg.msg_name.is_null() {
        let n = (msg.msg_namelen as usize).min(address::LEN);
        // SAFETY: by the contract there are `msg_namelen` bytes.
        unsafe { std::ptr::copy_nonoverlapping(got.from.as_ptr(), msg.msg_name.cast(), n) };
        msg.msg_namelen = address::LEN as socklen_t;
    }
    // SAFETY: by the contract.
    unsafe { put_control(msg, &got) };
    Some(Ok(length(&got, flags)))
}

/// # Safety
/// `msg_control` must be writable for `msg_controllen` bytes.
unsafe fn put_control(msg: &mut msghdr, got: &Got) {
    let room = if msg.msg_control.is_null() { 0 } else { msg.msg_controllen };
    msg.msg_controllen = 0;
    if !got.options.auxdata && got.options.stamps == crate::socket::Stamps::None {
        return;
    }
    let messages = control(got);
    if messages.len() > room {
        msg.msg_flags |= libc::MSG_CTRUNC;
        return;
    }
    // SAFETY: there is room, as just checked.
    unsafe { std::ptr::copy_nonoverlapping(messages.as_ptr(), msg.msg_control.cast(), messages.len()) };
    msg.msg_controllen = messages.len() as _;
}

/// # Safety
/// As recvmsg(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t {
    if let Some(socket) = ours(fd)
        // SAFETY: the caller's message.
        && let Some(m) = unsafe { msg.as_mut() }
        // SAFETY: as above.
        && let Some(done) = unsafe { message(fd, socket, m, flags) }
    {
        report::served(Call::Recvmsg);
        return done.unwrap_or_else(failed);
    }
    // SAFETY: the caller's arguments.
    unsafe { real::recvmsg(fd, msg, flags) }
}

/// # Safety
/// As recvmmsg(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmmsg(
    fd: c_int,
    msgs: *mut mmsghdr,
    n: u32,
    flags: c_int,
    wait: *mut timespec,
) -> c_int {
    if let Some(socket) = ours(fd).filter(|_| !msgs.is_null() && n > 0) {
        // SAFETY: the caller's messages.
        let slice =
            unsafe { std::slice::from_raw_parts_mut(msgs, (n as usize).min(libc::UIO_MAXIOV as usize)) };
        // SAFETY: as above; the time is only read.
        if let Some(done) = unsafe { many(fd, socket, slice, flags, wait.as_ref()) } {
            report::served(Call::Recvmmsg);
            return done;
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { real::recvmmsg(fd, msgs, n, flags, wait) }
}

/// # Safety
/// The messages must be those that the kernel would fill.
unsafe fn many(
    fd: c_int,
    socket: &'static Socket,
    msgs: &mut [mmsghdr],
    flags: c_int,
    wait: Option<&timespec>,
) -> Option<c_int> {
    use std::time::{Duration, Instant};
    let until = wait
        .map(|t| Instant::now() + Duration::new(t.tv_sec.unsigned_abs(), t.tv_nsec.unsigned_abs() as u32));
    let mut each = flags & !libc::MSG_WAITFORONE;
    let mut done = 0;
    for m in msgs {
        // SAFETY: by the contract.
        match unsafe { message(fd, socket, &mut m.msg_hdr, each) } {
            Some(Ok(len)) => m.msg_len = len as u32,
            Some(Err(code)) if done == 0 => return Some(failed(code) as c_int),
            None if done == 0 => return None,
            _ => break,
        }
        done += 1;
        if flags & libc::MSG_WAITFORONE != 0 {
            each |= libc::MSG_DONTWAIT;
        }
        // As the kernel: the time is looked at after each frame.
        if until.is_some_and(|t| Instant::now() >= t) {
            break;
        }
    }
    Some(done)
}
