//! The highest number that passes, by halving: for counts of addresses and rates of learning.

/// A search for the highest of `1..=limit` that passes, down to a step. It tries the limit first.
///
/// ```
/// use ringway_rfc::rfc2889::bisect::Bisect;
/// let mut search = Bisect::new(100_000, 1);
/// while let Some(n) = search.next() {
///     search.learn(n, n <= 8191);
/// }
/// assert_eq!((search.passed(), search.failed()), (Some(8191), Some(8192)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bisect {
    limit: u64,
    step: u64,
    passed: Option<u64>,
    failed: Option<u64>,
}

impl Bisect {
    /// At its start.
    #[must_use]
    pub fn new(limit: u64, step: u64) -> Self {
        Self { limit: limit.max(1), step: step.max(1), passed: None, failed: None }
    }

    /// What to try next; `None` when it is over.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        let low = self.passed.unwrap_or(0);
        match self.failed {
            None if low >= self.limit => None,
            None => Some(self.limit),
            Some(high) if high - low <= self.step => None,
            Some(high) => Some(low + (high - low) / 2),
        }
    }

    /// Takes note of a trial.
    pub fn learn(&mut self, n: u64, passed: bool) {
        if passed {
            self.passed = self.passed.max(Some(n));
        } else {
            self.failed = Some(self.failed.map_or(n, |failed| failed.min(n)));
        }
    }

    /// The highest that passed.
    #[must_use]
    pub fn passed(&self) -> Option<u64> {
        self.passed
    }

    /// The lowest that failed.
    #[must_use]
    pub fn failed(&self) -> Option<u64> {
        self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_that_passes_is_found(truth in 0u64..1 << 24, limit in 1u64..1 << 24, step in 1u64..100) {
            let mut search = Bisect::new(limit, step);
            let mut trials = 0;
            while let Some(n) = search.next() {
                prop_assert!((1..=limit).contains(&n) && trials < 30);
                search.learn(n, n <= truth);
                trials += 1;
            }
            let found = search.passed().unwrap_or(0);
            prop_assert!(found <= truth && truth.min(limit) - found < step, "{found}");
            prop_assert_eq!(search.failed().is_none(), limit <= truth);
        }
    }
}
