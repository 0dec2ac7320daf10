//! A moment that can be waited for beside rings, more exactly than the milliseconds of a time-out.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use ringway::{Error, Result, Wakeable, time::monotonic_ns};

/// Wakes at a moment of [`monotonic_ns`].
#[derive(Debug)]
pub(super) struct Alarm {
    timer: TimerFd,
    at_ns: u64,
}

impl Alarm {
    pub(super) fn new() -> Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)
            .map_err(|e| Error::io("alarm", "timerfd_create failed", e.into()))?;
        Ok(Self { timer, at_ns: u64::MAX })
    }

    pub(super) fn set(&mut self, at_ns: u64) {
        self.at_ns = at_ns;
    }
}

impl Wakeable for Alarm {
    fn sync(&mut self) -> Result<u32> {
        Ok(u32::from(monotonic_ns() >= self.at_ns))
    }

    /// Setting the timer also makes it unreadable until it expires.
    fn arm(&mut self) -> Result<bool> {
        // At least 1 ns, for 0 would switch the timer off; at most a century, for the kernel's range is signed.
        let at = Duration::from_nanos(self.at_ns.clamp(1, 1 << 61));
        self.timer
            .set(Expiration::OneShot(TimeSpec::from_duration(at)), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .map_err(|e| Error::io("alarm", "timerfd_settime failed", e.into()))?;
        Ok(self.sync()? > 0)
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway::Waiter;

    #[test]
    fn wakes_at_its_time_each_time() {
        let mut alarm = Alarm::new().unwrap();
        let mut waiter = Waiter::new(Duration::ZERO).unwrap();
        for _ in 0..3 {
            let start = monotonic_ns();
            alarm.set(start + 1_500_000);
            assert!(waiter.wait(&mut [&mut alarm], Duration::from_secs(120)).unwrap());
            assert!((1_500_000..60_000_000_000).contains(&(monotonic_ns() - start)));
        }
        alarm.set(u64::MAX);
        assert!(!waiter.wait(&mut [&mut alarm], Duration::from_millis(2)).unwrap());
    }
}
