//! Arrays of numpy from numbers of Rust. numpy itself is imported when the first array is made.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// An array of numbers, each given by its bytes in the order of this machine.
pub(crate) fn numbers<'py, const N: usize>(
    py: Python<'py>,
    values: impl ExactSizeIterator<Item = [u8; N]>,
    kind: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, values.len() * N, |out| {
        for (place, value) in out.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&value);
        }
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, kind))
}

/// An array of so many numbers of `N` bytes, which `fill` writes. Nobody else has the array before it is over.
pub(crate) fn filled<'py, const N: usize>(
    py: Python<'py>,
    len: usize,
    kind: &str,
    fill: impl FnOnce(&mut [[u8; N]]) -> PyResult<()>,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, len * N, |out| fill(out.as_chunks_mut().0))?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, kind))
}

/// An array of bytes with rows of `width`.
pub(crate) fn rows<'py>(py: Python<'py>, bytes: &[u8], width: usize) -> PyResult<Bound<'py, PyAny>> {
    let count = bytes.len().checked_div(width).unwrap_or(0);
    let flat = py.import("numpy")?.call_method1("frombuffer", (PyByteArray::new(py, bytes), "uint8"))?;
    flat.call_method1("reshape", ((count, width),))
}
