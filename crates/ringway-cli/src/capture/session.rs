//! A capture under way: which frames it takes, where they go, when there are enough.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use ringway::{Filter, PortCounters};
use ringway_engine::Signals;
use ringway_traffic::units::many;
use serde_json::json;

use super::out::Out;
use crate::console::note;
use crate::counters;
use crate::failure::Failure;

/// How often a file is written out while frames come.
pub(super) const FLUSH: Duration = Duration::from_secs(1);

/// A capture under way.
pub(super) struct Capture {
    filter: Option<Filter>,
    pub(super) out: Out,
    pub(super) end: Option<Instant>,
    pub(super) left: u64,
    captured: u64,
    bytes: u64,
    ignored: u64,
}

impl Capture {
    /// `count` frames at most, until `end`.
    pub(super) fn new(filter: Option<Filter>, out: Out, count: Option<u64>, end: Option<Instant>) -> Self {
        Self { filter, out, end, left: count.unwrap_or(u64::MAX), captured: 0, bytes: 0, ignored: 0 }
    }

    /// Whether there is enough, or the user wants no more.
    pub(super) fn enough(&self, signals: &Signals) -> bool {
        self.left == 0 || signals.stopped() || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// A frame of `len` bytes, of which `bytes` are known.
    pub(super) fn take(&mut self, ts_ns: u64, len: u32, bytes: &[u8]) -> Result<(), Failure> {
        if self.filter.as_ref().is_none_or(|f| f.matches(bytes)) {
            self.out.put(ts_ns, len, bytes)?;
            self.captured += 1;
            self.bytes += bytes.len() as u64;
            self.left -= 1;
        } else {
            self.ignored += 1;
        }
        Ok(())
    }

    /// Prints what was captured, what was not, and what `port` lost.
    pub(super) fn conclude(
        &self,
        as_json: bool,
        (name, backend): (&str, &str),
        found: &PortCounters,
        took: Duration,
    ) -> Result<(), Failure> {
        let (captured, bytes) = (many(self.captured, "frame"), many(self.bytes, "byte"));
        let mut text = vec![format!("{captured} captured, {bytes}")];
        if let Some(filter) = &self.filter {
            text.push(format!("{} did not match: {filter}", many(self.ignored, "frame")));
        }
        text.extend(counters::drops(found));
        text.iter().for_each(|line| note(line));
        if as_json {
            let object = json!({
                "command": "capture",
                "port": name,
                "backend": backend,
                "seconds": took.as_secs_f64(),
                "captured": self.captured,
                "bytes": self.bytes,
                "not_matched": self.ignored,
                "counters": counters::port(found),
            });
            writeln!(io::stdout(), "{object}")?;
        }
        Ok(())
    }
}
