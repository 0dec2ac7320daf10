//! How many pools of pages calls on live frames may leave behind. `bpf/common/pools.h` of crate ringway-bpf says what these are.

use std::fs;
use std::sync::OnceLock;

use ringway_bpf::layout::port::numbers::{POOL_WINDOW_BITS, POOL_WINDOWS};

/// Pools that wait at most. The kernel then spends up to a CPU on going through them, and a quarter of one for half of them.
const MOST: u64 = 8192;

/// Fewer than this do no harm anywhere.
const LEAST: u64 = 64;

/// Bytes of a pool's pages.
const BYTES: u64 = 64 * 4096;

/// The share of the machine's memory that they may have.
const SHARE: u64 = 8;

/// Pools that may be seen waiting in a window, on this machine. A sender that has another way takes it at half as many.
#[must_use]
pub fn most_in_window() -> u32 {
    static HERE: OnceLock<u32> = OnceLock::new();
    *HERE.get_or_init(|| most(&fs::read_to_string("/proc/meminfo").unwrap_or_default()) / POOL_WINDOWS)
}

/// How many may wait, by the text of /proc/meminfo.
fn most(meminfo: &str) -> u32 {
    let kib = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok());
    let bytes = kib.unwrap_or(0_u64).saturating_mul(1024);
    (bytes / SHARE / BYTES).clamp(LEAST, MOST) as u32
}

/// Whether programs that saw `waiting` pools in `window` take no frames at `now_ns`, by monotonic time.
///
/// A coarse clock may be in the window before the program's.
#[must_use]
pub fn abound((window, waiting): (u32, u32), most: u32, now_ns: u64) -> bool {
    let now = (now_ns >> POOL_WINDOW_BITS) as u32;
    waiting >= most && window.wrapping_sub(now) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_bounds_them() {
        let gib = |n: u64| most(&format!("MemFree: 7 kB\nMemTotal:   {} kB\n", n << 20));
        assert_eq!([gib(1), gib(8), gib(64)], [512, 4096, 8192]);
        assert_eq!([most(""), most("MemTotal: kB")], [64, 64]);
        assert!((8..=1024).contains(&most_in_window()));
    }

    #[test]
    fn a_window_ends() {
        let ns = |window: u64| window << POOL_WINDOW_BITS;
        let seen = |waiting, now| abound((7, waiting), 10, now);
        assert!(seen(10, ns(7)) && seen(11, ns(8) - 1), "the window goes on");
        assert!(seen(10, ns(7) - 1), "the clock is behind");
        assert!(!seen(9, ns(7)) && !seen(10, ns(8)) && !seen(10, ns(6) - 1));
        assert!(abound((0, 1), 1, ns(1 << 32)), "windows go around");
    }
}
