//! Why a lab can't be made or used.

use std::{error, fmt, io};

/// Any error, for jobs in a lab that fail for several reasons.
pub type AnyError = Box<dyn error::Error + Send + Sync>;

/// Why a lab can't be made or used.
#[derive(Debug)]
#[non_exhaustive]
pub enum LabError {
    /// Namespaces and links need root.
    NotRoot,
    /// A program is not installed.
    NoTool {
        /// Which one.
        program: &'static str,
    },
    /// A program failed.
    Refused {
        /// The command line.
        command: String,
        /// What it said.
        reason: String,
    },
    /// A system call failed.
    Os {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRoot => f.write_str("network namespaces need root; run it with sudo"),
            Self::NoTool { program } => {
                let package = if *program == "ip" { "iproute2" } else { program };
                write!(f, "no {program} tool; install the package {package}")
            }
            Self::Refused { command, reason } => write!(f, "{command}: {reason}"),
            Self::Os { action, source } => write!(f, "{action}: {source}"),
        }
    }
}

impl error::Error for LabError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Os { source, .. } => Some(source),
            _ => None,
        }
    }
}
