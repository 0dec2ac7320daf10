//! Starting loops in threads and telling them to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Signals to loops from outside.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

impl Signals {
    /// Nothing told yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Signals whose stop is also set by other holders of `stop`, such as a signal handler.
    pub fn with_stop(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ended: Arc::default() }
    }

    /// Ends all loops within 100 ms.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether loops are to end.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// What [`stop`](Self::stop) sets, for loops that know no signals.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// The port has [ended](ringway::Port::ended): a receiver ends when its rings are empty.
    pub fn end_of_input(&self) {
        self.ended.store(true, Relaxed);
    }

    /// Whether the port has ended.
    pub fn input_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }
}

/// Runs `workers`, each in a thread of its own, until all have ended; returns what they returned, in order. Calls
/// `tick` about every `period` meanwhile, in the caller's thread, and once more when all have ended.
///
/// # Panics
/// When a worker panics.
pub fn supervise<T, W>(workers: Vec<W>, period: Duration, mut tick: impl FnMut()) -> Vec<T>
where
    T: Send,
    W: FnOnce() -> T + Send,
{
    thread::scope(|scope| {
        let (running, all_ended) = mpsc::channel::<()>();
        let start = |worker: W| {
            let running = running.clone();
            scope.spawn(move || {
                let _running = running;
                worker()
            })
        };
        let threads: Vec<_> = workers.into_iter().map(start).collect();
        drop(running);
        let mut next = Instant::now() + period;
        // Nothing is ever sent: the channel closes when the last worker has dropped its end.
        while let Err(mpsc::RecvTimeoutError::Timeout) =
            all_ended.recv_timeout(next.saturating_duration_since(Instant::now()))
        {
            tick();
            next += period;
        }
        tick();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn results_in_order_and_ticks_meanwhile() {
        let ticks = AtomicU64::new(0);
        let worker = |n: u64| {
            let ticks = &ticks;
            move || {
                while ticks.load(Relaxed) < n {
                    thread::sleep(Duration::from_millis(1));
                }
                n
            }
        };
        let start = Instant::now();
        let count = || _ = ticks.fetch_add(1, Relaxed);
        let results = supervise((0..3).rev().map(worker).collect(), Duration::from_millis(10), count);
        assert_eq!(results, [2, 1, 0]);
        let (ticks, most) = (u128::from(ticks.into_inner()), start.elapsed().as_millis() / 10 + 1);
        assert!((2..=most).contains(&ticks), "{ticks}, at most {most}");
    }
}
