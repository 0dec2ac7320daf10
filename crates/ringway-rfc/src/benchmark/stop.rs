//! Why a benchmark ended early.

use std::fmt;

use ringway::Error;

/// Why a benchmark ended early.
#[derive(Debug)]
pub enum Stop {
    /// The user ended it.
    Interrupted,
    /// A port failed.
    Port(Error),
    /// Trials stayed invalid.
    Unreliable(String),
    /// The journal can't be written.
    Journal(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::Port(e) => e.fmt(f),
            Self::Unreliable(why) | Self::Journal(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Stop {}

impl From<Error> for Stop {
    fn from(e: Error) -> Self {
        Self::Port(e)
    }
}
