//! What the model says of a segment.

use crate::transport::input::Over;

/// Whether an acknowledgement goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Ack {
    #[default]
    No,
    May,
    Must,
}

/// What a segment leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Verdict {
    pub(super) ack: Ack,
    pub(super) reset: Option<u32>,
    pub(super) over: Option<Over>,
}

impl Verdict {
    pub(super) const NOTHING: Self = Self { ack: Ack::No, reset: None, over: None };
    pub(super) const ACK: Self = Self { ack: Ack::Must, ..Self::NOTHING };

    pub(super) fn reset(number: u32) -> Self {
        Self { reset: Some(number), ..Self::NOTHING }
    }

    pub(super) fn over(over: Over) -> Self {
        Self { over: Some(over), ..Self::NOTHING }
    }
}
