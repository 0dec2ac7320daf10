//! Pauses between trials in real time.

use std::thread;
use std::time::{Duration, Instant};

/// Sleeps for `ps`; false when `go_on` said no meanwhile.
pub(crate) fn slept(ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_nanos(ps / 1000);
    while go_on() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(Duration::from_millis(50)));
    }
    false
}
