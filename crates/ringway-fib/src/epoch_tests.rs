//! Epochs, one thread at a time.

use super::epoch::Epochs;
use super::sync::READERS;

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
