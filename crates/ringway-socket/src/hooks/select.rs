//! `select` and `pselect`, by way of a poll.

use std::ffi::{c_int, c_short};
use std::time::{Duration, Instant};

use libc::{fd_set, pollfd, sigset_t, timespec, timeval};

use super::epoll::prepare;
use super::look::ours;
use super::poll::{IN, OUT, wait};
use super::time::{of_timespec, of_timeval};
use crate::inlet;
use crate::sys::guard::set_errno;
use crate::sys::real;

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
    /// `None` where no set can have a socket that is served here.
    fn new(sets: [*mut fd_set; 3], n: c_int) -> Option<Self> {
        (inlet::receiving() > 0 && n > 0).then_some(Self { sets, n: n as usize })
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

/// `pselect`, with sockets that are served here in the sets; `None` when there are none.
fn wait_sets(sets: &Sets, timeout: Option<Duration>, mask: *const sigset_t) -> Option<c_int> {
    if inlet::receiving() == 0 || !(0..sets.n).any(|fd| sets.has(0, fd) && ours(fd as c_int).is_some()) {
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
