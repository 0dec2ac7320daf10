//! `ringway rfc2544`: benchmarks of RFC 2544 in real and in virtual time.

mod args;
mod config;
mod dut;
mod plan;
mod selftest;
mod show;

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_rfc::benchmark::report::Caveats;
use ringway_rfc::benchmark::stop::Stop;
use ringway_rfc::rfc2544::journal::Journal;
use ringway_rfc::rfc2544::measure::{self, Loss, Results, Varied, estimate};
use ringway_rfc::rfc2544::record::Record;
use ringway_rfc::rfc2544::report::{Report, SCHEMA, csv, diff, page, text};
use ringway_rfc::rfc2544::selftest::{SelfTest, seconds as selftest_seconds};
use ringway_rfc::rfc2544::session::{Event, Session};
use ringway_tester::bed::{RealTestBed, TestBedSpec};
use ringway_tester::device::{Router, VirtualTestBed};
use ringway_tester::ports::{MOST_ANNOUNCED, refuse};
use ringway_tester::trial::bed::TestBed;
use ringway_tester::trial::format::Format;
use ringway_tester::trial::rate::{Rate, SECOND};
use ringway_tester::trial::result::TrialResult;
use ringway_tester::trial::spec::TrialSpec;
use ringway_tester::trial::variant::Variant;
use ringway_traffic::units::many;
use serde_json::{Value, json};

use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::rfc2889;
use crate::stop;
use crate::tester::files::{Files, Served};
use crate::tester::origin::origin;
use crate::words;

pub(crate) use args::Args;
use args::Command;
use plan::{Plan, Target};
use show::{Show, clock};

/// Frames that are sent first, to see whether any comes back, and how fast.
const PROBE: u64 = 20;
const PROBE_PPS: u64 = 1000;

/// How often that is done before nothing comes back: on a busy machine a thread may not run at all in so short a time.
const PROBE_TRIES: u32 = 3;

pub(crate) fn run(given: &Args) -> Result<(), Failure> {
    match &given.command {
        Some(Command::Diff { before, after, json }) => return compare(before, after, *json),
        Some(Command::Switch(args)) => return rfc2889::run(args),
        None => {}
    }
    let with_file;
    let args = match &given.config {
        None => given,
        Some(path) => {
            let file = config::words(path)?;
            // What follows the name of the command.
            let words = words::words().skip_while(|word| word != "rfc2544").skip(1);
            with_file =
                config::merged(file, words).map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))?;
            &with_file
        }
    };
    let plan = Plan::new(args).map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))?;
    if args.plan {
        return tell(&plan, args.shared.json);
    }
    measure(args, &plan)
}

/// Says what would be done.
fn tell(plan: &Plan, json: bool) -> Result<(), Failure> {
    let (trials, ps) = estimate(&plan.settings);
    let seconds = ps / SECOND;
    let mut lines =
        vec![format!("{}: about {}, {} in real time", plan.device(), many(trials, "trial"), clock(seconds))];
    if plan.self_test.is_some() {
        lines.push(format!("self-test: {:.0} s before", selftest_seconds(&plan.settings).ceil()));
    }
    lines.extend(plan.settings.shortcuts().iter().map(|why| format!("partial: {why}")));
    let object = json!({ "trials": trials, "seconds": seconds, "partial": plan.settings.shortcuts(), "settings": plan.settings });
    Ok(Console { json }.result(&lines.join("\n"), &object)?)
}

/// Measures the tester if that is wanted, sets up what is to be measured, and measures it.
fn measure(args: &Args, plan: &Plan) -> Result<(), Failure> {
    let signals = stop::signals()?;
    if let Target::Ports(spec) = &plan.target
        && let Some(why) =
            spec.ports.iter().find_map(|port| refuse(port)).filter(|_| !args.shared.allow_production)
    {
        return Err(Failure::Other(errors::testers::PRODUCTION, why));
    }
    let conditions = Conditions::read();
    let self_test = match (&plan.self_test, plan.target.bed()) {
        (Some(joined), Some(spec)) => Some(joined.measure(spec, &plan.settings, &signals)?),
        _ => None,
    };
    let run = Run { args, plan, signals: &signals, conditions: &conditions, self_test: self_test.as_ref() };
    match &plan.target {
        _ if args.is_alone() => run.report(Done::nothing(plan)),
        Target::Model(device) => {
            let mut bed =
                VirtualTestBed::new(device.clone(), plan.settings.trials.maximum.bits(), args.bidir);
            run.trials(&mut bed, Vec::new(), &plan.format)
        }
        Target::Ports(spec) => run.over_ports(RealTestBed::open(spec)?, &spec.format),
        Target::Router(router, spec) => {
            let mac = |side: usize| {
                let text = &spec.format.macs[side];
                text.parse().map_err(|e| {
                    Failure::Usage(errors::command::BAD_VALUE, format!("MAC address '{text}': {e}"))
                })
            };
            let router = Router::open(router, [mac(0)?, mac(1)?])?;
            let spec = TestBedSpec { ports: router.ports(), ..spec.clone() };
            run.over_ports(RealTestBed::open(&spec)?.with_device(Box::new(router)), &spec.format)
        }
        Target::Dut(device, spec) => {
            let dut = device.start()?;
            let spec = dut::between(spec, &dut);
            dut.run(|| run.over_ports(RealTestBed::open(&spec)?, &spec.format))
        }
    }
}

/// What was asked for, and what is known before the first trial.
#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    args: &'a Args,
    plan: &'a Plan,
    signals: &'a Signals,
    conditions: &'a Conditions,
    self_test: Option<&'a SelfTest>,
}

/// What trials found, and over what.
struct Done {
    ended: Result<(), Stop>,
    results: Results,
    varied: Vec<Varied>,
    trials: Vec<Record>,
    ports: Served,
    format: Format,
}

impl Done {
    /// No trials.
    fn nothing(plan: &Plan) -> Self {
        let (results, varied, trials, ports) = Default::default();
        Self { ended: Ok(()), results, varied, trials, ports, format: plan.format.clone() }
    }
}

impl Run<'_> {
    /// Sees whether frames get through at all, and runs the trials.
    fn over_ports(self, mut bed: RealTestBed, format: &Format) -> Result<(), Failure> {
        self.plan.check_sizes(bed.max_frame()).map_err(|e| Failure::Usage(errors::ports::TOO_LONG, e))?;
        probe(&mut bed, self.plan)?;
        let ports = bed.describe();
        self.trials(&mut bed, ports, format)
    }

    /// Runs all trials, and reports.
    fn trials(self, bed: &mut dyn TestBed, ports: Served, format: &Format) -> Result<(), Failure> {
        let (args, plan) = (self.args, self.plan);
        let mut journal = match &args.journal {
            Some(path) => Journal::open(path, &plan.identity(), &plan.settings)
                .map_err(|e| Failure::Other(errors::files::WRONG_CONTENT, e))?,
            None => Journal::none(),
        };
        if journal.left() > 0 {
            note(&format!("{} trials of an earlier run are taken over", journal.left()));
        }
        let show = RefCell::new(Show::new(&plan.settings, args.shared.verbose, !args.shared.virtual_time));
        let mut listener = |event: &Event<'_>| {
            show.borrow_mut().event(event);
            !self.signals.stopped()
        };
        let (mut results, mut varied) = (Results::default(), Vec::new());
        let mut session = Session::new(bed, &plan.settings, &mut journal, &mut listener);
        let ended = measure::run_all(&mut session, &mut results, &mut varied);
        let trials = session.into_records();
        show.borrow_mut().clear();
        self.report(Done { ended, results, varied, trials, ports, format: format.clone() })
    }

    /// Prints what was found, and writes the files that were asked for.
    fn report(self, done: Done) -> Result<(), Failure> {
        let (args, plan) = (self.args, self.plan);
        let real = !args.shared.virtual_time;
        let mut self_test = self.self_test.cloned();
        if let Some(found) = &mut self_test {
            found.compare(&done.results);
        }
        let mut notes = notes(&done.results, &done.varied, plan, real);
        notes.extend(self_test.iter().flat_map(SelfTest::warnings));
        let modelled = matches!(plan.target, Target::Model(_));
        let report = Report {
            schema: SCHEMA,
            origin: origin(&args.shared, modelled, plan.device(), done.ports, self.conditions),
            settings: plan.settings.clone(),
            format: done.format,
            self_test,
            caveats: Caveats {
                partial: if args.is_alone() { Vec::new() } else { plan.settings.shortcuts() },
                notes,
                interrupted: done.ended.is_err(),
            },
            results: done.results,
            varied: done.varied,
            trials: done.trials,
        };
        let written =
            Files::of(&args.shared).write(&report.to_json(), || page::html(&report), || csv::files(&report));
        if let Err(e) = &written {
            note(&e.to_string());
        }
        let object = serde_json::to_value(&report).unwrap_or(Value::Null);
        Console { json: args.shared.json }.result(text::text(&report).trim_end(), &object)?;
        verdict(done.ended, &report, self.signals)?;
        written
    }
}

/// Sends a few frames of each variant slowly: when none comes back there is nothing to measure.
fn probe(bed: &mut dyn TestBed, plan: &Plan) -> Result<(), Failure> {
    let plain = Variant::default();
    for variant in std::iter::once(&plain).chain(&plan.settings.variants) {
        let Some(Ok(size)) = variant.sizes(&plan.settings.sizes).into_iter().find(Result::is_ok) else {
            continue;
        };
        let most = plan.settings.trials.maximum.rate(&size);
        let slow = if size.is_fixed() { Rate::new(PROBE_PPS, 1) } else { size.pps(PROBE_PPS) };
        let rate = if most.as_f64() < slow.as_f64() { most } else { slow };
        let burst = TrialSpec::burst(&size, rate, PROBE, SECOND / 2);
        let order = TrialSpec { variant: variant.clone(), ..burst };
        let mut trial = bed.run(&order, &mut |_| true)?;
        for _ in 1..PROBE_TRIES {
            if trial.rx > 0 {
                break;
            }
            trial = bed.run(&order, &mut |_| true)?;
        }
        if trial.rx == 0 {
            let why = nothing_came(&trial);
            return Err(Failure::Other(
                errors::testers::NOTHING_BACK,
                format!("{}: none of {PROBE} frames came back; {why}", plan.device()),
            ));
        }
    }
    Ok(())
}

fn nothing_came(trial: &TrialResult) -> String {
    match (trial.received.foreign, trial.received.corrupted) {
        (0, 0) => "is there a path between the ports?".to_owned(),
        (f, c) => format!("{f} foreign and {c} damaged frames came instead"),
    }
}

fn notes(results: &Results, varied: &[Varied], plan: &Plan, real: bool) -> Vec<String> {
    let mut notes = limits(results, "");
    for v in varied {
        notes.extend(limits(&v.results, &format!(", {}", v.variant)));
    }
    let format = &plan.format;
    if format.vary_macs && format.gateways.is_none() && format.flows.count() > MOST_ANNOUNCED {
        let all = format.flows.count();
        notes.push(format!(
            "{MOST_ANNOUNCED} of {all} addresses were announced before each trial: a switch floods frames to the others"
        ));
    }
    if real {
        notes.push("a thread that polls makes the gaps between frames: see the pauses of the tester".into());
    }
    notes
}

/// Where the tester was at its limit.
fn limits(results: &Results, of: &str) -> Vec<String> {
    let list = |sizes: Vec<String>, what: &str| {
        (!sizes.is_empty()).then(|| format!("sizes {}{of}: {what}", sizes.join(", ")))
    };
    let sizes = results.throughput.iter().filter(|t| t.limited).map(|t| t.size.to_string());
    let throughput = list(sizes.collect(), "the tester could not send more; the device may do better");
    let short = |l: &&Loss| l.loads.iter().any(|at| at.limited);
    let sizes = results.loss.iter().filter(short).map(|l| l.size.to_string());
    let loss = list(sizes.collect(), "at some loads of the loss test the tester sent less: see offered/s");
    throughput.into_iter().chain(loss).collect()
}

fn verdict(ended: Result<(), Stop>, report: &Report, signals: &Signals) -> Result<(), Failure> {
    match ended {
        Ok(()) => {}
        Err(Stop::Port(e)) => return Err(e.into()),
        Err(_) if signals.stopped() => {
            return Err(Failure::Other(
                errors::command::INTERRUPTED,
                "interrupted: the results are partial".into(),
            ));
        }
        Err(stop) => return Err(Failure::Other(errors::testers::STOPPED, stop.to_string())),
    }
    let mut missing =
        report.runs().flat_map(|(variant, r)| r.missing.iter().map(move |m| (variant.clone(), m)));
    match missing.next() {
        Some((variant, m)) => {
            let of = if variant.is_plain() { String::new() } else { format!(", {variant}") };
            Err(Failure::Other(
                errors::testers::NO_RESULT,
                format!("{}, size {}{of}: {}", m.test, m.size, m.reason),
            ))
        }
        None => Ok(()),
    }
}

fn compare(before: &Path, after: &Path, json: bool) -> Result<(), Failure> {
    let read = |path: &Path| {
        let fail =
            |why: String| Failure::Other(errors::files::WRONG_CONTENT, format!("{}: {why}", path.display()));
        Report::from_json(&fs::read_to_string(path).map_err(|e| fail(e.to_string()))?).map_err(fail)
    };
    let diff = diff::diff(&read(before)?, &read(after)?);
    let object = serde_json::to_value(&diff).unwrap_or(Value::Null);
    Ok(Console { json }.result(diff.text().trim_end(), &object)?)
}
