//! What can be wrong with a capture file.

use std::{fmt, io};

/// Error of reading, writing or pacing a capture.
///
/// `file` is the path or name given when the file was opened. `offset` is the first byte of the
/// record or block at fault, counted from the start of the file.
#[derive(Debug)]
#[non_exhaustive]
pub enum PcapError {
    /// The operating system refused a call.
    Io {
        /// File name.
        file: String,
        /// What was tried: `open`, `create`, `read`, `write` or `rewind`.
        call: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The first four bytes belong to no capture format.
    NotACapture {
        /// File name.
        file: String,
        /// The four bytes, in file order.
        magic: [u8; 4],
    },
    /// The "modified" (Kuznetzov) pcap of some old Linux systems, magic 0xa1b2cd34.
    Modified {
        /// File name.
        file: String,
    },
    /// A format version that this reader does not know.
    Version {
        /// File name.
        file: String,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// The file ends inside a header, record or block.
    Truncated {
        /// File name.
        file: String,
        /// Start of the cut record.
        offset: u64,
        /// Bytes the record should have.
        wanted: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A record or packet block is longer than the limit.
    TooLong {
        /// File name.
        file: String,
        /// Start of the record.
        offset: u64,
        /// Length it claims, in bytes.
        len: u32,
        /// Longest length accepted, in bytes.
        limit: u32,
    },
    /// A pcapng block contradicts itself or the blocks before it.
    BadBlock {
        /// File name.
        file: String,
        /// Start of the block.
        offset: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// A pcapng record comes from an interface whose link type is not that of the first interface.
    MixedLinktypes {
        /// File name.
        file: String,
        /// Start of the block.
        offset: u64,
        /// Link type of the first interface.
        first: u32,
        /// Link type of this record.
        found: u32,
    },
    /// The input is a pipe or other stream and cannot be read twice.
    NotRewindable {
        /// File name.
        file: String,
    },
    /// A record time after 7 February 2106, which classic pcap cannot hold.
    TimeRange {
        /// File name.
        file: String,
        /// The time, in nanoseconds since 1970.
        ts_ns: u64,
    },
    /// A replay speed that is not a positive finite number.
    BadSpeed {
        /// The speed asked for.
        factor: f64,
    },
}

impl fmt::Display for PcapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, call, source } => write!(f, "{file}: cannot {call}: {source}"),
            Self::NotACapture { file, magic: [a, b, c, d] } => write!(
                f,
                "{file}: neither pcap nor pcapng (starts with {a:02x} {b:02x} {c:02x} {d:02x}); \
                 if it is compressed, decompress it first"
            ),
            Self::Modified { file } => write!(
                f,
                "{file}: \"modified\" (kuznetzov) pcap is not supported; convert it: tcpdump -r OLD -w NEW"
            ),
            Self::Version { file, major, minor } => write!(
                f,
                "{file}: format version {major}.{minor} is not supported; convert it: tcpdump -r OLD -w NEW"
            ),
            Self::Truncated { file, offset, wanted, found } => write!(
                f,
                "{file}: truncated: the record at byte {offset} needs {wanted} bytes and the file has {found} more"
            ),
            Self::TooLong { file, offset, len, limit } => write!(
                f,
                "{file}: the record at byte {offset} claims {len} bytes, more than the limit of {limit}; \
                 the file is damaged from there on"
            ),
            Self::BadBlock { file, offset, why } => write!(f, "{file}: the block at byte {offset} {why}"),
            Self::MixedLinktypes { file, offset, first, found } => write!(
                f,
                "{file}: the record at byte {offset} has link type {found}, the file began with {first}; \
                 split the file by interface"
            ),
            Self::NotRewindable { file } => {
                write!(f, "{file}: a stream cannot be read twice; copy it to a regular file to loop over it")
            }
            Self::TimeRange { file, ts_ns } => {
                write!(f, "{file}: time {ts_ns} ns is after 2106 and does not fit a pcap record")
            }
            Self::BadSpeed { factor } => {
                write!(f, "replay speed {factor} is not a positive number; 1.0 keeps the capture times")
            }
        }
    }
}

impl std::error::Error for PcapError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
