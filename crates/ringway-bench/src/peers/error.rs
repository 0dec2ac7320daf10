//! Why a peer gave no result.

use std::time::Duration;
use std::{error, fmt, io};

/// Why a peer gave no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum PeerError {
    /// This machine or this build lacks what the peer needs: leave the peer out and say so.
    Unavailable {
        /// Which peer.
        peer: String,
        /// What is missing.
        reason: String,
    },
    /// The peer could not be set up, or broke off.
    Failed {
        /// Which peer.
        peer: String,
        /// Its own words.
        message: String,
    },
    /// The peer did not answer in time and was killed.
    Timeout {
        /// Which peer.
        peer: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The network namespace could not be opened.
    Netns {
        /// Its name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A system call failed on our side.
    Os {
        /// The call.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl PeerError {
    /// True if the peer is to be left out by name rather than reported as broken.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { peer, reason } => write!(f, "{peer} is not available: {reason}"),
            Self::Failed { peer, message } => write!(f, "{peer}: {message}"),
            Self::Timeout { peer, limit } => write!(f, "{peer} did not answer within {limit:?}"),
            Self::Netns { name, .. } => write!(f, "cannot open network namespace {name}"),
            Self::Os { action, .. } => write!(f, "{action} failed"),
        }
    }
}

impl error::Error for PeerError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Netns { source, .. } | Self::Os { source, .. } => Some(source),
            _ => None,
        }
    }
}
