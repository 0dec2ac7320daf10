//! What ports that wrap another one are to do.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ringway_wire::pcapfile::MAX_RECORD;

/// Frames that pass one held back, by default.
pub(super) const BY: u32 = 3;

/// Lines a second of `trace:`, by default.
pub(super) const LINES: u32 = 1000;

/// Which way frames go, seen from the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Received.
    Rx,
    /// Sent.
    Tx,
    /// Received and sent.
    #[default]
    Both,
}

impl Direction {
    /// Whether received frames are meant.
    #[must_use]
    pub fn rx(self) -> bool {
        self != Self::Tx
    }

    /// Whether sent frames are meant.
    #[must_use]
    pub fn tx(self) -> bool {
        self != Self::Rx
    }
}

impl FromStr for Direction {
    type Err = &'static str;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "rx" => Ok(Self::Rx),
            "tx" => Ok(Self::Tx),
            "both" => Ok(Self::Both),
            _ => Err("directions are dir=rx, dir=tx and dir=both"),
        }
    }
}

/// `dir=...,` unless it is both.
impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rx => f.write_str("dir=rx,"),
            Self::Tx => f.write_str("dir=tx,"),
            Self::Both => Ok(()),
        }
    }
}

/// What `tap:` writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapOptions {
    /// The capture file; replaced when it exists.
    pub file: PathBuf,
    /// Bytes kept of each frame, 1 to 262144.
    pub snaplen: u32,
    /// Which frames.
    pub dir: Direction,
}

/// What `fault:` does to frames. Rates are fractions, 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultOptions {
    /// Frames lost.
    pub drop: f64,
    /// Frames that come twice.
    pub dup: f64,
    /// Frames held back until [`by`](Self::by) others have come in, or for 100 ms when no more come.
    pub reorder: f64,
    /// Frames to hold one back for, 1 to 1000.
    pub by: u32,
    /// Frames with one bit flipped.
    pub corrupt: f64,
    /// Time that every frame takes longer, up to 10 s.
    pub delay: Duration,
    /// Where the dice start: the same seed and the same frames give the same faults.
    pub seed: u64,
    /// Which frames.
    pub dir: Direction,
}

impl Default for FaultOptions {
    fn default() -> Self {
        Self {
            drop: 0.0,
            dup: 0.0,
            reorder: 0.0,
            by: BY,
            corrupt: 0.0,
            delay: Duration::ZERO,
            seed: 1,
            dir: Direction::Both,
        }
    }
}

/// What `trace:` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// Where to; `None` for standard error.
    pub file: Option<PathBuf>,
    /// Lines a second at most, 1 to 1000000; `None` for no limit. Frames beyond it are counted on a line of their own.
    pub rate: Option<u32>,
    /// Which frames.
    pub dir: Direction,
}

impl fmt::Display for TapOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file={},", self.file.display())?;
        if self.snaplen != MAX_RECORD {
            write!(f, "snaplen={},", self.snaplen)?;
        }
        self.dir.fmt(f)
    }
}

impl fmt::Display for FaultOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Self::default();
        for (key, rate) in [("drop", self.drop), ("dup", self.dup), ("reorder", self.reorder)] {
            if rate != 0.0 {
                write!(f, "{key}={rate},")?;
            }
        }
        if self.by != plain.by {
            write!(f, "by={},", self.by)?;
        }
        if self.corrupt != 0.0 {
            write!(f, "corrupt={},", self.corrupt)?;
        }
        match self.delay.as_nanos() {
            0 => {}
            ns if ns.is_multiple_of(1_000_000) => write!(f, "delay={}ms,", ns / 1_000_000)?,
            ns if ns.is_multiple_of(1000) => write!(f, "delay={}us,", ns / 1000)?,
            ns => write!(f, "delay={ns}ns,")?,
        }
        if self.seed != plain.seed {
            write!(f, "seed={},", self.seed)?;
        }
        self.dir.fmt(f)
    }
}

impl fmt::Display for TraceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "file={},", file.display())?;
        }
        match self.rate {
            Some(LINES) => {}
            Some(lines) => write!(f, "rate={lines},")?,
            None => f.write_str("rate=all,")?,
        }
        self.dir.fmt(f)
    }
}
