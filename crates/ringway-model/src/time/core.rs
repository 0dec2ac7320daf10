//! Cycles of the core for each tick of the TSC, without a hardware counter: by work that takes a known number of cycles.

use ringway_sys::tsc::{CYCLES, TURN, chain, ticks};

/// Turns of the chain in a run: some 30 microseconds, so that few runs meet an interrupt.
const TURNS: u32 = 500;

/// Runs; the median counts.
const RUNS: usize = 401;

/// The ratio, as median of many runs; `None` on processors whose multiplication is not known.
///
/// A chain of dependent multiplications takes 3 cycles for each on x86-64. The result holds for this core at this moment: its frequency
/// follows load and heat.
#[must_use]
pub fn core_ratio() -> Option<f64> {
    chain(TURNS * 20)?; // the core gets up to speed
    let mut runs: Vec<u64> = (0..RUNS).map(|_| run()).collect();
    runs.sort_unstable();
    let (cycles, ticks) = (f64::from(TURNS * TURN * CYCLES), runs[RUNS / 2]);
    (ticks > 0).then(|| cycles / ticks as f64)
}

fn run() -> u64 {
    let start = ticks();
    std::hint::black_box(chain(TURNS));
    ticks().wrapping_sub(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_core_is_many_times_faster_than_its_counter() {
        assert!(core_ratio().is_none_or(|ratio| ratio > 0.0 && ratio < 5.0));
    }
}
