//! Where the suites measure: CPUs, a namespace, links that last for one run.

use std::thread;

use super::Fault;
use super::side_command::SideCommand;
use ringway_engine::Signals;
use ringway_lab::{Lab, LabError};

/// Where folders are in memory, and there for every user.
pub(super) const MEMORY: &str = "/dev/shm";

/// CPU of senders and generators.
pub(super) const SENDER: usize = 0;

/// CPU of receivers and forwarders.
pub(super) fn receiver() -> usize {
    thread::available_parallelism().map_or(0, |n| 1.min(n.get() - 1))
}

/// Where to measure and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Bed<'a> {
    lab: Result<&'a Lab, &'a LabError>,
    pub(super) seconds: f64,
    pub(super) signals: &'a Signals,
    sides: Option<&'a SideCommand>,
}

impl<'a> Bed<'a> {
    /// Measures in `lab` for `seconds` each time. Without a lab, cases that need links are skipped by name.
    /// Ringway's loops end early when `signals` says so.
    pub fn new(lab: &'a Result<Lab, LabError>, seconds: f64, signals: &'a Signals) -> Self {
        Self::of(lab.as_ref(), seconds, signals)
    }

    /// The same from parts.
    pub(crate) fn of(lab: Result<&'a Lab, &'a LabError>, seconds: f64, signals: &'a Signals) -> Self {
        Self { lab, seconds, signals, sides: None }
    }

    /// Sets how to start the two sides of cases between processes, which are skipped by name otherwise.
    #[must_use]
    pub fn with_sides(self, command: &'a SideCommand) -> Self {
        Self { sides: Some(command), ..self }
    }

    pub(super) fn sides(&self) -> Result<&'a SideCommand, Fault> {
        self.sides
            .ok_or_else(|| Fault::Unavailable("the program can't be started as sender and receiver".into()))
    }

    pub(super) fn lab(&self) -> Result<&'a Lab, Fault> {
        self.lab.map_err(|e| Fault::Unavailable(e.to_string()))
    }

    /// Makes veth pairs for one measurement: `a` is `a0` and `a1`, and so on.
    pub(super) fn links(&self, pairs: &[&str]) -> Result<Links<'a>, Fault> {
        let links = Links { lab: self.lab()?, pairs: pairs.iter().map(ToString::to_string).collect() };
        for pair in pairs {
            links.lab.veth(&format!("{pair}0"), &format!("{pair}1"))?;
        }
        Ok(links)
    }
}

/// Veth pairs, deleted when dropped.
#[derive(Debug)]
pub(super) struct Links<'a> {
    pub(super) lab: &'a Lab,
    pairs: Vec<String>,
}

impl Drop for Links<'_> {
    fn drop(&mut self) {
        for pair in &self.pairs {
            let _ = self.lab.ip(&format!("link del {pair}0")); // absent if it was never made
        }
    }
}
