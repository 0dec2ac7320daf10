//! What can go wrong between the kernel's tables and ours.

use std::{error, fmt, io};

use ringway_fib::FibError;

/// Why the kernel's tables could not be read, or not be brought to the data plane. What forwarded before goes on forwarding.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlError {
    /// The system refused something.
    Os {
        /// What was tried.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The kernel's answer is none that we understand.
    Answer {
        /// To which request.
        what: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The tables changed all the time while they were read.
    Restless {
        /// How often they were read.
        tries: u32,
    },
    /// As many next hops as there are numbers.
    NextHops {
        /// How many there can be.
        limit: usize,
        /// How many of them wait for [`release`](super::Resolver::release).
        waiting: usize,
    },
    /// As many groups as there can be.
    Groups {
        /// How many that are.
        limit: usize,
    },
    /// A group has more members than buckets.
    Members {
        /// How many members.
        members: usize,
    },
    /// The table for lookups refused routes.
    Fib(FibError),
}

impl ControlError {
    pub(crate) fn os(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Os { what, source }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Os { what, source } => write!(f, "{what}: {source}"),
            Self::Answer { what, why } => {
                write!(f, "{what}: the kernel's answer {why}; is the kernel older than 5.18?")
            }
            Self::Restless { tries } => {
                write!(
                    f,
                    "the kernel's tables changed during each of {tries} readings; the former tables are kept, try again"
                )
            }
            Self::NextHops { limit, waiting } => write!(
                f,
                "all {limit} next hops are in use, {waiting} of them wait for readers; what was there is kept, use less gateways"
            ),
            Self::Groups { limit } => write!(
                f,
                "all {limit} multipath groups are in use; what was there is kept, raise Limits::groups or use less next hops"
            ),
            Self::Members { members } => write!(
                f,
                "a group of {members} next hops has more members than the {} buckets of a group; use less",
                super::BUCKETS
            ),
            Self::Fib(e) => e.fmt(f),
        }
    }
}

impl error::Error for ControlError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Os { source, .. } => Some(source),
            Self::Fib(e) => Some(e),
            _ => None,
        }
    }
}

impl From<FibError> for ControlError {
    fn from(e: FibError) -> Self {
        Self::Fib(e)
    }
}
