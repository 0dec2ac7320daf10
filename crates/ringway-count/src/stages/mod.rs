//! What the stages of a loop's work cost, counted while somebody watches.
//!
//! | file | what |
//! | --- | --- |
//! | `borders` | where stages end: a loop that nobody watches has none |
//! | `meter` | the file of a loop, for its owner |
//! | `watched` | the files of all loops, for who watches |
//!
//! The owner asks once a round whether somebody watches, by one load. The answer chooses between two copies of the loop's body, one
//! for each kind of [`Borders`], and few rounds of a watched loop have borders. A watcher asks for some seconds at a time. So a watcher that was killed leaves nothing switched on.

mod borders;
mod layout;
mod meter;
mod watched;

pub use borders::{Borders, Timed, Unwatched};
pub use meter::Meter;
pub use watched::{MeteredLoop, metered_loops};

/// One batch in so many is timed. A prime number, so that batches which go around a ring meet all of its parts.
pub const TIMED_ONE_IN: u32 = 17;

/// The most stages that a loop has.
pub const MAX_STAGES: usize = 8;

/// What stages cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageCounts {
    /// Batches that had packets and were timed. Loops time one in [`TIMED_ONE_IN`].
    pub batches: u64,
    /// Packets in them.
    pub packets: u64,
    /// Time of each stage, in the unit of its counter.
    pub time: [u64; MAX_STAGES],
}

impl StageCounts {
    /// What came since an earlier reading. A counter that went back began again.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            batches: self.batches.saturating_sub(earlier.batches),
            packets: self.packets.saturating_sub(earlier.packets),
            time: std::array::from_fn(|i| self.time[i].saturating_sub(earlier.time[i])),
        }
    }

    /// Adds the counts of another loop or port. Counters of another process may be any numbers, so it wraps.
    pub fn add(&mut self, other: &Self) {
        self.batches = self.batches.wrapping_add(other.batches);
        self.packets = self.packets.wrapping_add(other.packets);
        self.time.iter_mut().zip(other.time).for_each(|(sum, n)| *sum = sum.wrapping_add(n));
    }
}
