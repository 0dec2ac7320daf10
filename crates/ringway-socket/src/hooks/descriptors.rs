//! Descriptors duplicated, changed, asked and closed; the end of the process.

use ringway_shim::FDS;
use ringway_shim::{ReentryGuard, fail};
use std::ffi::c_int;

use super::kinds;
use super::quiet::{news, told};
use crate::incoming::FrameQuery;
use crate::sys::{isolated, real};
use crate::{fork, incoming, link, raw, sockets};

/// The time of the last frame that was received (linux/sockios.h).
const SIOCGSTAMP: libc::c_ulong = 0x8906;
const SIOCGSTAMPNS: libc::c_ulong = 0x8907;

/// Requests that any socket takes (linux/sockios.h).
const ABOUT_INTERFACES: std::ops::RangeInclusive<libc::c_ulong> = 0x8910..=0x89df;

/// # Safety
/// As close(2); the others of this file as theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if sockets::get(fd).is_some()
        && fork::is_here()
        && let Some(_guard) = ReentryGuard::enter()
    {
        sockets::remove(fd);
    }
    if raw::is(fd) && fork::is_here() {
        raw::remove(fd);
    }
    kinds::forget(fd);
    // SAFETY: the caller's argument.
    let done = unsafe { real::close(fd) };
    // One that fails has closed it too, but for a number that names nothing.
    news();
    done
}

/// # Safety
/// As close_range(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close_range(from: u32, to: u32, flags: c_int) -> c_int {
    let closes = flags & !(libc::CLOSE_RANGE_UNSHARE as c_int) == 0;
    if closes {
        let here = fork::is_here();
        for fd in from..=to.min(FDS as u32 - 1) {
            kinds::forget(fd as c_int);
            if here
                && sockets::get(fd as c_int).is_some()
                && let Some(_guard) = ReentryGuard::enter()
            {
                sockets::remove(fd as c_int);
            }
            if here && raw::is(fd as c_int) {
                raw::remove(fd as c_int);
            }
        }
    }
    // SAFETY: the caller's arguments.
    told(unsafe { real::close_range(from, to, flags) })
}

/// # Safety
/// As closefrom(3).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn closefrom(from: c_int) {
    // SAFETY: the caller's argument. It fails on old kernels only, on which there are no ports.
    unsafe { close_range(from.max(0) as u32, u32::MAX, 0) };
}

/// `to` names what `from` names, once the kernel has said so.
fn copied(from: c_int, to: c_int) -> c_int {
    kinds::forget(told(to));
    if to >= 0
        && to != from
        && (sockets::get(from).is_some() || sockets::get(to).is_some())
        && fork::is_here()
        && let Some(_guard) = ReentryGuard::enter()
    {
        sockets::remove(to);
        sockets::alias(from, to);
    }
    if to >= 0 && to != from && (raw::is(from) || raw::is(to)) && fork::is_here() {
        raw::alias(from, to);
    }
    to
}

/// # Safety
/// As dup(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller's argument.
    copied(fd, unsafe { real::dup(fd) })
}

/// # Safety
/// As dup2(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup2(from: c_int, to: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    copied(from, unsafe { real::dup2(from, to) })
}

/// # Safety
/// As dup3(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    copied(from, unsafe { real::dup3(from, to, flags) })
}

/// What `fcntl` has done.
fn changed(fd: c_int, what: c_int, arg: usize, done: c_int) -> c_int {
    match what {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => return copied(fd, done),
        libc::F_SETFL if told(done) >= 0 => note_nonblocking(fd, arg as c_int & libc::O_NONBLOCK != 0),
        _ => {}
    }
    done
}

/// What an `ioctl` asks about frames of a port; `None` leaves it to the kernel.
///
/// # Safety
/// As ioctl(2).
unsafe fn asked(fd: c_int, what: libc::c_ulong, arg: usize) -> Option<c_int> {
    let query = match what {
        libc::FIONREAD => FrameQuery::Length,
        SIOCGSTAMP => FrameQuery::Micros,
        SIOCGSTAMPNS => FrameQuery::Nanos,
        _ => return None,
    };
    let socket = sockets::get(fd).filter(|s| s.receives() && arg != 0)?;
    let answer = incoming::answer_query(socket, query)?;
    let words = match answer {
        Ok(words) => words,
        Err(code) => return Some(fail(code)),
    };
    // SAFETY: by the contract there is room for an `int`, or for a `timeval` or `timespec`.
    unsafe {
        match query {
            FrameQuery::Length => (arg as *mut c_int).write_unaligned(words[0] as c_int),
            _ => (arg as *mut [i64; 2]).write_unaligned(words),
        }
    }
    Some(0)
}

/// # Safety
/// As ioctl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ioctl(fd: c_int, what: libc::c_ulong, arg: usize) -> c_int {
    // SAFETY: the caller's arguments.
    if let Some(done) = unsafe { asked(fd, what, arg) } {
        return done;
    }
    // SAFETY: the caller's arguments; one that it did not give is whatever its register held, and goes on as such.
    let ask = |fd| unsafe { real::ioctl(fd, what, arg) };
    let done = told(match ABOUT_INTERFACES.contains(&what) && sockets::is_isolated(fd) {
        true => isolated::ask_outside(ask).unwrap_or_else(fail),
        false => ask(fd),
    });
    if what == libc::FIONBIO && done == 0 && sockets::get(fd).is_some() {
        // SAFETY: the kernel has just read this word.
        note_nonblocking(fd, unsafe { *(arg as *const c_int) } != 0);
    }
    done
}

/// # Safety
/// As fcntl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl(fd: c_int, what: c_int, arg: usize) -> c_int {
    // SAFETY: as for `ioctl`.
    changed(fd, what, arg, unsafe { real::fcntl(fd, what, arg) })
}

/// # Safety
/// As fcntl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl64(fd: c_int, what: c_int, arg: usize) -> c_int {
    // SAFETY: as for `ioctl`.
    changed(fd, what, arg, unsafe { real::fcntl64(fd, what, arg) })
}

/// Notes whether calls on a packet socket may sleep, which they would else have to ask each time.
pub(super) fn note_nonblocking(fd: c_int, on: bool) {
    if let Some(socket) = sockets::get(fd) {
        socket.set_nonblocking(on);
    }
}

/// # Safety
/// As _exit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _exit(status: c_int) -> ! {
    if let Some(_guard) = ReentryGuard::enter() {
        link::flush_all();
    }
    real::exit_now(status)
}
