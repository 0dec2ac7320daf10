//! When memory that readers may still look at can be used again.
//!
//! The writer counts epochs. A reader notes the epoch it sees while it looks (`enter`) and takes the note back when it is done
//! (`leave`). What the writer takes out of sight in epoch `e` may be used again once no note is `e` or less.
//!
//! Thread-safety: one writer, up to [`READERS`] readers; nobody waits for anybody. `epoch_model` checks this very code with loom.

use super::FibError;
use super::sync::{AtomicBool, AtomicU64, Ordering, READERS, fence};

/// The epoch of a reader that does not look.
const AWAY: u64 = 0;

#[derive(Debug)]
pub(super) struct Epochs {
    now: AtomicU64,
    seats: [Seat; READERS],
}

/// A reader's note, on cache lines of its own: it is written for each burst.
#[derive(Debug)]
#[repr(align(128))]
struct Seat {
    taken: AtomicBool,
    epoch: AtomicU64,
}

impl Epochs {
    pub(super) fn new() -> Self {
        let seat = |_| Seat { taken: AtomicBool::new(false), epoch: AtomicU64::new(AWAY) };
        Self { now: AtomicU64::new(AWAY + 1), seats: std::array::from_fn(seat) }
    }

    /// Registers a reader; its number is its own until it is given back.
    pub(super) fn register(&self) -> Result<usize, FibError> {
        let free = |seat: &Seat| {
            seat.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        self.seats.iter().position(free).ok_or(FibError::Readers { limit: READERS })
    }

    pub(super) fn unregister(&self, reader: usize) {
        self.leave(reader); // a view that was forgotten has no more use
        self.seats[reader].taken.store(false, Ordering::Release);
    }

    /// The reader starts to look.
    #[inline]
    pub(super) fn enter(&self, reader: usize) {
        self.seats[reader].epoch.store(self.now.load(Ordering::Acquire), Ordering::Relaxed);
        // Pairs with the fence in `oldest`. If the writer does not see this note, the reader sees all that the writer had
        // stored before it looked for notes.
        fence(Ordering::SeqCst);
    }

    /// The reader is done. Release: the writer that sees it may overwrite what the reader loaded before.
    #[inline]
    pub(super) fn leave(&self, reader: usize) {
        self.seats[reader].epoch.store(AWAY, Ordering::Release);
    }

    /// The epoch, for the writer, who alone ends it.
    pub(super) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Ends the epoch and returns it: that of everything taken out of sight so far. Release: a reader that notes the next
    /// epoch sees none of that.
    pub(super) fn advance(&self) -> u64 {
        self.now.fetch_add(1, Ordering::Release)
    }

    /// What was taken out of sight in an epoch before this one can be used again.
    pub(super) fn oldest(&self) -> u64 {
        fence(Ordering::SeqCst);
        let notes = self.seats.iter().map(|s| s.epoch.load(Ordering::Acquire));
        notes.filter(|&epoch| epoch != AWAY).min().unwrap_or(u64::MAX)
    }
}
