//! The threads of a trial in real time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use ringway::Result;
use ringway_engine::affinity;

use super::rate::MILLISECOND;

/// Threads are started this long before the first frame is due.
pub const HEAD_START_PS: u64 = 5 * MILLISECOND;

/// How often live numbers are shown.
const LIVE: Duration = Duration::from_millis(100);

/// CPUs that the threads of a trial are kept on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

impl Cpus {
    /// Keeps the calling thread, the `k`th, on its CPU, if there are any.
    pub(crate) fn pin(&self, k: usize) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { affinity::pin(self.0[k % self.0.len()]) }
    }
}

/// Threads that poll, each on its CPU. One that fails stops the others: a receiver must not wait for frames of a sender that is gone.
#[derive(Debug)]
pub struct Pollers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    cpus: &'env Cpus,
    stop: &'env AtomicBool,
    started: usize,
    /// Closed when the last thread has dropped its end.
    working: mpsc::Sender<()>,
    over: mpsc::Receiver<()>,
}

impl<'scope, 'env> Pollers<'scope, 'env> {
    /// No thread yet. All of them end when `stop` is set.
    pub fn new(scope: &'scope Scope<'scope, 'env>, cpus: &'env Cpus, stop: &'env AtomicBool) -> Self {
        let (working, over) = mpsc::channel();
        Self { scope, cpus, stop, started: 0, working, over }
    }

    /// Starts a thread on the next CPU: `turn` is called until it says that it was the last time, then `end`.
    pub fn start<J: Send + 'scope, T: Send + 'scope>(
        &mut self,
        mut job: J,
        turn: impl Fn(&mut J) -> Result<bool> + Send + 'scope,
        end: impl FnOnce(J) -> Result<T> + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, Result<T>> {
        let (cpus, stop, working, place) = (self.cpus, self.stop, self.working.clone(), self.started);
        self.started += 1;
        self.scope.spawn(move || {
            let _working = working;
            let done = cpus.pin(place).and_then(|()| {
                while !stop.load(Relaxed) && turn(&mut job)? {
                    std::hint::spin_loop();
                }
                end(job)
            });
            stop.fetch_or(done.is_err(), Relaxed);
            done
        })
    }

    /// Tells live numbers until all threads are over; returns whether `tell` ended them by saying no. A thread that wakes up here takes
    /// a CPU from a thread that polls, so it does seldom.
    pub fn watch(self, mut tell: impl FnMut() -> bool) -> bool {
        let Self { working, over, stop, .. } = self;
        drop(working);
        let mut interrupted = false;
        loop {
            if !tell() {
                interrupted = true;
                stop.store(true, Relaxed);
            }
            if over.recv_timeout(LIVE) == Err(RecvTimeoutError::Disconnected) {
                return interrupted;
            }
        }
    }
}

/// What a thread returned. A panic in it goes on in the caller.
pub fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
