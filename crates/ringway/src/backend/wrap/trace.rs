//! `trace:`: a line of text for each frame.
//!
//! ```text
//! 16:20:01.000123 rx0 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff, arp who has 10.0.0.2, tell 10.0.0.1, 18 bytes, length 60
//! ```
//!
//! Lines beyond the rate are left out and counted: a flood would stop at the speed of a terminal otherwise.

use std::fmt::Debug;
use std::io::{self, BufWriter, Write};

use super::watch::{Observer, Place, watch};
use crate::error::{Error, Result};
use crate::port::name::{PortName, TraceOptions, around};
use crate::port::{Kind, Open, refuse_send_only, wrong_kind};
use crate::sys::time;
use ringway_wire::{TimeOfDay, parse};

/// Ports called `trace:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "trace",
    goes_on: false,
    parse: around::trace,
    refuses: refuse_send_only,
    open: Open::Around {
        own_rings: false,
        open: |name, inside, _| match name {
            PortName::Trace { options, .. } => {
                watch(name, inside, options.dir, Trace::create(name, options)?)
            }
            other => Err(wrong_kind(other)),
        },
    },
};

const SECOND_NS: u64 = 1_000_000_000;

/// Where lines go. Standard error is nobody's failure; a file is.
#[derive(Debug)]
enum Out {
    Stderr,
    File(std::fs::File),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stderr => Ok(io::stderr().write(bytes).unwrap_or(bytes.len())),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines.
#[derive(Debug)]
pub(crate) struct Trace {
    port: String,
    what: String,
    out: BufWriter<Out>,
    limit: Limit,
    line: Vec<u8>,
}

impl Trace {
    pub(crate) fn create(name: &PortName, options: &TraceOptions) -> Result<Self> {
        let port = name.to_string();
        let (out, to) = match &options.file {
            Some(file) => (Out::File(super::create(file, &port)?), file.display().to_string()),
            None => (Out::Stderr, "standard error".into()),
        };
        let what = match options.rate {
            Some(rate) => format!("trace: prints up to {rate} frames a second to {to}"),
            None => format!("trace: prints frames to {to}"),
        };
        let limit = Limit { rate: options.rate.map_or(u64::MAX, u64::from), ..Limit::default() };
        Ok(Self { port, what, out: BufWriter::new(out), limit, line: Vec::new() })
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|e| failed(&self.port, e))
    }

    /// Says how many frames have had no line.
    fn tell_hidden(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.limit.hidden) {
            0 => Ok(()),
            n => writeln!(self.out, "... {n} frames more; rate= is the limit"),
        }
    }
}

fn failed(port: &str, e: io::Error) -> Error {
    Error::io(port, "cannot write the trace", e)
        .cure("make room for the file, or open the port without the trace")
}

impl Observer for Trace {
    fn frame(&mut self, place: Place, ts_ns: u64, frame: &[u8]) -> Result<()> {
        if self.limit.renew(time::coarse_ns()) {
            self.tell_hidden().map_err(|e| failed(&self.port, e))?;
        }
        if !self.limit.take() {
            return Ok(());
        }
        let side = if place.rx { "rx" } else { "tx" };
        let (ring, len) = (place.ring, frame.len());
        self.line.clear();
        let line = &mut self.line;
        let written = writeln!(line, "{} {side}{ring} {}, length {len}", TimeOfDay(ts_ns), parse(frame));
        // A whole line is one write: either all of it waits in memory or nothing.
        written.and_then(|()| self.out.write_all(line)).map_err(|e| failed(&self.port, e))
    }

    fn synced(&mut self) -> Result<()> {
        self.flush()
    }

    fn idle(&mut self) -> Result<()> {
        if self.limit.renew(time::coarse_ns()) {
            self.tell_hidden().map_err(|e| failed(&self.port, e))?;
        }
        self.flush()
    }

    fn describe(&self) -> String {
        self.what.clone()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure; the buffer is written when it is dropped.
        let _ = self.tell_hidden();
    }
}

/// So many lines in each second.
#[derive(Debug, Default)]
struct Limit {
    rate: u64,
    second: u64,
    left: u64,
    /// Frames without a line since somebody asked.
    hidden: u64,
}

impl Limit {
    /// Begins another second if it is time; true when it did.
    fn renew(&mut self, now_ns: u64) -> bool {
        let second = now_ns / SECOND_NS + 1;
        if second == self.second {
            return false;
        }
        (self.second, self.left) = (second, self.rate);
        true
    }

    fn take(&mut self) -> bool {
        let ok = self.left > 0;
        self.left -= u64::from(ok);
        self.hidden += u64::from(!ok);
        ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_lines_a_second_and_the_rest_is_counted() {
        let mut limit = Limit { rate: 3, ..Limit::default() };
        for second in 0..4 {
            assert!(limit.renew(second * SECOND_NS));
            assert!(!limit.renew(second * SECOND_NS + SECOND_NS - 1));
            assert_eq!((0..10).filter(|_| limit.take()).count(), 3);
            assert_eq!(limit.hidden, 7 * (second + 1));
        }
    }
}
