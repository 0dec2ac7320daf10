//! Postponed starts of loads that have no list of start times.

/// Counts starts that were due and that the caller could not make, each of them once.
///
/// [`Level`](super::level::Level) and [`Volume`](super::volume::Volume) say only how many starts are due. Starts that
/// the caller leaves are due the next time too. [`Starts`](super::starts::Starts) counts its own.
///
/// ```
/// use ringway_flows::schedule::late::Late;
///
/// let mut late = Late::default();
/// late.left(100, 3);
/// late.start();
/// late.left(200, 4);
/// assert_eq!((late.postponed(), late.since(300)), (5, 100));
/// late.at_most(0);
/// assert_eq!((late.postponed(), late.since(400)), (5, 400));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Late {
    /// Starts that are counted and still due.
    waiting: u64,
    /// Since when some have been.
    since: u64,
    postponed: u64,
}

impl Late {
    /// A start was made.
    #[inline]
    pub fn start(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// How many are still due at `now` after a round of starts: 0 in most cases.
    #[inline]
    pub fn left(&mut self, now: u64, due: u64) {
        if self.waiting == 0 {
            self.since = now;
        }
        self.postponed += due.saturating_sub(self.waiting);
        self.waiting = due;
    }

    /// No more than these are due: what was left is due no longer, as the level fell.
    #[inline]
    pub fn at_most(&mut self, due: u64) {
        self.waiting = self.waiting.min(due);
    }

    /// When the next start was to be made: `now`, or the time since which starts have been left.
    pub fn since(&self, now: u64) -> u64 {
        if self.waiting == 0 { now } else { self.since }
    }

    /// Starts that were left at least once.
    pub fn postponed(&self) -> u64 {
        self.postponed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_start_counts_once(rounds in proptest::collection::vec((0u64..10, 0u64..10, 0usize..20), 0..50)) {
            let mut late = Late::default();
            // The slow model: for each start that is due, whether it was left before.
            let mut due: std::collections::VecDeque<bool> = std::collections::VecDeque::new();
            let mut postponed = 0;
            let mut since = None;
            for (now, (new, room, most)) in (0..).zip(rounds) {
                // Starts that were left first are due the longest.
                due.truncate(most);
                late.at_most(due.len() as u64);
                since = since.filter(|_| due.contains(&true));
                due.extend((0..new).map(|_| false));
                for _ in 0..room.min(due.len() as u64) {
                    due.pop_front();
                    late.start();
                }
                since = since.filter(|_| due.contains(&true));
                for left in due.iter_mut().filter(|left| !**left) {
                    *left = true;
                    postponed += 1;
                }
                late.left(now, due.len() as u64);
                since = if due.is_empty() { None } else { since.or(Some(now)) };
                prop_assert_eq!(late.since(now + 1), since.unwrap_or(now + 1));
                prop_assert_eq!(late.postponed(), postponed);
            }
        }
    }
}
