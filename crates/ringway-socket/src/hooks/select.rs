//! `select` and `pselect`, by way of a poll.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use libc::{fd_set, sigset_t, timespec, timeval};
use ringway_shim::FdSets;
use ringway_shim::time::{of_timespec, of_timeval};

use super::epoll::prepare;
use super::look::ours;
use super::poll::wait;
use super::quiet::heard;
use crate::inlet;
use crate::sys::real;

/// The sets of a call; `None` where none can have a socket that is served here.
///
/// # Safety
/// As select(2).
unsafe fn sets(sets: [*mut fd_set; 3], n: c_int) -> Option<FdSets> {
    // SAFETY: by the contract.
    (inlet::receiving() > 0 && n > 0).then(|| unsafe { FdSets::new(sets, n) })
}

/// `pselect`, with sockets that are served here in the sets; `None` when there are none.
fn wait_sets(sets: &FdSets, timeout: Option<Duration>, mask: *const sigset_t) -> Option<c_int> {
    if !sets.any(0, |fd| ours(fd).is_some()) {
        return None;
    }
    let mut fds = sets.polled();
    let done = wait(&mut fds, timeout, mask)?;
    if done < 0 {
        return Some(done);
    }
    Some(sets.answer(&fds))
}

/// # Safety
/// As select(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn select(
    n: c_int,
    r: *mut fd_set,
    w: *mut fd_set,
    e: *mut fd_set,
    t: *mut timeval,
) -> c_int {
    // SAFETY: the caller's sets and time.
    if let (Some(sets), Ok(limit)) = unsafe { (sets([r, w, e], n), of_timeval(t)) } {
        let start = Instant::now();
        if let Some(done) = wait_sets(&sets, limit, std::ptr::null()) {
            // Linux leaves in the time what is left of it.
            let left = limit.map(|l| l.saturating_sub(start.elapsed()));
            // SAFETY: the caller's time.
            if let (Some(t), Some(left)) = (unsafe { t.as_mut() }, left) {
                (t.tv_sec, t.tv_usec) = (left.as_secs() as _, left.subsec_micros().into());
            }
            return done;
        }
    }
    let _asleep = prepare();
    // SAFETY: the caller's arguments.
    heard(unsafe { real::select(n, r, w, e, t) })
}

/// # Safety
/// As pselect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pselect(
    n: c_int,
    r: *mut fd_set,
    w: *mut fd_set,
    e: *mut fd_set,
    t: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's sets and time.
    if let (Some(sets), Ok(limit)) = unsafe { (sets([r, w, e], n), of_timespec(t)) }
        && let Some(done) = wait_sets(&sets, limit, mask)
    {
        return done;
    }
    let _asleep = prepare();
    // SAFETY: the caller's arguments.
    heard(unsafe { real::pselect(n, r, w, e, t, mask) })
}
