//! What a worker hands over when its run has ended, and the sum of several.

use std::collections::BTreeMap;

use crate::shard::{Shard, Tally};

use super::meter::Meter;

/// What a worker counted.
#[derive(Debug)]
pub struct Counted {
    /// What its shard counted.
    pub tally: Tally,
    /// Frames that were refused, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// The steady state, and how many flows ran.
    pub meter: Meter,
    /// Starts that were late because there was no room or no port.
    pub postponed: u64,
    /// Starts that were due and not made.
    pub missed: u64,
    /// Frames that it passed on to their owners, which took them.
    pub passed: u64,
    /// Frames whose owner had no room for them, or ended before it took them.
    pub lost: u64,
}

impl Counted {
    /// Of a worker that gets all its frames itself.
    pub fn new(shard: &Shard, meter: Meter, postponed: u64, missed: u64) -> Self {
        let (tally, refused) = (shard.tally().clone(), shard.refusals().collect());
        Self { tally, refused, meter, postponed, missed, passed: 0, lost: 0 }
    }

    /// Adds another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        for (why, count) in &other.refused {
            *self.refused.entry(why).or_default() += count;
        }
        self.meter.merge(&other.meter);
        self.postponed += other.postponed;
        self.missed += other.missed;
        self.passed += other.passed;
        self.lost += other.lost;
    }
}
