//! Failures as exceptions of Python.

use std::time::Duration;

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use ringway::ErrorKind;

pyo3::create_exception!(
    ringway,
    Error,
    PyException,
    "What failed, on what, and the cure. `kind` names the kind of failure, `remedy` has the cure or None."
);

/// The exception with Ringway's message.
pub(crate) fn raise(error: ringway::Error) -> PyErr {
    Python::attach(|py| {
        let raised = Error::new_err(error.to_string());
        let value = raised.value(py);
        let set = value
            .setattr("kind", kind(error.kind()))
            .and_then(|()| value.setattr("remedy", error.remedy().map(str::to_owned)));
        set.err().unwrap_or(raised)
    })
}

/// A failure that the module itself found.
pub(crate) fn refuse(on: &str, what: &str) -> PyErr {
    raise(ringway::Error::new(ErrorKind::Invalid, on, what))
}

fn kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::BadName => "bad_name",
        ErrorKind::NotFound => "not_found",
        ErrorKind::Busy => "busy",
        ErrorKind::Denied => "denied",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Gone => "gone",
        ErrorKind::LinkDown => "link_down",
        ErrorKind::Invalid => "invalid",
        ErrorKind::Unfit => "unfit",
        _ => "io",
    }
}

/// Seconds as a duration.
pub(crate) fn seconds(value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|e| PyValueError::new_err(format!("{value} is no time to wait: {e}")))
}
