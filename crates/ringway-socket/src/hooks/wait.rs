//! Calls that wait for descriptors: a socket that receives from a port is looked at, and slept on, by another descriptor.

use std::ffi::{c_int, c_short};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use libc::{fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use super::epoll::prepare;
use crate::link;
use crate::link::SleeperGuard;
use crate::report::{self, Call};
use crate::ring_filler;
use crate::socket::{self, Socket};
use crate::sockets;
use crate::sys::guard::{ReentryGuard, set_errno};
use crate::sys::{real, table};

const IN: c_short = libc::POLLIN | libc::POLLRDNORM;
const OUT: c_short = libc::POLLOUT | libc::POLLWRNORM;

/// A socket that receives from a port.
fn ours(fd: c_int) -> Option<&'static Socket> {
    sockets::get(fd).filter(|s| s.receives())
}

/// Whether a frame is there.
pub(super) fn has(socket: &Socket) -> bool {
    ring_filler::looked();
    let state = socket.state();
    let Some(inlet) = &state.inlet else { return false };
    // What the port has to say when it fails, the next receive tells.
    inlet.link.ready().and_then(|mut inner| inner.has(inlet.id)).unwrap_or(true)
}

/// Asks for a wake-up: the descriptor to sleep on, for as long as the other lives; `None` when a frame may be there already.
pub(super) fn arm(socket: &Socket) -> Option<(RawFd, SleeperGuard)> {
    let state = socket.state();
    let inlet = state.inlet.as_ref()?;
    let mut inner = inlet.link.ready().ok()?;
    if inner.arm() != Ok(false) {
        return None;
    }
    let watch = inner.receiver(inlet.id)?.watch();
    Some((watch, SleeperGuard::new(inlet.link.0, &mut inner)))
}

/// `ppoll`, with sockets of ours among the descriptors; `None` when there are none.
fn wait(fds: &mut [pollfd], timeout: Option<Duration>, mask: *const sigset_t) -> Option<c_int> {
    if socket::receiving() == 0 || !fds.iter().any(|p| ours(p.fd).is_some()) {
        return None;
    }
    let until = timeout.and_then(|t| Instant::now().checked_add(t));
    let mut asked: Vec<pollfd> = fds.to_vec();
    loop {
        let guard = ReentryGuard::enter()?;
        let mut asleep = Vec::new();
        let mut ready = look(fds, &mut asked);
        if !ready && timeout != Some(Duration::ZERO) {
            ready = !fall_asleep(fds, &mut asked, &mut asleep);
        }
        link::flush_all();
        drop(guard);
        let left = until.map(|t| t.saturating_duration_since(Instant::now()));
        let left = if ready { Some(Duration::ZERO) } else { left };
        let t = left.map(to_timespec);
        let t = t.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: as many descriptors as there are; all live across the call.
        let n = unsafe { real::ppoll(asked.as_mut_ptr(), asked.len() as nfds_t, t, mask) };
        drop(asleep);
        if n < 0 && !ready {
            return Some(n);
        }
        let guard = ReentryGuard::enter()?;
        for (a, p) in asked.iter().zip(fds.iter_mut()) {
            match ours(p.fd) {
                None => p.revents = if n < 0 { 0 } else { a.revents },
                // It woke, but a filter may have refused what came.
                Some(socket) if a.fd >= 0 && a.revents != 0 && has(socket) => p.revents |= p.events & IN,
                Some(_) => {}
            }
        }
        drop(guard);
        let found = fds.iter().filter(|p| p.revents != 0).count();
        if found > 0 || until.is_some_and(|t| Instant::now() >= t) {
            report::served(Call::Poll);
            return Some(found as c_int);
        }
    }
}

/// Looks at sockets of ours; `asked` is what is to be asked of the kernel: nothing about them. Whether one is ready.
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

/// Puts what wakes a sleeper in the place of sockets of ours; false when a frame has come meanwhile.
fn fall_asleep(fds: &[pollfd], asked: &mut [pollfd], asleep: &mut Vec<SleeperGuard>) -> bool {
    for (a, p) in asked.iter_mut().zip(fds) {
        let Some(socket) = ours(p.fd).filter(|_| p.events & IN != 0) else { continue };
        let Some((watch, guard)) = arm(socket) else { return false };
        (a.fd, a.events) = (watch, libc::POLLIN);
        asleep.push(guard);
    }
    true
}

pub(super) fn of_ms(ms: c_int) -> Option<Duration> {
    u64::try_from(ms).ok().map(Duration::from_millis)
}

/// A time of the program, null for none; fails where the kernel refuses it.
///
/// # Safety
/// `t` must be null or valid.
pub(super) unsafe fn of_timespec(t: *const timespec) -> Result<Option<Duration>, ()> {
    // SAFETY: by the contract.
    let Some(t) = (unsafe { t.as_ref() }) else { return Ok(None) };
    let nanos = u32::try_from(t.tv_nsec).ok().filter(|n| *n < 1_000_000_000).ok_or(())?;
    Ok(Some(Duration::new(u64::try_from(t.tv_sec).map_err(drop)?, nanos)))
}

pub(super) fn to_timespec(d: Duration) -> timespec {
    timespec { tv_sec: d.as_secs() as _, tv_nsec: d.subsec_nanos().into() }
}

/// Descriptors of a call, unless there are more than any program may have: the kernel has the error for that.
///
/// # Safety
/// As poll(2).
unsafe fn descriptors<'a>(fds: *mut pollfd, n: nfds_t) -> Option<&'a mut [pollfd]> {
    let ours = !fds.is_null() && (1..=table::FDS as nfds_t).contains(&n) && socket::receiving() > 0;
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
    unsafe { real::poll(fds, n, ms) }
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
    unsafe { real::ppoll(fds, n, t, mask) }
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

/// The sets of a select, as far as `n`.
struct Sets {
    sets: [*mut fd_set; 3],
    n: usize,
}

const EVENTS: [c_short; 3] = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];
/// What each set shows: as in fs/select.c.
const SHOWN: [c_short; 3] = [
    IN | libc::POLLRDBAND | libc::POLLHUP | libc::POLLERR,
    OUT | libc::POLLWRBAND | libc::POLLERR,
    libc::POLLPRI,
];

impl Sets {
    /// `None` where no set can have a socket of ours.
    fn new(sets: [*mut fd_set; 3], n: c_int) -> Option<Self> {
        (socket::receiving() > 0 && n > 0).then_some(Self { sets, n: n as usize })
    }

    /// The word and bit of a descriptor; sets may be longer than `fd_set`, if the program made them so.
    fn word(&self, set: usize, fd: usize) -> Option<(*mut u64, u64)> {
        let at = self.sets[set];
        // SAFETY: the program's set has a bit for each descriptor below `n`.
        (!at.is_null() && fd < self.n).then(|| (unsafe { at.cast::<u64>().add(fd / 64) }, 1 << (fd % 64)))
    }

    fn has(&self, set: usize, fd: usize) -> bool {
        // SAFETY: a word of the program's set.
        self.word(set, fd).is_some_and(|(at, bit)| unsafe { *at } & bit != 0)
    }

    fn clear(&self) {
        for set in 0..3 {
            for fd in 0..self.n {
                if let Some((at, bit)) = self.word(set, fd) {
                    // SAFETY: a word of the program's set.
                    unsafe { *at &= !bit };
                }
            }
        }
    }

    fn polled(&self) -> Vec<pollfd> {
        let events = |fd| (0..3).filter(|s| self.has(*s, fd)).fold(0, |e, s| e | EVENTS[s]);
        let all = (0..self.n).map(|fd| pollfd { fd: fd as c_int, events: events(fd), revents: 0 });
        all.filter(|p| p.events != 0).collect()
    }

    /// Writes the answer; returns how many bits are set.
    fn show(&self, fds: &[pollfd]) -> c_int {
        self.clear();
        let mut bits = 0;
        for p in fds {
            for set in 0..3 {
                if p.events & EVENTS[set] != 0
                    && p.revents & SHOWN[set] != 0
                    && let Some((at, bit)) = self.word(set, p.fd as usize)
                {
                    // SAFETY: a word of the program's set.
                    unsafe { *at |= bit };
                    bits += 1;
                }
            }
        }
        bits
    }
}

/// As [`of_timespec`]; microseconds may be more than a second.
///
/// # Safety
/// `t` must be null or valid.
unsafe fn of_timeval(t: *const timeval) -> Result<Option<Duration>, ()> {
    // SAFETY: by the contract.
    let Some(t) = (unsafe { t.as_ref() }) else { return Ok(None) };
    let (s, us) = (u64::try_from(t.tv_sec).map_err(drop)?, u64::try_from(t.tv_usec).map_err(drop)?);
    Ok(Duration::from_secs(s).checked_add(Duration::from_micros(us)))
}

/// `pselect`, with sockets of ours in the sets; `None` when there are none.
fn wait_sets(sets: &Sets, timeout: Option<Duration>, mask: *const sigset_t) -> Option<c_int> {
    if socket::receiving() == 0 || !(0..sets.n).any(|fd| sets.has(0, fd) && ours(fd as c_int).is_some()) {
        return None;
    }
    let mut fds = sets.polled();
    let done = wait(&mut fds, timeout, mask)?;
    if done < 0 {
        return Some(done);
    }
    if fds.iter().any(|p| p.revents & libc::POLLNVAL != 0) {
        set_errno(libc::EBADF);
        return Some(-1);
    }
    Some(sets.show(&fds))
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
    let sets = Sets::new([r, w, e], n);
    // SAFETY: the caller's time.
    if let (Some(sets), Ok(limit)) = (sets, unsafe { of_timeval(t) }) {
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
    unsafe { real::select(n, r, w, e, t) }
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
    // SAFETY: the caller's time.
    if let (Some(sets), Ok(limit)) = (Sets::new([r, w, e], n), unsafe { of_timespec(t) })
        && let Some(done) = wait_sets(&sets, limit, mask)
    {
        return done;
    }
    let _asleep = prepare();
    // SAFETY: the caller's arguments.
    unsafe { real::pselect(n, r, w, e, t, mask) }
}
