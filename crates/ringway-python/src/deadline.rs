//! Until when a call of Python waits.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::seconds;

/// How long a wait goes on before Python looks for signals, such as Ctrl-C.
const SLICE: Duration = Duration::from_millis(100);

/// The end of a wait, if it has one.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// No end.
    pub(crate) const NEVER: Self = Self(None);

    /// The end of a wait of so many seconds that begins now. A time that no clock reaches is no end.
    pub(crate) fn after(timeout: Option<f64>) -> PyResult<Self> {
        let timeout = timeout.map(seconds).transpose()?;
        Ok(Self(timeout.and_then(|t| Instant::now().checked_add(t))))
    }

    /// The length of the next part of the wait.
    pub(crate) fn slice(self) -> Duration {
        self.0.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE))
    }

    /// Whether the time is over.
    pub(crate) fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}
