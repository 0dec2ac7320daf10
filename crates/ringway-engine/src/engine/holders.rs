//! Who holds frames: each burst has a row in a table, which it alone writes and everybody may read. With pinned flows, it also has
//! a bell there, which rings for its frames.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use ringway::Result;
use ringway::time::monotonic_ns;

use super::bell::Bell;
use super::lanes::Joined;
use super::locks::{lock, try_lock};

/// What a burst counts, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Row {
    used: AtomicBool,
    frames: AtomicU32,
    cached: AtomicU32,
    since_ns: AtomicU64,
    /// The receiver that it is when flows are pinned, as [`Joined::bits`]; 0 for none.
    receiver: AtomicU64,
    pub(super) taken: Tally,
    pub(super) made: Tally,
    pub(super) sent: Tally,
    pub(super) let_go: Tally,
    /// For the one who looks for stuck threads: since when frames wait for it and it takes none; 0 when none wait.
    waits_since_ns: AtomicU64,
    /// What it had taken then.
    taken_then: AtomicU64,
    /// The time since which it had the frames of which somebody was warned.
    warned_ns: AtomicU64,
    pub(super) thread: Mutex<String>,
}

/// A counter.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    #[inline]
    pub(super) fn add(&self, n: usize) {
        self.0.fetch_add(n as u64, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A thread's burst, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The thread that made the burst, by name or number.
    pub thread: String,
    /// Frames in its hands.
    pub frames: u32,
    /// Free buffers in its cache.
    pub cached: u32,
    /// For how long it has had these frames: since its last receive or send.
    pub since: Duration,
}

/// I/O threads look at it for each block, so it shares no cache line with counters.
#[derive(Debug, Default)]
#[repr(align(128))]
struct RowBell(OnceLock<Bell>);

/// The table. Counters of rows stay when their burst goes, and the next burst adds to them.
#[derive(Debug)]
pub(super) struct Holders {
    rows: Box<[Row]>,
    /// One for each row. A burst makes it when it first receives, and the next burst of the row has it too.
    bells: Box<[RowBell]>,
    /// Rows from here on were never used.
    end: AtomicU32,
}

impl Holders {
    pub(super) fn new(rows: usize) -> Self {
        let row = || Row {
            used: AtomicBool::new(false),
            frames: AtomicU32::new(0),
            cached: AtomicU32::new(0),
            since_ns: AtomicU64::new(0),
            receiver: AtomicU64::new(0),
            taken: Tally::default(),
            made: Tally::default(),
            sent: Tally::default(),
            let_go: Tally::default(),
            waits_since_ns: AtomicU64::new(0),
            taken_then: AtomicU64::new(0),
            warned_ns: AtomicU64::new(0),
            thread: Mutex::default(),
        };
        let bells = (0..rows).map(|_| RowBell::default()).collect();
        Self { rows: (0..rows).map(|_| row()).collect(), bells, end: AtomicU32::new(0) }
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows[..self.end.load(Acquire) as usize]
    }

    pub(super) fn row(&self, at: usize) -> &Row {
        &self.rows[at]
    }

    /// The bell of a row, if a burst there ever received pinned flows.
    #[inline]
    pub(super) fn bell(&self, at: usize) -> Option<&Bell> {
        self.bells[at].0.get()
    }

    /// The bell of a row, which its burst makes at the first call.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(super) fn make_bell(&self, at: usize) -> Result<&Bell> {
        if let Some(bell) = self.bell(at) {
            return Ok(bell);
        }
        let made = Bell::new()?;
        Ok(self.bells[at].0.get_or_init(|| made))
    }

    pub(super) fn bells(&self) -> impl Iterator<Item = &Bell> {
        self.bells.iter().filter_map(|bell| bell.0.get())
    }

    /// A row for a burst of the calling thread.
    pub(super) fn enter(&self) -> Option<usize> {
        let free = |row: &Row| row.used.compare_exchange(false, true, Acquire, Relaxed).is_ok();
        let at = self.rows.iter().position(free)?;
        self.end.fetch_max(at as u32 + 1, Release);
        let thread = std::thread::current();
        *lock(&self.rows[at].thread) =
            thread.name().map_or_else(|| format!("{:?}", thread.id()), str::to_owned);
        self.rows[at].now_holds(0, 0);
        Some(at)
    }

    /// The burst is gone, and holds nothing.
    pub(super) fn leave(&self, at: usize) {
        self.rows[at].now_holds(0, 0);
        self.rows[at].receives_as(None);
        self.rows[at].used.store(false, Release);
    }

    pub(super) fn report(&self) -> Vec<Holder> {
        self.rows()
            .iter()
            .filter(|row| row.used.load(Acquire))
            .map(|row| row.holder(lock(&row.thread).clone(), monotonic_ns()))
            .collect()
    }

    /// Finds threads that have had frames for longer than `patience`: in hand, or waiting for the receiver that they are while it
    /// takes none. Has its flows `leave`, and names each once for the frames it has. When another thread has a lock that this
    /// needs, it does so at the next look. One thread at a time looks.
    pub(super) fn newly_stuck(
        &self,
        now: u64,
        patience: Duration,
        waits: impl Fn(Joined) -> bool,
        leave: impl Fn(usize) -> bool,
        mut warn: impl FnMut(&Holder),
    ) {
        for (at, row) in self.rows().iter().enumerate().filter(|(_, row)| row.used.load(Acquire)) {
            let waits_since = row.waits_since(now, &waits);
            let since = if row.frames() > 0 { Some(row.since_ns.load(Relaxed)) } else { waits_since };
            let Some(since) = since else { continue };
            let is_late = u128::from(now.saturating_sub(since)) > patience.as_nanos();
            if !is_late || row.warned_ns.load(Relaxed) == since {
                continue;
            }
            let Some(thread) = try_lock(&row.thread).map(|name| name.clone()) else { continue };
            if leave(at) {
                row.warned_ns.store(since, Relaxed);
                warn(&row.holder(thread, now));
            }
        }
    }
}

impl Row {
    /// What the burst has in hand from now on.
    #[inline]
    pub(super) fn now_holds(&self, frames: usize, cached: usize) {
        self.frames.store(frames as u32, Relaxed);
        self.cached.store(cached as u32, Relaxed);
        self.since_ns.store(monotonic_ns(), Relaxed);
    }

    /// The same in the middle of its work.
    pub(super) fn still_holds(&self, frames: usize, cached: usize) {
        self.frames.store(frames as u32, Relaxed);
        self.cached.store(cached as u32, Relaxed);
    }

    pub(super) fn receives_as(&self, receiver: Option<Joined>) {
        self.receiver.store(receiver.map_or(0, Joined::bits), Relaxed);
    }

    /// The receiver that it is, which may have left.
    pub(super) fn receiver(&self) -> Option<Joined> {
        Joined::of_bits(self.receiver.load(Relaxed))
    }

    /// Since when frames wait for it and it takes none, as far as it was looked at.
    fn waits_since(&self, now: u64, waits: impl Fn(Joined) -> bool) -> Option<u64> {
        if !self.receiver().is_some_and(waits) {
            self.waits_since_ns.store(0, Relaxed);
            return None;
        }
        let (taken, since) = (self.taken.get(), self.waits_since_ns.load(Relaxed));
        if since > 0 && self.taken_then.load(Relaxed) == taken {
            return Some(since);
        }
        self.taken_then.store(taken, Relaxed);
        self.waits_since_ns.store(now, Relaxed);
        Some(now)
    }

    pub(super) fn frames(&self) -> u32 {
        self.frames.load(Relaxed)
    }

    pub(super) fn cached(&self) -> u32 {
        self.cached.load(Relaxed)
    }

    fn holder(&self, thread: String, now: u64) -> Holder {
        Holder {
            thread,
            frames: self.frames(),
            cached: self.cached(),
            since: Duration::from_nanos(now.saturating_sub(self.since_ns.load(Relaxed))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_used_again_and_keeps_its_sums() {
        let holders = Holders::new(2);
        let at = holders.enter().unwrap();
        holders.row(at).taken.add(7);
        holders.row(at).now_holds(7, 3);
        let [holder] = holders.report().try_into().unwrap();
        assert_eq!((holder.frames, holder.cached), (7, 3));
        assert!(holder.thread.contains("a_row_is_used_again"), "{holder:?}");
        holders.leave(at);
        assert!(holders.report().is_empty() && holders.row(at).taken.get() == 7);
        assert_eq!((holders.enter(), holders.enter(), holders.enter()), (Some(0), Some(1), None));
    }

    /// The frames of those who are named at a time.
    fn named(holders: &Holders, now: u64, waits: bool) -> Vec<u32> {
        let mut named = Vec::new();
        let patience = Duration::from_nanos(10);
        holders.newly_stuck(now, patience, |_| waits, |_| true, |holder| named.push(holder.frames));
        named
    }

    #[test]
    fn a_stuck_holder_is_named_once() {
        let holders = Holders::new(2);
        let row = holders.row(holders.enter().unwrap());
        let later = monotonic_ns() + 1_000_000_000;
        assert_eq!(named(&holders, later, false), [], "it holds nothing");
        row.now_holds(5, 0);
        assert_eq!(named(&holders, row.since_ns.load(Relaxed) + 10, false), []);
        assert_eq!(named(&holders, later, false), [5]);
        assert_eq!(named(&holders, later + 100, false), []);
    }

    #[test]
    fn a_receiver_is_stuck_when_it_takes_nothing_for_too_long() {
        let holders = Holders::new(2);
        let row = holders.row(holders.enter().unwrap());
        let now = monotonic_ns() + 1_000_000_000;
        assert_eq!(named(&holders, now, true), [], "it is no receiver");
        row.receives_as(Joined::of_bits(1 << 16));
        assert_eq!(named(&holders, now, true), [], "it was idle, and its first frames came");
        row.taken.add(3);
        assert_eq!(named(&holders, now + 11, true), [], "it took some");
        assert_eq!(named(&holders, now + 20, false), [], "it took all");
        assert_eq!(named(&holders, now + 40, true), [], "others came");
        assert_eq!(named(&holders, now + 50, true), []);
        assert_eq!(named(&holders, now + 51, true), [0]);
        assert_eq!(named(&holders, now + 99, true), []);
    }
}
