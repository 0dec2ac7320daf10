//! `ringway prof sweep`: a device under loads that differ in one thing.

mod args;
mod rates;

use std::path::Path;

use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_model::rig::sampled::groups;
use ringway_model::rig::{caches, session};
use ringway_model::sweep::{Spec, Sweep, page, report, results};
use ringway_model::time::Clock;
use ringway_tester::Fault;

use super::files::write;
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::stop;
use crate::tester::line::StatusLine;
use crate::words;

pub(super) use args::{Args, value};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let spec = args.spec().map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))?;
    let signals = stop::signals()?;
    let mut sweep = begin(&args.file, spec, &signals)?;
    let measured = measure(&mut sweep, args, &signals);
    if sweep.runs.iter().all(Vec::is_empty) {
        measured?;
        return Err(Failure::Other(errors::counts::NOTHING_MEASURED, "nothing was measured".into()));
    }
    show(args, &sweep)?;
    measured
}

/// The sweep of the file, or a new one.
fn begin(file: &Path, spec: Option<Spec>, signals: &Signals) -> Result<Sweep, Failure> {
    let there = file.exists();
    let Some(mut spec) = spec else {
        return if there {
            Sweep::load(file).map_err(|e| Failure::Other(errors::files::WRONG_CONTENT, e))
        } else {
            Err(missing(file))
        };
    };
    if there {
        let old = Sweep::load(file).map_err(|e| Failure::Other(errors::files::WRONG_CONTENT, e))?;
        rates::keep(&mut spec, &old.spec);
        if old.spec == spec {
            return Ok(old);
        }
        let name = file.display();
        return Err(Failure::Usage(
            errors::command::CONFLICT,
            format!("{name} has another sweep; name another file, or leave --dut out to go on"),
        ));
    }
    rates::find(&mut spec, signals)?;
    Ok(Sweep::new(spec, Conditions::read(), Clock::measure(), caches::sizes()))
}

fn missing(file: &Path) -> Failure {
    let name = file.display();
    Failure::Usage(
        errors::files::UNREADABLE,
        format!(
            "{name} is not there; for a new sweep name a device and what differs: --dut linux-forward --over size"
        ),
    )
}

/// Measures what is missing. A stop is no failure: the sweep says that it is partial.
fn measure(sweep: &mut Sweep, args: &Args, signals: &Signals) -> Result<(), Failure> {
    let groups = args.groups.then(|| groups(sweep.spec.device)).transpose().map_err(|e| failed(sweep, e))?;
    let mut line = StatusLine::new();
    let tell = |sweep: &Sweep, step: &session::Step<'_>| {
        let point = sweep.spec.points[step.point].describe();
        line.draw(|| {
            format!("round {}: {point}: {:.0} ns a packet", step.round + 1, step.run.ns().unwrap_or(0.0))
        });
    };
    let measured = session::run(sweep, groups.as_ref(), signals, tell, |sweep| sweep.save(&args.file));
    line.clear();
    measured.map_err(|e| failed(sweep, e))
}

fn failed(sweep: &Sweep, e: Fault) -> Failure {
    match e {
        Fault::Unavailable(why) => Failure::Other(
            errors::testers::NO_DEVICE,
            format!("{} can't be had here: {why}", sweep.spec.device),
        ),
        Fault::Failed(why) => {
            Failure::Other(errors::testers::DEVICE_FAILED, format!("{}: {why}", sweep.spec.device))
        }
    }
}

/// Prints the results, and writes the page.
fn show(args: &Args, sweep: &Sweep) -> Result<(), Failure> {
    let results = results(sweep);
    Console { json: args.json }.result(&report::text(sweep, &results), &report::json(sweep, &results))?;
    if let Some(warning) = sweep.conditions.warning() {
        note(&format!("Careful: {warning}"));
    }
    let Some(file) = &args.page else { return Ok(()) };
    write(file, &page::html(sweep, &results, &words::line()))
}
