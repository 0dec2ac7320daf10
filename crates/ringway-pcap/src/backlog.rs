//! What other threads see of the packets that wait at a sender.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A sender that filled so many bursts in a turn of the flusher is brisk.
const BRISK: u32 = 4;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// When the oldest packet came that waits, and how fast bursts fill.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Nanoseconds after [`START`], plus one; 0: none waits.
    since: AtomicU64,
    /// Bursts that left because they were full, since the last turn of the flusher.
    filled: AtomicU32,
}

impl Backlog {
    /// A packet that came `now` waits, and none did before. To be said before `flusher::wake`.
    pub(crate) fn begin(&self, now: Instant) {
        let nanos = now.saturating_duration_since(*START).as_nanos();
        self.since.store(u64::try_from(nanos).unwrap_or(u64::MAX - 1) + 1, SeqCst);
    }

    /// None waits.
    pub(crate) fn end(&self) {
        self.since.store(0, SeqCst);
    }

    /// A burst is full. One thread at a time says this.
    pub(crate) fn fill(&self) {
        self.filled.store(self.filled.load(Relaxed).saturating_add(1), Relaxed);
    }

    /// When the oldest packet came; `None` when none waits.
    pub(crate) fn since(&self) -> Option<Instant> {
        let nanos = self.since.load(SeqCst).checked_sub(1)?;
        START.checked_add(Duration::from_nanos(nanos))
    }

    /// Whether several bursts became full since the last call. A burst that becomes full during the call may count twice, or not.
    pub(crate) fn is_brisk(&self) -> bool {
        self.filled.swap(0, Relaxed) >= BRISK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_packet_is_seen_until_none_waits() {
        let (backlog, now) = (Backlog::default(), Instant::now());
        assert_eq!(backlog.since(), None);
        let later = now + Duration::from_millis(7);
        backlog.begin(later);
        assert_eq!(backlog.since().map(|s| later.max(s) - later.min(s)), Some(Duration::ZERO));
        backlog.end();
        assert_eq!(backlog.since(), None);
    }

    #[test]
    fn a_sender_is_brisk_by_the_bursts_of_a_turn() {
        let backlog = Backlog::default();
        let turn = |bursts| {
            (0..bursts).for_each(|_| backlog.fill());
            backlog.is_brisk()
        };
        assert_eq!(
            [turn(0), turn(BRISK - 1), turn(1), turn(BRISK), turn(0)],
            [false, false, false, true, false]
        );
    }
}
