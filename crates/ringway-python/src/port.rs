//! Ports of Python: a receiver and a sender, each with a lock of its own, so that one thread sends while another waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ringway::{CounterWatch, ErrorKind, OpenOptions, PortCounters, PortInfo};

use crate::burst::Burst;
use crate::counters::counters;
use crate::deadline::Deadline;
use crate::errors::{raise, refuse};
use crate::filter::FilterOrText;
use crate::frames::Frames;
use crate::outgoing::Outgoing;
use crate::receive::{Found, Receiver};
use crate::send::Sender;

/// The most frames that a program may hold: half a gigabyte of buffers.
const MOST_HELD: u32 = 1 << 18;

/// The counters of a port: as they are, or as they were when it was closed.
enum Books {
    Open(CounterWatch),
    Closed(Box<PortCounters>),
}

/// A port, opened by its name: `Port("ebpf:eth0")`.
///
/// It is an iterator of bursts, and a context manager. `burst` is the most frames of a burst, `hold` the most frames that the program
/// holds at once, `filter` which frames it wants. `take`, `copy`, `send_only` and `promiscuous` are for ports of interfaces.
#[pyclass(frozen, module = "ringway")]
pub(crate) struct Port {
    receiver: Mutex<Option<Receiver>>,
    sender: Mutex<Option<Sender>>,
    books: Mutex<Books>,
    info: PortInfo,
    burst: usize,
    exchanges: bool,
    closing: AtomicBool,
    ended: AtomicBool,
}

/// Locks one part of a port. A thread that panicked leaves it as the library left it, which is usable.
fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a port with buffers to hold frames in. A port that has no such buffers opens without: its frames are copied.
fn open(name: &str, options: &OpenOptions, hold: u32) -> ringway::Result<ringway::Port> {
    match options.clone().extra_bufs(hold).open(name) {
        Err(e) if matches!(e.kind(), ErrorKind::Invalid | ErrorKind::Unsupported) => options.open(name),
        opened => opened,
    }
}

impl Port {
    fn assemble(
        mut port: ringway::Port,
        burst: usize,
        hold: u32,
        filter: Option<ringway::Filter>,
    ) -> PyResult<Self> {
        let info = port.info().clone();
        let books = Mutex::new(Books::Open(port.watch()));
        let ring = if port.tx.is_empty() { None } else { Some(port.tx.remove(0)) };
        let sender =
            ring.map(|ring| Sender::new(ring, info.max_frame, &info.name)).transpose().map_err(raise)?;
        let receiver = Receiver::new(port, hold, filter).map_err(raise)?;
        let exchanges = receiver.exchanges();
        let (receiver, sender) = (Mutex::new(Some(receiver)), Mutex::new(sender));
        Ok(Self {
            receiver,
            sender,
            books,
            info,
            burst,
            exchanges,
            closing: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        })
    }

    fn closed(&self) -> ringway::Error {
        ringway::Error::new(ErrorKind::Gone, &self.info.name, "the port was closed")
    }

    /// A look at the rings, which waits for `timeout` at most.
    fn look(&self, most: usize, timeout: Duration) -> ringway::Result<Found> {
        if self.closing.load(Ordering::Relaxed) {
            return Err(self.closed());
        }
        lock(&self.receiver).as_mut().ok_or_else(|| self.closed())?.receive(most, timeout)
    }

    /// Frames, or `None` when the time is over or no frame will ever come.
    fn wait(&self, py: Python<'_>, most: usize, deadline: Deadline) -> PyResult<Option<Burst>> {
        loop {
            let slice = deadline.slice();
            match py.detach(|| self.look(most, slice)).map_err(raise)? {
                Found::Frames(frames) => return Ok(Some(Burst::new(frames))),
                Found::End => {
                    self.ended.store(true, Ordering::Relaxed);
                    return Ok(None);
                }
                Found::NoBuffer => return Err(self.full()),
                Found::Nothing if deadline.is_over() => return Ok(None),
                Found::Nothing => py.check_signals()?,
            }
        }
    }

    /// Waits until the sender's ring is empty; whether it is when the time is over.
    fn drain(&self, py: Python<'_>, deadline: Deadline) -> PyResult<bool> {
        loop {
            let slice = deadline.slice();
            if py.detach(|| self.step(|sender| sender.flush(slice))).map_err(raise)? {
                return Ok(true);
            }
            if deadline.is_over() {
                return Ok(false);
            }
            py.check_signals()?;
        }
    }

    fn full(&self) -> PyErr {
        let what = "the program holds as many frames as the port has buffers for";
        raise(
            ringway::Error::new(ErrorKind::Busy, &self.info.name, what).cure(
                "let bursts and views go, copy frames with bytes(), or open the port with a larger hold",
            ),
        )
    }

    /// One step of the sending side, under its lock.
    fn step<T>(&self, step: impl FnOnce(&mut Sender) -> ringway::Result<T>) -> ringway::Result<T> {
        if self.closing.load(Ordering::Relaxed) {
            return Err(self.closed());
        }
        let none = || ringway::Error::new(ErrorKind::Unsupported, &self.info.name, "the port sends nothing");
        step(lock(&self.sender).as_mut().ok_or_else(none)?)
    }
}

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
        let port = py.detach(|| open(name, &options, hold)).map_err(raise)?;
        Self::assemble(port, burst, hold, filter)
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
    /// Waits until they have left the ring, for `timeout` seconds or for ever; returns how many frames the ring took. Frames that still
    /// wait there leave with the next call of `send` or `flush`. Without `flush` it waits only until all have room in the ring.
    #[pyo3(signature = (frames, lengths=None, timeout=None, flush=true))]
    fn send(
        &self,
        py: Python<'_>,
        frames: &Bound<'_, PyAny>,
        lengths: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        flush: bool,
    ) -> PyResult<usize> {
        let deadline = Deadline::after(timeout)?;
        let frames = Outgoing::of(frames, lengths)?;
        py.detach(|| self.step(|sender| sender.check(&frames))).map_err(raise)?;
        let mut at = 0;
        while at < frames.len() {
            let slice = deadline.slice();
            at = py.detach(|| self.step(|sender| sender.send(&frames, at, slice))).map_err(raise)?;
            if deadline.is_over() {
                return Ok(at);
            }
            py.check_signals()?;
        }
        if flush {
            self.drain(py, deadline)?;
        }
        Ok(at)
    }

    /// Waits until the other side has taken all frames that were sent, for `timeout` seconds or for ever; whether it has.
    #[pyo3(signature = (timeout=None))]
    fn flush(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        self.drain(py, Deadline::after(timeout)?)
    }

    /// Closes the port. Views of its frames stay good.
    fn close(&self, py: Python<'_>) {
        self.closing.store(true, Ordering::Relaxed);
        py.detach(|| {
            let (receiver, sender) = (lock(&self.receiver).take(), lock(&self.sender).take());
            let mut books = lock(&self.books);
            if let Books::Open(watch) = &*books {
                let last = Box::new(watch.counters());
                *books = Books::Closed(last);
            }
            drop((receiver, sender));
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
        let now = py.detach(|| match &*lock(&self.books) {
            Books::Open(watch) => watch.counters(),
            Books::Closed(last) => **last,
        });
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
