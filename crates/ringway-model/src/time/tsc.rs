//! The rate of the TSC, against the kernel's clock.

use std::fs;

use ringway_sys::time::monotonic_ns;
use ringway_sys::tsc::ticks;

/// How long the two clocks are compared.
const WINDOW_NS: u64 = 10_000_000;

/// Windows; the median counts, so that a pause of the thread does not.
const WINDOWS: usize = 3;

/// Ticks of the TSC a second; `None` where it does not run at one speed on all CPUs.
#[must_use]
pub fn tsc_hz() -> Option<f64> {
    if !is_steady() {
        return None;
    }
    let mut rates: Vec<f64> = (0..WINDOWS).map(|_| window()).collect();
    rates.sort_by(f64::total_cmp);
    Some(rates[WINDOWS / 2]).filter(|&hz| hz > 0.0)
}

fn window() -> f64 {
    let (start, start_ns) = pair();
    while monotonic_ns() - start_ns < WINDOW_NS {
        std::hint::spin_loop();
    }
    let (end, end_ns) = pair();
    end.saturating_sub(start) as f64 * 1e9 / (end_ns - start_ns).max(1) as f64
}

/// Both clocks at one instant: of several readings the one that took the least time.
fn pair() -> (u64, u64) {
    let read = || {
        let before = ticks();
        let ns = monotonic_ns();
        let took = ticks().wrapping_sub(before);
        (took, before + took / 2, ns)
    };
    let best = (0..16).map(|_| read()).min().unwrap_or_else(read);
    (best.1, best.2)
}

fn is_steady() -> bool {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cfg!(target_arch = "x86_64") && ["constant_tsc", "nonstop_tsc"].iter().all(|flag| info.contains(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_a_processor() {
        assert!(tsc_hz().is_none_or(|hz| (5e8..1e10).contains(&hz)));
    }
}
