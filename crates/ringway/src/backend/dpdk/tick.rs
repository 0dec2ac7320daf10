//! Waiting for a device that wakes nobody: most of DPDK's drivers have no interrupts. A sleeper looks again when a timer fires: after an
//! eighth of the time since the ring was found empty for the first time behind its last frame, within bounds. How often it sleeps does not
//! matter: a waiter for several ports is woken by each of them. So a frame waits for an eighth of the time for which the device had been
//! idle, or for the shortest sleep, and never longer than the longest.

use std::os::fd::{AsFd, BorrowedFd};

use crate::error::{Error, Result};
use crate::sys::fd::Timer;
use crate::sys::time;

/// The shortest sleep and the longest, in ns. A frame waits for a sleeper no longer than that, and what the kernel adds.
const SHORTEST_NS: u64 = 50_000;
const LONGEST_NS: u64 = 4_000_000;

/// The timer of a ring.
#[derive(Debug)]
pub(super) struct Tick {
    timer: Timer,
    idle: Idle,
    armed: bool,
}

impl Tick {
    pub(super) fn new(port: &str) -> Result<Self> {
        let timer = Timer::new().map_err(|e| Error::io(port, "timerfd failed", e))?;
        Ok(Self { timer, idle: Idle::default(), armed: false })
    }

    /// A sync has begun: the descriptor is not readable until the next sleep.
    #[inline]
    pub(super) fn disarm(&mut self) {
        if self.armed {
            self.armed = false;
            let _ = self.timer.set(None); // a sleeper would only look once too often
        }
    }

    /// Something came: the next sleep is short again.
    #[inline]
    pub(super) fn restart(&mut self) {
        self.idle = Idle::default();
    }

    /// Wakes a sleeper some time from now.
    pub(super) fn arm(&mut self, port: &str) -> Result<()> {
        let ns = self.idle.sleep_ns(time::monotonic_ns());
        self.timer.set(Some(ns)).map_err(|e| Error::io(port, "timerfd failed", e))?;
        self.armed = true;
        Ok(())
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

/// How long a ring has had nothing to do: since the first time that somebody wanted to sleep. That is soon behind the last frame, and costs
/// rings that are busy no look at a clock.
#[derive(Debug, Default)]
struct Idle {
    since_ns: Option<u64>,
}

impl Idle {
    /// How long a sleep may be that begins now.
    fn sleep_ns(&mut self, now_ns: u64) -> u64 {
        let since = *self.since_ns.get_or_insert(now_ns);
        (now_ns.saturating_sub(since) / 8).clamp(SHORTEST_NS, LONGEST_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_an_eighth_of_the_idle_time() {
        let mut idle = Idle::default();
        let start = 7_000_000_000;
        for (after_us, sleep_us) in
            [(0, 50), (1, 50), (400, 50), (800, 100), (8000, 1000), (32_000, 4000), (9_000_000, 4000)]
        {
            assert_eq!(idle.sleep_ns(start + after_us * 1000), sleep_us * 1000, "{after_us} us");
        }
        assert_eq!(idle.sleep_ns(start - 1), SHORTEST_NS);
    }

    /// Other ports wake the waiter of a ring again and again.
    #[test]
    fn sleeps_that_are_cut_short_make_none_longer() {
        let mut idle = Idle::default();
        for ns in 0..1000 {
            assert_eq!(idle.sleep_ns(ns), SHORTEST_NS);
        }
    }
}
