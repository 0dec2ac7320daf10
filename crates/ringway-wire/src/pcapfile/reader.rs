//! Reader of capture files of both formats.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use super::classic::Classic;
use super::ng::Ng;
use super::window::{Source, Window};
use super::{Found, PcapError};

/// Reads the records of a classic pcap or pcapng file, one after the other.
///
/// Use it for files from anywhere. No input makes it panic, spin or hold more than about 1 MiB (2.5
/// MiB for a pcapng file with very many interfaces). A record costs no allocation.
///
/// The reader owns the bytes; a [`Record`] borrows them until the next call. An error ends the reading: the
/// records before it have been delivered, and [`Self::next`] says `None` from then on. [`Self::rewind`] starts
/// over. See [`pcapfile`](super) for an example.
#[derive(Debug)]
pub struct Reader {
    window: Window,
    format: Format,
    ended: bool,
}

/// One record of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Time of capture, in nanoseconds since 1970 (UTC); saturates where the file says more or less.
    ///
    /// A simple packet block of pcapng has no time and gets that of the record before it, or 0.
    pub ts_ns: u64,
    /// Bytes the packet had when captured; may exceed `data.len()`, and a damaged file may claim less.
    pub orig_len: u32,
    /// The captured bytes, at most [`MAX_RECORD`](super::MAX_RECORD).
    pub data: &'a [u8],
}

#[derive(Debug)]
enum Format {
    Classic(Classic),
    Ng(Ng),
}

impl Reader {
    /// Open the file at `path` and read its header.
    ///
    /// # Errors
    ///
    /// `Io`, or what the header is refused for: `NotACapture`, `Modified`, `Version`, `Truncated`, `BadBlock`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PcapError> {
        let name = path.as_ref().display().to_string();
        match File::open(path) {
            Ok(file) => Self::start(name, Source::Seekable(Box::new(file))),
            Err(source) => Err(PcapError::Io { file: name, call: "open", source }),
        }
    }

    /// Read a capture held in memory; errors name it `(memory)`.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, PcapError> {
        Self::start("(memory)".into(), Source::Seekable(Box::new(Cursor::new(bytes.into()))))
    }

    /// Read a capture from a stream, such as standard input; `name` is for errors. It cannot be rewound.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn from_read(name: &str, read: impl Read + Send + 'static) -> Result<Self, PcapError> {
        Self::start(name.into(), Source::Stream(Box::new(read)))
    }

    /// The next record; `None` at the end of the file and after an error.
    ///
    /// # Errors
    ///
    /// `Io`, `Truncated`, `TooLong`, `BadBlock`, `MixedLinktypes`, and `Version` for a later pcapng section.
    #[expect(
        clippy::should_implement_trait,
        reason = "the record borrows the reader, which `Iterator` cannot say"
    )]
    pub fn next(&mut self) -> Option<Result<Record<'_>, PcapError>> {
        if self.ended {
            return None;
        }
        match self.format.next(&mut self.window) {
            Ok(Some(found)) => Some(Ok(deliver(&mut self.window, &found))),
            end => {
                self.ended = true;
                end.err().map(Err)
            }
        }
    }

    /// Link type of all records, such as [`LINKTYPE_ETHERNET`](super::LINKTYPE_ETHERNET).
    pub fn linktype(&self) -> u32 {
        match &self.format {
            Format::Classic(classic) => classic.linktype,
            Format::Ng(ng) => ng.linktype,
        }
    }

    /// Whether times are finer than microseconds. In pcapng each interface says so: the one described last counts.
    pub fn has_nanoseconds(&self) -> bool {
        match &self.format {
            Format::Classic(classic) => classic.has_nanoseconds(),
            Format::Ng(ng) => ng.has_nanoseconds(),
        }
    }

    /// Go back to the first record.
    ///
    /// # Errors
    ///
    /// `NotRewindable` for a stream or pipe, which can still be read on; else as [`Self::open`].
    pub fn rewind(&mut self) -> Result<(), PcapError> {
        self.window.rewind()?;
        self.ended = true;
        self.format = Format::open(&mut self.window)?;
        self.ended = false;
        Ok(())
    }

    fn start(name: String, source: Source) -> Result<Self, PcapError> {
        let mut window = Window::new(name, source);
        let format = Format::open(&mut window)?;
        Ok(Self { window, format, ended: false })
    }
}

impl Format {
    fn open(window: &mut Window) -> Result<Self, PcapError> {
        if let Some(classic) = Classic::open(window)? {
            return Ok(Self::Classic(classic));
        }
        if let Some(ng) = Ng::open(window)? {
            return Ok(Self::Ng(ng));
        }
        let mut magic = [0; 4];
        magic.copy_from_slice(window.need(4)?);
        Err(PcapError::NotACapture { file: window.name(), magic })
    }

    fn next(&mut self, window: &mut Window) -> Result<Option<Found>, PcapError> {
        match self {
            Self::Classic(classic) => classic.next(window),
            Self::Ng(ng) => ng.next(window),
        }
    }
}

/// Consume the record and borrow its bytes.
fn deliver<'w>(window: &'w mut Window, found: &Found) -> Record<'w> {
    let whole = window.take(found.whole);
    let data = &whole[found.data_at..found.data_at + found.data_len];
    Record { ts_ns: found.ts_ns, orig_len: found.orig_len, data }
}
