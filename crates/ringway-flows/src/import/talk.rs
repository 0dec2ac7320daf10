//! What a conversation does, step by step.

use std::net::IpAddr;

use crate::code::{End, Transport};

/// Most messages of a conversation.
pub(super) const MAX_STEPS: usize = 5_000;

/// One step of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// An end sends these bytes.
    Bytes(End, Vec<u8>),
    /// An end sends so many bytes, which are not known or too many.
    Length(End, u64),
    /// An end closes, and the other one too.
    Close(End),
    /// An end closes, and goes on receiving.
    HalfClose(End),
    /// An end resets.
    Reset(End),
}

impl Step {
    /// The end that takes the step.
    pub(super) const fn end(&self) -> End {
        match self {
            Self::Bytes(end, _)
            | Self::Length(end, _)
            | Self::Close(end)
            | Self::HalfClose(end)
            | Self::Reset(end) => *end,
        }
    }

    /// How many bytes it sends. `None`: it is no message.
    pub(super) const fn len(&self) -> Option<u64> {
        match self {
            Self::Bytes(_, bytes) => Some(bytes.len() as u64),
            Self::Length(_, len) => Some(*len),
            _ => None,
        }
    }
}

/// A conversation.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    pub(super) transport: Transport,
    /// The port of the server.
    pub(super) port: u16,
    /// The number of its first packet, from 1.
    pub(super) first: u64,
    /// When it begins, in ns.
    pub(super) begin: u64,
    /// The hosts.
    pub(super) client: IpAddr,
    pub(super) server: IpAddr,
    pub(super) steps: Vec<Step>,
    /// In front of each step: how long its end waits, in ns.
    pub(super) thinks: Vec<u64>,
}

impl Talk {
    /// The steps with messages of more than `most` bytes as random ones.
    pub(super) fn steps_up_to(&self, most: u64) -> Vec<Step> {
        let shorten = |step: &Step| match step {
            Step::Bytes(end, bytes) if bytes.len() as u64 > most => Step::Length(*end, bytes.len() as u64),
            other => other.clone(),
        };
        self.steps.iter().map(shorten).collect()
    }
}
