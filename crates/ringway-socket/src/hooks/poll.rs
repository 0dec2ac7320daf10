//! Calls that wait for descriptors: a socket that receives from a port is looked at, and slept on, by another descriptor.

use std::ffi::{c_int, c_short};
use std::time::{Duration, Instant};

use libc::{nfds_t, pollfd, sigset_t, timespec};
use ringway_shim::FDS;
use ringway_shim::ReentryGuard;
use ringway_shim::time::{of_ms, of_timespec, to_timespec};

use super::epoll::prepare;
use super::look::{arm, has, ours};
use super::quiet::{self, Moment, heard};
use crate::inlet;
use crate::link::{self, SleeperGuard};
use crate::report::{self, Call};
use crate::sys::real;

const IN: c_short = libc::POLLIN | libc::POLLRDNORM;
const OUT: c_short = libc::POLLOUT | libc::POLLWRNORM;

/// `ppoll`, with sockets that are served here among the descriptors; `None` when there are none.
pub(super) fn wait(fds: &mut [pollfd], timeout: Option<Duration>, mask: *const sigset_t) -> Option<c_int> {
    if inlet::receiving() == 0 || !fds.iter().any(|p| ours(p.fd).is_some()) {
        return None;
    }
    let (mut now, mut asked) = (Moment::now(), fds.to_vec());
    let until = timeout.and_then(|t| now.at().checked_add(t));
    let never = timeout == Some(Duration::ZERO);
    loop {
        let guard = ReentryGuard::enter()?;
        let mut asleep = Vec::new();
        let found = look(fds, &mut asked);
        let ready = found || !never && !fall_asleep(fds, &mut asked, &mut asleep);
        link::flush_all();
        if found && mask.is_null() && quiet::was_quiet(&asked, now) {
            break;
        }
        // The next poll may take the answer for its own.
        let quiet = if found || never { quiet::begin(&asked, now) } else { None };
        drop(guard);
        let left = until.map(|t| t.saturating_duration_since(now.at()));
        let left = if ready { Some(Duration::ZERO) } else { left };
        let t = left.map(to_timespec);
        let t = t.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: as many descriptors as there are; all live across the call.
        let n = heard(unsafe { real::ppoll(asked.as_mut_ptr(), asked.len() as nfds_t, t, mask) });
        drop(asleep);
        if n < 0 && !ready {
            return Some(n);
        }
        let guard = ReentryGuard::enter()?;
        if let Some(begun) = quiet.filter(|_| n == 0) {
            quiet::note_quiet(&asked, begun);
        }
        tell(fds, &asked, n);
        drop(guard);
        if count(fds) > 0 || until.is_some_and(|t| Instant::now() >= t) {
            break;
        }
        now = Moment::now();
    }
    report::served(Call::Poll);
    Some(count(fds))
}

/// Tells the program what the kernel said of `asked`, which returned `n`.
fn tell(fds: &mut [pollfd], asked: &[pollfd], n: c_int) {
    for (a, p) in asked.iter().zip(fds.iter_mut()) {
        match ours(p.fd) {
            None => p.revents = if n < 0 { 0 } else { a.revents },
            // It woke, but a filter may have refused what came.
            Some(socket) if a.fd >= 0 && a.revents != 0 && has(socket) => p.revents |= p.events & IN,
            Some(_) => {}
        }
    }
}

/// Descriptors with events.
fn count(fds: &[pollfd]) -> c_int {
    fds.iter().filter(|p| p.revents != 0).count() as c_int
}

/// Looks at the sockets that are served here; `asked`, for the kernel, leaves them out. Whether one is ready.
fn look(fds: &mut [pollfd], asked: &mut [pollfd]) -> bool {
    let mut ready = false;
    for (a, p) in asked.iter_mut().zip(fds.iter_mut()) {
        (*a, p.revents) = (*p, 0);
        let Some(socket) = ours(p.fd) else { continue };
        // Room to send there always is, as far as the program can know.
        p.revents = p.events & OUT;
        if p.events & IN != 0 && has(socket) {
            p.revents |= p.events & IN;
        }
        ready |= p.revents != 0;
        a.fd = -1;
    }
    ready
}

/// Replaces the sockets that are served here by descriptors that wake a sleeper; false when a frame has come meanwhile.
fn fall_asleep(fds: &[pollfd], asked: &mut [pollfd], asleep: &mut Vec<SleeperGuard>) -> bool {
    for (a, p) in asked.iter_mut().zip(fds) {
        let Some(socket) = ours(p.fd).filter(|_| p.events & IN != 0) else { continue };
        let Some((watch, guard)) = arm(socket) else { return false };
        (a.fd, a.events) = (watch, libc::POLLIN);
        asleep.push(guard);
    }
    true
}

/// Descriptors of a call, unless there are more than any program may have: the kernel has the error for that.
///
/// # Safety
/// As poll(2).
unsafe fn descriptors<'a>(fds: *mut pollfd, n: nfds_t) -> Option<&'a mut [pollfd]> {
    let ours = !fds.is_null() && (1..=FDS as nfds_t).contains(&n) && inlet::receiving() > 0;
    // SAFETY: by the contract.
    ours.then(|| unsafe { std::slice::from_raw_parts_mut(fds, n as usize) })
}

/// # Safety
/// As poll(2); the others of this file as theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn poll(fds: *mut pollfd, n: nfds_t, ms: c_int) -> c_int {
    // SAFETY: the caller's descriptors.
    if let Some(fds) = unsafe { descriptors(fds, n) }
        && let Some(done) = wait(fds, of_ms(ms), std::ptr::null())
    {
        return done;
    }
    let _asleep = (ms != 0).then(prepare);
    // SAFETY: the caller's arguments.
    heard(unsafe { real::poll(fds, n, ms) })
}

/// # Safety
/// As ppoll(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ppoll(
    fds: *mut pollfd,
    n: nfds_t,
    t: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's descriptors and time.
    if let (Some(fds), Ok(limit)) = unsafe { (descriptors(fds, n), of_timespec(t)) }
        && let Some(done) = wait(fds, limit, mask)
    {
        return done;
    }
    let _asleep = prepare();
    // SAFETY: the caller's arguments.
    heard(unsafe { real::ppoll(fds, n, t, mask) })
}

/// `poll` as programs call it that were compiled with checks of buffer sizes.
///
/// # Safety
/// As poll(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __poll_chk(fds: *mut pollfd, n: nfds_t, ms: c_int, room: usize) -> c_int {
    check(n, room);
    // SAFETY: the caller's arguments.
    unsafe { poll(fds, n, ms) }
}

/// # Safety
/// As ppoll(2).
#[unsafe(no_mangle)]
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
        report::say("buffer overflow detected");
        std::process::abort();
    }
}
