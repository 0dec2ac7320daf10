//! Frames of a capture file: each keeps the time that the file has for it, and none is waited for.

use std::io;
use std::path::Path;

use ringway::PortCounters;
use ringway_engine::Signals;
use ringway_wire::pcapfile::{LINKTYPE_ETHERNET, Reader};

use super::session::Capture;
use crate::errors;
use crate::failure::Failure;

/// A capture file that is read once.
pub(super) struct Recording {
    name: String,
    reader: Reader,
    /// Whether it is a stream: its frames are shown as they come.
    stream: bool,
    read: u64,
    bytes: u64,
}

impl Recording {
    /// Opens `file`, or standard input for `-`.
    pub(super) fn open(file: &Path) -> Result<Self, Failure> {
        let stream = file == Path::new("-");
        let reader = match stream {
            true => Reader::from_read("standard input", io::stdin())?,
            false => Reader::open(file)?,
        };
        let name = if stream { "standard input".into() } else { format!("pcap:{}", file.display()) };
        if reader.linktype() != LINKTYPE_ETHERNET {
            let found = reader.linktype();
            let what = format!("{name}: frames of link type {found}, not Ethernet; `tcpdump -r` prints them");
            return Err(Failure::Other(errors::ports::FRAMES_OF_OTHER_LINKS, what));
        }
        Ok(Self { name, reader, stream, read: 0, bytes: 0 })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has_nanoseconds(&self) -> bool {
        self.reader.has_nanoseconds()
    }

    /// Until there is enough or the file ends.
    pub(super) fn run(&mut self, capture: &mut Capture, signals: &Signals) -> Result<(), Failure> {
        while !capture.enough(signals)
            && let Some(record) = self.reader.next()
        {
            let record = record?;
            self.read += 1;
            self.bytes += record.data.len() as u64;
            capture.take(record.ts_ns, record.orig_len.max(record.data.len() as u32), record.data)?;
            if self.stream {
                capture.out.flush()?;
            }
        }
        Ok(())
    }

    /// As of a port: what was read.
    pub(super) fn counters(&self) -> PortCounters {
        let mut found = PortCounters::default();
        found.rx.frames_in = self.read;
        found.rx.frames_out = self.read;
        found.rx.bytes_out = self.bytes;
        found
    }
}
