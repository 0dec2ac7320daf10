//! Where captured frames go.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use ringway_wire::pcapfile::{PcapError, Writer};
use ringway_wire::{TimeOfDay, parse};

use crate::errors::files;
use crate::failure::Failure;

/// Lines for people, or a capture file.
pub(super) enum Out {
    Lines { to: BufWriter<Box<dyn Write>>, digits: usize },
    Stream(Writer<io::Stdout>),
    File(Writer<File>),
}

impl Out {
    /// Lines on standard output; on standard error when that is for `json`.
    pub(super) fn lines(json: bool, nanoseconds: bool) -> Self {
        let to: Box<dyn Write> = if json { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
        Self::Lines { to: BufWriter::new(to), digits: if nanoseconds { 9 } else { 6 } }
    }

    pub(super) fn to_stdout(snaplen: u32) -> Result<Self, Failure> {
        Ok(Self::Stream(Writer::new("standard output", io::stdout(), snaplen)?))
    }

    pub(super) fn create(file: &Path, snaplen: u32) -> Result<Self, Failure> {
        Ok(Self::File(Writer::create(file, snaplen)?))
    }

    /// A frame of `len` bytes, of which `bytes` are known.
    pub(super) fn put(&mut self, ts_ns: u64, len: u32, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Lines { to, digits } => {
                writeln!(to, "{:.*} {}, length {len}", *digits, TimeOfDay(ts_ns), parse(bytes))?;
            }
            Self::Stream(out) => out.write(ts_ns, len, bytes)?,
            Self::File(out) => out.write(ts_ns, len, bytes)?,
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::Lines { to, .. } => to.flush()?,
            Self::Stream(out) => out.flush()?,
            Self::File(out) => out.flush()?,
        }
        Ok(())
    }
}

impl From<PcapError> for Failure {
    fn from(e: PcapError) -> Self {
        match e {
            PcapError::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe => Self::OutputClosed,
            PcapError::Io { call: "write", .. } => {
                Self::Other(files::UNWRITABLE, format!("{e}; make room, or write elsewhere with -w"))
            }
            PcapError::Io { .. } => Self::Other(files::UNREADABLE, e.to_string()),
            _ => Self::Other(files::WRONG_CONTENT, e.to_string()),
        }
    }
}
