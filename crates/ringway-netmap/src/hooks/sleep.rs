//! A sleep of the program, on netmap descriptors among others.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use libc::{nfds_t, pollfd, sigset_t};
use ringway_shim::time::to_timespec;

use crate::descriptor::{Descriptor, Sleep};
use crate::sys::counted::Use;
use crate::sys::real;

/// How long a call may sleep. The clock is read from the first sleep on: a call that need not sleep does not pay for it.
#[derive(Debug)]
pub(super) struct Timeout {
    limit: Option<Duration>,
    until: Option<Instant>,
}

impl Timeout {
    /// `None` for a sleep without an end.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self { limit, until: None }
    }

    pub(super) fn is_over(&self) -> bool {
        self.limit == Some(Duration::ZERO) || self.until.is_some_and(|t| Instant::now() >= t)
    }

    pub(super) fn start(&mut self) {
        if self.until.is_none() {
            // One that no clock can tell is one without an end.
            self.until = self.limit.and_then(|l| Instant::now().checked_add(l));
        }
    }

    fn left(&self) -> Option<Duration> {
        self.until.map(|t| t.saturating_duration_since(Instant::now()))
    }
}

/// How long a call looks again and again before it sleeps, as Ringway's own loops do by default. In a dense stream the next frames come
/// sooner than a sleeper wakes.
const SPIN: Duration = Duration::from_micros(20);

/// Pauses of the processor between two looks.
const BETWEEN_LOOKS: u32 = 32;

/// Looks until something is there, for [`SPIN`] at most; whether it is. A call with less time does not look again.
pub(super) fn spin(timeout: &Timeout, mut look: impl FnMut() -> bool) -> bool {
    if timeout.limit.is_some_and(|limit| limit < SPIN) {
        return false;
    }
    let start = Instant::now();
    while start.elapsed() < SPIN {
        if look() {
            return true;
        }
        // Each look takes words from the cache of the CPU that sends.
        for _ in 0..BETWEEN_LOOKS {
            std::hint::spin_loop();
        }
    }
    false
}

/// What wakes a sleeper, beside the descriptors that it named.
#[derive(Debug, Default)]
pub(super) struct Wakers {
    pub(super) sleep: Sleep,
    /// The descriptors that were asked for a wake-up: they stay as they are until the sleep is over.
    pub(super) used: Vec<Use<Descriptor>>,
}

impl Wakers {
    /// Sleeps on `asked` and the wakers; returns what ppoll(2) does. `mask` is the program's.
    pub(super) fn sleep(&self, asked: &mut Vec<pollfd>, timeout: &Timeout, mask: *const sigset_t) -> c_int {
        let named = asked.len();
        asked.extend(self.sleep.fds.iter().map(|fd| pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }));
        let left = [timeout.left(), self.sleep.limit].into_iter().flatten().min();
        let n = poll_once(asked, left, mask);
        asked.truncate(named);
        n
    }
}

/// `ppoll` of libc.
pub(super) fn poll_once(asked: &mut [pollfd], left: Option<Duration>, mask: *const sigset_t) -> c_int {
    let t = left.map(to_timespec);
    let t = t.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: as many descriptors as there are; all live across the call. The mask is the program's, or null.
    unsafe { real::ppoll(asked.as_mut_ptr(), asked.len() as nfds_t, t, mask) }
}
