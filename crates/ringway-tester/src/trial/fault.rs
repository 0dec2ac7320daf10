//! Why a trial says nothing about the device.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a trial says nothing about the device: the tester itself misbehaved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TesterFault {
    /// Frames of the schedule never left.
    Short {
        /// So many.
        frames: u64,
        /// So many may.
        allowed: u64,
    },
    /// The receiving thread did not run for longer than its ring lasts.
    Stalled {
        /// How often.
        times: u64,
        /// Longest pause of the trial, nanoseconds.
        longest_ns: u64,
        /// Longest that loses nothing, nanoseconds.
        allowed_ns: u64,
    },
    /// Frames lay in the receiver's ring when counting had ended: for all that is known they came in time.
    Late {
        /// So many.
        frames: u64,
    },
    /// The receiving port lost frames that had reached it.
    Overrun {
        /// So many.
        frames: u64,
    },
    /// More different frames arrived than were sent: the tester's own account is wrong.
    Excess {
        /// So many.
        frames: u64,
    },
    /// The link of a port went down.
    LinkDown {
        /// The port.
        port: String,
    },
    /// The user ended it.
    Interrupted,
}

impl TesterFault {
    /// Whether fewer frames left than asked for.
    #[must_use]
    pub fn is_short(&self) -> bool {
        matches!(self, Self::Short { .. })
    }

    /// What lets the next run have a result, where the text does not say it.
    #[must_use]
    pub fn cure(&self) -> Option<&'static str> {
        match self {
            Self::Short { .. } => Some(
                "lower the load (`--pps 500k` or `--link 1G`), give its thread a CPU of its own (`--cpus`) or raise `--catch-up`",
            ),
            Self::Stalled { .. } | Self::Overrun { .. } => Some(
                "take longer rings (`--slots 65536`), give its thread a CPU of its own (`--cpus`) or lower the load (`--pps`)",
            ),
            Self::LinkDown { .. } => Some("set it up with `ip link set IF up`, and look at its other end"),
            Self::Late { .. } | Self::Excess { .. } | Self::Interrupted => None,
        }
    }
}

impl fmt::Display for TesterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { frames, allowed } => {
                write!(f, "the sender left out {frames} frames of the schedule; {allowed} may be missing")
            }
            Self::Stalled { times, longest_ns, allowed_ns } => write!(
                f,
                "the receiver stood still {times} times, up to {longest_ns} ns; its ring lasts {allowed_ns} ns"
            ),
            Self::Late { frames } => write!(
                f,
                "{frames} frames were found when counting had ended: the receiver was late, or the device is; raise --wait"
            ),
            Self::Overrun { frames } => write!(f, "the receiving port itself lost {frames} frames"),
            Self::Excess { frames } => write!(f, "{frames} more frames were counted than sent"),
            Self::LinkDown { port } => write!(f, "the link of {port} is down"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
