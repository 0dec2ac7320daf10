//! Why a program beside a measurement gave no result.

use std::time::Duration;
use std::{error, fmt, io};

/// Why a program beside a measurement gave no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProgramError {
    /// This machine or this build lacks what the program needs: leave the program out and say so.
    Unavailable {
        /// Which program.
        program: String,
        /// What is missing.
        reason: String,
    },
    /// The program could not be set up, or broke off.
    Failed {
        /// Which program.
        program: String,
        /// Its own words.
        message: String,
    },
    /// The program did not answer in time and was killed.
    Timeout {
        /// Which program.
        program: String,
        /// How long its user waited.
        limit: Duration,
    },
    /// The network namespace could not be opened.
    Netns {
        /// Its name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A system call failed in the process that started it.
    Os {
        /// The call.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl ProgramError {
    /// True if the program is to be left out by name rather than reported as broken.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { program, reason } => write!(f, "{program} is not available: {reason}"),
            Self::Failed { program, message } => write!(f, "{program}: {message}"),
            Self::Timeout { program, limit } => write!(f, "{program} did not answer within {limit:?}"),
            Self::Netns { name, .. } => write!(f, "cannot open network namespace {name}"),
            Self::Os { action, .. } => write!(f, "{action} failed"),
        }
    }
}

impl error::Error for ProgramError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Netns { source, .. } | Self::Os { source, .. } => Some(source),
            _ => None,
        }
    }
}
