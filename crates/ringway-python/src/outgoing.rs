//! The frames that a program sends: bytes, lists of them, arrays and bursts.
//!
//! Bytes are copied while Python's lock is held, so no other thread changes them meanwhile.

use std::sync::Arc;

use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::burst::Burst;
use crate::bytes::bytes_of;
use crate::frames::Frames;

/// Frames to send.
pub(crate) enum Outgoing {
    /// The frames of a burst.
    Burst(Arc<Frames>),
    /// Frames that lie one behind the other, and where each ends.
    Bytes(Vec<u8>, Vec<usize>),
}

impl Outgoing {
    /// Reads what a program hands over.
    pub(crate) fn of(frames: &Bound<'_, PyAny>, lengths: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        if let Some(lengths) = lengths {
            return rows(frames, Some(lengths));
        }
        if let Ok(burst) = frames.cast::<Burst>() {
            return Ok(Self::Burst(burst.get().frames()?));
        }
        if let Ok(buffer) = PyUntypedBuffer::get(frames) {
            return match buffer.dimensions() {
                1 => {
                    let bytes = bytes_of(frames)?;
                    let end = bytes.len();
                    Ok(Self::Bytes(bytes, vec![end]))
                }
                _ => rows(frames, None),
            };
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for frame in frames.try_iter()? {
            bytes.extend(bytes_of(&frame?)?);
            ends.push(bytes.len());
        }
        Ok(Self::Bytes(bytes, ends))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Burst(frames) => frames.len(),
            Self::Bytes(_, ends) => ends.len(),
        }
    }

    /// One of them.
    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        match self {
            Self::Burst(frames) => frames.get(index),
            Self::Bytes(bytes, ends) => {
                let end = *ends.get(index)?;
                let begin = index.checked_sub(1).map_or(0, |before| ends[before]);
                bytes.get(begin..end)
            }
        }
    }
}

/// The rows of an array, each as far as its length says.
fn rows(frames: &Bound<'_, PyAny>, lengths: Option<&Bound<'_, PyAny>>) -> PyResult<Outgoing> {
    let wrong = || PyTypeError::new_err("frames with lengths are an array of uint8 with a row for each");
    let buffer = PyBuffer::<u8>::get(frames).map_err(|_| wrong())?;
    let &[count, width] = buffer.shape() else { return Err(wrong()) };
    if width == 0 {
        return Err(PyValueError::new_err("a frame has a byte at least"));
    }
    let all = buffer.to_vec(frames.py())?;
    let lengths: Vec<usize> = match lengths {
        Some(lengths) => lengths.try_iter()?.map(|n| n?.extract()).collect::<PyResult<_>>()?,
        None => vec![width; count],
    };
    if lengths.len() != count {
        return Err(PyValueError::new_err(format!("{} lengths for {count} frames", lengths.len())));
    }
    let (mut bytes, mut ends) = (Vec::with_capacity(all.len()), Vec::with_capacity(count));
    for (number, &len) in lengths.iter().enumerate() {
        let begin = number * width;
        let row = all.get(begin..begin + width).unwrap_or_default();
        let Some(frame) = row.get(..len) else {
            let text = format!("frame {number} has length {len}, and its row {width} bytes");
            return Err(PyValueError::new_err(text));
        };
        bytes.extend_from_slice(frame);
        ends.push(bytes.len());
    }
    Ok(Outgoing::Bytes(bytes, ends))
}
