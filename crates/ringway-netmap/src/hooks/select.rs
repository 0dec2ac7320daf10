//! `select` and `pselect`, by way of a poll.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use libc::{fd_set, sigset_t, timespec, timeval};
use ringway_shim::FdSets;
use ringway_shim::time::{of_timespec, of_timeval};

use super::find::discover;
use super::poll::{is_served, wait};
use crate::descriptors;
use crate::inside::Inside;
use crate::sys::real;

/// The sets of reading and writing, in which an unknown netmap descriptor shows.
const SHOWING: [usize; 2] = [0, 1];

/// Selects by way of a poll; `None` when no set has a netmap descriptor.
fn wait_sets(sets: &FdSets, limit: Option<Duration>, mask: *const sigset_t) -> Option<c_int> {
    if !descriptors::any() || !(0..3).any(|set| sets.any(set, is_served)) {
        return None;
    }
    let mut fds = sets.polled();
    let done = wait(&mut fds, limit, mask)?;
    Some(if done < 0 { done } else { sets.answer(&fds) })
}

/// Selects by [`wait_sets`], or by `real` where there is no netmap descriptor. One that nobody knew shows as ready by what `real` answers.
fn select_by(
    sets: &FdSets,
    limit: Option<Duration>,
    mask: *const sigset_t,
    real: impl Fn() -> c_int,
) -> c_int {
    let asked = sets.save();
    loop {
        if let Some(done) = wait_sets(sets, limit, mask) {
            return done;
        }
        let done = real();
        let unknown = |set| sets.any(set, descriptors::is_unknown);
        if done <= 0 || !SHOWING.into_iter().any(unknown) {
            return done;
        }
        let (Some(asked), Some(_inside)) = (&asked, Inside::enter()) else { return done };
        if !SHOWING.into_iter().any(|set| sets.any(set, discover)) {
            return done;
        }
        sets.restore(asked);
    }
}

/// # Safety
/// As select(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn select(
    n: c_int,
    r: *mut fd_set,
    w: *mut fd_set,
    e: *mut fd_set,
    t: *mut timeval,
) -> c_int {
    // SAFETY: the caller's arguments.
    let real = || unsafe { real::select(n, r, w, e, t) };
    // SAFETY: the caller's time.
    let Ok(limit) = (unsafe { of_timeval(t) }) else { return real() };
    // SAFETY: the caller's sets.
    let sets = unsafe { FdSets::new([r, w, e], n) };
    let start = limit.map(|_| Instant::now());
    let done = select_by(&sets, limit, std::ptr::null(), real);
    // Linux leaves in the time what is left of it.
    if let (Some(limit), Some(start)) = (limit, start) {
        let left = limit.saturating_sub(start.elapsed());
        // SAFETY: the caller's time.
        if let Some(t) = unsafe { t.as_mut() } {
            (t.tv_sec, t.tv_usec) = (left.as_secs() as _, left.subsec_micros().into());
        }
    }
    done
}

/// # Safety
/// As pselect(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pselect(
    n: c_int,
    r: *mut fd_set,
    w: *mut fd_set,
    e: *mut fd_set,
    t: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    let real = || unsafe { real::pselect(n, r, w, e, t, mask) };
    // SAFETY: the caller's time.
    let Ok(limit) = (unsafe { of_timespec(t) }) else { return real() };
    // SAFETY: the caller's sets.
    let sets = unsafe { FdSets::new([r, w, e], n) };
    select_by(&sets, limit, mask, real)
}
