//! A capture under way: which frames it takes, where they go, when there are enough.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender};
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

/// What another thread changes of a capture under way.
pub(crate) enum Change {
    Filter(Option<Filter>),
    /// Bytes of each frame.
    Snaplen(u32),
}

/// Where a capture says that it has taken a change over: it holds for all frames from then on.
pub(crate) type Taken = SyncSender<()>;

/// Where changes come from.
pub(crate) type Steering = Receiver<(Change, Taken)>;

/// A capture under way.
pub(super) struct Capture {
    filter: Option<Filter>,
    /// Bytes of each frame that go on, where the output does not say it.
    snaplen: usize,
    steering: Option<Steering>,
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
        let left = count.unwrap_or(u64::MAX);
        let (snaplen, steering) = (usize::MAX, None);
        Self { filter, snaplen, steering, out, end, left, captured: 0, bytes: 0, ignored: 0 }
    }

    /// With so many bytes of each frame, until `steering` changes it.
    pub(super) fn steered(self, snaplen: u32, steering: Steering) -> Self {
        Self { snaplen: snaplen as usize, steering: Some(steering), ..self }
    }

    /// Takes changes over.
    pub(super) fn steer(&mut self) {
        let Some(steering) = &self.steering else { return };
        while let Ok((change, taken)) = steering.try_recv() {
            match change {
                Change::Filter(filter) => self.filter = filter,
                Change::Snaplen(bytes) => self.snaplen = bytes as usize,
            }
            // It may have gone away meanwhile.
            let _ = taken.send(());
        }
    }

    /// Whether there is enough, or the user wants no more.
    pub(super) fn enough(&self, signals: &Signals) -> bool {
        self.left == 0 || signals.stopped() || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// A frame of `len` bytes, of which `bytes` are known.
    pub(super) fn take(&mut self, ts_ns: u64, len: u32, bytes: &[u8]) -> Result<(), Failure> {
        if self.filter.as_ref().is_none_or(|f| f.matches(bytes)) {
            self.out.put(ts_ns, len, &bytes[..bytes.len().min(self.snaplen)])?;
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
