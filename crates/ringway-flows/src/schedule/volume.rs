//! Starts that keep a bit rate.

use std::sync::Arc;

use super::profile::Profile;
use super::starts::Share;

/// Starts a flow when the bits of all flows fall behind the profile. Its values are thousandths of bits a second.
///
/// A flow counts with the bits that it is expected to have, and with its real bits once it has ended. So wrong
/// expectations disturb the rate only while flows are active.
///
/// ```
/// use std::sync::Arc;
///
/// use ringway_flows::schedule::{profile::{Phase, Profile}, starts::Share, volume::Volume};
///
/// // 1 Gbit/s for 1 ms, which is a million bits.
/// let profile = Profile::new(&[Phase::hold(1_000_000_000_000, 1_000_000)])?;
/// let mut volume = Volume::new(Arc::new(profile), Share::ALL);
/// assert_eq!(volume.due(500_000, 200_000), 3);
/// volume.start(600_000);
/// assert_eq!((volume.due(500_000, 200_000), volume.next_ns(500_000)), (0, Some(600_001)));
/// volume.end(600_000, 450_000);
/// assert_eq!(volume.due(500_000, 200_000), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Volume {
    profile: Arc<Profile>,
    share: Share,
    /// Bits of ended flows, and expected bits of active ones.
    bits: u64,
}

impl Volume {
    /// A worker's share of the bits of a profile.
    pub fn new(profile: Arc<Profile>, share: Share) -> Self {
        Self { profile, share: Share { workers: share.workers.max(1), ..share }, bits: 0 }
    }

    /// How many flows of `expected` bits may start now.
    #[inline]
    pub fn due(&self, now_ns: u64, expected: u64) -> u64 {
        let running = now_ns < self.profile.end_ns();
        if running { self.target(now_ns).saturating_sub(self.bits).div_ceil(expected.max(1)) } else { 0 }
    }

    /// A flow of `expected` bits has started.
    #[inline]
    pub fn start(&mut self, expected: u64) {
        self.bits = self.bits.saturating_add(expected);
    }

    /// A flow of `expected` bits has ended, and had `real` ones.
    #[inline]
    pub fn end(&mut self, expected: u64, real: u64) {
        self.bits = self.bits.saturating_sub(expected).saturating_add(real);
    }

    /// When the next flow may start, if no flow ends before. `None` when none may.
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let (mut low, mut high) = (now_ns, self.profile.end_ns());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.due(middle, 1) > 0 { high = middle } else { low = middle + 1 }
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
            let mut volume = Volume::new(profile.clone(), Share { worker, workers });
            let mut active = std::collections::VecDeque::new();
            let mut now = 0;
            while now < 1000 * MS {
                while active.front().is_some_and(|end| *end <= now) {
                    active.pop_front();
                    volume.end(expected, real);
                    sent += real;
                }
                for _ in 0..volume.due(now, expected) {
                    volume.start(expected);
                    active.push_back(now + 5 * MS);
                }
                now += 100_000;
            }
            sent += active.len() as u64 * real;
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
        assert_eq!((volume.due(MS, 1), volume.next_ns(0)), (0, Some(2 * MS)));
        assert_eq!((volume.due(2 * MS, 1), volume.due(3 * MS, 1), volume.next_ns(3 * MS)), (1, 0, None));
    }
}
