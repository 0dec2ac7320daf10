//! What all threads of workers do: stay on a CPU, run, and tell a failure or a panic.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ringway::{Error, ErrorKind};

use super::{Signals, affinity};

/// The name of a worker that failed, and why it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerError<E = Error> {
    /// Name of the worker.
    pub name: String,
    /// Its error, or its panic as an error.
    pub error: E,
}

/// How a worker ended.
pub(super) type Outcome<T, E> = Result<T, WorkerError<E>>;

impl<E: fmt::Display> fmt::Display for WorkerError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.error)
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for WorkerError<E> {}

/// What the thread of a worker does: all of it.
pub(super) fn perform<T, E: From<Error>>(
    name: String,
    cpu: Option<usize>,
    signals: &Signals,
    work: impl FnOnce() -> Result<T, E>,
) -> Outcome<T, E> {
    // What a panic leaves behind is seen by nobody but its owner, as with a thread that panics.
    let worked = catch_unwind(AssertUnwindSafe(|| {
        cpu.map_or(Ok(()), affinity::pin)?;
        work()
    }));
    let done = match worked {
        Ok(done) => done.map_err(|error| WorkerError { name, error }),
        Err(panic) => Err(panicked(name, &*panic)),
    };
    if done.is_err() {
        signals.stop();
    }
    done
}

pub(super) fn panicked<E: From<Error>>(name: String, panic: &(dyn Any + Send)) -> WorkerError<E> {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let what = said.unwrap_or("without a message").to_owned();
    WorkerError { name, error: Error::new(ErrorKind::Io, "panic", what).into() }
}

pub(super) fn not_started<E: From<Error>>(name: String, e: std::io::Error) -> WorkerError<E> {
    let error = Error::io("thread", "starting it failed", e)
        .cure("let the process have more threads (`ulimit -u`) and memory, or start fewer threads");
    WorkerError { name, error: error.into() }
}
