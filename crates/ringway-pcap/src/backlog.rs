//! What other threads see of the packets that wait at a sender.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Packets of a batch: the unit in which a sender says how fast it is.
pub(crate) const BATCH: u32 = 64;

/// A sender that fills so many batches within the bound is brisk: at 100 us it sends 1.28 million packets a second.
const BRISK: u32 = 2;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// When the oldest packet came that waits, and how fast packets come.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Nanoseconds after [`START`], plus one; 0: none waits.
    since: AtomicU64,
    /// Batches that became full since the last turn of the flusher.
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

    /// Another [`BATCH`] is full. One thread at a time says this.
    pub(crate) fn fill(&self) {
        self.filled.store(self.filled.load(Relaxed).saturating_add(1), Relaxed);
    }

    /// When the oldest packet came; `None` when none waits.
    pub(crate) fn since(&self) -> Option<Instant> {
        let nanos = self.since.load(SeqCst).checked_sub(1)?;
        START.checked_add(Duration::from_nanos(nanos))
    }

    /// Whether batches filled fast in the `turn` since the last call. One that fills during the call may count twice, or not.
    pub(crate) fn is_brisk(&self, turn: Duration, bound: Duration) -> bool {
        bound.saturating_mul(self.filled.swap(0, Relaxed)) >= turn.max(bound).saturating_mul(BRISK)
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
    fn a_sender_is_brisk_by_the_batches_of_a_turn() {
        let (backlog, bound) = (Backlog::default(), Duration::from_micros(100));
        let turn = |batches, micros| {
            (0..batches).for_each(|_| backlog.fill());
            backlog.is_brisk(Duration::from_micros(micros), bound)
        };
        assert_eq!([turn(0, 100), turn(1, 100), turn(1, 1), turn(2, 100)], [false, false, false, true]);
        assert_eq!([turn(0, 1), turn(7, 400), turn(8, 400)], [false, false, true]);
    }
}
