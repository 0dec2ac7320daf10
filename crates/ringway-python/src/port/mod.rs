//! Ports of Python: a receiver, and a sender for each ring, each with a lock of its own. So one thread sends while another waits.

mod books;
mod open;
mod parts;
mod wait;

use std::sync::atomic::Ordering;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ringway::OpenOptions;

use crate::burst::Burst;
use crate::counters::counters;
use crate::deadline::Deadline;
use crate::errors::{raise, refuse};
use crate::filter::FilterOrText;
use crate::frames::Frames;
use crate::lock::lock;
use crate::outgoing::Outgoing;
use open::Wishes;
pub(crate) use parts::Port;

/// The most frames that a program may hold: half a gigabyte of buffers.
const MOST_HELD: u32 = 1 << 18;

#[pymethods]
impl Port {
    #[new]
    #[pyo3(signature = (name, *, slots=None, burst=256, hold=1024, filter=None, take=None, copy=false, send_only=false, promiscuous=None))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        py: Python<'_>,
        name: &str,
        slots: Option<u32>,
        burst: usize,
        hold: u32,
        filter: Option<FilterOrText>,
        take: Option<FilterOrText>,
        copy: bool,
        send_only: bool,
        promiscuous: Option<bool>,
    ) -> PyResult<Self> {
        if burst == 0 {
            return Err(refuse(name, "a burst has a frame at least"));
        }
        if hold > MOST_HELD {
            return Err(refuse(name, &format!("a program holds {MOST_HELD} frames at most")));
        }
        let filter = filter.map(|f| f.compile()).transpose()?;
        let mut options = OpenOptions::new().copy(copy).send_only(send_only);
        if let Some(slots) = slots {
            options = options.slots(slots);
        }
        if let Some(take) = take {
            options = options.take(take.compile()?);
        }
        if let Some(on) = promiscuous {
            options = options.promiscuous(on);
        }
        py.detach(|| Self::open(name, &options, Wishes { burst, hold, filter })).map_err(raise)
    }

    /// The next frames, `max` at most; waits for them for `timeout` seconds, or for ever. An empty burst when the time is over, or when no
    /// frame will ever come.
    #[pyo3(signature = (max=None, timeout=None))]
    fn receive(&self, py: Python<'_>, max: Option<usize>, timeout: Option<f64>) -> PyResult<Burst> {
        let most = max.unwrap_or(self.burst);
        if most == 0 {
            return Err(PyValueError::new_err("a burst has a frame at least"));
        }
        let burst = self.wait(py, most, Deadline::after(timeout)?)?;
        Ok(burst.unwrap_or_else(|| Burst::new(Frames::default())))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Burst>> {
        self.wait(py, self.burst, Deadline::NEVER)
    }

    /// Sends a frame, an iterable of frames, a burst, or the rows of an array of uint8, each as far as `lengths` says.
    ///
    /// `ring` is the number of the ring, from 0 to `tx_rings` - 1. Threads that send on different rings do not wait for each other. Frames
    /// of one ring stay in order.
    ///
    /// Waits until they have left the ring, for `timeout` seconds or for ever; returns how many frames the ring took. Frames that still
    /// wait there leave with the next call of `send` or `flush`. Without `flush` it waits only until all have room in the ring.
    #[pyo3(signature = (frames, lengths=None, timeout=None, flush=true, *, ring=0))]
    fn send(
        &self,
        frames: &Bound<'_, PyAny>,
        lengths: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        flush: bool,
        ring: usize,
    ) -> PyResult<usize> {
        let (py, deadline, side) = (frames.py(), Deadline::after(timeout)?, self.side(ring)?);
        let frames = Outgoing::of(frames, lengths)?;
        let taken = self.give(py, side, &frames, deadline)?;
        if flush && taken == frames.len() {
            self.drain(py, side, deadline)?;
        }
        Ok(taken)
    }

    /// Waits until the other side has taken all frames that were sent, for `timeout` seconds or for ever; whether it has. `ring` names one
    /// ring; without it all are waited for.
    #[pyo3(signature = (timeout=None, *, ring=None))]
    fn flush(&self, py: Python<'_>, timeout: Option<f64>, ring: Option<usize>) -> PyResult<bool> {
        let deadline = Deadline::after(timeout)?;
        let sides = match ring {
            Some(ring) => std::slice::from_ref(self.side(ring)?),
            None => &self.senders,
        };
        let mut empty = true;
        for side in sides {
            empty &= self.drain(py, side, deadline)?;
        }
        Ok(empty)
    }

    /// Closes the port. Views of its frames stay good.
    fn close(&self, py: Python<'_>) {
        self.closing.store(true, Ordering::Relaxed);
        py.detach(|| {
            let receiver = lock(&self.receiver).take();
            let senders: Vec<_> = self.senders.iter().map(|side| lock(side).take()).collect();
            self.books.close();
            drop((receiver, senders));
        });
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }

    /// The counters of both directions, each a dict; `drops` has the frames lost by reason.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = py.detach(|| self.books.now());
        let both = PyDict::new(py);
        both.set_item("rx", counters(py, &now.rx)?)?;
        both.set_item("tx", counters(py, &now.tx)?)?;
        Ok(both)
    }

    /// The name, in its full form.
    #[getter]
    fn name(&self) -> &str {
        &self.info.name
    }

    /// What serves the port, and what it does not do.
    #[getter]
    fn backend(&self) -> &str {
        &self.info.backend
    }

    /// The longest frame that can be sent, without FCS.
    #[getter]
    fn max_frame(&self) -> u32 {
        self.info.max_frame
    }

    /// How many rings there are to send on.
    #[getter]
    fn tx_rings(&self) -> usize {
        self.senders.len()
    }

    /// Whether received frames lie in the buffers that they were received in. Frames of pipes and switches are copied once.
    #[getter]
    fn zero_copy(&self) -> bool {
        self.exchanges
    }

    /// Whether all frames were received that will ever come, as of a capture file.
    #[getter]
    fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether the port was closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    fn __repr__(&self) -> String {
        format!("<Port {}>", self.info.name)
    }
}
