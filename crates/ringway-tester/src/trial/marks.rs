//! Frames of a schedule whose place others take: they are sent, and neither lost nor received.

use std::sync::Arc;

/// Numbers of frames that are no test frames.
///
/// ```
/// use ringway_tester::trial::marks::Marks;
/// let marks = Marks::every(100);
/// assert!(marks.contains(99) && !marks.contains(100));
/// assert_eq!((marks.below(99), marks.below(100), marks.next(100)), (0, 1, 199));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(Kind);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    None,
    /// The last of each so many.
    Every(u64),
    /// These, in order.
    At(Arc<[u64]>),
}

impl Marks {
    /// The last one of every `n` frames; none when `n` is 0.
    #[must_use]
    pub fn every(n: u64) -> Self {
        Self(if n == 0 { Kind::None } else { Kind::Every(n) })
    }

    /// These numbers, which do not fall.
    #[must_use]
    pub fn at(numbers: impl Iterator<Item = u64>) -> Self {
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.dedup();
        Self(if numbers.is_empty() { Kind::None } else { Kind::At(numbers.into()) })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == Kind::None
    }

    /// Whether frame `n` is one.
    #[must_use]
    pub fn contains(&self, n: u64) -> bool {
        self.next(n) == n && !self.is_empty()
    }

    /// How many have a lower number than `n`.
    #[must_use]
    pub fn below(&self, n: u64) -> u64 {
        match &self.0 {
            Kind::None => 0,
            Kind::Every(every) => n / every,
            Kind::At(numbers) => numbers.partition_point(|&at| at < n) as u64,
        }
    }

    /// The lowest number from `n` on; the highest number there is when no other follows.
    #[must_use]
    pub fn next(&self, n: u64) -> u64 {
        match &self.0 {
            Kind::None => u64::MAX,
            Kind::Every(every) => (n / every * every).saturating_add(every - 1),
            Kind::At(numbers) => {
                numbers.get(numbers.partition_point(|&at| at < n)).copied().unwrap_or(u64::MAX)
            }
        }
    }

    /// The highest number below `n` that is none; nothing when all are.
    #[must_use]
    pub fn last_other(&self, n: u64) -> Option<u64> {
        (0..n).rev().find(|&n| !self.contains(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// All that is asked follows from the set of numbers.
        #[test]
        fn answers_are_those_of_a_set(every in 0u64..7, at in proptest::collection::btree_set(0u64..40, 0..9)) {
            for marks in [Marks::every(every), Marks::at(at.iter().copied())] {
                let set: Vec<u64> = (0..100).filter(|&n| marks.contains(n)).collect();
                match &marks.0 {
                    Kind::At(_) => prop_assert!(set.iter().eq(&at)),
                    Kind::Every(n) => prop_assert!(set.iter().all(|m| m % n == n - 1)),
                    Kind::None => prop_assert!(set.is_empty()),
                }
                for n in 0..40 {
                    prop_assert_eq!(marks.below(n), set.iter().filter(|&&m| m < n).count() as u64);
                    prop_assert_eq!(marks.last_other(n), (0..n).rev().find(|k| !set.contains(k)));
                    if let Some(&next) = set.iter().find(|&&m| m >= n) {
                        prop_assert_eq!(marks.next(n), next);
                    }
                }
            }
        }
    }
}
