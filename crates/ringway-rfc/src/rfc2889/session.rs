//! Running trials over several ports one after the other: repeats of invalid ones, pauses, a device that forgets, events.

use std::fmt;
use std::time::Duration;

use ringway::Result;
use serde::{Deserialize, Serialize};

use super::settings::{Settings, Test};
use super::traffic::{Flaw, TrialSpec};
use super::trial::TrialResult;
use crate::benchmark::stop::Stop;
use ringway_tester::trial::command::Running;
use ringway_tester::trial::loops::{Live, Watch};
use ringway_tester::trial::rate::{Load, SECOND};

/// How long a command may take that has the device forget its addresses.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much longer than the ageing time is waited.
const BEYOND_PS: u64 = 2 * SECOND;

/// What trials run on: ports or a model.
pub trait TestBed: fmt::Debug {
    /// Number of ports.
    fn ports(&self) -> usize;

    /// Runs one trial. `watch` gets live numbers; when it says no, the trial ends.
    ///
    /// # Errors
    /// When a port is gone or refuses.
    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult>;

    /// Lets time pass; false when `go_on` said no meanwhile.
    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool;

    /// Whether frames with this flaw can be sent.
    ///
    /// # Errors
    /// When not, with the reason.
    fn can(&self, flaw: Flaw) -> std::result::Result<(), String>;
}

/// A trial and what it was for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the trial, from 1.
    pub number: u64,
    /// Test that it belongs to.
    pub test: Test,
    /// What of it: pattern, number of addresses, flaw.
    pub what: String,
    /// Load, where it is one.
    pub load: Option<Load>,
    /// Repeats of an invalid trial count up from 0.
    pub attempt: u32,
    /// What was asked.
    pub order: TrialSpec,
    /// What was found.
    pub trial: TrialResult,
}

/// What a trial is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Purpose {
    /// Test.
    pub test: Test,
    /// What of it.
    pub what: String,
    /// Load, where it is one.
    pub load: Option<Load>,
}

/// What happens, for the caller to show.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A trial begins.
    Begins {
        /// Its number.
        number: u64,
        /// What it is for.
        purpose: &'a Purpose,
        /// Bytes of its frames.
        size: u32,
    },
    /// Live numbers of a trial.
    Live(Live),
    /// Addresses are waited for to be too old.
    Ages,
    /// A trial ended.
    Ended(&'a Record),
}

/// Called with events; false ends the benchmark.
pub type Listener<'a> = dyn FnMut(&Event<'_>) -> bool + 'a;

/// Runs the trials of a benchmark.
pub struct Session<'a> {
    bed: &'a mut dyn TestBed,
    settings: &'a Settings,
    listener: &'a mut Listener<'a>,
    records: Vec<Record>,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("bed", &self.bed)
            .field("trials", &self.records.len())
            .finish_non_exhaustive()
    }
}

impl<'a> Session<'a> {
    /// A session of trials on `bed`.
    pub fn new(bed: &'a mut dyn TestBed, settings: &'a Settings, listener: &'a mut Listener<'a>) -> Self {
        Self { bed, settings, listener, records: Vec::new() }
    }

    /// What the benchmark is to do.
    #[must_use]
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// What trials run on.
    #[must_use]
    pub fn bed(&self) -> &dyn TestBed {
        self.bed
    }

    /// Trials so far.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.records.len() as u64
    }

    /// All trials so far.
    #[must_use]
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// Runs a trial, and again while it is invalid. The last one may be short of frames if all were: then the tester is at its
    /// limit, and what was sent is what counts.
    ///
    /// # Errors
    /// When the user ends it, a port fails, or all repeats are invalid.
    pub fn trial(&mut self, purpose: &Purpose, order: &TrialSpec) -> std::result::Result<TrialResult, Stop> {
        let mut short = true;
        for attempt in 0..=self.settings.trials.retries {
            let record = self.once(purpose, order, attempt)?;
            let trial = record.trial.clone();
            short &= trial.only_short();
            let usable = trial.faults.is_empty() || (attempt == self.settings.trials.retries && short);
            let go_on = (self.listener)(&Event::Ended(&record));
            self.records.push(record);
            if trial.interrupted() || !go_on || !self.pause(self.settings.trials.pause_ps) {
                return Err(Stop::Interrupted);
            }
            if usable {
                return Ok(trial);
            }
        }
        let last = self.records.last().and_then(|r| r.trial.faults.first());
        let why = last.map(ToString::to_string).unwrap_or_default();
        let times = self.settings.trials.retries + 1;
        Err(Stop::Unreliable(format!("{times} trials in a row were invalid: {why}")))
    }

    fn once(
        &mut self,
        purpose: &Purpose,
        order: &TrialSpec,
        attempt: u32,
    ) -> std::result::Result<Record, Stop> {
        let number = self.trials() + 1;
        let listener = &mut *self.listener;
        if !listener(&Event::Begins { number, purpose, size: order.size }) {
            return Err(Stop::Interrupted);
        }
        let trial = self.bed.run(order, &mut |live| listener(&Event::Live(live)))?;
        let Purpose { test, what, load } = purpose.clone();
        Ok(Record { number, test, what, load, attempt, order: order.clone(), trial })
    }

    fn pause(&mut self, ps: u64) -> bool {
        let listener = &mut *self.listener;
        self.bed.pause(ps, &mut || listener(&Event::Live(Live::default())))
    }

    /// Has the device forget the addresses that it learned: by the user's command, or by waiting until they are too old.
    ///
    /// # Errors
    /// When the user ends it, or the command fails.
    pub fn forget(&mut self) -> std::result::Result<(), Stop> {
        let go_on = (self.listener)(&Event::Ages);
        let done = match &self.settings.flush {
            Some(command) => go_on && flushed(command, self.listener).map_err(Stop::Unreliable)?,
            None => go_on && self.pause(self.settings.age_ps + BEYOND_PS),
        };
        if done { Ok(()) } else { Err(Stop::Interrupted) }
    }
}

/// Runs the command to its end; false when the user did not want to wait for it.
fn flushed(command: &str, listener: &mut Listener<'_>) -> std::result::Result<bool, String> {
    let running = Running::start("flush command", command, &[])?;
    running.end_within(PATIENCE, &mut || listener(&Event::Live(Live::default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_fail_say_so() {
        assert_eq!(flushed("true", &mut |_| true), Ok(true));
        let why = flushed("exit 3", &mut |_| true).unwrap_err();
        assert!(why.contains("'exit 3' failed: exit status: 3"), "{why}");
        assert_eq!(flushed("sleep 100", &mut |_| false), Ok(false));
    }
}
