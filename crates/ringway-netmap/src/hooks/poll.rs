//! poll(2): netmap descriptors are looked at, which is a sync, and slept on by other descriptors.

use std::ffi::c_int;
use std::time::Duration;

use libc::{nfds_t, pollfd, sigset_t, timespec};
use ringway_shim::time::{of_ms, of_timespec};
use ringway_shim::{FDS, errno, fail};

use super::find::discover_among;
use super::sleep::{Timeout, Wakers, poll_once, spin};
use crate::inside::Inside;
use crate::sys::real;
use crate::{descriptors, epolls};

/// Whether a poll of the number needs this library.
#[inline]
pub(super) fn is_served(fd: c_int) -> bool {
    descriptors::is(fd) || epolls::watches(fd)
}

/// `ppoll`, with netmap descriptors among the others; `None` when there are none.
///
/// A call that finds one ready, and has no other descriptors, makes no system call of its own and takes no memory.
pub(super) fn wait(fds: &mut [pollfd], limit: Option<Duration>, mask: *const sigset_t) -> Option<c_int> {
    if !descriptors::any() || !fds.iter().any(|p| is_served(p.fd)) {
        return None;
    }
    let mut timeout = Timeout::new(limit);
    loop {
        let inside = Inside::enter()?;
        let others = look(fds);
        let over = timeout.is_over();
        let ready = count(fds) > 0
            || !over
                && spin(&timeout, || {
                    look(fds);
                    count(fds) > 0
                });
        let now = ready || over;
        // A mask may let a signal through also when there is no time to sleep.
        if now && !others && (ready || mask.is_null()) {
            return Some(count(fds));
        }
        let mut wakers = Wakers::default();
        if !now {
            timeout.start();
            if arm(fds, &mut wakers) {
                continue;
            }
        }
        drop(inside);
        let mut asked = of_kernel(fds);
        let n = match now {
            true => poll_once(&mut asked, Some(Duration::ZERO), mask),
            false => wakers.sleep(&mut asked, &timeout, mask),
        };
        let code = errno();
        let inside = Inside::enter()?;
        drop(wakers);
        if n < 0 && !ready {
            drop(inside);
            return Some(fail(code));
        }
        if n > 0 && discover_among(&asked) {
            continue;
        }
        if !now {
            look(fds);
        }
        for (p, a) in fds.iter_mut().zip(&asked) {
            p.revents |= a.revents;
        }
        if now || count(fds) > 0 {
            return Some(count(fds));
        }
    }
}

/// Looks at the netmap descriptors, and at what epolls have of them; whether there are other descriptors.
#[inline]
fn look(fds: &mut [pollfd]) -> bool {
    let mut others = false;
    for p in fds {
        if let Some(descriptor) = descriptors::get(p.fd) {
            p.revents = descriptor.look(p.events);
            continue;
        }
        let ready = epolls::watches(p.fd) && epolls::is_ready(p.fd);
        p.revents = if ready { p.events & (libc::POLLIN | libc::POLLRDNORM) } else { 0 };
        others |= p.fd >= 0;
    }
    others
}

/// Asks for wake-ups; true when something came meanwhile.
fn arm(fds: &[pollfd], wakers: &mut Wakers) -> bool {
    fds.iter().any(|p| match descriptors::get(p.fd) {
        Some(descriptor) => {
            let came = descriptor.arm(p.events, &mut wakers.sleep);
            wakers.used.push(descriptor);
            came
        }
        None => epolls::watches(p.fd) && epolls::arm(p.fd, &mut wakers.sleep, &mut wakers.used),
    })
}

/// The descriptors that the kernel answers for; the others have no number.
fn of_kernel(fds: &[pollfd]) -> Vec<pollfd> {
    let number = |p: &pollfd| if descriptors::is(p.fd) { -1 } else { p.fd };
    fds.iter().map(|p| pollfd { fd: number(p), events: p.events, revents: 0 }).collect()
}

fn count(fds: &[pollfd]) -> c_int {
    fds.iter().filter(|p| p.revents != 0).count() as c_int
}

/// Polls by `wait`, or by `real` where there is no netmap descriptor. One that nobody knew shows by what `real` tells of it.
///
/// # Safety
/// As poll(2), for `fds` and `n`.
unsafe fn poll_by(
    fds: *mut pollfd,
    n: nfds_t,
    limit: Option<Duration>,
    mask: *const sigset_t,
    real: impl Fn() -> c_int,
) -> c_int {
    // The kernel has the error for more descriptors than any program may have.
    if fds.is_null() || !(1..=FDS as nfds_t).contains(&n) {
        return real();
    }
    loop {
        if descriptors::any() {
            // SAFETY: by the contract.
            let fds = unsafe { std::slice::from_raw_parts_mut(fds, n as usize) };
            if let Some(done) = wait(fds, limit, mask) {
                return done;
            }
        }
        let done = real();
        if done <= 0 {
            return done;
        }
        // SAFETY: the kernel has just written there.
        let told = unsafe { std::slice::from_raw_parts(fds, n as usize) };
        let hung_up = told.iter().any(|p| p.revents & libc::POLLHUP != 0 && descriptors::is_unknown(p.fd));
        if !hung_up || Inside::enter().is_none_or(|_inside| !discover_among(told)) {
            return done;
        }
    }
}

/// # Safety
/// As poll(2); the others of this file as theirs.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn poll(fds: *mut pollfd, n: nfds_t, ms: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { poll_by(fds, n, of_ms(ms), std::ptr::null(), || real::poll(fds, n, ms)) }
}

/// # Safety
/// As ppoll(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn ppoll(
    fds: *mut pollfd,
    n: nfds_t,
    t: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    let real = || unsafe { real::ppoll(fds, n, t, mask) };
    // SAFETY: the caller's arguments.
    match unsafe { of_timespec(t) } {
        // SAFETY: as above.
        Ok(limit) => unsafe { poll_by(fds, n, limit, mask, real) },
        Err(_) => real(),
    }
}

/// `poll` as programs call it that were compiled with checks of buffer sizes.
///
/// # Safety
/// As poll(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __poll_chk(fds: *mut pollfd, n: nfds_t, ms: c_int, room: usize) -> c_int {
    check(n, room);
    // SAFETY: the caller's arguments.
    unsafe { poll(fds, n, ms) }
}

/// # Safety
/// As ppoll(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut pollfd,
    n: nfds_t,
    t: *const timespec,
    mask: *const sigset_t,
    room: usize,
) -> c_int {
    check(n, room);
    // SAFETY: the caller's arguments.
    unsafe { ppoll(fds, n, t, mask) }
}

fn check(n: nfds_t, room: usize) {
    if room / size_of::<pollfd>() < n as usize {
        eprintln!("ringway: buffer overflow detected");
        std::process::abort();
    }
}
