//! Epolls of the program: they have, beside a socket that receives from a port, a descriptor that is readable when the port or
//! the socket's queue has frames.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use libc::{epoll_event, sigset_t, timespec};
use ringway_shim::ReentryGuard;
use ringway_shim::time::{of_ms, of_timespec, to_timespec};

use super::look::{arm, has};
use super::quiet::heard;
use crate::inlet;
use crate::link;
use crate::link::SleeperGuard;
use crate::socket::{self, INPUT, READ, Socket, Watched};
use crate::sockets;
use crate::sys::{kernel, real};

/// # Safety
/// As epoll_ctl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_ctl(
    epoll: c_int,
    op: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    let Some(socket) = sockets::get(fd) else {
        // SAFETY: the caller's arguments.
        return unsafe { real::epoll_ctl(epoll, op, fd, event) };
    };
    let Some(_guard) = ReentryGuard::enter() else {
        // SAFETY: the caller's arguments.
        return unsafe { real::epoll_ctl(epoll, op, fd, event) };
    };
    let mut state = socket.state();
    let watch = state.watch();
    // SAFETY: the caller's event, which may lie anywhere: it is packed.
    let asked = if event.is_null() { None } else { Some(unsafe { event.read_unaligned() }) };
    let (events, data) = asked.map_or((0, 0), |a| (a.events, a.u64));
    // The kernel's socket tells of everything but frames to read.
    let mut rest = epoll_event { events: if watch.is_some() { events & !INPUT } else { events }, u64: data };
    let at = if asked.is_some() { &raw mut rest } else { std::ptr::null_mut() };
    // SAFETY: the event lives across the call.
    let done = unsafe { real::epoll_ctl(epoll, op, fd, at) };
    if done < 0 {
        return done;
    }
    state.watched.retain(|w| w.epoll != epoll);
    if op != libc::EPOLL_CTL_DEL {
        state.watched.push(Watched { epoll, events, data });
    }
    if let Some(watch) = watch {
        let events = if events & INPUT == 0 { 0 } else { events & READ };
        kernel::epoll(epoll, op, watch, events, data);
    }
    done
}

/// Prepares for a sleep of the program, perhaps on an epoll. Frames that wait are sent. Sockets that have frames become readable in the epolls
/// that look at them; others ask for a wake-up, for as long as the guards live.
pub(super) fn prepare() -> Vec<SleeperGuard> {
    let mut asleep = Vec::new();
    let Some(_guard) = ReentryGuard::enter() else { return asleep };
    link::flush_all();
    if inlet::receiving() == 0 {
        return asleep;
    }
    for socket in sockets() {
        let edge = match &socket.state().watched[..] {
            [] => continue,
            watched => watched.iter().any(|w| w.events & libc::EPOLLET as u32 != 0),
        };
        let armed = match edge {
            true => wait_for_edge(socket),
            false if has(socket) => None,
            false => arm(socket).map(|(_, guard)| guard),
        };
        match armed {
            Some(guard) => asleep.push(guard),
            None => drop(socket.state().with_inlet(|inner, id| inner.ring(id))),
        }
    }
    asleep
}

/// As [`arm`] for an epoll that waits for edges; `None` when the epoll will tell of one.
fn wait_for_edge(socket: &Socket) -> Option<SleeperGuard> {
    let state = socket.state();
    let inlet = state.inlet.as_ref()?;
    let mut inner = inlet.link.ready().ok()?;
    (inner.edge(inlet.id) == Ok(false)).then(|| SleeperGuard::new(inlet.link.0, &mut inner))
}

/// Waits by `real` for the time that is left. Frames that a filter refuses wake the kernel's epoll, but not the program.
fn wait(
    epoll: c_int,
    events: *mut epoll_event,
    limit: Option<Duration>,
    real: impl Fn(Option<Duration>) -> c_int,
) -> c_int {
    let until = limit.map(|l| Instant::now().checked_add(l));
    let mut left = limit;
    loop {
        let asleep = prepare();
        let n = heard(real(left));
        drop(asleep);
        if n <= 0 || inlet::receiving() == 0 {
            return n;
        }
        // SAFETY: the kernel just wrote so many events.
        let found = genuine(epoll, unsafe { std::slice::from_raw_parts_mut(events, n as usize) });
        if found > 0 {
            return found as c_int;
        }
        left = until.flatten().map(|t| t.saturating_duration_since(Instant::now()));
    }
}

/// Takes out events that a port caused without a frame for the socket; returns how many are left, in front.
fn genuine(epoll: c_int, events: &mut [epoll_event]) -> usize {
    let mut n = events.len();
    let Some(_guard) = ReentryGuard::enter() else { return n };
    for socket in sockets() {
        let watched = socket.state().watched.iter().find(|w| w.epoll == epoll).copied();
        let Some(w) = watched else { continue };
        let its = |e: &epoll_event| e.u64 == w.data && e.events & !INPUT == 0;
        if let Some(at) = events[..n].iter().position(its)
            && let Some(watch) = idle(socket)
        {
            events.copy_within(at + 1..n, at);
            n -= 1;
            if w.events & libc::EPOLLONESHOT as u32 != 0 {
                kernel::epoll(epoll, libc::EPOLL_CTL_MOD, watch, w.events & READ, w.data);
            }
        }
    }
    n
}

/// The descriptor of a socket that has woken its epoll in vain.
fn idle(socket: &Socket) -> Option<c_int> {
    let (watch, ready) = socket
        .state()
        .with_inlet(|inner, id| (inner.receiver(id).map(|r| r.watch()), inner.has_ready(id)))?;
    let watch = watch.filter(|_| !ready)?;
    // Another descriptor with the same data caused the event if this one is not readable.
    let woke = kernel::sleep_on(watch, Some(Duration::ZERO)) == Ok(true);
    (woke && !has(socket)).then_some(watch)
}

/// Rounded up: not sooner than asked for.
fn to_ms(left: Option<Duration>) -> c_int {
    left.map_or(-1, |l| l.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(c_int::MAX))
}

/// Sockets that receive from ports.
fn sockets() -> impl Iterator<Item = &'static Socket> {
    let nth = |i| socket::all().get(i).copied();
    (0..).map_while(nth).filter(|s| s.receives())
}

/// # Safety
/// As epoll_wait(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    n: c_int,
    ms: c_int,
) -> c_int {
    let real = |left: Option<Duration>| {
        let ms = to_ms(left);
        // SAFETY: the caller's arguments.
        unsafe { real::epoll_wait(epoll, events, n, ms) }
    };
    wait(epoll, events, of_ms(ms), real)
}

/// # Safety
/// As epoll_pwait(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    n: c_int,
    ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    let real = |left: Option<Duration>| {
        let ms = to_ms(left);
        // SAFETY: the caller's arguments.
        unsafe { real::epoll_pwait(epoll, events, n, ms, mask) }
    };
    wait(epoll, events, of_ms(ms), real)
}

/// # Safety
/// As epoll_pwait2(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    n: c_int,
    t: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's time.
    let Ok(limit) = (unsafe { of_timespec(t) }) else {
        // SAFETY: the caller's arguments; the kernel has the error for them.
        return unsafe { real::epoll_pwait2(epoll, events, n, t, mask) };
    };
    let real = |left: Option<Duration>| {
        let t = left.map(to_timespec);
        let t = t.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the caller's arguments, and a time that lives across the call.
        unsafe { real::epoll_pwait2(epoll, events, n, t, mask) }
    };
    wait(epoll, events, limit, real)
}
