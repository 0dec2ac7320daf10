//! The code of `epoch` under loom's model checker: the same file, on loom's atomics.

#[path = "epoch.rs"]
#[allow(clippy::duplicate_mod, dead_code, reason = "the model is of this very file, and uses a part of it")]
mod epoch;

use loom::sync::Arc;
use loom::thread;

use super::FibError;
use epoch::Epochs;
use sync::{AtomicU64, Ordering};

/// Instead of `super::sync`. A model has few threads, so few seats will do.
mod sync {
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

    pub(super) const READERS: usize = 2;
}

const DEAD: u64 = 99;

/// Two cells of which a root names one. The writer publishes the other, and overwrites the first one once it may.
#[test]
fn nobody_reads_what_is_used_again() {
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
