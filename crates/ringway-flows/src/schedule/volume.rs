//! Starts that keep a bit rate.

use std::sync::Arc;

use super::profile::Profile;
use super::starts::Share;

/// Starts a flow when the bits of all flows fall behind the profile. Its values are thousandths of bits a second.
///
/// The caller measures the bits that its flows had, and adds what it expects of active ones. So wrong expectations disturb the rate only while flows
/// are active.
///
/// ```
/// use std::sync::Arc;
///
/// use ringway_flows::schedule::{profile::{Phase, Profile}, starts::Share, volume::Volume};
///
/// // 1 Gbit/s for 1 ms, which is a million bits.
/// let profile = Profile::new(&[Phase::hold(1_000_000_000_000, 1_000_000)])?;
/// let volume = Volume::new(Arc::new(profile), Share::ALL);
/// assert_eq!(volume.due(500_000, 0, 200_000), 3);
/// assert_eq!((volume.due(500_000, 600_000, 200_000), volume.next_ns(500_000, 600_000)), (0, Some(600_001)));
/// assert_eq!(volume.due(500_000, 450_000, 200_000), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Volume {
    profile: Arc<Profile>,
    share: Share,
}

impl Volume {
    /// A worker's share of the bits of a profile.
    pub fn new(profile: Arc<Profile>, share: Share) -> Self {
        Self { profile, share: Share { workers: share.workers.max(1), ..share } }
    }

    /// How many flows of `expected` bits may start now, when the worker's flows had so many `bits`, or are expected to have them.
    #[inline]
    pub fn due(&self, now_ns: u64, bits: u64, expected: u64) -> u64 {
        let running = now_ns < self.profile.end_ns();
        if running { self.target(now_ns).saturating_sub(bits).div_ceil(expected.max(1)) } else { 0 }
    }

    /// When the next flow may start, if these stay all bits. `None` when none may.
    pub fn next_ns(&self, now_ns: u64, bits: u64) -> Option<u64> {
        let (mut low, mut high) = (now_ns, self.profile.end_ns());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.due(middle, bits, 1) > 0 { high = middle } else { low = middle + 1 }
        }
        (low < self.profile.end_ns()).then_some(low)
    }

    /// Bits that this worker's flows should have had by now.
    fn target(&self, now_ns: u64) -> u64 {
        let all = self.profile.total_at(now_ns);
        all.saturating_sub(u64::from(self.share.worker)).div_ceil(u64::from(self.share.workers))
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::Phase;
    use super::*;

    const MS: u64 = 1_000_000;

    /// Flows of `real` bits that last 5 ms, started with an expectation of `expected`, for a second of 1 Gbit/s.
    fn run(expected: u64, real: u64, workers: u32) -> u64 {
        let profile = Arc::new(Profile::new(&[Phase::hold(1_000_000_000_000, 1000 * MS)]).unwrap());
        let mut sent = 0;
        for worker in 0..workers {
            let volume = Volume::new(profile.clone(), Share { worker, workers });
            let mut had = 0;
            let mut active = std::collections::VecDeque::new();
            let mut now = 0;
            while now < 1000 * MS {
                while active.front().is_some_and(|end| *end <= now) {
                    active.pop_front();
                    had += real;
                }
                for _ in 0..volume.due(now, had + active.len() as u64 * expected, expected) {
                    active.push_back(now + 5 * MS);
                }
                now += 100_000;
            }
            sent += had + active.len() as u64 * real;
        }
        sent
    }

    #[test]
    fn the_rate_is_met_although_expectations_are_wrong() {
        for (expected, real, workers) in [(100_000, 100_000, 1), (50_000, 100_000, 1), (200_000, 100_000, 3)]
        {
            let sent = run(expected, real, workers);
            assert!(sent.abs_diff(1_000_000_000) < 10_000_000, "{expected} {real} {workers}: {sent}");
        }
    }

    #[test]
    fn nothing_starts_before_or_after() {
        let profile =
            Profile::new(&[Phase::drain(MS), Phase::hold(1_000_000, MS), Phase::drain(MS)]).unwrap();
        let volume = Volume::new(Arc::new(profile), Share::ALL);
        assert_eq!((volume.due(MS, 0, 1), volume.next_ns(0, 0)), (0, Some(2 * MS)));
        let ends = (volume.due(2 * MS, 0, 1), volume.due(3 * MS, 0, 1), volume.next_ns(3 * MS, 0));
        assert_eq!(ends, (1, 0, None));
    }
}
