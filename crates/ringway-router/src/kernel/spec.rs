//! How a router is made.

use ringway::{Error, ErrorKind, Result};
use ringway_fib::{Fib4, Fib6, Layout, Limits};
use ringway_fwd::router::{BudgetLimits, Rate};

/// Sizes and budgets of a router.
///
/// ```
/// let spec = ringway_router::kernel::Spec::default();
/// assert_eq!((spec.limits4.words, spec.budgets.plain.per_second), (1 << 21, 1_000_000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Size of the IPv4 table: its words are a power of two, at least 16.
    pub limits4: Limits,
    /// Size of the IPv6 table, as for IPv4.
    pub limits6: Limits,
    /// Multipath groups, a power of two up to 65,536; 512 bytes each.
    pub groups: u32,
    /// What may go to the host from each member; rates up to 1,000,000,000 a second.
    pub budgets: BudgetLimits,
}

impl Default for Spec {
    /// Tables of the sizes of [`Limits::default`], 4,096 groups.
    fn default() -> Self {
        Self {
            limits4: Limits::default(),
            limits6: Limits::default(),
            groups: 4096,
            budgets: BudgetLimits::default(),
        }
    }
}

/// Nanoseconds from one packet to the next at a rate, rounded up. Packets are counted against a time at which the next one is due, which all
/// CPUs share; its clock has the steps of the kernel's timer, a few milliseconds.
pub(super) fn step(rate: Rate) -> u32 {
    1_000_000_000_u32.div_ceil(rate.per_second)
}

/// Nanoseconds that a packet may be early.
pub(super) fn early(rate: Rate) -> u64 {
    u64::from(step(rate)) * u64::from(rate.burst - 1)
}

/// The verifier follows no further into a value.
const REACH: usize = 512 << 20;

impl Spec {
    /// # Errors
    /// [`ErrorKind::Invalid`] when a size is not what the programs can do with.
    pub(super) fn check(&self, on: &str) -> Result<()> {
        let bad = |what: String, cure: &str| Err(Error::new(ErrorKind::Invalid, on, what).cure(cure));
        for (layout, family) in [(self.layout4(), "IPv4"), (self.layout6(), "IPv6")] {
            if !layout.words.is_power_of_two() || layout.words < 16 {
                return bad(
                    format!("room for {} words for {family}", layout.words),
                    "take a power of two from 16 on",
                );
            }
            if layout.size > REACH {
                return bad(
                    format!("an {family} table of {} bytes", layout.size),
                    "take less: 512 MiB can be reached",
                );
            }
        }
        if !self.groups.is_power_of_two() || self.groups > 1 << 16 {
            return bad(format!("{} groups", self.groups), "take a power of two up to 65536");
        }
        for Rate { per_second, burst } in [self.budgets.plain, self.budgets.costly] {
            if !(1..=1_000_000_000).contains(&per_second) || burst == 0 {
                let what = format!("a budget of {per_second} packets a second, {burst} at once");
                return bad(what, "take 1 to 1000000000, and bursts of 1 or more");
            }
        }
        Ok(())
    }

    pub(super) fn layout4(&self) -> Layout {
        Fib4::layout(self.limits4)
    }

    pub(super) fn layout6(&self) -> Layout {
        Fib6::layout(self.limits6)
    }

    /// The numbers that it consists of, as they are kept with the router.
    pub(super) fn words(&self) -> [u32; 7] {
        let BudgetLimits { plain, costly } = self.budgets;
        [
            self.limits4.words,
            self.limits6.words,
            self.groups,
            plain.per_second,
            plain.burst,
            costly.per_second,
            costly.burst,
        ]
    }

    pub(super) fn of_words(words: [u32; 7]) -> Self {
        let [words4, words6, groups, plain, burst, costly, costly_burst] = words;
        let rate = |per_second, burst| Rate { per_second, burst };
        Self {
            limits4: Limits { words: words4 },
            limits6: Limits { words: words6 },
            groups,
            budgets: BudgetLimits { plain: rate(plain, burst), costly: rate(costly, costly_burst) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_what_masks_can_bound() {
        let spec = Spec::default();
        spec.check("vale0").unwrap();
        assert_eq!(Spec::of_words(spec.words()), spec);
        for wrong in [
            Spec { limits4: Limits { words: 8 }, ..spec },
            Spec { limits6: Limits { words: 1000 }, ..spec },
            Spec { limits6: Limits { words: 1 << 28 }, ..spec },
            Spec { groups: 5, ..spec },
            Spec {
                budgets: BudgetLimits { plain: Rate { per_second: 0, burst: 1 }, ..spec.budgets },
                ..spec
            },
        ] {
            assert_eq!(wrong.check("vale0").unwrap_err().kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn a_budget_is_a_distance_between_packets() {
        let BudgetLimits { plain, costly } = BudgetLimits::default();
        assert_eq!((step(plain), step(costly)), (1000, 50_000));
        assert_eq!(early(plain), 99_999 * 1000);
    }
}
