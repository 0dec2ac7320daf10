//! Addresses in an array, for look-ups: read where they lie, a piece at a time, while other threads of Python run.

use std::sync::atomic::Ordering;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use ringway_fib::Walk;

use crate::words::Words;

/// How an array has addresses.
#[derive(Clone, Copy)]
enum Form {
    /// Numbers of 32 bits, in the order of this machine.
    Numbers,
    /// Bytes in network order.
    Rows,
}

/// An array of addresses.
pub(crate) struct Addresses {
    words: Words,
    form: Form,
}

impl Addresses {
    /// Rows of bytes. For IPv4 they may also be numbers.
    pub(crate) fn of<A: Walk>(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let width = usize::from(A::BITS / 8);
        let wrong = || {
            PyTypeError::new_err(format!(
                "addresses are rows of {width} bytes, or numbers in an array of uint32 for IPv4"
            ))
        };
        let buffer = PyUntypedBuffer::get(array).map_err(|_| wrong())?;
        let form = if buffer.as_typed::<u8>().is_ok() {
            if buffer.dimensions() != 2 || buffer.shape().get(1) != Some(&width) {
                return Err(wrong());
            }
            Form::Rows
        } else if A::BITS == 32 && buffer.as_typed::<u32>().is_ok() {
            numbers(&buffer)?
        } else {
            return Err(wrong());
        };
        drop(buffer);
        Ok(Self { words: Words::of(array)?, form })
    }

    /// How many there are.
    pub(crate) fn len<A: Walk>(&self) -> usize {
        self.words.get().len() / words::<A>()
    }

    /// Reads addresses from number `from` on.
    pub(crate) fn read<A: Walk>(&self, from: usize, to: &mut [A]) {
        match self.form {
            Form::Numbers => self.read_as(from, to, |word| word),
            Form::Rows => self.read_as(from, to, u32::from_be),
        }
    }

    fn read_as<A: Walk>(&self, from: usize, to: &mut [A], order: impl Fn(u32) -> u32) {
        let words = self.words.get().chunks_exact(words::<A>()).skip(from);
        for (to, words) in to.iter_mut().zip(words) {
            let add = |key: u128, word: u32| key << 32 | u128::from(order(word));
            let key = words.iter().map(|word| word.load(Ordering::Relaxed)).fold(0, add);
            // A key has the bits of an address at its upper end.
            *to = A::of_key(key << (128 - A::BITS));
        }
    }
}

/// Words of an address.
const fn words<A: Walk>() -> usize {
    A::BITS as usize / 32
}

/// Numbers, unless their bytes are in another order: the buffer's type does not tell the two apart.
fn numbers(buffer: &PyUntypedBuffer) -> PyResult<Form> {
    if matches!(buffer.format().to_bytes(), [b'<' | b'>' | b'!', ..]) {
        return Err(PyTypeError::new_err(
            "numbers are in the order of this machine: use astype(numpy.uint32)",
        ));
    }
    Ok(Form::Numbers)
}
