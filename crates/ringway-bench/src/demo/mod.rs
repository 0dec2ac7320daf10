//! The demonstration: forward real traffic with Ringway, the kernel's bridge and a libpcap bridge; check every byte,
//! then compare their speed.
//!
//! | module | holds |
//! | --- | --- |
//! | [`frames`] | what is replayed |
//! | [`compare`] | whether it came through |
//! | [`page`] | the result as a page |
//!
//! As root it runs over veth pairs in a namespace of its own; otherwise over pipes, and says what that leaves out.

mod chart;
pub mod compare;
pub mod frames;
mod links;
pub mod page;
mod pipes;

use std::time::Duration;

use ringway::{Counters, DropReason, PortCounters};
use serde::Serialize;

use super::suite::report::{Missing, Report, Row};
use super::suite::{self, Case, Fault, Options as SuiteOptions, Step};
use compare::Integrity;
use frames::Frames;
use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_lab::{Lab, LabError, is_root};

/// Frames between two pauses of a millisecond when replaying.
const GENTLE_BURST: usize = 20;

/// How to demonstrate.
#[derive(Debug, Clone)]
pub struct Options {
    /// Length of each flood.
    pub seconds: f64,
    /// Times that each system is flooded.
    pub runs: u32,
    /// Ends it early.
    pub signals: Signals,
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The machine.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// What joins the systems to the traffic: "veth" or "pipe".
    pub over: &'static str,
    /// What was replayed.
    pub replay: Frames,
    /// At low load: how it came through each system.
    pub integrity: Vec<Passage>,
    /// Under a flood of 64-byte frames: how much came through.
    pub flood: Vec<Row>,
    /// Times as fast as the others, Ringway's median over theirs.
    pub ratios: Vec<Ratio>,
    /// Systems that could not be measured.
    pub missing: Vec<Missing>,
    /// Where Ringway lost frames of one flood, by name.
    pub drops: Vec<Drops>,
    /// What this run could not show.
    pub left_out: Vec<String>,
    /// Ended by the user.
    pub interrupted: bool,
    /// Whether nothing was lost or damaged at low load by any system, and every system that is there gave a number.
    pub ok: bool,
}

/// How the replay came through a system.
#[derive(Debug, Clone, Serialize)]
pub struct Passage {
    /// Name of the system.
    pub system: &'static str,
    /// What came through.
    #[serde(flatten)]
    pub integrity: Integrity,
}

/// Ringway beside another system.
#[derive(Debug, Clone, Serialize)]
pub struct Ratio {
    /// The other.
    pub to: String,
    /// How many times as fast Ringway is.
    pub times: f64,
}

/// Frames lost for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// Port and direction.
    pub place: String,
    /// Stable name of the reason.
    pub reason: &'static str,
    /// Frames.
    pub frames: u64,
    /// What to do about it.
    pub help: &'static str,
}

/// What is going on, for the teller.
#[derive(Debug)]
pub enum Event<'a> {
    /// A stage begins, or says what it found.
    Says(String),
    /// A single flood begins.
    Step(&'a Step),
}

/// A system that can carry the replay.
type Carrier<'a> = (&'static str, Box<dyn FnMut(&[Vec<u8>]) -> Result<Integrity, Fault> + 'a>);

/// Runs the demonstration and tells `tell` how it goes.
///
/// # Errors
///
/// [`LabError`] when root cannot make the namespace. Everything else is in the outcome.
pub fn run(options: &Options, mut tell: impl FnMut(Event<'_>)) -> Result<Outcome, LabError> {
    let conditions = Conditions::read();
    let replay = Frames::find();
    if is_root() {
        let lab = Lab::new()?;
        tell(Event::Says(links::STORY.into()));
        return Ok(links::run(&lab, options, conditions, replay, &mut tell));
    }
    tell(Event::Says(pipes::STORY.into()));
    Ok(pipes::run(options, conditions, replay, &mut tell))
}

/// Has each carrier pass the frames on at low load.
fn check(
    carriers: Vec<Carrier<'_>>,
    replay: &Frames,
    signals: &Signals,
    tell: &mut dyn FnMut(Event<'_>),
) -> (Vec<Passage>, Vec<Missing>) {
    let (mut passed, mut missing) = (Vec::new(), Vec::new());
    for (system, mut carry) in carriers {
        if signals.stopped() {
            break;
        }
        match carry(&replay.list) {
            Ok(integrity) => {
                tell(Event::Says(format!("  {system:<14} {}", sentence(&integrity))));
                passed.push(Passage { system, integrity });
            }
            Err(fault) => {
                tell(Event::Says(format!("  {system:<14} {fault}")));
                missing.push(Missing::named("replay", system, &fault));
            }
        }
    }
    (passed, missing)
}

/// What came through, in words.
pub fn sentence(i: &Integrity) -> String {
    let intact = format!("{} of {} frames intact", i.intact, i.sent);
    if i.is_perfect() {
        return intact + " and in order";
    }
    format!("{intact}, {} missing, {} reordered, {} damaged or doubled", i.missing, i.reordered, i.foreign)
}

/// Floods the systems in turn.
fn flood(
    case: Case<'_>,
    options: &Options,
    conditions: &Conditions,
    tell: &mut dyn FnMut(Event<'_>),
) -> Report {
    let suite =
        SuiteOptions { runs: options.runs, signals: options.signals.clone(), ..SuiteOptions::default() };
    suite::run("demo", vec![case], &suite, conditions.clone(), |step| tell(Event::Step(&step)))
}

impl Outcome {
    fn new(
        over: &'static str,
        replay: Frames,
        (integrity, mut missing): (Vec<Passage>, Vec<Missing>),
        report: Report,
    ) -> Self {
        let ours = report.rows.iter().find(|r| !r.is_peer());
        let ratio = |other: &Row| {
            let times = (ours?.ratio_to(other) * 100.0).round() / 100.0;
            Some(Ratio { to: other.system.clone(), times })
        };
        let ratios = report.rows.iter().filter(|r| r.is_peer()).filter_map(ratio).collect();
        let failed = missing.iter().any(Missing::is_failure) || report.failed().is_some();
        let intact = !integrity.is_empty() && integrity.iter().all(|p| p.integrity.is_intact());
        let interrupted = report.interrupted;
        missing.extend(report.missing);
        Self {
            conditions: report.conditions,
            over,
            replay,
            integrity,
            flood: report.rows,
            ratios,
            missing,
            drops: Vec::new(),
            left_out: Vec::new(),
            interrupted,
            ok: intact && !failed && !interrupted,
        }
    }

    fn with_drops(mut self, ports: [(&str, PortCounters); 2]) -> Self {
        for (name, counters) in ports {
            self.drops.extend(drops(&format!("{name} received"), &counters.rx));
            self.drops.extend(drops(&format!("{name} sent"), &counters.tx));
        }
        self
    }
}

fn drops<'a>(place: &'a str, counters: &'a Counters) -> impl Iterator<Item = Drops> + 'a {
    counters.reasons().map(|(why, frames): (DropReason, u64)| Drops {
        place: place.to_owned(),
        reason: why.name(),
        frames,
        help: why.help(),
    })
}

/// Sends frames about 20 in a millisecond at most.
fn gently<E>(frames: &[Vec<u8>], mut send: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    for burst in frames.chunks(GENTLE_BURST) {
        burst.iter().try_for_each(|frame| send(frame))?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_damage_are_told() {
        let mut i = Integrity { sent: 5, intact: 5, ..Integrity::default() };
        assert_eq!(sentence(&i), "5 of 5 frames intact and in order");
        i.foreign = 1;
        assert!(sentence(&i).contains("1 damaged"));
    }

    #[test]
    fn peers_may_be_absent_but_not_ringway() {
        let missing = |system| Missing::named("replay", system, &Fault::Unavailable("not here".into()));
        assert!(missing("ringway-ebpf").is_failure());
        assert!(!missing("libpcap").is_failure());
    }

    #[test]
    fn drops_have_names_and_cures() {
        let mut counters = PortCounters::default();
        counters.rx.add_drops(DropReason::RingFull, 7);
        let found: Vec<Drops> = drops("ebpf:a1 received", &counters.rx).collect();
        assert_eq!((found[0].reason, found[0].frames), ("ring_full", 7));
        assert!(!found[0].help.is_empty());
    }
}
