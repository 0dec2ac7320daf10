//! Holes in a polling loop: times in which the tester itself did not run.

use serde::{Deserialize, Serialize};

use super::rate::MICROSECOND;

/// Shorter gaps between two turns of a loop are not noted.
const LEAST_PS: u64 = MICROSECOND;

/// Powers of two of microseconds that a histogram tells apart.
const BUCKETS: usize = 32;

/// Gaps between two turns of a polling loop, by length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// Gaps of at least 2^k microseconds and less than twice that; shorter ones are not counted.
    pub by_power_of_two_us: Vec<u64>,
    /// Longest gap, nanoseconds.
    pub longest_ns: u64,
    /// Gaps in which frames may have been lost.
    pub too_long: u64,
    #[serde(skip)]
    last_ps: Option<u64>,
}

impl Pauses {
    /// Of a loop whose first turn is due at `start_ps`: a late one is a gap too.
    #[must_use]
    pub fn since(start_ps: u64) -> Self {
        Self { last_ps: Some(start_ps), ..Self::default() }
    }

    /// A turn of the loop at `now_ps`, of which `limit_ps` was the longest pause that loses nothing; `None` when nothing could be
    /// lost. Returns whether it was too long.
    pub fn turn(&mut self, now_ps: u64, limit_ps: Option<u64>) -> bool {
        let Some(last) = self.last_ps.replace(now_ps) else { return false };
        let gap = now_ps.saturating_sub(last);
        if gap < LEAST_PS {
            return false;
        }
        let power = ((gap / MICROSECOND).ilog2() as usize).min(BUCKETS - 1);
        if power >= self.by_power_of_two_us.len() {
            self.by_power_of_two_us.resize(power + 1, 0);
        }
        self.by_power_of_two_us[power] += 1;
        self.longest_ns = self.longest_ns.max(gap / 1000);
        let too_long = limit_ps.is_some_and(|limit| gap > limit);
        self.too_long += u64::from(too_long);
        too_long
    }

    /// Adds the pauses of another loop.
    pub fn merge(&mut self, other: &Self) {
        let len = self.by_power_of_two_us.len().max(other.by_power_of_two_us.len());
        self.by_power_of_two_us.resize(len, 0);
        for (sum, n) in self.by_power_of_two_us.iter_mut().zip(&other.by_power_of_two_us) {
            *sum += n;
        }
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.too_long += other.too_long;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_sorted_by_length() {
        let mut pauses = Pauses::default();
        let mut now = 0;
        let turns = [0, 100, 1_000_000, 3_000_000, 5_000_000_000, u64::MAX / 4].map(|gap| {
            now += gap;
            pauses.turn(now, Some(4_000_000_000))
        });
        assert_eq!(turns, [false, false, false, false, true, true]);
        assert_eq!(
            (pauses.by_power_of_two_us[0], pauses.by_power_of_two_us[1], pauses.by_power_of_two_us[12]),
            (1, 1, 1)
        );
        assert_eq!((pauses.by_power_of_two_us.len(), pauses.too_long), (BUCKETS, 2));
        let mut sum = Pauses::default();
        sum.merge(&pauses);
        sum.merge(&pauses);
        assert_eq!((sum.by_power_of_two_us[1], sum.longest_ns, sum.too_long), (2, u64::MAX / 4000, 4));
        assert!(!pauses.turn(u64::MAX, None));
    }

    #[test]
    fn a_loop_that_begins_late_stood_still() {
        let limit = Some(2 * MICROSECOND);
        assert!(Pauses::since(MICROSECOND).turn(4 * MICROSECOND, limit));
        let mut early = Pauses::since(4 * MICROSECOND);
        assert!(!early.turn(MICROSECOND, limit), "before the start nothing can be lost");
        assert!(!early.turn(2 * MICROSECOND, limit));
        assert!(early.turn(5 * MICROSECOND, limit));
    }
}
