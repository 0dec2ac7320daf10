//! The bytes of one frame, from any object of Python that has some.
//!
//! They are copied while Python's lock is held, so no other thread changes them meanwhile.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The bytes of an object that has some: bytes, a bytearray, a memoryview, an array of uint8, or what `bytes()` takes as a scapy packet.
pub(crate) fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(buffer) = PyBuffer::<u8>::get(object) {
        return buffer.to_vec(object.py());
    }
    if object.hasattr("__bytes__")? {
        return object.call_method0("__bytes__")?.extract();
    }
    let kind = object.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!("a frame is bytes, a view or an array of uint8, not {kind}")))
}
