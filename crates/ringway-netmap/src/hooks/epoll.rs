//! Epolls of the program.

use std::ffi::c_int;
use std::time::Duration;

use libc::{epoll_event, pollfd, sigset_t, timespec};
use ringway_shim::time::{of_ms, of_timespec};
use ringway_shim::{FDS, errno, fail};

use super::find::{discover, find};
use super::sleep::{Timeout, Wakers};
use crate::inside::Inside;
use crate::memory::{CallerMemory, Errno};
use crate::sys::own_memory::OwnMemory;
use crate::sys::real;
use crate::{descriptors, epolls, internal, process};

/// The program made an epoll, perhaps.
fn made(epoll: c_int) -> c_int {
    if epoll >= 0
        && let Some(_inside) = Inside::enter()
    {
        process::prepare();
        descriptors::remove(epoll);
        epolls::add(epoll);
        internal::given(&[epoll]);
    }
    epoll
}

/// # Safety
/// As epoll_create(2); the others of this file as theirs.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn epoll_create(size: c_int) -> c_int {
    // SAFETY: the caller's argument.
    made(unsafe { real::epoll_create(size) })
}

/// # Safety
/// As epoll_create1(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: the caller's argument.
    made(unsafe { real::epoll_create1(flags) })
}

/// Changes the registration of a netmap descriptor; `None` when the number is none.
fn change(epoll: c_int, op: c_int, fd: c_int, event: u64) -> Option<c_int> {
    let inside = Inside::enter()?;
    let place = find(fd).and_then(|_| descriptors::place_of(fd))?;
    let done = is_epoll(epoll, fd).and_then(|()| match op {
        libc::EPOLL_CTL_DEL => Ok(epoll_event { events: 0, u64: 0 }),
        _ => event_at(event),
    });
    let done = done.and_then(|event| epolls::change(epoll, op, fd, place, event).map_err(Errno));
    drop(inside);
    Some(done.map_or_else(|Errno(code)| fail(code), |()| 0))
}

/// Whether a number is an epoll, or what is wrong with it. The kernel takes the descriptor out, if it had it: from now on it is looked at here.
fn is_epoll(epoll: c_int, fd: c_int) -> Result<(), Errno> {
    let mut event = epoll_event { events: 0, u64: 0 };
    // SAFETY: the event lives across the call.
    let done = unsafe { real::epoll_ctl(epoll, libc::EPOLL_CTL_DEL, fd, &raw mut event) };
    if done == 0 || errno() == libc::ENOENT { Ok(()) } else { Err(Errno(errno())) }
}

/// The event that the program names.
fn event_at(at: u64) -> Result<epoll_event, Errno> {
    let mut bytes = [0; size_of::<epoll_event>()];
    OwnMemory.read(at, &mut bytes)?;
    let (events, data) = (bytes.first_chunk().copied(), bytes.last_chunk().copied());
    let events = events.map_or(0, u32::from_ne_bytes);
    Ok(epoll_event { events, u64: data.map_or(0, u64::from_ne_bytes) })
}

/// # Safety
/// As epoll_ctl(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn epoll_ctl(
    epoll: c_int,
    op: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    let adds = op == libc::EPOLL_CTL_ADD && descriptors::is_unknown(fd);
    let found = adds && Inside::enter().is_some_and(|_inside| discover(fd));
    if (found || descriptors::is(fd))
        && let Some(done) = change(epoll, op, fd, event as u64)
    {
        return done;
    }
    // SAFETY: the caller's arguments.
    unsafe { real::epoll_ctl(epoll, op, fd, event) }
}

/// Waits for events of an epoll that has netmap descriptors.
fn wait(
    epoll: c_int,
    events: &mut [epoll_event],
    limit: Option<Duration>,
    mask: *const sigset_t,
) -> Option<c_int> {
    let mut timeout = Timeout::new(limit);
    // Where there is room for a few events only, netmap descriptors and others are asked first in turn.
    let mut netmap_first = epolls::takes_turn();
    loop {
        let inside = Inside::enter()?;
        let mut n = if netmap_first { epolls::look(epoll, events) } else { 0 };
        drop(inside);
        match of_kernel(epoll, &mut events[n..], mask) {
            Err(code) if n == 0 => return Some(fail(code)),
            others => n += others.unwrap_or(0),
        }
        let inside = Inside::enter()?;
        if !netmap_first {
            n += epolls::look(epoll, &mut events[n..]);
        }
        if n > 0 || timeout.is_over() {
            return Some(n as c_int);
        }
        netmap_first = true;
        timeout.start();
        let mut wakers = Wakers::default();
        if epolls::arm(epoll, &mut wakers.sleep, &mut wakers.used) {
            continue;
        }
        drop(inside);
        let mut asked = vec![pollfd { fd: epoll, events: libc::POLLIN, revents: 0 }];
        let slept = wakers.sleep(&mut asked, &timeout, mask);
        let code = errno();
        let inside = Inside::enter()?;
        drop(wakers);
        drop(inside);
        if slept < 0 {
            return Some(fail(code));
        }
    }
}

/// Events that the kernel has by now.
fn of_kernel(epoll: c_int, events: &mut [epoll_event], mask: *const sigset_t) -> Result<usize, c_int> {
    if events.is_empty() {
        return Ok(0);
    }
    // SAFETY: room for as many events as there are; the mask is the program's, or null.
    let n = unsafe { real::epoll_pwait(epoll, events.as_mut_ptr(), events.len() as c_int, 0, mask) };
    usize::try_from(n).map_err(|_| errno())
}

/// The program's room for events, where it waits for an epoll that has netmap descriptors.
///
/// # Safety
/// As epoll_wait(2).
unsafe fn room<'a>(epoll: c_int, events: *mut epoll_event, n: c_int) -> Option<&'a mut [epoll_event]> {
    let served = epolls::watches(epoll) && !events.is_null() && n > 0;
    // SAFETY: by the contract. No epoll has more events than there are descriptors.
    served.then(|| unsafe { std::slice::from_raw_parts_mut(events, (n as usize).min(FDS)) })
}

/// # Safety
/// As epoll_wait(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    n: c_int,
    ms: c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    let served = unsafe { room(epoll, events, n) };
    // SAFETY: the caller's arguments.
    let real = || unsafe { real::epoll_wait(epoll, events, n, ms) };
    served.and_then(|room| wait(epoll, room, of_ms(ms), std::ptr::null())).unwrap_or_else(real)
}

/// # Safety
/// As epoll_pwait(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    n: c_int,
    ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    let served = unsafe { room(epoll, events, n) };
    // SAFETY: the caller's arguments.
    let real = || unsafe { real::epoll_pwait(epoll, events, n, ms, mask) };
    served.and_then(|room| wait(epoll, room, of_ms(ms), mask)).unwrap_or_else(real)
}

/// # Safety
/// As epoll_pwait2(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    n: c_int,
    t: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments; the kernel has the error for a wrong time.
    let (served, limit) = unsafe { (room(epoll, events, n), of_timespec(t)) };
    // SAFETY: the caller's arguments.
    let real = || unsafe { real::epoll_pwait2(epoll, events, n, t, mask) };
    let Ok(limit) = limit else { return real() };
    served.and_then(|room| wait(epoll, room, limit, mask)).unwrap_or_else(real)
}
