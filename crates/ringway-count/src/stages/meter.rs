//! The file of a loop, for its owner.

use std::fs::File;
use std::sync::atomic::Ordering::{Relaxed, Release};

use ringway_sys::error::{Error, Result};
use ringway_sys::{mmap::Mmap, time};

use super::layout::{BATCHES, BYTES, FOLDER, IS, MAGIC, NAME, PACKETS, PID, STAGES, TIME, UNTIL, name_of};
use super::{MAX_STAGES, TIMED_ONE_IN, Timed};
use crate::entry::put_text;
use crate::files::shared;
use crate::run_directory::directory;

/// Rounds that are timed one after the other: the loop with borders is other code, which the first of them has to fetch.
const STRETCH: u32 = 64;

/// What the stages of one loop cost, in memory where others ask for it and read it. It belongs to the thread of the loop.
///
/// ```
/// use ringway_count::{Borders, Meter, Unwatched};
///
/// fn round(borders: &mut impl Borders) {
///     borders.begin();
///     // receive
///     borders.end(0);
///     // send
///     borders.end(1);
///     borders.end_batch(64);
/// }
///
/// let mut meter = Meter::new("example", &["RX", "TX"])?;
/// match meter.watched() {
///     None => round(&mut Unwatched),
///     Some(mut timed) => {
///         round(&mut timed);
///         meter.add(&timed);
///     }
/// }
/// # Ok::<(), ringway_sys::Error>(())
/// ```
#[derive(Debug)]
pub struct Meter {
    mem: Mmap,
    /// Keeps the lock.
    _file: Option<File>,
    /// Name of that file.
    listed: Option<String>,
    pid: u32,
    /// Number of the round, from the start of a stretch on.
    round: u32,
}

impl Meter {
    /// For a loop with these stages, [`MAX_STAGES`] at most. Where the process has no run directory, nobody can watch the loop.
    ///
    /// # Errors
    /// When there is no memory.
    ///
    /// # Panics
    /// With more stages.
    pub fn new(name: &str, stages: &[&str]) -> Result<Self> {
        assert!(stages.len() <= MAX_STAGES, "{name} has {} stages", stages.len());
        let (mem, file, listed) = match shared(FOLDER, name, BYTES) {
            Some((mem, file, listed)) => (mem, Some(file), Some(listed)),
            None => {
                let mem = Mmap::anonymous(BYTES);
                (mem.map_err(|e| Error::io(name, "no memory for counters of stages", e))?, None, None)
            }
        };
        let pid = std::process::id();
        mem.u32(PID).store(pid, Relaxed);
        put_text(&mem, NAME, STAGES, name);
        for (stage, text) in stages.iter().enumerate() {
            let (at, end) = name_of(stage);
            put_text(&mem, at, end, text);
        }
        mem.u64(IS).store(MAGIC, Release);
        Ok(Self { mem, _file: file, listed, pid, round: 0 })
    }

    /// The borders for a round that is timed; `None` for others, and when nobody watches, which one load tells.
    #[inline]
    #[must_use]
    pub fn watched(&mut self) -> Option<Timed> {
        if self.mem.u64(UNTIL).load(Relaxed) == 0 {
            return None;
        }
        let round = self.round;
        self.round = (round + 1) % (STRETCH * TIMED_ONE_IN);
        (round < STRETCH).then(Timed::default)
    }

    /// Adds a round. When nobody watches any more, [`watched`](Self::watched) says so from now on.
    pub fn add(&mut self, round: &Timed) {
        let counts = round.counts();
        let add = |at, n| {
            if n > 0 {
                self.mem.u64(at).fetch_add(n, Relaxed);
            }
        };
        add(BATCHES, counts.batches);
        add(PACKETS, counts.packets);
        counts.time.into_iter().enumerate().for_each(|(stage, ticks)| add(TIME + 8 * stage, ticks));
        let until = self.mem.u64(UNTIL).load(Relaxed);
        if time::monotonic_ns() >= until {
            // A watcher that asks at this moment wins.
            let _ = self.mem.u64(UNTIL).compare_exchange(until, 0, Relaxed, Relaxed);
            self.round = 0;
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let listed = self.listed.as_ref().filter(|_| self.pid == std::process::id());
        if let Some((name, dir)) = listed.zip(directory(FOLDER)) {
            let _ = dir.remove(name); // else the next one that looks does
        }
    }
}
