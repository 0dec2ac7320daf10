//! `tap:`: a copy of each frame goes to a capture file.

use std::fs::File;

use super::watch::{Observer, Place, watch};
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::{PortName, TapOptions, around};
use crate::port::{Kind, Open, refuse_send_only, wrong_kind};
use crate::sys::time;
use ringway_wire::pcapfile::{PcapError, Writer};

/// Ports called `tap:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "tap",
    goes_on: false,
    parse: around::tap,
    refuses: refuse_send_only,
    open: Open::Around {
        own_rings: false,
        open: |name, inside, _| match name {
            PortName::Tap { options, .. } => watch(name, inside, options.dir, Tap::create(name, options)?),
            other => Err(wrong_kind(other)),
        },
    },
};

/// How long a frame may stay in memory while others follow, in ns.
const FLUSH_NS: u64 = 1_000_000_000;

/// The file. A failed write fails the sync, so a capture never misses frames in silence.
#[derive(Debug)]
pub(crate) struct Tap {
    port: String,
    file: String,
    writer: Writer<File>,
    flushed_ns: u64,
    /// Whether anything was written since.
    dirty: bool,
}

impl Tap {
    pub(crate) fn create(name: &PortName, options: &TapOptions) -> Result<Self> {
        let (port, file) = (name.to_string(), options.file.display().to_string());
        let out = super::create(&options.file, &port)?;
        let writer = Writer::new(&file, out, options.snaplen).map_err(|e| failed(&port, &e))?;
        Ok(Self { port, file, writer, flushed_ns: time::coarse_ns(), dirty: false })
    }

    fn flush(&mut self) -> Result<()> {
        self.flushed_ns = time::coarse_ns();
        self.writer.flush().map_err(|e| failed(&self.port, &e))?;
        self.dirty = false;
        Ok(())
    }
}

fn failed(port: &str, e: &PcapError) -> Error {
    Error::new(ErrorKind::Io, port, e.to_string())
        .cure("make room for the file, or open the port without the tap")
}

impl Observer for Tap {
    fn frame(&mut self, _: Place, ts_ns: u64, frame: &[u8]) -> Result<()> {
        self.dirty = true;
        self.writer.write(ts_ns, frame.len() as u32, frame).map_err(|e| failed(&self.port, &e))
    }

    fn synced(&mut self) -> Result<()> {
        if self.dirty && time::coarse_ns().saturating_sub(self.flushed_ns) >= FLUSH_NS {
            return self.flush();
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        if self.dirty { self.flush() } else { Ok(()) }
    }

    fn describe(&self) -> String {
        format!("tap: copies frames to {}", self.file)
    }
}
