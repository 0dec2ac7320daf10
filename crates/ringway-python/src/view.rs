//! One frame as a buffer of Python. All unsafe code of the crate is here.
#![allow(unsafe_code, reason = "Python's buffer protocol hands pointers over")]

use std::ffi::c_int;
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyIndexError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::frames::Frames;

/// What a memoryview of a frame refers to: it keeps all frames of its burst.
#[pyclass(frozen, module = "ringway")]
struct Frame {
    frames: Arc<Frames>,
    index: usize,
}

#[pymethods]
impl Frame {
    /// Python asks for the bytes. They are for reading only.
    ///
    /// # Safety
    /// As Python's `bf_getbuffer`: `view` is null or a place to fill, and `flags` are Python's.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no place for the view"));
        }
        let frame = slf.get();
        let bytes = frame.frames.get(frame.index).unwrap_or_default();
        let len = ffi::Py_ssize_t::try_from(bytes.len()).unwrap_or(ffi::Py_ssize_t::MAX);
        // SAFETY: `view` is Python's to fill. The bytes live as long as `Frames`, whose places never change, and `slf` has a share of it for
        // as long as it lives: the class is frozen. `PyBuffer_FillInfo` stores a reference to `slf` in the view, and refuses to give a
        // view that may be written to, because of the 1. A process that shares the port's memory may write to the bytes meanwhile: Python
        // reads them through a raw pointer, byte by byte, and relies on no value.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast(), len, 1, flags)
        };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// A memoryview of one frame, without a copy.
pub(crate) fn of<'py>(
    py: Python<'py>,
    frames: &Arc<Frames>,
    index: usize,
) -> PyResult<Bound<'py, PyMemoryView>> {
    if index >= frames.len() {
        return Err(PyIndexError::new_err("the burst has no frame of this number"));
    }
    let frame = Bound::new(py, Frame { frames: frames.clone(), index })?;
    PyMemoryView::from(frame.as_any())
}
