//! The time stamp counter as a clock: a third of the cost of a system call that is none.
//!
//! The only unsafe code of the benchmark: two instructions.
#![allow(unsafe_code, reason = "reads the counter of the processor")]

use std::fs;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::trial::port::Clock;

/// How long the counter is compared with the kernel's clock at the start.
const CALIBRATION_NS: u64 = 100_000_000;

/// Bits behind the point of picoseconds per tick.
const FRACTION: u32 = 32;

/// A clock that all threads share.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    /// Count at the start, and picoseconds per tick; `None` where the counter is no clock.
    counter: Option<(u64, u64)>,
    start_ns: u64,
}

impl RealClock {
    /// The counter where it runs at one speed on all CPUs, else the kernel's raw clock. Takes a tenth of a second.
    #[must_use]
    pub fn new() -> Self {
        let (start, start_ns) = pair();
        let steady = invariant();
        while steady && raw_ns() - start_ns < CALIBRATION_NS {
            std::hint::spin_loop();
        }
        let (end, end_ns) = pair();
        let ticks = end.saturating_sub(start);
        if !steady || ticks == 0 {
            return Self { counter: None, start_ns };
        }
        let ps = u128::from(end_ns - start_ns) * 1000;
        Self { counter: Some((start, ((ps << FRACTION) / u128::from(ticks)) as u64)), start_ns }
    }

    /// How much faster than the kernel's raw clock it goes, in millionths, measured for `length`.
    #[must_use]
    pub fn deviation_ppm(&self, length: Duration) -> f64 {
        let ((start, start_ns), end) = (pair(), Instant::now() + length);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        let (end, end_ns) = pair();
        let Some((_, scale)) = self.counter.filter(|_| end_ns > start_ns) else { return 0.0 };
        let ps = (u128::from(end.wrapping_sub(start)) * u128::from(scale)) >> FRACTION;
        (ps as f64 / ((end_ns - start_ns) as f64 * 1e3) - 1.0) * 1e6
    }

    /// What it is.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.counter.is_some() { "tsc" } else { "monotonic_raw" }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    fn now_ps(&self) -> u64 {
        match self.counter {
            Some((start, scale)) => {
                ((u128::from(ticks().wrapping_sub(start)) * u128::from(scale)) >> FRACTION) as u64
            }
            None => raw_ns().saturating_sub(self.start_ns) * 1000,
        }
    }
}

/// The counter and the clock at one instant: of several readings the one that took the least time.
fn pair() -> (u64, u64) {
    let read = || {
        let before = ticks();
        let ns = raw_ns();
        let after = ticks();
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), ns)
    };
    let best = (0..32).map(|_| read()).min().unwrap_or_else(read);
    (best.1, best.2)
}

fn raw_ns() -> u64 {
    // The clock exists since Linux 2.6.28.
    clock_gettime(ClockId::CLOCK_MONOTONIC_RAW)
        .map_or(0, |t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
}

/// Whether the counter runs at one speed, also while CPUs sleep.
fn invariant() -> bool {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cfg!(target_arch = "x86_64") && ["constant_tsc", "nonstop_tsc"].iter().all(|flag| info.contains(flag))
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: both instructions exist on every x86-64 processor and touch no memory. The fence keeps the reading behind the
    // loads before it: a frame is stamped after it was seen.
    unsafe {
        _mm_lfence();
        _rdtsc()
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_at_the_right_speed() {
        let clock = RealClock::new();
        let (start, raw) = (clock.now_ps(), raw_ns());
        let mut last = start;
        while raw_ns() - raw < 20_000_000 {
            let now = clock.now_ps();
            assert!(now >= last);
            last = now;
        }
        let (passed, expected) = (clock.now_ps() - start, (raw_ns() - raw) * 1000);
        assert!(clock.deviation_ppm(Duration::from_millis(5)).abs() < 10_000.0);
        // The two clocks are read one after the other: only a wrong speed is more than a pause apart.
        assert!(passed <= expected + expected / 100 + 1_000_000, "{passed} {expected}");
        assert!(["tsc", "monotonic_raw"].contains(&clock.name()));
    }
}
