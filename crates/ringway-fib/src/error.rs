//! What can go wrong with a table.

use std::{error, fmt, io};

/// Why a table could not be made or changed. After an error the table is what it was before.
#[derive(Debug)]
#[non_exhaustive]
pub enum FibError {
    /// Not a prefix of this family.
    Prefix {
        /// What was given.
        text: String,
        /// Bits of an address of the family.
        bits: u8,
    },
    /// Not a prefix: bits of the address behind the length are set.
    HostBits {
        /// What was given.
        text: String,
        /// The prefix with these bits cleared.
        meant: String,
    },
    /// Not a next hop: it is 0, or no number up to 65535.
    NextHop {
        /// What was given.
        text: String,
    },
    /// A part of the lookup memory has no room.
    Full {
        /// Which part.
        part: Part,
        /// How many units it has; all are in use, or readers may still look at them.
        limit: u32,
    },
    /// More was asked for than a table can name.
    Limits {
        /// Of what.
        part: &'static str,
        /// How many there can be.
        max: u32,
    },
    /// As many readers as there can be.
    Readers {
        /// How many that are.
        limit: usize,
    },
    /// Memory given for a table has the wrong size or place.
    Memory {
        /// What is wrong with it.
        what: &'static str,
        /// Bytes needed.
        need: usize,
    },
    /// A line of a file is not what it should be.
    Line {
        /// Its number from 1.
        number: usize,
        /// What is wrong.
        what: String,
    },
    /// The system refused something.
    Os {
        /// What was tried, on what.
        what: String,
        /// The cause.
        source: io::Error,
    },
}

/// A part of the lookup memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Words that hold nodes and buckets.
    Words,
    /// Those words in which buckets of IPv6 can start.
    Buckets,
}

impl fmt::Display for FibError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix { text, bits } => {
                let example = if *bits == 32 { "192.0.2.0/24" } else { "2001:db8::/32" };
                write!(f, "{text}: no prefix of {bits}-bit addresses; write it like {example}")
            }
            Self::HostBits { text, meant } => {
                write!(
                    f,
                    "{text}: no prefix, bits of the address behind its length are set; did you mean {meant}?"
                )
            }
            Self::NextHop { text } => write!(f, "{text}: no next hop; accepted: 1 to 65535"),
            Self::Full { part: Part::Words, limit } => {
                write!(f, "table full: no room in {limit} words; make it with larger Limits::words")
            }
            Self::Full { part: Part::Buckets, limit } => {
                write!(f, "table full: no room for a bucket in the first {limit} words; withdraw prefixes")
            }
            Self::Limits { part, max } => {
                write!(f, "Limits: at most {max} {part} can be named; ask for less")
            }
            Self::Readers { limit } => write!(f, "{limit} readers are registered already; drop some"),
            Self::Memory { what, need } => write!(f, "memory for a table: {what}; {need} bytes are needed"),
            Self::Line { number, what } => write!(f, "line {number}: {what}"),
            Self::Os { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl error::Error for FibError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Os { source, .. } => Some(source),
            _ => None,
        }
    }
}
