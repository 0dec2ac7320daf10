//! Threads of one process that sleep at a word (futex(2)).

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps until a [`wake`], or for `timeout`, unless the word is not `now`. It also returns for a signal, or for nothing: the
/// caller looks at what it waits for, and sleeps again.
pub fn wait(word: &AtomicU32, now: u32, timeout: Duration) {
    // What is longer than the kernel's range of seconds is for ever.
    let time = i64::try_from(timeout.as_secs())
        .ok()
        .map(|tv_sec| libc::timespec { tv_sec, tv_nsec: timeout.subsec_nanos().into() });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time live across the call. The result is of no interest: see above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, now, time) };
}

/// Wakes threads that sleep at the word, `most` at most.
pub fn wake(word: &AtomicU32, most: u32) {
    let (operation, most) = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, most.min(i32::MAX as u32));
    // SAFETY: the word lives across the call, which does not fail for one of this process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, most) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;
    use std::time::Instant;

    #[test]
    fn a_word_that_changed_and_a_time_that_is_over_end_the_sleep() {
        let word = AtomicU32::new(1);
        wait(&word, 2, Duration::MAX);
        wait(&word, 2, Duration::from_secs(i64::MAX as u64 + 1));
        wait(&word, 1, Duration::ZERO);
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(2) {
            wait(&word, 1, Duration::from_millis(2));
        }
    }

    #[test]
    fn a_sleeper_wakes() {
        let (word, woken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    wait(&word, 0, Duration::MAX);
                }
                woken.store(1, SeqCst);
            });
            word.store(1, SeqCst);
            wake(&word, 1);
        });
        assert_eq!(woken.load(SeqCst), 1);
    }
}
