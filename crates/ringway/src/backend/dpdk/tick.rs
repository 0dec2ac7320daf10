//! Waiting for a device that wakes nobody: most of DPDK's drivers have no interrupts. A sleeper looks again when a timer fires. Each
//! sleep that finds nothing makes the next one longer by an eighth. So a frame waits for an eighth of the time for which the device had
//! been idle, and for a bound at most.

use std::os::fd::{AsFd, BorrowedFd};

use crate::error::{Error, Result};
use crate::sys::fd::Timer;

/// The first sleep, and the longest, in ns. A frame waits for a sleeper no longer than that, and what the kernel adds.
const FIRST_NS: u64 = 50_000;
const LONGEST_NS: u64 = 4_000_000;

/// The timer of a ring.
#[derive(Debug)]
pub(super) struct Tick {
    timer: Timer,
    next_ns: u64,
    armed: bool,
}

impl Tick {
    pub(super) fn new(port: &str) -> Result<Self> {
        let timer = Timer::new().map_err(|e| Error::io(port, "timerfd failed", e))?;
        Ok(Self { timer, next_ns: FIRST_NS, armed: false })
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
        self.next_ns = FIRST_NS;
    }

    /// Wakes a sleeper some time from now.
    pub(super) fn arm(&mut self, port: &str) -> Result<()> {
        self.timer.set(Some(self.next_ns)).map_err(|e| Error::io(port, "timerfd failed", e))?;
        self.next_ns = (self.next_ns + self.next_ns / 8).min(LONGEST_NS);
        self.armed = true;
        Ok(())
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
