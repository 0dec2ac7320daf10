//! How many threads of this process sleep on the bells of a binding. Bells stay rung until the last one woke: a thread that looks at the
//! descriptor meanwhile must not take the wake-up of another.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use crate::forks;

/// The count, below the number of forks at which it was made: threads of the parent do not sleep in a child.
#[derive(Debug, Default)]
pub(crate) struct Sleepers(AtomicU64);

/// A thread that sleeps, or is about to, until this is dropped.
#[derive(Debug)]
pub(crate) struct Asleep {
    of: Arc<Sleepers>,
    forks: u64,
}

fn now() -> u64 {
    u64::from(forks::forks()) << 32
}

impl Sleepers {
    /// How many there are.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        let word = self.0.load(SeqCst);
        if word >> 32 == now() >> 32 { word as u32 } else { 0 }
    }

    /// One more.
    pub(crate) fn enter(of: &Arc<Self>) -> Asleep {
        let forks = now();
        let more = |word: u64| Some(if word & !u64::from(u32::MAX) == forks { word + 1 } else { forks | 1 });
        let _ = of.0.fetch_update(SeqCst, SeqCst, more); // it always changes
        Asleep { of: of.clone(), forks }
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        let less =
            |word: u64| (word & !u64::from(u32::MAX) == self.forks && word as u32 > 0).then(|| word - 1);
        let _ = self.of.0.fetch_update(SeqCst, SeqCst, less); // that of a parent is gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleepers_are_counted() {
        let sleepers = Arc::new(Sleepers::default());
        let (a, b) = (Sleepers::enter(&sleepers), Sleepers::enter(&sleepers));
        assert_eq!(sleepers.count(), 2);
        drop(a);
        assert_eq!(sleepers.count(), 1);
        drop(b);
        assert_eq!(sleepers.count(), 0);
        let other = Sleepers(AtomicU64::new(u64::MAX << 32 | 7));
        assert_eq!(other.count(), 0, "the parent has them");
    }
}
