//! An array of numpy as words that other threads may write to, for look-ups without a copy. Its unsafe code makes a slice of atomic words.
#![allow(unsafe_code, reason = "Python's buffer protocol hands pointers over")]

use std::slice;
use std::sync::atomic::AtomicU32;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

/// The memory of an array that is a whole number of words, one behind the other.
pub(crate) struct Words(PyUntypedBuffer);

impl Words {
    /// The memory of an array; of a copy, where its rows do not lie one behind the other, or begin between two words.
    pub(crate) fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(array)?;
        if fits(&buffer) {
            return Ok(Self(buffer));
        }
        let numpy = array.py().import("numpy")?;
        let ordered = [("order", "C")].into_py_dict(array.py())?;
        let copy = numpy.call_method("array", (array,), Some(&ordered))?;
        Ok(Self(PyUntypedBuffer::get(&copy)?))
    }

    /// The words. Another thread of Python may write to them at any time: each is read once, and no value is relied on.
    pub(crate) fn get(&self) -> &[AtomicU32] {
        if !fits(&self.0) {
            return &[];
        }
        let words = self.0.len_bytes() / size_of::<AtomicU32>();
        // SAFETY: the buffer is held as long as `self`, so the object neither frees nor moves its memory. It lies in one piece, begins
        // at a whole word and has `words` of them, which `fits` has checked. Nothing here writes through the slice, and loads of this
        // size are good on memory for reading only. A thread of Python may write meanwhile: that is why the words are atomic.
        unsafe { slice::from_raw_parts(self.0.buf_ptr().cast(), words) }
    }
}

/// Whether the memory is words, one behind the other.
fn fits(buffer: &PyUntypedBuffer) -> bool {
    let word = size_of::<AtomicU32>();
    buffer.is_c_contiguous()
        && !buffer.buf_ptr().is_null()
        && buffer.buf_ptr().addr().is_multiple_of(align_of::<AtomicU32>())
        && buffer.len_bytes().is_multiple_of(word)
}
