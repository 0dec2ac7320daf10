//! `ringway rfc2889`: benchmarks of switches with several ports by RFC 2889.

mod args;
mod plan;
mod show;

use std::cell::RefCell;

use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_rfc::benchmark::report::Caveats;
use ringway_rfc::benchmark::stop::Stop;
use ringway_rfc::rfc2889::bed::{RealTestBed, TestBedSpec};
use ringway_rfc::rfc2889::measure::{self, Results};
use ringway_rfc::rfc2889::model::ModelTestBed;
use ringway_rfc::rfc2889::pattern::MOST_PORTS;
use ringway_rfc::rfc2889::report::{Report, SCHEMA, csv, page, text};
use ringway_rfc::rfc2889::session::{Event, Session, TestBed};
use ringway_rfc::rfc2889::settings::Settings;
use ringway_tester::ports::refuse;
use serde_json::Value;

use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::stop;
use crate::tester::files::{Files, Served};
use crate::tester::origin::origin;

pub(crate) use args::Args;
use plan::{Plan, Target, flush};
use show::Show;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let plan = Plan::new(args).map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))?;
    let signals = stop::signals()?;
    let s = &plan.settings;
    match &plan.target {
        Target::Model(device) => {
            let mut bed = ModelTestBed::new(device, s.trials.maximum.bits(), s.seed);
            trials(args, &plan, s, &signals, &mut bed, Vec::new())
        }
        Target::Ports(spec) => {
            if spec.ports.len() > MOST_PORTS {
                return Err(Failure::Usage(
                    errors::command::BAD_VALUE,
                    format!("--ports takes {MOST_PORTS} ports at most"),
                ));
            }
            let refused = spec.ports.iter().find_map(|port| refuse(port));
            if let Some(why) = refused.filter(|_| !args.shared.allow_production) {
                return Err(Failure::Other(errors::testers::PRODUCTION, why));
            }
            over_ports(args, &plan, s, &signals, spec)
        }
        Target::Dut(device, spec) => {
            let dut = device.start()?;
            let spec = TestBedSpec { ports: dut.ports().to_vec(), ..spec.clone() };
            let settings = Settings { flush: s.flush.clone().or_else(|| flush(&dut)), ..s.clone() };
            dut.run(|| over_ports(args, &plan, &settings, &signals, &spec))
        }
    }
}

/// Opens the ports, and measures what is between them.
fn over_ports(
    args: &Args,
    plan: &Plan,
    settings: &Settings,
    signals: &Signals,
    spec: &TestBedSpec,
) -> Result<(), Failure> {
    let mut bed = RealTestBed::open(spec)?;
    plan.check_sizes(bed.max_frame()).map_err(|e| Failure::Usage(errors::ports::TOO_LONG, e))?;
    let ports = bed.describe();
    trials(args, plan, settings, signals, &mut bed, ports)
}

/// Runs all trials, and reports.
fn trials(
    args: &Args,
    plan: &Plan,
    settings: &Settings,
    signals: &Signals,
    bed: &mut dyn TestBed,
    ports: Served,
) -> Result<(), Failure> {
    let conditions = Conditions::read();
    let show = RefCell::new(Show::new(args.shared.verbose));
    let mut listener = |event: &Event<'_>| {
        show.borrow_mut().event(event);
        !signals.stopped()
    };
    let mut results = Results::default();
    let mut session = Session::new(bed, settings, &mut listener);
    let ended = measure::run(&mut session, &mut results);
    let trials = session.into_records();
    show.borrow_mut().clear();
    let modelled = matches!(plan.target, Target::Model(_));
    let report = Report {
        schema: SCHEMA,
        kind: "rfc2889".into(),
        origin: origin(&args.shared, modelled, plan.device(), ports, &conditions),
        settings: settings.clone(),
        caveats: Caveats {
            partial: settings.shortcuts(),
            notes: notes(&results, !args.shared.virtual_time),
            interrupted: ended.is_err(),
        },
        results,
        trials,
    };
    let written =
        Files::of(&args.shared).write(&report.to_json(), || page::html(&report), || csv::files(&report));
    if let Err(e) = &written {
        note(&e.to_string());
    }
    let object = serde_json::to_value(&report).unwrap_or(Value::Null);
    Console { json: args.shared.json }.result(text::text(&report).trim_end(), &object)?;
    verdict(ended, &report)?;
    written
}

fn notes(results: &Results, real: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let limited = results.forwarding.iter().filter(|f| f.limited);
    notes.extend(limited.map(|f| {
        format!("size {}, {}: the tester could not send more; the device may do better", f.size, f.pattern)
    }));
    let free = results.congestion.iter().filter(|c| c.not_congested);
    notes.extend(free.map(|c| {
        format!(
            "size {}: 150 % of the load went through one port, which is not limited to the speed given: nothing is known of \
             congestion",
            c.size
        )
    }));
    if results.learning.iter().any(|l| l.limited) {
        notes.push(
            "learning: the tester could not send new addresses faster; the device may do better".into(),
        );
    }
    if real {
        notes.push("one thread that polls all senders makes the gaps between frames".into());
    }
    notes
}

fn verdict(ended: Result<(), Stop>, report: &Report) -> Result<(), Failure> {
    match ended {
        Ok(()) => {}
        Err(Stop::Port(e)) => return Err(e.into()),
        Err(Stop::Interrupted) => {
            return Err(Failure::Other(
                errors::command::INTERRUPTED,
                "interrupted: the results are partial".into(),
            ));
        }
        Err(stop) => return Err(Failure::Other(errors::testers::STOPPED, stop.to_string())),
    }
    match report.results.missing.first() {
        Some(m) if m.what.is_empty() => {
            Err(Failure::Other(errors::testers::NO_RESULT, format!("{}: {}", m.test, m.reason)))
        }
        Some(m) => {
            Err(Failure::Other(errors::testers::NO_RESULT, format!("{}, {}: {}", m.test, m.what, m.reason)))
        }
        None => Ok(()),
    }
}
