//! Calls that receive messages: `recvmsg` and `recvmmsg`.

use std::ffi::c_int;
use std::time::Instant;

use libc::{iovec, mmsghdr, msghdr, socklen_t, ssize_t, timespec};
use ringway_shim::time::{of_timespec, to_timespec};
use ringway_shim::{errno, set_errno};

use super::quiet::{self, Lack, Moment, told};
use super::receive::{MOST, failed, length, ours};
use crate::frame::Frame;
use crate::incoming::{Wanted, receive};
use crate::inlet;
use crate::report::{self, Call};
use crate::socket::Socket;
use crate::sys::memory::{Control, Scatter};
use crate::sys::{kernel, real};
use crate::view::View;

/// Whether the kernel would refuse the message before it looks for a frame.
fn refused(msg: &msghdr) -> bool {
    !msg.msg_name.is_null() && (msg.msg_namelen as c_int) < 0 || msg.msg_iovlen > MOST
}

/// Writes a frame to a message; returns what the call is to return for it.
///
/// # Safety
/// The message must be one that the kernel would fill.
unsafe fn fill(msg: &mut msghdr, frame: &Frame<'_>, view: &View, flags: c_int) -> Result<usize, c_int> {
    let pieces: &[iovec] = if msg.msg_iov.is_null() {
        &[]
    } else {
        // SAFETY: by the contract.
        unsafe { std::slice::from_raw_parts(msg.msg_iov, msg.msg_iovlen) }
    };
    // SAFETY: by the contract.
    let room = unsafe { Scatter::new(pieces) }.ok_or(libc::EFAULT)?;
    let (copied, len) = view.write(frame, room)?;
    msg.msg_flags = if copied < len { libc::MSG_TRUNC } else { 0 };
    if !msg.msg_name.is_null() {
        let sender = view.sender(frame);
        let n = (msg.msg_namelen as usize).min(sender.len());
        // SAFETY: by the contract there are `msg_namelen` bytes.
        unsafe { std::ptr::copy_nonoverlapping(sender.as_ptr(), msg.msg_name.cast(), n) };
        msg.msg_namelen = sender.len() as socklen_t;
    }
    // SAFETY: by the contract there are `msg_controllen` bytes.
    let mut control = unsafe { Control::new(msg.msg_control.cast(), msg.msg_controllen) };
    view.control(frame, &mut control);
    msg.msg_controllen = control.used() as _;
    if control.cut() {
        msg.msg_flags |= libc::MSG_CTRUNC;
    }
    Ok(length((copied, len), flags))
}

/// # Safety
/// As recvmsg(2); the other one of this file as its own.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t {
    if let Some(socket) = ours(fd)
        // SAFETY: the caller's message.
        && let Some(m) = unsafe { msg.as_mut() }.filter(|m| !refused(m))
    {
        let mut len = 0;
        let mut write = |frame: &Frame<'_>, view: &View| {
            // SAFETY: as above.
            len = unsafe { fill(m, frame, view, flags) }?;
            Ok(())
        };
        match receive(fd, socket, Wanted::one(flags), &mut write) {
            None => {}
            Some(Ok(_)) => {
                report::served(Call::Recvmsg);
                return len as ssize_t;
            }
            Some(Err(code)) => return failed(code),
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { other(fd, msg, flags) }
}

/// A message of a socket that is not served here.
///
/// # Safety
/// As recvmsg(2).
unsafe fn other(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t {
    let looks = flags == libc::MSG_DONTWAIT && inlet::receiving() > 0;
    if looks && quiet::was_empty(fd, Lack::Message) {
        return failed(libc::EAGAIN);
    }
    let begun = looks.then(Moment::now);
    // SAFETY: by the contract.
    let done = told(unsafe { real::recvmsg(fd, msg, flags) });
    if let Some(begun) = begun.filter(|now| done < 0 && errno() == libc::EAGAIN && quiet::holds(*now)) {
        if kernel::is_netlink(fd) {
            quiet::note_empty(fd, Lack::Message, begun);
        }
        set_errno(libc::EAGAIN);
    }
    done
}

/// # Safety
/// As recvmmsg(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvmmsg(
    fd: c_int,
    msgs: *mut mmsghdr,
    n: u32,
    flags: c_int,
    wait: *mut timespec,
) -> c_int {
    if let Some(socket) = ours(fd).filter(|_| !msgs.is_null() && n > 0) {
        // SAFETY: the caller's messages and time.
        let (msgs, wait) =
            unsafe { (std::slice::from_raw_parts_mut(msgs, (n as usize).min(MOST)), wait.as_mut()) };
        // SAFETY: as above.
        match unsafe { many(fd, socket, msgs, flags, wait) } {
            None => {}
            Some(Ok(n)) => {
                report::served(Call::Recvmmsg);
                return n as c_int;
            }
            Some(Err(code)) => return failed(code) as c_int,
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::recvmmsg(fd, msgs, n, flags, wait) })
}

/// Receives into several messages; `None` leaves the call to the kernel.
///
/// # Safety
/// The kernel would fill the messages.
unsafe fn many(
    fd: c_int,
    socket: &'static Socket,
    msgs: &mut [mmsghdr],
    flags: c_int,
    wait: Option<&mut timespec>,
) -> Option<Result<usize, c_int>> {
    let at = wait.as_deref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the caller's time.
    let until = unsafe { of_timespec(at) }.ok()?.and_then(|l| Instant::now().checked_add(l));
    let (all, flags) = (flags & libc::MSG_WAITFORONE == 0, flags & !libc::MSG_WAITFORONE);
    // A message that makes no sense is met when those before it have their frames.
    let max = msgs.iter().position(|m| refused(&m.msg_hdr)).unwrap_or(msgs.len());
    if max == 0 {
        return None;
    }
    let mut rest = msgs[..max].iter_mut();
    let mut write = |frame: &Frame<'_>, view: &View| {
        let Some(m) = rest.next() else { return Ok(()) };
        // SAFETY: by the contract.
        m.msg_len = unsafe { fill(&mut m.msg_hdr, frame, view, flags) }? as u32;
        Ok(())
    };
    let done = receive(fd, socket, Wanted { flags, max, all, until }, &mut write)?;
    if let Some(m) = msgs.get(max).filter(|_| done == Ok(max)) {
        socket.set_late(if m.msg_hdr.msg_iovlen > MOST { libc::EMSGSIZE } else { libc::EINVAL });
    }
    if let (Some(t), Some(until), Ok(_)) = (wait, until, done) {
        *t = to_timespec(until.saturating_duration_since(Instant::now()));
    }
    Some(done)
}
