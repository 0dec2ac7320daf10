//! When memory that readers may still look at can be used again.
//!
//! The writer counts epochs. A reader notes the epoch it sees while it looks (`enter`) and takes the note back when it is done
//! (`leave`). What the writer takes out of sight in epoch `e` may be used again once no note is `e` or less.
//!
//! Thread-safety: one writer, up to [`READERS`] readers; nobody waits for anybody.

use super::FibError;
use super::sync::{AtomicBool, AtomicU64, Ordering, fence};

/// Readers that can be registered at a time.
#[cfg(not(loom))]
pub const READERS: usize = 64;
#[cfg(loom)]
pub const READERS: usize = 2;

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
        // Pairs with the fence in `oldest`: either the writer sees this note, or what the reader loads from here on is at
        // least as new as what the writer had stored before it looked for notes.
        fence(Ordering::SeqCst);
    }

    /// The reader is done. Release: the writer that sees it may overwrite what the reader loaded before.
    #[inline]
    pub(super) fn leave(&self, reader: usize) {
        self.seats[reader].epoch.store(AWAY, Ordering::Release);
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_waits_for_readers_that_may_see_it() {
        let epochs = Epochs::new();
        let (a, b) = (epochs.register().unwrap(), epochs.register().unwrap());
        assert_eq!(epochs.oldest(), u64::MAX);
        epochs.enter(a);
        let gone = epochs.advance();
        epochs.enter(b);
        assert!(gone >= epochs.oldest());
        epochs.leave(a);
        assert!(gone < epochs.oldest());
        epochs.leave(b);
    }

    #[test]
    fn seats_are_bounded_and_come_back() {
        let epochs = Epochs::new();
        let all: Vec<usize> = (0..READERS).map(|_| epochs.register().unwrap()).collect();
        let e = epochs.register().unwrap_err().to_string();
        assert!(e.contains("64 readers"), "{e}");
        epochs.unregister(all[5]);
        assert_eq!(epochs.register().unwrap(), 5);
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p ringway-fwd --lib --release loom`
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    const DEAD: u64 = 99;

    /// Two cells of which a root names one. The writer publishes the other, and overwrites the first one once it may.
    #[test]
    fn loom_nobody_reads_what_is_used_again() {
        loom::model(|| {
            let epochs = Arc::new(Epochs::new());
            let cells = Arc::new([AtomicU64::new(10), AtomicU64::new(11)]);
            let root = Arc::new(AtomicU64::new(0));
            let reader = {
                let (epochs, cells, root) = (epochs.clone(), cells.clone(), root.clone());
                thread::spawn(move || {
                    let me = epochs.register().unwrap();
                    for _ in 0..2 {
                        epochs.enter(me);
                        let at = root.load(Ordering::Acquire) as usize;
                        let value = cells[at].load(Ordering::Relaxed);
                        assert_eq!(value, 10 + at as u64);
                        epochs.leave(me);
                    }
                    epochs.unregister(me);
                })
            };
            root.store(1, Ordering::Release);
            let gone = epochs.advance();
            if gone < epochs.oldest() {
                cells[0].store(DEAD, Ordering::Relaxed);
            }
            reader.join().unwrap();
            assert!(gone < epochs.oldest());
        });
    }
}
