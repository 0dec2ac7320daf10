//! Benchmarks: the systems of a case are measured in turn (A B A B ...), several times, in one run.
//!
//! | module | holds |
//! | --- | --- |
//! | [`containers`] | switches and routers between containers |
//! | [`fib`] | route lookup |
//! | [`pcap`] | unmodified programs, with Ringway under them and without |
//! | [`io`] | packet I/O: send, receive, forward, pipe, latency |
//! | [`vale`] | switches: between programs, between interfaces |
//! | [`l3`] | routers: of Ringway, and the kernel's |
//! | [`tester`] | the RFC 2544 benchmark itself: speed, exactness
//! | [`report`] | the results as JSON: the contract of all suites |
//! | [`leftovers`] | how a process that was cut short goes away without a trace |
//! | [`sides`] | sender and receiver as processes |
//! | [`table`] | the results as text |
//!
//! ```
//! use ringway_bench::suite::{Case, Options, Sample, System, Unit, run};
//! use ringway_lab::Conditions;
//! let case = Case::new("sum", Unit::Ns).system("ringway-sum", || Ok(Sample::of(2.0)));
//! let report = run("demo", vec![case], &Options::default(), Conditions::read(), |_| ());
//! assert_eq!(report.rows[0].median, 2.0);
//! ```

mod bed;
pub mod containers;
mod duo;
pub mod fib;
pub mod io;
pub mod l3;
pub mod leftovers;
mod loops;
mod meter;
pub mod pcap;
pub mod report;
pub mod sides;
pub mod statistics;
pub mod table;
pub mod tester;
pub mod vale;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use bed::Bed;
use report::{Missing, Report, Row};
use ringway_engine::Signals;
use ringway_lab::Conditions;
pub use ringway_tester::Fault;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Millions of packets per second; more is better.
    Mpps,
    /// Nanoseconds; less is better.
    #[serde(rename = "ns")]
    Ns,
    /// Microseconds; less is better.
    #[serde(rename = "us")]
    Us,
    /// Billions of bits per second; more is better.
    #[serde(rename = "Gbit/s")]
    Gbit,
    /// Hundredths; more is better.
    #[serde(rename = "%")]
    Percent,
    /// Millionths; less is better.
    #[serde(rename = "ppm")]
    Ppm,
    /// Millions of lookups per second; more is better.
    #[serde(rename = "Mlookup/s")]
    Mlookups,
    /// Millions of route changes per second; more is better.
    #[serde(rename = "Mupdate/s")]
    Mupdates,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mpps => "Mpps",
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Gbit => "Gbit/s",
            Self::Percent => "%",
            Self::Ppm => "ppm",
            Self::Mlookups => "Mlookup/s",
            Self::Mupdates => "Mupdate/s",
        })
    }
}

/// One run of one system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// In the unit of the case.
    pub value: f64,
    /// Frames offered and not delivered, for cases that ask for none.
    pub lost: Option<u64>,
    /// Bytes of memory that were in use, for cases that ask for it.
    pub memory: Option<u64>,
    /// Seconds of CPUs for each Gbit, for cases that ask for it.
    pub cpu: Option<f64>,
}

impl Sample {
    /// A sample that is a value alone.
    pub fn of(value: f64) -> Self {
        Self { value, lost: None, memory: None, cpu: None }
    }
}

type Measure<'a> = Box<dyn FnMut() -> Result<Sample, Fault> + 'a>;

/// What is compared: a name and how to measure it once.
pub struct System<'a> {
    name: &'static str,
    measure: Measure<'a>,
}

impl fmt::Debug for System<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("System").field(&self.name).finish()
    }
}

/// Systems that do the same job under the same conditions.
#[derive(Debug)]
pub struct Case<'a> {
    name: &'static str,
    variant: &'static str,
    frame: u32,
    burst: u32,
    cores: u32,
    unit: Unit,
    bits: bool,
    note: &'static str,
    systems: Vec<System<'a>>,
}

impl<'a> Case<'a> {
    /// A case without systems: 64-byte frames, burst 1, one core.
    pub fn new(name: &'static str, unit: Unit) -> Self {
        Self {
            name,
            variant: "",
            frame: 64,
            burst: 1,
            cores: 1,
            unit,
            bits: false,
            note: "",
            systems: Vec::new(),
        }
    }

    /// Sets what tells the case from others of its name, besides frame, burst and cores: `32 ports`.
    #[must_use]
    pub fn variant(self, variant: &'static str) -> Self {
        Self { variant, ..self }
    }

    /// Sets the frame size, FCS included; 0 where there are no frames.
    #[must_use]
    pub fn frame(self, frame: u32) -> Self {
        Self { frame, ..self }
    }

    /// Sets the frames handled per iteration.
    #[must_use]
    pub fn burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }

    /// Has the report say how many bits per second the packets per second are, FCS included.
    #[must_use]
    pub fn with_bits(self) -> Self {
        Self { bits: true, ..self }
    }

    /// Sets the cores that the systems use in user space.
    #[must_use]
    pub fn cores(self, cores: u32) -> Self {
        Self { cores, ..self }
    }

    /// Sets what a reader of the numbers must know.
    #[must_use]
    pub fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Adds a system. Names of ours start with `ringway`, all others are peers.
    #[must_use]
    pub fn system(mut self, name: &'static str, measure: impl FnMut() -> Result<Sample, Fault> + 'a) -> Self {
        self.systems.push(System { name, measure: Box::new(measure) });
        self
    }
}

/// What to measure, and how often.
#[derive(Debug, Clone)]
pub struct Options {
    /// Repeats of each system.
    pub runs: u32,
    /// Only the cases of this name.
    pub case: Option<String>,
    /// Only the systems of these names; empty: all.
    pub only: Vec<String>,
    /// Ends the suite early.
    pub signals: Signals,
}

impl Default for Options {
    fn default() -> Self {
        Self { runs: 5, case: None, only: Vec::new(), signals: Signals::new() }
    }
}

impl Options {
    fn wants_case(&self, case: &Case<'_>) -> bool {
        self.case.as_deref().is_none_or(|name| name == case.name)
    }

    fn wants_system(&self, system: &System<'_>) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == system.name)
    }
}

/// The measurement that starts now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Measurements that are over.
    pub done: u32,
    /// Measurements in all, as far as is known now.
    pub total: u32,
    /// Name of the case.
    pub case: &'static str,
    /// Its variant.
    pub variant: &'static str,
    /// Its burst.
    pub burst: u32,
    /// Name of the system.
    pub system: &'static str,
}

/// What happens in a suite.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A measurement starts.
    Step(Step),
    /// A measurement is over: the report if the suite ended now.
    Measured(&'a Report),
    /// A case is over.
    Case {
        /// Its systems with a number.
        rows: &'a [Row],
        /// Those without one, or with fewer runs.
        missing: &'a [Missing],
    },
}

/// The names of all cases, and those of all systems.
pub fn names(cases: &[Case<'_>]) -> (Vec<&'static str>, Vec<&'static str>) {
    let unique = |names: &mut dyn Iterator<Item = &'static str>| {
        let mut seen = BTreeSet::new();
        names.filter(|n| seen.insert(*n)).collect::<Vec<_>>()
    };
    (
        unique(&mut cases.iter().map(|c| c.name)),
        unique(&mut cases.iter().flat_map(|c| c.systems.iter().map(|s| s.name))),
    )
}

/// As [`run_told`], but `watch` learns of measurements only.
pub fn run(
    suite: &str,
    cases: Vec<Case<'_>>,
    options: &Options,
    conditions: Conditions,
    mut watch: impl FnMut(Step),
) -> Report {
    run_told(suite, cases, options, conditions, |event| match event {
        Event::Step(step) => watch(step),
        Event::Measured(_) | Event::Case { .. } => {}
    })
}

/// Measures the cases one after the other. Tells `watch` before and after each measurement, and after each case.
///
/// A system that is not there, or fails twice, is left out from then on and named in the report. A stop by
/// [`Options::signals`] ends the suite after the current measurement, which is thrown away; the report says so.
pub fn run_told(
    suite: &str,
    mut cases: Vec<Case<'_>>,
    options: &Options,
    conditions: Conditions,
    mut watch: impl FnMut(Event<'_>),
) -> Report {
    cases.retain(|c| options.wants_case(c));
    for case in &mut cases {
        case.systems.retain(|s| options.wants_system(s));
    }
    cases.retain(|c| !c.systems.is_empty());
    let total: usize = cases.iter().map(|c| c.systems.len() * options.runs as usize).sum();
    let mut progress = Progress { done: 0, total: total as u32, watch: &mut watch };
    let mut report = Report::new(suite, conditions);
    for case in &mut cases {
        let (rows, missing) = (report.rows.len(), report.missing.len());
        measure(case, options, &mut progress, &mut report);
        (progress.watch)(Event::Case { rows: &report.rows[rows..], missing: &report.missing[missing..] });
    }
    report
}

struct Progress<'a> {
    done: u32,
    total: u32,
    watch: &'a mut dyn FnMut(Event<'_>),
}

impl Progress<'_> {
    fn step(&mut self, case: &Case<'_>, system: &'static str) {
        let Case { name, variant, burst, .. } = *case;
        let step = Step { done: self.done, total: self.total, case: name, variant, burst, system };
        (self.watch)(Event::Step(step));
        self.done += 1;
    }
}

fn measure(case: &mut Case<'_>, options: &Options, progress: &mut Progress<'_>, report: &mut Report) {
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); case.systems.len()];
    let mut faults: Vec<Vec<Fault>> = vec![Vec::new(); case.systems.len()];
    let (runs, signals) = (options.runs, &options.signals);
    for run in 0..runs {
        for k in 0..case.systems.len() {
            if given_up(&faults[k]) || signals.stopped() {
                continue;
            }
            progress.step(case, case.systems[k].name);
            let result = (case.systems[k].measure)();
            if signals.stopped() {
                continue;
            }
            match result {
                Ok(sample) => samples[k].push(sample),
                Err(fault) => {
                    faults[k].push(fault);
                    if given_up(&faults[k]) {
                        progress.total -= runs - run - 1;
                    }
                }
            }
            (progress.watch)(Event::Measured(&with(report.clone(), case, &samples, &faults)));
        }
    }
    *report = with(report.clone(), case, &samples, &faults);
    report.interrupted |= signals.stopped();
}

/// A report with the results of one more case.
fn with(mut report: Report, case: &Case<'_>, samples: &[Vec<Sample>], faults: &[Vec<Fault>]) -> Report {
    for ((system, samples), faults) in case.systems.iter().zip(samples).zip(faults) {
        if let Some(fault) = faults.last() {
            report.missing.push(Missing::of(case, system.name, samples.len(), fault));
        }
        report.rows.extend(Row::of(case, system.name, samples));
    }
    report
}

/// A busy machine may spoil one run, not two.
fn given_up(faults: &[Fault]) -> bool {
    faults.len() > 1 || matches!(faults, [Fault::Unavailable(_)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn systems_take_turns_and_broken_ones_drop_out() {
        let order = RefCell::new(String::new());
        let say = |name: char, result: Result<f64, Fault>| {
            order.borrow_mut().push(name);
            result.map(Sample::of)
        };
        let mut n = 0.0;
        let case = Case::new("c", Unit::Mpps)
            .system("ringway-a", || {
                n += 1.0;
                say('a', Ok(n))
            })
            .system("b", || say('b', Err(Fault::Unavailable("not here".into()))))
            .system("c", || say('c', Err(Fault::Failed("broken".into()))))
            .system("d", || say('d', Ok(1.0)));
        let only = ["ringway-a", "b", "c"].map(String::from).to_vec();
        let options = Options { runs: 3, only, ..Options::default() };
        let mut steps = Vec::new();
        let report = run("s", vec![case], &options, Conditions::default(), |s| steps.push((s.done, s.total)));
        assert_eq!(*order.borrow(), "abcaca");
        assert_eq!(steps.first(), Some(&(0, 9)));
        assert_eq!(steps.last(), Some(&(5, 6)));
        assert_eq!(report.rows.len(), 1);
        assert_eq!((report.rows[0].min, report.rows[0].median, report.rows[0].max), (1.0, 2.0, 3.0));
        let missing: Vec<_> = report.missing.iter().map(|m| (m.system.as_str(), m.skipped)).collect();
        assert_eq!(missing, [("b", true), ("c", false)]);
        assert_eq!(report.failed().map(|m| m.reason.as_str()), Some("broken"));
    }

    #[test]
    fn one_spoilt_run_is_named_and_no_failure() {
        let mut n = 0;
        let case = Case::new("c", Unit::Mpps).system("s", || {
            n += 1;
            if n == 1 { Err(Fault::Failed("disturbed".into())) } else { Ok(Sample::of(1.0)) }
        });
        let report = run("s", vec![case], &Options::default(), Conditions::default(), |_| ());
        assert_eq!(report.rows[0].runs, 4);
        assert_eq!(report.missing[0].runs, 4);
        assert!(report.failed().is_none());
    }

    #[test]
    fn each_case_is_told_when_it_is_over() {
        let case = |name, system, result: Result<f64, Fault>| {
            Case::new(name, Unit::Ns).system(system, move || match &result {
                Ok(value) => Ok(Sample::of(*value)),
                Err(_) => Err(Fault::Unavailable("not here".into())),
            })
        };
        let cases = vec![case("x", "a", Ok(1.0)), case("y", "b", Err(Fault::Failed("no".into())))];
        let mut told = Vec::new();
        let options = Options { runs: 1, ..Options::default() };
        run_told("s", cases, &options, Conditions::default(), |event| {
            told.push(match event {
                Event::Step(step) => format!("{} starts", step.system),
                Event::Measured(report) => format!("{} of {}", report.rows.len(), report.missing.len()),
                Event::Case { rows, missing } => {
                    let names = rows.iter().map(|r| &r.system).chain(missing.iter().map(|m| &m.system));
                    format!("{} rows: {}", rows.len(), names.cloned().collect::<String>())
                }
            });
        });
        assert_eq!(told, ["a starts", "1 of 0", "1 rows: a", "b starts", "1 of 1", "0 rows: b"]);
    }

    #[test]
    fn a_case_can_be_picked() {
        let cases =
            || vec![Case::new("x", Unit::Ns).system("s", || Ok(Sample::of(1.0))), Case::new("y", Unit::Ns)];
        let options = Options { case: Some("y".into()), ..Options::default() };
        let report = run("s", cases(), &options, Conditions::default(), |_| ());
        assert!(report.rows.is_empty());
        assert_eq!(names(&cases()), (vec!["x", "y"], vec!["s"]));
    }
}
