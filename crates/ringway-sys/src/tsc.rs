//! The processor's counter of reference time, and work that takes a known number of the core's cycles.

/// The counter; 0 on processors where nobody knows what it counts.
#[must_use]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Multiplications in a turn of [`chain`]. Few enough to stay in the cache of instructions, and many beside the loop's own.
pub const TURN: u32 = 32;

/// Runs `turns` times [`TURN`] multiplications, each of which needs the result of the one before. `None` on processors whose
/// multiplication takes a number of cycles that is not known: on x86-64 it is [`CYCLES`].
///
/// Additions of constants would not do: recent cores fold a chain of them into one.
#[must_use]
pub fn chain(turns: u32) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        let (mut value, factor) = (1u64, 3u64);
        for _ in 0..turns {
            // SAFETY: multiplies registers, and touches no memory.
            unsafe {
                std::arch::asm!(
                    ".rept 32", "imul {value}, {factor}", ".endr",
                    value = inout(reg) value, factor = in(reg) factor, options(nomem, nostack, pure)
                );
            }
        }
        Some(value)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = turns;
        None
    }
}

/// Cycles from a multiplication's operands to its result, on all x86-64 cores since 2008.
pub const CYCLES: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_multiplies_as_often_as_it_says() {
        let expected = (0..5 * TURN).fold(1u64, |n, _| n.wrapping_mul(3));
        assert!(chain(5).is_none_or(|value| value == expected));
    }

    #[test]
    fn ticks_go_on() {
        let first = ticks();
        assert!(ticks() >= first);
    }
}
