//! Filters: tcpdump's expressions.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::bytes::bytes_of;
use crate::errors::raise;

/// An expression of tcpdump's language, compiled: `Filter("udp port 53")`.
#[pyclass(frozen, module = "ringway")]
pub(crate) struct Filter {
    text: String,
    pub(crate) compiled: ringway::Filter,
}

#[pymethods]
impl Filter {
    #[new]
    fn new(py: Python<'_>, expression: &str) -> PyResult<Self> {
        let compiled = py.detach(|| ringway::Filter::compile(expression)).map_err(raise)?;
        Ok(Self { text: expression.to_owned(), compiled })
    }

    /// Whether the filter wants this frame, which is any object with bytes.
    fn matches(&self, frame: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.compiled.matches(&bytes_of(frame)?))
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("Filter({:?})", self.text)
    }
}

/// A filter, or the text of one.
#[derive(FromPyObject)]
pub(crate) enum FilterOrText {
    Filter(Py<Filter>),
    Text(PyBackedStr),
}

impl FilterOrText {
    /// The compiled filter.
    pub(crate) fn compile(&self) -> PyResult<ringway::Filter> {
        match self {
            Self::Filter(filter) => Ok(filter.get().compiled.clone()),
            Self::Text(text) => ringway::Filter::compile(text).map_err(raise),
        }
    }
}
