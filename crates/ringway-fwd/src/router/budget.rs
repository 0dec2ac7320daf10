//! How much the host gets: a flood must not take the processor from forwarding.

use super::decision::HostReason;

/// A limit: frames a second, and how many at once after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Frames a second, at least 1.
    pub per_second: u32,
    /// Frames at once, at least 1.
    pub burst: u32,
}

/// The limits of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLimits {
    /// For what is the host's plain, or not for routing: `local`, `link_multicast`, `other_station`, `not_ip`.
    pub plain: Rate,
    /// For what the host answers or completes: `options`, `unreachable`, `ttl`, `unresolved`, `too_big`.
    pub costly: Rate,
}

impl Default for BudgetLimits {
    /// 1,000,000 a second and 100,000 at once; 20,000 and 2,000.
    fn default() -> Self {
        Self {
            plain: Rate { per_second: 1_000_000, burst: 100_000 },
            costly: Rate { per_second: 20_000, burst: 2_000 },
        }
    }
}

/// What an interface may still give to the host. Time comes in as an argument and may stand still.
///
/// ```
/// use ringway_fwd::router::{Budget, BudgetLimits, HostReason, Rate};
/// let two = Rate { per_second: 1000, burst: 2 };
/// let mut budget = Budget::new(BudgetLimits { plain: two, ..BudgetLimits::default() });
/// let taken: Vec<bool> = (0..3).map(|_| budget.take(HostReason::Local, 0)).collect();
/// assert_eq!(taken, [true, true, false]);
/// assert!(budget.take(HostReason::Local, 1_000_000));
/// assert!(budget.take(HostReason::NotReady, 0)); // not limited
/// ```
#[derive(Debug, Clone)]
pub struct Budget {
    plain: Bucket,
    costly: Bucket,
}

impl Budget {
    /// A full one.
    pub fn new(limits: BudgetLimits) -> Self {
        Self { plain: Bucket::new(limits.plain), costly: Bucket::new(limits.costly) }
    }

    /// Takes a frame from what is left at a time in nanoseconds; false if there is nothing.
    #[inline]
    pub fn take(&mut self, why: HostReason, now_ns: u64) -> bool {
        use HostReason as H;
        match why {
            H::Local | H::LinkMulticast | H::OtherStation | H::NotIp => self.plain.take(now_ns),
            H::Options | H::Unreachable | H::Ttl | H::Unresolved | H::TooBig => self.costly.take(now_ns),
            H::NotReady | H::NotForwarding | H::KernelRoute => true,
        }
    }
}

/// A token bucket as one time: when it will be full again (the virtual scheduling of ITU-T I.371, Annex A).
#[derive(Debug, Clone)]
struct Bucket {
    full_ns: u64,
    /// Time that a frame takes.
    step_ns: u64,
    /// The bucket is full again this long before its time: a frame finds room.
    slack_ns: u64,
}

impl Bucket {
    fn new(rate: Rate) -> Self {
        let step_ns = 1_000_000_000 / u64::from(rate.per_second.max(1));
        Self { full_ns: 0, step_ns, slack_ns: step_ns * u64::from(rate.burst.max(1) - 1) }
    }

    #[inline]
    fn take(&mut self, now_ns: u64) -> bool {
        let full_ns = self.full_ns.max(now_ns);
        let taken = full_ns - now_ns <= self.slack_ns;
        self.full_ns = if taken { full_ns + self.step_ns } else { full_ns };
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_flood_gets_the_rate_and_one_burst() {
        let mut budget = Budget::new(BudgetLimits::default());
        for (why, rate, burst) in [(HostReason::NotIp, 1_000_000, 100_000), (HostReason::Ttl, 20_000, 2_000)]
        {
            let taken = (0..4_000_000u64).filter(|i| budget.take(why, i * 250)).count();
            assert!((rate + burst - 2..=rate + burst).contains(&taken), "{taken} {}", why.name());
        }
    }

    #[test]
    fn one_class_leaves_the_other_alone() {
        let mut budget = Budget::new(BudgetLimits::default());
        while budget.take(HostReason::Unresolved, 5) {}
        assert!(!budget.take(HostReason::TooBig, 5) && budget.take(HostReason::Local, 5));
        assert!(budget.take(HostReason::KernelRoute, 5));
        assert!(!budget.take(HostReason::Ttl, 0), "time that goes back gives nothing");
    }
}
