//! A burst as Python sees it.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyMemoryView};

use crate::filter::FilterOrText;
use crate::frames::Frames;
use crate::lock::lock;
use crate::{arrays, view};

/// Frames that were received together: a sequence of memoryviews.
///
/// A view stays good for as long as it lives: after the next burst, after `release`, and after the port was closed.
#[pyclass(frozen, sequence, module = "ringway")]
pub(crate) struct Burst(Mutex<Option<Arc<Frames>>>);

impl Burst {
    pub(crate) fn new(frames: Frames) -> Self {
        Self(Mutex::new(Some(Arc::new(frames))))
    }

    /// The frames, unless the program has released them.
    pub(crate) fn frames(&self) -> PyResult<Arc<Frames>> {
        let held = lock(&self.0);
        held.clone().ok_or_else(|| PyValueError::new_err("the burst was released"))
    }
}

#[pymethods]
impl Burst {
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.frames()?.len())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyMemoryView>> {
        let frames = self.frames()?;
        let place = if index < 0 { index.checked_add_unsigned(frames.len()) } else { Some(index) };
        let place = place.and_then(|p| usize::try_from(p).ok());
        let place = place.ok_or_else(|| PyIndexError::new_err("the burst has no frame of this number"))?;
        view::of(py, &frames, place)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let frames = self.frames()?;
        let views = PyList::empty(py);
        for index in 0..frames.len() {
            views.append(view::of(py, &frames, index)?)?;
        }
        views.try_iter()
    }

    /// The length of each frame, without FCS: an array of uint32.
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let frames = self.frames()?;
        arrays::numbers(py, frames.iter().map(|f| (f.len() as u32).to_ne_bytes()), "uint32")
    }

    /// When each frame was received, in nanoseconds since 1970: an array of int64.
    ///
    /// Frames that one look at a ring found have one time, exact to the microsecond.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let frames = self.frames()?;
        arrays::numbers(py, frames.times().iter().map(|t| t.to_ne_bytes()), "int64")
    }

    /// The first `width` bytes of each frame, copied: an array of uint8 with a row for each. Short frames end in zeros.
    fn array<'py>(&self, py: Python<'py>, width: u16) -> PyResult<Bound<'py, PyAny>> {
        let frames = self.frames()?;
        let width = usize::from(width);
        if width == 0 {
            return Err(PyValueError::new_err("a row has a byte at least"));
        }
        let bytes = py.detach(|| {
            let mut bytes = vec![0; frames.len() * width];
            for (row, frame) in bytes.chunks_exact_mut(width).zip(frames.iter()) {
                let n = frame.len().min(width);
                row[..n].copy_from_slice(&frame[..n]);
            }
            bytes
        });
        arrays::rows(py, &bytes, width)
    }

    /// Which frames a filter wants: an array of bool. The filter may be the text of one.
    fn matches<'py>(&self, py: Python<'py>, filter: FilterOrText) -> PyResult<Bound<'py, PyAny>> {
        let frames = self.frames()?;
        let filter = filter.compile()?;
        let wanted: Vec<u8> = py.detach(|| frames.iter().map(|f| u8::from(filter.matches(f))).collect());
        arrays::numbers(py, wanted.into_iter().map(|b| [b]), "bool")
    }

    /// Lets the frames go. Their buffers go back to the port when no view of one of them is left.
    fn release(&self) {
        let frames = lock(&self.0).take();
        drop(frames);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>, _trace: &Bound<'_, PyAny>) {
        self.release();
    }

    fn __repr__(&self) -> String {
        self.frames()
            .map_or_else(|_| "<Burst, released>".into(), |f| format!("<Burst of {} frames>", f.len()))
    }
}
