//! One trial: what is asked for, what was counted, and what it is worth.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fault::TesterFault;
use super::ledger::{Gap, Received};
use super::pauses::Pauses;
use super::rate::loss_ppm;
use crate::trial::polled::Work;
use ringway_traffic::latency::LatencySummary;

/// Frames sent instead of test frames, which are no loss when they do not come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    /// Sent: broadcasts, or queries.
    pub sent: u64,
    /// Received: broadcasts, or answers.
    pub received: u64,
}

impl std::ops::AddAssign for Extra {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// What one stream of a trial counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamCounts {
    /// Number of the stream; one for each direction.
    pub stream: u16,
    /// Frames sent.
    pub tx: u64,
    /// Frames that never came.
    pub lost: u64,
    /// What came.
    pub received: Received,
    /// Latency of its frames.
    pub latency: LatencySummary,
}

/// What a trial found. Rates are frames a second over all streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// Rate asked for.
    pub intended_fps: f64,
    /// Rate at which frames left, measured.
    pub offered_fps: f64,
    /// Rate at which they were forwarded: different frames received over the time of sending.
    pub forwarded_fps: f64,
    /// Test frames that were to be sent.
    pub scheduled: u64,
    /// Test frames sent.
    pub tx: u64,
    /// Different frames received.
    pub rx: u64,
    /// Frames that never came.
    pub lost: u64,
    /// Everything received.
    pub received: Received,
    /// Length of the schedule, picoseconds.
    pub length_ps: u64,
    /// Why it says nothing about the device; empty when it does.
    pub faults: Vec<TesterFault>,
    /// Latencies, first bit to first bit.
    pub latency: LatencySummary,
    /// Latencies that shares of all frames do not exceed: share, nanoseconds.
    pub curve: Vec<(f64, u64)>,
    /// Mean change of latency from one frame of a stream to the next, nanoseconds.
    pub jitter_ns: f64,
    /// When the last frame that never came was sent, picoseconds after the start.
    pub last_lost_ps: Option<u64>,
    /// Longest time without an arrival.
    pub gap: Gap,
    /// Most frames that left in one turn.
    pub largest_burst: u64,
    /// How late frames left; nothing when they left on schedule by construction.
    pub lateness: LatencySummary,
    /// Pauses of the sending loops.
    pub tx_pauses: Pauses,
    /// Pauses of the receiving loops.
    pub rx_pauses: Pauses,
    /// Each stream.
    pub streams: Vec<StreamCounts>,
    /// Frames sent instead of test frames, if the variant has any: rates count them, losses do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
    /// What a device of this process did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Work>,
}

/// What a trial is worth for a loss goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The loss is within the goal.
    Pass,
    /// It is not.
    Fail,
    /// The tester misbehaved: not known.
    Invalid,
}

impl Verdict {
    /// Of a trial in which the tester did as it should, or not, and the loss was within the goal, or not.
    #[must_use]
    pub fn of(sound: bool, within: bool) -> Self {
        match (sound, within) {
            (false, _) => Self::Invalid,
            (true, true) => Self::Pass,
            (true, false) => Self::Fail,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Invalid => "invalid",
        })
    }
}

impl TrialResult {
    /// The verdict for a goal of `goal_ppm` millionths of loss.
    #[must_use]
    pub fn verdict(&self, goal_ppm: u64) -> Verdict {
        Verdict::of(self.faults.is_empty(), self.loss_ppm() <= goal_ppm)
    }

    /// Loss in millionths of the frames sent, rounded up.
    #[must_use]
    pub fn loss_ppm(&self) -> u64 {
        loss_ppm(self.tx, self.lost)
    }

    /// Whether the only fault is that fewer frames left than asked for: the tester is at its limit.
    #[must_use]
    pub fn only_short(&self) -> bool {
        !self.faults.is_empty() && self.faults.iter().all(TesterFault::is_short)
    }

    /// Whether fewer frames left than asked for, whatever else went wrong.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.faults.iter().any(TesterFault::is_short)
    }

    /// Whether the user ended it.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.faults.contains(&TesterFault::Interrupted)
    }
}
