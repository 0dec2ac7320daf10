//! Running trials one after the other: repeats of invalid ones, pauses, the journal, events.

use crate::benchmark::stop::Stop;
use std::fmt;

use super::journal::Journal;
use super::record::Record;
use super::settings::{Settings, Test};
use super::updates::{SETTLE_PS, Updates};
use ringway_tester::trial::bed::TestBed;
use ringway_tester::trial::fault::TesterFault;
use ringway_tester::trial::loops::Live;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::result::TrialResult;
use ringway_tester::trial::spec::TrialSpec;
use ringway_tester::trial::variant::{Modifier, Variant};

/// What happens, for the caller to show.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A trial begins.
    Begins {
        /// Number, test, sizes and load.
        number: u64,
        /// Test.
        test: Test,
        /// Sizes.
        size: &'a Mix,
        /// Load.
        load: Option<Load>,
        /// How long it takes with its wait, picoseconds.
        duration_ps: u64,
    },
    /// Live numbers of a trial.
    Live(Live),
    /// A trial ended.
    Ended(&'a Record),
    /// Something to be said.
    Note(String),
}

/// Called with events; false ends the benchmark.
pub type Listener<'a> = dyn FnMut(&Event<'_>) -> bool + 'a;

/// Runs the trials of a benchmark.
pub struct Session<'a> {
    bed: &'a mut dyn TestBed,
    settings: &'a Settings,
    journal: &'a mut Journal,
    listener: &'a mut Listener<'a>,
    records: Vec<Record>,
    variant: Variant,
    updates: Option<Updates>,
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
    /// A session of trials on `bed`. Trials that the journal knows are not run again.
    pub fn new(
        bed: &'a mut dyn TestBed,
        settings: &'a Settings,
        journal: &'a mut Journal,
        listener: &'a mut Listener<'a>,
    ) -> Self {
        let (records, variant) = (Vec::new(), Variant::default());
        Self { bed, settings, journal, listener, records, variant, updates: None }
    }

    /// What the benchmark is to do.
    #[must_use]
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// What the next trials differ in from plain ones.
    pub fn vary(&mut self, variant: &Variant) {
        self.variant = variant.clone();
        self.updates = match &variant.modifier {
            Some(Modifier::Routes(command)) => Some(Updates::new(command)),
            _ => None,
        };
    }

    /// What trials differ in from plain ones.
    #[must_use]
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// All trials so far.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// All trials.
    #[must_use]
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// Tells something.
    pub fn note(&mut self, text: String) {
        (self.listener)(&Event::Note(text));
    }

    /// Runs a trial, and again while it is invalid. For throughput and loss the frames sent are what counts.
    /// So the tester is at its limit when all trials were short of frames: then the last one with no other
    /// fault is used.
    ///
    /// # Errors
    /// When the user ends it, a port fails, the journal can't be written, or all repeats are invalid.
    pub fn trial(&mut self, test: Test, load: Option<Load>, order: &TrialSpec) -> Result<TrialResult, Stop> {
        self.repeated(test, load, order, None, matches!(test, Test::Throughput | Test::Loss))
    }

    /// As [`trial`](Self::trial), at a load that is known to be the tester's limit, whatever the test: it may be short of frames.
    ///
    /// # Errors
    /// As [`trial`](Self::trial).
    pub fn trial_at_limit(
        &mut self,
        test: Test,
        load: Option<Load>,
        order: &TrialSpec,
    ) -> Result<TrialResult, Stop> {
        self.repeated(test, load, order, None, true)
    }

    /// As [`trial`](Self::trial); `hook` runs once at a time after the start of each.
    ///
    /// # Errors
    /// As [`trial`](Self::trial).
    pub fn hooked(
        &mut self,
        test: Test,
        load: Option<Load>,
        order: &TrialSpec,
        hook: Option<(u64, &mut dyn FnMut())>,
    ) -> Result<TrialResult, Stop> {
        self.repeated(test, load, order, hook, false)
    }

    fn repeated(
        &mut self,
        test: Test,
        load: Option<Load>,
        order: &TrialSpec,
        mut hook: Option<(u64, &mut dyn FnMut())>,
        may_be_short: bool,
    ) -> Result<TrialResult, Stop> {
        let order = &TrialSpec {
            variant: self.variant.clone(),
            catch_up: self.settings.trials.catch_up,
            ..order.clone()
        };
        let (mut short, mut limit) = (may_be_short, None);
        for attempt in 0..=self.settings.trials.retries {
            let record = self.once(test, load, order, attempt, &mut hook)?;
            let trial = record.trial.clone();
            self.records.push(record);
            if trial.interrupted() {
                return Err(Stop::Interrupted);
            }
            if trial.faults.is_empty() {
                return Ok(trial);
            }
            short &= trial.is_short();
            if trial.only_short() {
                limit = Some(trial);
            }
        }
        if let Some(trial) = limit.filter(|_| short) {
            return Ok(trial);
        }
        let fault = self.records.last().and_then(|r| r.trial.faults.first());
        let why = fault.map(ToString::to_string).unwrap_or_default();
        let cure = fault.and_then(TesterFault::cure).map_or_else(String::new, |cure| format!("; {cure}"));
        let times = self.settings.trials.retries + 1;
        Err(Stop::Unreliable(format!("{times} trials in a row were invalid: {why}{cure}")))
    }

    fn once(
        &mut self,
        test: Test,
        load: Option<Load>,
        order: &TrialSpec,
        attempt: u32,
        hook: &mut Option<(u64, &mut dyn FnMut())>,
    ) -> Result<Record, Stop> {
        let number = self.records.len() as u64 + 1;
        if let Some(known) = self.journal.replay(number, test, order, attempt) {
            return Ok(known);
        }
        let duration_ps = order.duration_ps();
        let begins = Event::Begins { number, test, size: &order.mix, load, duration_ps };
        let listener = &mut *self.listener;
        if !listener(&begins) {
            return Err(Stop::Interrupted);
        }
        let mut fired = false;
        if let Some(updates) = &mut self.updates {
            updates.before().map_err(Stop::Unreliable)?;
            if !self.bed.pause(SETTLE_PS, &mut || listener(&Event::Live(Live::default()))) {
                return Err(Stop::Interrupted);
            }
        }
        let updates = &mut self.updates;
        let trial = self.bed.run(order, &mut |live| {
            updates.iter_mut().for_each(|updates| updates.during(live.since_ps));
            if let Some((at, act)) = hook
                && !fired
                && live.since_ps >= *at
            {
                act();
                fired = true;
            }
            listener(&Event::Live(live))
        });
        let updated = self.updates.as_mut().map_or(Ok(()), Updates::after);
        let trial = trial?;
        updated.map_err(Stop::Unreliable)?;
        let record =
            Record { number, test, size: order.mix.clone(), load, attempt, order: order.clone(), trial };
        self.journal.write(&record).map_err(Stop::Journal)?;
        let go_on = listener(&Event::Ended(&record));
        if record.trial.interrupted() {
            return Ok(record);
        }
        let idle = Live::default();
        if !go_on || !self.bed.pause(self.settings.trials.pause_ps, &mut || listener(&Event::Live(idle))) {
            self.records.push(record);
            return Err(Stop::Interrupted);
        }
        Ok(record)
    }
}
