//! Benchmarks: the systems of a case are measured in turn (A B A B ...), several times, in one run.
//!
//! | module | holds |
//! | --- | --- |
//! | [`containers`] | switches and routers between containers |
//! | [`engine`] | queues, pools and ports that any number of threads use |
//! | [`fib`] | route lookup |
//! | [`flows`] | flows of applications: of Ringway's engine, and of sockets |
//! | [`memif`] | frames between processes through shared memory, by Ringway and by DPDK |
//! | [`netmap`] | a program on netmap's interface, beside Ringway's own ports |
//! | [`pcap`] | unmodified programs, with Ringway under them and without |
//! | [`python`] | the Python module, beside scapy, libpcap, sockets and a table of prefixes |
//! | [`io`] | packet I/O: send, receive, forward, pipe, latency |
//! | [`vale`] | switches: between programs, between interfaces |
//! | [`l3`] | routers: of Ringway, and the kernel's |
//! | [`tester`] | the RFC 2544 benchmark itself: speed, exactness |
//! | [`report`] | the results as JSON: the contract of all suites |
//! | [`distance`] | how far the CPUs of a suite are from each other |
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
mod case;
pub mod containers;
pub mod distance;
mod duo;
pub mod engine;
pub mod fib;
pub mod flows;
pub mod io;
pub mod l3;
pub mod leftovers;
mod loops;
pub mod memif;
mod meter;
pub mod netmap;
pub mod pcap;
mod preload;
pub mod python;
pub mod report;
mod side_command;
pub mod sides;
pub mod statistics;
pub mod table;
pub mod tester;
pub mod vale;
mod window;

use std::collections::BTreeSet;

pub use bed::Bed;
pub use case::{Case, FlowCounts, REASONS, Sample, System, Unit};
use report::{Missing, Report, Row};
use ringway_engine::Signals;
use ringway_lab::Conditions;
pub use ringway_tester::Fault;

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

/// The names of all cases, and of all systems.
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
    run_told(Report::new(suite, conditions), cases, options, |event| match event {
        Event::Step(step) => watch(step),
        Event::Measured(_) | Event::Case { .. } => {}
    })
}

/// Measures the cases one after the other, for a report that is empty so far. Tells `watch` before and after each measurement, and
/// after each case.
///
/// A system that is not there, or fails twice, is left out from then on and named in the report. A stop by
/// [`Options::signals`] ends the suite after the current measurement, which is thrown away; the report says so.
pub fn run_told(
    mut report: Report,
    mut cases: Vec<Case<'_>>,
    options: &Options,
    mut watch: impl FnMut(Event<'_>),
) -> Report {
    cases.retain(|c| options.wants_case(c));
    for case in &mut cases {
        case.systems.retain(|s| options.wants_system(s));
    }
    cases.retain(|c| !c.systems.is_empty());
    let total: usize = cases.iter().map(|c| c.systems.len() * options.runs as usize).sum();
    let mut progress = Progress { done: 0, total: total as u32, watch: &mut watch };
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
        run_told(Report::new("s", Conditions::default()), cases, &options, |event| {
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
