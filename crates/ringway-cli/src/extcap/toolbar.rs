//! Wireshark's toolbar of a capture: its fields change what is captured, and show it.
//!
//! A thread talks to the toolbar, and compiles filters. The loop of the capture takes changes over between two bursts, and then goes on,
//! so that no frame waits for a filter.

use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringway::{CounterWatch, Filter};
use ringway_engine::Signals;
use ringway_traffic::units::many;
use ringway_wire::pcapfile::MAX_RECORD;

use super::link::{Closed, Link};
use super::message::{ADD, ERROR, INITIALIZED, SET, STATUS};
use super::offer::control;
use super::values::{Values, Wish};
use crate::capture::{Change, Steering, Taken};
use crate::console::note;
use crate::errors;
use crate::failure::Failure;
use crate::units::utc;

/// How long a capture waits for the first values of the toolbar.
const FIRST_VALUES: Duration = Duration::from_secs(10);

/// How often the toolbar gets the number of lost frames.
const REPORT: Duration = Duration::from_secs(1);

/// Longest sleep of the thread: so soon it sees a signal.
const NAP: Duration = Duration::from_millis(50);

/// The toolbar, and the values that hold.
pub(super) struct Toolbar {
    link: Link,
    values: Values,
    signals: Signals,
    initialized: bool,
    /// Whether it said that what came is no message.
    complained: bool,
    lost: u64,
}

impl Toolbar {
    /// Opens the FIFOs that the toolbar writes to and reads from.
    pub(super) fn open(from: &Path, to: &Path, values: Values, signals: &Signals) -> Result<Self, Failure> {
        let link = Link::open(from, to)?;
        let signals = signals.clone();
        Ok(Self { link, values, signals, initialized: false, complained: false, lost: 0 })
    }

    /// A capture that fails before it began: Wireshark opens its end of the FIFO to the capture at some time, and waits for ever if nobody
    /// has the other end.
    pub(super) fn give_up(&mut self) {
        let (start, mut came) = (Instant::now(), Vec::new());
        while self.waits_since(start) && came.is_empty() {
            if self.link.exchange(NAP, &mut came) == Err(Closed) {
                return;
            }
        }
    }

    /// Takes the values that a user set in the toolbar before the capture, and sends back the values that hold. The filter of these, and the
    /// bytes of each frame.
    pub(super) fn begin(&mut self) -> Result<(Option<Filter>, u32), Failure> {
        let start = Instant::now();
        let mut filter = self.values.compiled()?;
        self.log(SET, "the capture begins");
        while self.waits_since(start) {
            self.listen(|wish| {
                if let Wish::Filter(_, compiled) = wish {
                    filter.clone_from(compiled);
                }
                true
            });
        }
        self.link.send(control::FILTER, SET, &self.values.filter);
        self.link.send(control::SNAPLEN, SET, &self.values.snaplen.to_string());
        Ok((filter, self.values.most()))
    }

    /// Whether the first values may still come.
    fn waits_since(&self, start: Instant) -> bool {
        !self.initialized && !self.signals.stopped() && start.elapsed() < FIRST_VALUES
    }

    /// Goes on in a thread, until the capture ends. The capture ends when Wireshark closes the toolbar's FIFOs.
    pub(super) fn go_on(mut self, lost: CounterWatch) -> Result<Steering, Failure> {
        let (change, changes) = sync_channel(0);
        let run = move || {
            let mut reported = Instant::now();
            while !self.signals.stopped() {
                self.listen(|wish| fulfil(wish, &change));
                if reported.elapsed() >= REPORT {
                    reported = Instant::now();
                    self.report(&lost);
                }
            }
        };
        let started = thread::Builder::new().name("toolbar".into()).spawn(run);
        started.map_err(|e| {
            let what = format!("no thread for the toolbar: {e}; raise the limit of processes (`ulimit -u`)");
            Failure::Other(errors::command::SYSTEM, what)
        })?;
        Ok(changes)
    }

    /// Waits for values from the toolbar, and keeps the ones that the capture `takes`. The toolbar gets an error for each one that makes no
    /// sense.
    fn listen(&mut self, mut takes: impl FnMut(&Wish) -> bool) {
        let mut messages = Vec::new();
        if self.link.exchange(NAP, &mut messages) == Err(Closed) {
            self.signals.stop();
        }
        if self.link.broken && !self.complained {
            self.complained = true;
            note("ringway: what the toolbar sends are no messages; it has no effect any more");
        }
        for message in messages {
            self.initialized |= message.command == INITIALIZED;
            match self.values.wish(&message) {
                Ok(Some(wish)) if takes(&wish) => self.keep(wish),
                Ok(_) => {}
                Err(what) => self.refuse(&what),
            }
        }
    }

    /// The capture has a value from now on.
    fn keep(&mut self, wish: Wish) {
        match wish {
            Wish::Filter(text, _) => self.values.filter = text,
            Wish::Snaplen(bytes) => self.values.snaplen = bytes,
        }
        self.say(&self.values.to_string());
    }

    /// Says that a value was not taken over.
    fn refuse(&mut self, what: &str) {
        let text = format!("{what}. The capture goes on with {}", self.values);
        self.link.send(control::LOG, ERROR, &text);
        self.log(ADD, &text);
    }

    /// Says how many frames the port lost, if there are more of them.
    fn report(&mut self, watch: &CounterWatch) {
        let rx = watch.counters().rx;
        if rx.dropped() == self.lost {
            return;
        }
        self.lost = rx.dropped();
        let reasons: Vec<String> = rx.reasons().map(|(reason, n)| format!("{n} {}", reason.name())).collect();
        self.say(&format!("{} lost: {}", many(self.lost, "frame"), reasons.join(", ")));
    }

    /// Into the status bar, and into the log.
    fn say(&mut self, what: &str) {
        self.link.send(control::LOG, STATUS, &format!("Ringway: {what}"));
        self.log(ADD, what);
    }

    fn log(&mut self, command: u8, what: &str) {
        self.link.send(control::LOG, command, &format!("{} {what}\n", utc(SystemTime::now())));
    }
}

/// Asks the capture for a change; whether it holds from now on. A capture that has ended takes none.
fn fulfil(wish: &Wish, change: &SyncSender<(Change, Taken)>) -> bool {
    let what = match wish {
        Wish::Filter(_, filter) => Change::Filter(filter.clone()),
        Wish::Snaplen(0) => Change::Snaplen(MAX_RECORD),
        Wish::Snaplen(bytes) => Change::Snaplen(*bytes),
    };
    let (done, taken) = sync_channel(1);
    change.send((what, done)).is_ok() && taken.recv().is_ok()
}
