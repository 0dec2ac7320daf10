//! A loop in a thread that an owner keeps.

use std::io;
use std::thread::{Builder, JoinHandle};

use ringway::Error;

use super::Signals;
use super::work::{Outcome, WorkerError, not_started, panicked, perform};

/// A worker that its owner keeps: it ends when this is dropped.
///
/// ```
/// use ringway::{Port, Result};
/// use ringway_engine::{Background, Bridge, Signals};
/// let (a, b) = (Port::open("pipe:doc-background{")?, Port::open("null:")?);
/// let mut bridge = Bridge::new(a, b);
/// let forwarding = Background::start("bridge", None, move |signals: &Signals| bridge.run(signals));
/// // ... and when frames need not be forwarded any more:
/// forwarding.end().map_err(|e| e.error)?;
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Background<T = (), E = Error> {
    signals: Signals,
    name: String,
    thread: Option<io::Result<JoinHandle<Outcome<T, E>>>>,
}

impl<T: Send + 'static, E: From<Error> + Send + 'static> Background<T, E> {
    /// Starts a worker, on a CPU if one is given; its signals stop when it is to end.
    pub fn start(
        name: &str,
        cpu: Option<usize>,
        work: impl FnOnce(&Signals) -> Result<T, E> + Send + 'static,
    ) -> Self {
        let signals = Signals::new();
        let (of_thread, told) = (name.to_owned(), signals.clone());
        let perform = move || perform(of_thread, cpu, &told, || work(&told));
        let thread = Builder::new().name(name.to_owned()).spawn(perform);
        Self { signals, name: name.to_owned(), thread: Some(thread) }
    }
}

impl<T, E: From<Error>> Background<T, E> {
    /// Ends it.
    ///
    /// # Errors
    /// The worker failed or panicked, or its thread could not be started or kept on its CPU.
    pub fn end(mut self) -> Result<T, WorkerError<E>> {
        self.signals.stop();
        let name = std::mem::take(&mut self.name);
        match self.thread.take() {
            Some(Ok(thread)) => thread.join().unwrap_or_else(|panic| Err(panicked(name, &*panic))),
            Some(Err(e)) => Err(not_started(name, e)),
            None => unreachable!("only this and the drop take it"),
        }
    }
}

impl<T, E> Drop for Background<T, E> {
    fn drop(&mut self) {
        self.signals.stop();
        if let Some(Ok(thread)) = self.thread.take() {
            let _ = thread.join(); // nobody asks how it ended
        }
    }
}
