//! What arrived, in numbers.

use serde::{Deserialize, Serialize};

/// What arrived of one stream, or of all.
///
/// Always `received = unique + duplicated + stale`. Loss is what the sender counted less `unique`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Frames with a valid tag, each copy counted.
    pub received: u64,
    /// Different frames among them.
    pub unique: u64,
    /// Copies of frames that were there already.
    pub duplicated: u64,
    /// Frames with a number lower than the highest seen (RFC 4737).
    pub reordered: u64,
    /// Frames more than [`WINDOW`](super::WINDOW) behind: late or doubled, not known which.
    pub stale: u64,
    /// Frames whose tag or payload was changed on the way.
    pub corrupted: u64,
    /// Frames of a stream that belongs to another port.
    pub misdirected: u64,
    /// Frames that came after counting had ended.
    pub late: u64,
    /// Frames that had been sent before the trial began.
    #[serde(default)]
    pub stragglers: u64,
    /// Frames of others.
    pub foreign: u64,
    /// Frames that arrived before they were sent, by the clock: a fault of the clock, never of the network.
    pub negative: u64,
}

impl std::ops::AddAssign for Received {
    fn add_assign(&mut self, other: Self) {
        self.received += other.received;
        self.unique += other.unique;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.stale += other.stale;
        self.corrupted += other.corrupted;
        self.misdirected += other.misdirected;
        self.late += other.late;
        self.stragglers += other.stragglers;
        self.foreign += other.foreign;
        self.negative += other.negative;
    }
}

/// Frames of one stream that arrived in order, told at once: `received` of the numbers `first..first + span`.
///
/// `first` is above every number of the stream that arrived before. The entry does not say which numbers are
/// missing, so their order and doubles can't be found out later. So a source enters the last [`WINDOW`](super::WINDOW)
/// frames, at least, of a stretch that has holes one by one, or in pieces without holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Stream.
    pub stream: u16,
    /// Lowest number that may have arrived.
    pub first: u64,
    /// Numbers covered.
    pub span: u64,
    /// Frames that arrived.
    pub received: u64,
    /// When the first and the last arrived, picoseconds.
    pub at_ps: (u64, u64),
    /// Latency of the first and the last, picoseconds; that of the others lies in between, on a line.
    pub latency_ps: (u64, u64),
    /// Longest time between two of them.
    pub gap_ps: u64,
    /// Highest of the missing numbers.
    pub last_missing: Option<u64>,
}

/// The gap between arrivals that was the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Its length, picoseconds.
    pub ps: u64,
    /// When it ended, picoseconds of the trial's clock.
    pub until_ps: u64,
}
