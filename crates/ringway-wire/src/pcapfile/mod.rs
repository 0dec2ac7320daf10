//! Capture files as plain data: read them, write them, and plan when each record is due.
//!
//! This is the part of the `pcap:` port that needs no port. [`Reader`] streams classic pcap and
//! pcapng through a bounded buffer. [`Writer`] makes classic pcap with nanosecond times. [`Pacer`]
//! turns record times into a replay schedule with the clock passed in.
//!
//! Sources: classic pcap after draft-ietf-opsawg-pcap and pcap-savefile(5); pcapng after
//! draft-ietf-opsawg-pcapng. Both formats carry their byte order in their first bytes.
//!
//! # Why not a crate
//!
//! `pcap-file` 2.0.0 loops for ever on a malformed record (its issue 48). It refuses records cut by
//! the snap length, and takes pcapng times as nanoseconds whatever `if_tsresol` says; its 3.0 is a
//! candidate for Rust 1.93. `pcap-parser` 0.17.0 allocates for each packet with options, and
//! reports a bad length as "need more data". It wants skipped blocks whole in memory, and has no
//! obsolete packet block and no binary `if_tsresol`.
//!
//! # Example
//!
//! ```
//! use ringway_wire::pcapfile::{MAX_RECORD, Reader, Writer};
//!
//! let mut file = Vec::new();
//! let mut writer = Writer::new("example", &mut file, MAX_RECORD)?;
//! writer.write(1_700_000_000_000_000_001, 60, &[0; 60])?;
//! writer.finish()?;
//!
//! let mut reader = Reader::from_bytes(file)?;
//! while let Some(record) = reader.next() {
//!     let record = record?;
//!     assert_eq!((record.ts_ns, record.data.len()), (1_700_000_000_000_000_001, 60));
//! }
//! # Ok::<(), ringway_wire::pcapfile::PcapError>(())
//! ```

mod classic;
mod error;
mod ng;
mod pace;
mod reader;
#[cfg(test)]
mod tests;
mod window;
mod writer;

pub use error::PcapError;
pub use pace::{Due, Pacer, Speed};
pub use reader::{Reader, Record};
pub use writer::Writer;

/// Longest record read or written, in bytes: libpcap's `MAXIMUM_SNAPLEN`.
pub const MAX_RECORD: u32 = 262_144;

/// Link type of Ethernet, the one [`Writer`] writes.
///
/// Registry: <https://www.tcpdump.org/linktypes.html>.
pub const LINKTYPE_ETHERNET: u32 = 1;

/// Nanoseconds per second.
const NS_PER_S: u64 = 1_000_000_000;

/// Byte order of a file or of a pcapng section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The 16-bit number at `at`; the caller has checked that `bytes` reaches there.
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let raw = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(raw),
            Self::Big => u16::from_be_bytes(raw),
        }
    }

    /// The 32-bit number at `at`; the caller has checked that `bytes` reaches there.
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let raw = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(raw),
            Self::Big => u32::from_be_bytes(raw),
        }
    }

    /// The 64-bit number at `at`; the caller has checked that `bytes` reaches there.
    fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        match self {
            Self::Little => second << 32 | first,
            Self::Big => first << 32 | second,
        }
    }
}

/// A record found at the start of the window: what it says, and where its bytes are.
///
/// Holds no borrow, so that parsing can go on to the next block when there is none here.
#[derive(Debug)]
struct Found {
    ts_ns: u64,
    orig_len: u32,
    /// First data byte, counted from the start of the window.
    data_at: usize,
    /// Bytes of data.
    data_len: usize,
    /// Bytes of the whole record or block, all present in the window.
    whole: usize,
}
