//! Counters as Python reads them.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ringway::Counters;

/// Counters as a dict.
pub(crate) fn counters<'py>(py: Python<'py>, of: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let (all, drops) = (PyDict::new(py), PyDict::new(py));
    for (reason, count) in of.reasons() {
        drops.set_item(reason.name(), count)?;
    }
    all.set_item("frames_in", of.frames_in)?;
    all.set_item("frames_out", of.frames_out)?;
    all.set_item("bytes_out", of.bytes_out)?;
    all.set_item("syncs", of.syncs)?;
    all.set_item("drops", drops)?;
    Ok(all)
}
