//! `ringway rfc2544 switch`: benchmarks of switches with several ports by RFC 2889.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_tester::ports::{RealClock, refuse};
use ringway_tester::report::time::TimeKind;
use ringway_tester::rfc2889::bed::{RealTestBed, TestBedSpec};
use ringway_tester::rfc2889::measure::{self, Results};
use ringway_tester::rfc2889::model::ModelTestBed;
use ringway_tester::rfc2889::pattern::MOST_PORTS;
use ringway_tester::rfc2889::report::{Report, SCHEMA, csv, page, text};
use ringway_tester::rfc2889::session::{Event, Record, Session, TestBed};
use ringway_tester::rfc2889::settings::Settings;
use ringway_tester::trial::stop::Stop;
use serde_json::Value;

use super::switch_args::SwitchArgs;
use super::switch_plan::{Plan, Target, flush};
use super::{Files, Served};
use crate::console::{Console, note};
use crate::failure::Failure;
use crate::stop;
use crate::units::short;
use crate::words;

/// How often the line at the bottom is drawn.
const EVERY: Duration = Duration::from_millis(100);

pub(super) fn run(args: &SwitchArgs) -> Result<(), Failure> {
    let plan = Plan::new(args).map_err(Failure::Usage)?;
    let signals = stop::signals()?;
    let s = &plan.settings;
    match &plan.target {
        Target::Model(device) => {
            let mut bed = ModelTestBed::new(device, s.maximum.bits(), s.seed);
            trials(args, &plan, s, &signals, &mut bed, Vec::new())
        }
        Target::Ports(spec) => {
            if spec.ports.len() > MOST_PORTS {
                return Err(Failure::Usage(format!("--ports takes {MOST_PORTS} ports at most")));
            }
            let refused = spec.ports.iter().find_map(|port| refuse(port));
            if let Some(why) = refused.filter(|_| !args.allow_production) {
                return Err(Failure::Other(why));
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
    args: &SwitchArgs,
    plan: &Plan,
    settings: &Settings,
    signals: &Signals,
    spec: &TestBedSpec,
) -> Result<(), Failure> {
    let mut bed = RealTestBed::open(spec)?;
    plan.check_sizes(bed.max_frame()).map_err(Failure::Usage)?;
    let ports = bed.describe();
    trials(args, plan, settings, signals, &mut bed, ports)
}

/// Runs all trials, and reports.
fn trials(
    args: &SwitchArgs,
    plan: &Plan,
    settings: &Settings,
    signals: &Signals,
    bed: &mut dyn TestBed,
    ports: Served,
) -> Result<(), Failure> {
    let conditions = Conditions::read();
    let show = RefCell::new(Show::new(args.verbose));
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
    let real = !args.virtual_time;
    let report = Report {
        schema: SCHEMA,
        kind: "rfc2889".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        command: words::line(),
        time: match (modelled, real) {
            (true, _) => TimeKind::Virtual,
            (_, false) => TimeKind::LockStep,
            (_, true) => TimeKind::Real,
        },
        clock_source: if real { RealClock::new().name().into() } else { "virtual".into() },
        device: plan.device(),
        ports,
        conditions,
        settings: settings.clone(),
        partial: settings.shortcuts(),
        notes: notes(&results, real),
        interrupted: ended.is_err(),
        results,
        trials,
    };
    let files = Files { save: args.save.as_deref(), page: args.page.as_deref(), csv: args.csv.as_deref() };
    let written = files.write(&report.to_json(), || page::html(&report), || csv::files(&report));
    if let Err(e) = &written {
        note(&e.to_string());
    }
    let object = serde_json::to_value(&report).unwrap_or(Value::Null);
    Console { json: args.json }.result(text::text(&report).trim_end(), &object)?;
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
        notes.push("gaps between frames are those of one thread that polls all senders".into());
    }
    notes
}

fn verdict(ended: Result<(), Stop>, report: &Report) -> Result<(), Failure> {
    match ended {
        Ok(()) => {}
        Err(Stop::Port(e)) => return Err(e.into()),
        Err(Stop::Interrupted) => return Err(Failure::Other("interrupted: the results are partial".into())),
        Err(stop) => return Err(Failure::Other(stop.to_string())),
    }
    match report.results.missing.first() {
        Some(m) if m.what.is_empty() => Err(Failure::Other(format!("{}: {}", m.test, m.reason))),
        Some(m) => Err(Failure::Other(format!("{}, {}: {}", m.test, m.what, m.reason))),
        None => Ok(()),
    }
}

/// The line at the bottom of a terminal, and lines for trials.
#[derive(Debug)]
struct Show {
    terminal: bool,
    verbose: bool,
    what: String,
    drawn: Option<Instant>,
}

impl Show {
    fn new(verbose: bool) -> Self {
        Self { terminal: io::stderr().is_terminal(), verbose, what: String::new(), drawn: None }
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins { number, purpose, size } => {
                let load =
                    purpose.load.map_or(String::new(), |load| format!(" at {:.2} %", load.as_percent()));
                self.what = format!("{number:>4} {}, {}, size {size}{load}", purpose.test, purpose.what);
                self.draw("");
            }
            Event::Live(live) if live.sent > 0 => {
                let (sent, received) = (short(live.sent as f64), short(live.received as f64));
                self.draw(&format!(": {sent} sent, {received} received"));
            }
            Event::Live(_) => self.draw(""),
            Event::Ages => {
                self.what = "     waiting until the device has forgotten all addresses".into();
                self.draw("");
            }
            Event::Ended(record) => self.ended(record),
        }
    }

    fn ended(&mut self, record: &Record) {
        if !self.verbose {
            return;
        }
        self.clear();
        let t = &record.trial;
        let fault = t.faults.first().map(|f| format!(" ({f})")).unwrap_or_default();
        let (tx, rx, lost, flooded, verdict) = (t.tx, t.rx, t.lost, t.flooded, t.verdict(0));
        note(&format!(
            "{}: sent {tx}, received {rx}, lost {lost}, flooded {flooded}, {verdict}{fault}",
            self.what
        ));
    }

    fn draw(&mut self, live: &str) {
        if !self.terminal || self.drawn.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let _ = write!(io::stderr(), "\r\x1b[K{}{live}", self.what.trim_start());
        let _ = io::stderr().flush();
    }

    /// Takes the line away.
    fn clear(&mut self) {
        if self.terminal && self.drawn.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
