//! Why a system gave no number.

use std::{error, fmt};

use ringway_lab::LabError;
use ringway_lab::program::ProgramError;

/// Why a system gave no number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is not there, or not for this user: a gap in the comparison.
    Unavailable(String),
    /// It is there and broke: something to repair.
    Failed(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) | Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl error::Error for Fault {}

impl From<ProgramError> for Fault {
    fn from(e: ProgramError) -> Self {
        match e {
            ProgramError::Unavailable { reason, .. } => Self::Unavailable(reason),
            other => Self::Failed(with_source(&other)),
        }
    }
}

impl From<LabError> for Fault {
    fn from(e: LabError) -> Self {
        match e {
            LabError::NotRoot | LabError::NoTool { .. } => Self::Unavailable(e.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<ringway::Error> for Fault {
    fn from(e: ringway::Error) -> Self {
        match e.kind() {
            ringway::ErrorKind::Unsupported => Self::Unavailable(e.to_string()),
            _ => Self::Failed(e.to_string()),
        }
    }
}

fn with_source(e: &dyn error::Error) -> String {
    e.source().map_or_else(|| e.to_string(), |source| format!("{e}: {source}"))
}
