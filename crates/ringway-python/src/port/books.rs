//! The counters of a port: as they are, or as they were when it was closed.

use std::sync::Mutex;

use ringway::{CounterWatch, PortCounters};

use crate::lock::lock;

/// The counters of a port, open or closed.
pub(super) struct Books(Mutex<State>);

enum State {
    Open(CounterWatch),
    Closed(Box<PortCounters>),
}

impl Books {
    /// Of an open port.
    pub(super) fn new(watch: CounterWatch) -> Self {
        Self(Mutex::new(State::Open(watch)))
    }

    /// The counters now.
    pub(super) fn now(&self) -> PortCounters {
        match &*lock(&self.0) {
            State::Open(watch) => watch.counters(),
            State::Closed(last) => **last,
        }
    }

    /// Keeps the counters as they are now.
    pub(super) fn close(&self) {
        let mut state = lock(&self.0);
        if let State::Open(watch) = &*state {
            let last = Box::new(watch.counters());
            *state = State::Closed(last);
        }
    }
}
