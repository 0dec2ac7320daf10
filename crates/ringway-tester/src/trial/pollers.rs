//! The threads of a trial in real time.

use std::time::Duration;

use ringway::Result;
use ringway_engine::{Crew, Signals, Worker};

pub use ringway_engine::Cpus;

use super::rate::MILLISECOND;

/// Threads are started this long before the first frame is due.
pub const HEAD_START_PS: u64 = 5 * MILLISECOND;

/// How often live numbers are shown.
const LIVE: Duration = Duration::from_millis(100);

/// Workers of a crew that poll, each on the next of the CPUs. One that fails stops the others: a receiver must not wait for frames of a
/// sender that is gone.
#[derive(Debug)]
pub struct Pollers<'a, 'scope, 'env> {
    crew: &'a mut Crew<'scope, 'env>,
    signals: &'env Signals,
    cpus: &'env Cpus,
    started: usize,
}

impl<'a, 'scope, 'env> Pollers<'a, 'scope, 'env> {
    /// No thread yet. All of them end when `signals`, which are the crew's, say so.
    pub fn new(crew: &'a mut Crew<'scope, 'env>, signals: &'env Signals, cpus: &'env Cpus) -> Self {
        Self { crew, signals, cpus, started: 0 }
    }

    /// Starts a thread: calls `turn` until it says that it was the last time, then `end`.
    pub fn start<J: Send + 'scope, T: Send + 'scope>(
        &mut self,
        name: impl Into<String>,
        mut job: J,
        turn: impl Fn(&mut J) -> Result<bool> + Send + 'scope,
        end: impl FnOnce(J) -> Result<T> + Send + 'scope,
    ) -> Worker<'scope, T> {
        let (signals, cpu) = (self.signals, self.cpus.of(self.started));
        self.started += 1;
        self.crew.start(name, cpu, move || {
            while !signals.stopped() && turn(&mut job)? {
                std::hint::spin_loop();
            }
            end(job)
        })
    }

    /// Tells live numbers until all threads are over; returns whether `tell` ended them by saying no. A thread that wakes up here takes
    /// a CPU from a thread that polls, so it does seldom.
    pub fn watch(self, mut tell: impl FnMut() -> bool) -> bool {
        let mut interrupted = false;
        let mut tell = || {
            if !tell() {
                interrupted = true;
                self.signals.stop();
            }
        };
        tell();
        self.crew.watch(LIVE, tell);
        interrupted
    }
}
