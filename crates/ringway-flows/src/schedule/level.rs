//! Starts that keep a number of flows active.

use std::sync::Arc;

use super::profile::Profile;
use super::starts::Share;

/// Starts a flow when fewer are active than the profile says. Its values are thousandths of active flows.
///
/// ```
/// use std::sync::Arc;
///
/// use ringway_flows::schedule::{level::Level, profile::{Phase, Profile}, starts::Share};
///
/// // Up to 10 active flows in 1 ms.
/// let profile = Profile::new(&[Phase::ramp(0, 10_000, 1_000_000), Phase::hold(10_000, 1_000_000)])?;
/// let level = Level::new(Arc::new(profile), Share::ALL);
/// assert_eq!((level.due(500_000, 3), level.due(500_000, 6)), (2, 0));
/// assert_eq!(level.next_ns(500_000, 6), Some(700_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Level {
    profile: Arc<Profile>,
    share: Share,
}

impl Level {
    /// A worker's share of the active flows of a profile.
    pub fn new(profile: Arc<Profile>, share: Share) -> Self {
        Self { profile, share: Share { workers: share.workers.max(1), ..share } }
    }

    /// How many flows may start now, when `active` flows of this worker are active.
    #[inline]
    pub fn due(&self, now_ns: u64, active: u64) -> u64 {
        let all = self.profile.milli_at(now_ns) / 1000;
        // The shares of all workers add up.
        let share = all.saturating_sub(u64::from(self.share.worker)).div_ceil(u64::from(self.share.workers));
        share.saturating_sub(active)
    }

    /// When the next flow may start, if no flow ends before. `None` when none may.
    pub fn next_ns(&self, now_ns: u64, active: u64) -> Option<u64> {
        let all = active
            .checked_mul(u64::from(self.share.workers))?
            .checked_add(u64::from(self.share.worker) + 1)?;
        self.profile.reaches(all.checked_mul(1000)?, now_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::profile::Phase;
    use super::*;

    proptest! {
        #[test]
        fn workers_share_the_level_and_wake_in_time(
            phases in proptest::collection::vec((0u64..50_000, 0u64..50_000, 1u64..1000), 1..5),
            workers in 1u32..5, now in 0u64..2000, active in 0u64..20,
        ) {
            let phases: Vec<Phase> = phases.into_iter().map(|(from, to, ns)| Phase::ramp(from, to, ns)).collect();
            let profile = Arc::new(Profile::new(&phases).unwrap());
            let levels: Vec<Level> =
                (0..workers).map(|worker| Level::new(profile.clone(), Share { worker, workers })).collect();
            let all: u64 = levels.iter().map(|level| level.due(now, 0)).sum();
            prop_assert_eq!(all, profile.milli_at(now) / 1000);
            for level in levels {
                let slow = (now..profile.end_ns()).find(|&at| level.due(at, active) > 0);
                prop_assert_eq!(level.next_ns(now, active), slow);
            }
        }
    }
}
