//! Loops in threads that borrow from one job: started by name, kept on their CPUs, stopped together and joined.

use std::io;
use std::sync::mpsc;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use ringway::Error;

use super::Signals;
use super::work::{Outcome, WorkerError, not_started, panicked, perform};

/// The threads of one job, which borrow what the job owns; see [`crew()`].
#[derive(Debug)]
pub struct Crew<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    signals: Signals,
    /// Each worker holds a clone; `over` closes when the last one is dropped.
    working: Option<mpsc::Sender<()>>,
    over: mpsc::Receiver<()>,
}

/// A started worker.
#[derive(Debug)]
pub struct Worker<'scope, T, E = Error> {
    name: String,
    thread: io::Result<ScopedJoinHandle<'scope, Outcome<T, E>>>,
}

/// Has `job` start workers that `signals` stop, and returns what it returned when all workers have ended.
///
/// A worker that fails or panics stops `signals`, and so does a panic of `job`.
///
/// ```
/// use ringway::Port;
/// use ringway_engine::{Progress, Receiver, Sender, Signals, WorkerError, crew};
/// use ringway_traffic::template::{FrameSpec, Template};
///
/// let mut port = Port::open("loop:")?;
/// let (signals, sent, received) = (Signals::new(), Progress::new(), Progress::new());
/// let mut sender = Sender::new(Template::new(&FrameSpec::default())?).with_count(5000);
/// let mut receiver = Receiver::new(5000);
/// crew(&signals, |crew| {
///     let (tx, rx) = (&mut port.tx[0], &mut port.rx);
///     let sending = crew.start("sender", None, || sender.run(tx, &sent, &signals));
///     let receiving = crew.start("receiver", None, || receiver.run(rx, &received, &signals));
///     sending.join()?;
///     receiving.join()
/// })?;
/// assert_eq!(received.packets(), 5000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn crew<'env, R>(signals: &Signals, job: impl for<'scope> FnOnce(&mut Crew<'scope, 'env>) -> R) -> R {
    thread::scope(|scope| {
        // Workers would go on for ever when the job panics, and the scope would wait for them.
        let guard = signals.guard();
        let (working, over) = mpsc::channel();
        let done = job(&mut Crew { scope, signals: signals.clone(), working: Some(working), over });
        guard.disarm();
        done
    })
}

impl<'scope> Crew<'scope, '_> {
    /// Starts a worker, on a CPU if one is given.
    pub fn start<T, E>(
        &mut self,
        name: impl Into<String>,
        cpu: Option<usize>,
        work: impl FnOnce() -> Result<T, E> + Send + 'scope,
    ) -> Worker<'scope, T, E>
    where
        T: Send + 'scope,
        E: From<Error> + Send + 'scope,
    {
        let name = name.into();
        let (of_thread, signals, working) = (name.clone(), self.signals.clone(), self.working.clone());
        let thread = Builder::new().name(name.clone()).spawn_scoped(self.scope, move || {
            let _working = working;
            perform(of_thread, cpu, &signals, work)
        });
        if thread.is_err() {
            self.signals.stop();
        }
        Worker { name, thread }
    }

    /// Waits until all workers have ended, and calls `tick` about every `period` meanwhile. No worker can be started behind it.
    pub fn watch(&mut self, period: Duration, mut tick: impl FnMut()) {
        self.working = None;
        let mut next = Instant::now() + period;
        // Nothing is ever sent: the channel closes when the last worker has dropped its end.
        while let Err(mpsc::RecvTimeoutError::Timeout) =
            self.over.recv_timeout(next.saturating_duration_since(Instant::now()))
        {
            tick();
            next += period;
        }
    }
}

impl<T, E: From<Error>> Worker<'_, T, E> {
    /// Waits for its end.
    ///
    /// # Errors
    /// The worker failed or panicked, or its thread could not be started or kept on its CPU.
    pub fn join(self) -> Result<T, WorkerError<E>> {
        let Self { name, thread } = self;
        match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| Err(panicked(name, &*panic))),
            Err(e) => Err(not_started(name, e)),
        }
    }
}

/// Runs `workers`, each with its name and CPU in a thread of its own, until all have ended; returns what they returned, in order. Calls
/// `tick` about every `period` meanwhile, in the caller's thread, and once more when all have ended.
///
/// # Errors
/// That of the first worker in the list that failed or panicked; it has stopped `signals`.
pub fn supervise<T, E, W>(
    signals: &Signals,
    workers: impl IntoIterator<Item = (String, Option<usize>, W)>,
    period: Duration,
    mut tick: impl FnMut(),
) -> Result<Vec<T>, WorkerError<E>>
where
    T: Send,
    E: From<Error> + Send,
    W: FnOnce() -> Result<T, E> + Send,
{
    crew(signals, |crew| {
        let start = |(name, cpu, work)| crew.start(name, cpu, work);
        let started: Vec<_> = workers.into_iter().map(start).collect();
        crew.watch(period, &mut tick);
        tick();
        // All of them, so that no thread outlives this with a result that nobody took.
        let ended: Vec<_> = started.into_iter().map(Worker::join).collect();
        ended.into_iter().collect()
    })
}

/// Runs `work` in a thread as long as `job` takes here, and then stops `signals`; returns what both returned.
///
/// ```
/// use ringway_engine::{Signals, beside};
/// let signals = Signals::new();
/// let work = || {
///     while !signals.stopped() {
///         std::hint::spin_loop();
///     }
///     Ok::<_, ringway::Error>("stopped")
/// };
/// let (worked, done) = beside(&signals, "spinner", None, work, || 7);
/// assert_eq!((worked?, done), ("stopped", 7));
/// # Ok::<(), ringway_engine::WorkerError>(())
/// ```
pub fn beside<T: Send, E: From<Error> + Send, D>(
    signals: &Signals,
    name: &str,
    cpu: Option<usize>,
    work: impl FnOnce() -> Result<T, E> + Send,
    job: impl FnOnce() -> D,
) -> (Result<T, WorkerError<E>>, D) {
    crew(signals, |crew| {
        let worker = crew.start(name, cpu, work);
        let guard = signals.guard();
        let done = job();
        drop(guard);
        (worker.join(), done)
    })
}
