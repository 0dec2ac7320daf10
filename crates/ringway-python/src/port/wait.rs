//! Calls that wait: they release Python's lock, look at the rings again and again, and let Python see signals in between.

use std::sync::atomic::Ordering;
use std::time::Duration;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use ringway::{Error, ErrorKind};

use super::parts::{Port, Side};
use crate::burst::Burst;
use crate::deadline::Deadline;
use crate::errors::raise;
use crate::lock::lock;
use crate::outgoing::Outgoing;
use crate::receive::Found;
use crate::send::Sender;

impl Port {
    fn closed(&self) -> Error {
        Error::new(ErrorKind::Gone, &self.info.name, "the port was closed")
    }

    /// A look at the rings, which waits for `timeout` at most.
    fn look(&self, most: usize, timeout: Duration) -> ringway::Result<Found> {
        if self.closing.load(Ordering::Relaxed) {
            return Err(self.closed());
        }
        lock(&self.receiver).as_mut().ok_or_else(|| self.closed())?.receive(most, timeout)
    }

    /// Frames, or `None` when the time is over or no frame will ever come.
    pub(super) fn wait(&self, py: Python<'_>, most: usize, deadline: Deadline) -> PyResult<Option<Burst>> {
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

    fn full(&self) -> PyErr {
        let what = "the program holds as many frames as the port has buffers for";
        raise(
            Error::new(ErrorKind::Busy, &self.info.name, what).cure(
                "let bursts and views go, copy frames with bytes(), or open the port with a larger hold",
            ),
        )
    }

    /// The sending side of a ring.
    pub(super) fn side(&self, ring: usize) -> PyResult<&Side> {
        let wrong = || match self.senders.len() {
            0 => raise(Error::new(ErrorKind::Unsupported, &self.info.name, "the port sends nothing")),
            rings => PyIndexError::new_err(format!(
                "{} has no ring {ring} to send on: its rings are 0 to {}",
                self.info.name,
                rings - 1
            )),
        };
        self.senders.get(ring).ok_or_else(wrong)
    }

    /// One step of a ring, under its lock.
    fn step<T>(
        &self,
        side: &Side,
        step: impl FnOnce(&mut Sender) -> ringway::Result<T>,
    ) -> ringway::Result<T> {
        if self.closing.load(Ordering::Relaxed) {
            return Err(self.closed());
        }
        step(lock(side).as_mut().ok_or_else(|| self.closed())?)
    }

    /// Gives frames to a ring until it has them all, or the time is over; returns how many it took.
    pub(super) fn give(
        &self,
        py: Python<'_>,
        side: &Side,
        frames: &Outgoing,
        deadline: Deadline,
    ) -> PyResult<usize> {
        py.detach(|| self.step(side, |sender| sender.check(frames))).map_err(raise)?;
        let mut at = 0;
        while at < frames.len() {
            let slice = deadline.slice();
            at = py.detach(|| self.step(side, |sender| sender.send(frames, at, slice))).map_err(raise)?;
            if deadline.is_over() {
                break;
            }
            py.check_signals()?;
        }
        Ok(at)
    }

    /// Waits until a ring is empty; whether it is when the time is over.
    pub(super) fn drain(&self, py: Python<'_>, side: &Side, deadline: Deadline) -> PyResult<bool> {
        loop {
            let slice = deadline.slice();
            if py.detach(|| self.step(side, |sender| sender.flush(slice))).map_err(raise)? {
                return Ok(true);
            }
            if deadline.is_over() {
                return Ok(false);
            }
            py.check_signals()?;
        }
    }
}
