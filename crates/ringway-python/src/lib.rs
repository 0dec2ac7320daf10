//! The Python module: what `import ringway` loads, over [`ringway`] and [`ringway_fib`].
//!
//! The package in `python/ringway` is the other half: names, type hints, and what needs no Rust.
//!
//! | module | what |
//! | --- | --- |
//! | `errors` | failures as exceptions |
//! | `arrays`, `bytes` | arrays of numpy from numbers, bytes from objects of Python |
//! | `lock` | locks of what threads share |
//! | `filter` | tcpdump's expressions |
//! | `frames` | the received frames of a burst, and the buffers that they lie in |
//! | `view` | one frame as a buffer of Python: unsafe code |
//! | `burst` | a burst as Python sees it |
//! | `receive`, `outgoing`, `send` | both sides of a port, and the frames that a program sends |
//! | `port` | ports: how they are opened, what waits, their counters |
//! | `table`, `fib` | route lookup |
//! | `addresses`, `words` | addresses of an array, and the memory that they lie in: unsafe code |
//! | `switch` | switches |
//!
//! Python's lock is released where a call waits, moves frames or looks addresses up. Code that has it released holds the locks of one side
//! of a port, and never asks for Python's lock: so no two threads wait for each other.
#![deny(unsafe_code)]

mod addresses;
mod arrays;
mod burst;
mod bytes;
mod counters;
mod deadline;
mod errors;
mod fib;
mod filter;
mod frames;
mod lock;
mod outgoing;
mod port;
mod receive;
mod send;
mod switch;
mod table;
mod view;
mod words;

use pyo3::prelude::*;

/// Moves this thread into another network namespace, by name, path or process: ports that it opens then are there.
#[pyfunction]
fn enter_netns(py: Python<'_>, namespace: &str) -> PyResult<()> {
    py.detach(|| ringway::enter_netns(namespace)).map_err(errors::raise)
}

/// The compiled half of the package `ringway`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<errors::Error>())?;
    module.add_class::<port::Port>()?;
    module.add_class::<burst::Burst>()?;
    module.add_class::<filter::Filter>()?;
    module.add_class::<fib::Fib4>()?;
    module.add_class::<fib::Fib6>()?;
    module.add_class::<switch::Switch>()?;
    module.add_function(wrap_pyfunction!(enter_netns, module)?)?;
    module.add_function(wrap_pyfunction!(switch::switches, module)?)
}
