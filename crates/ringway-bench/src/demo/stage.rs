//! The two stages of the demonstration: a replay at low load, and a flood.

use std::time::Duration;

use crate::demo::compare::Integrity;
use crate::demo::frames::Frames;
use crate::demo::outcome::{Passage, sentence};
use crate::suite::report::{Missing, Report};
use crate::suite::{self, Case, Fault, Options as SuiteOptions, Step};
use ringway_engine::Signals;
use ringway_lab::Conditions;

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

/// What is going on, for the teller.
#[derive(Debug)]
pub enum Event<'a> {
    /// A stage begins, or says what it found.
    Says(String),
    /// A single flood begins.
    Step(&'a Step),
}

/// A system that can carry the replay.
pub(super) type Carrier<'a> = (&'static str, Box<dyn FnMut(&[Vec<u8>]) -> Result<Integrity, Fault> + 'a>);

/// Has each carrier pass the frames on at low load.
pub(super) fn check(
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

/// Floods the systems in turn.
pub(super) fn flood(
    case: Case<'_>,
    options: &Options,
    conditions: &Conditions,
    tell: &mut dyn FnMut(Event<'_>),
) -> Report {
    let suite =
        SuiteOptions { runs: options.runs, signals: options.signals.clone(), ..SuiteOptions::default() };
    suite::run("demo", vec![case], &suite, conditions.clone(), |step| tell(Event::Step(&step)))
}

/// Sends frames about 20 in a millisecond at most.
pub(super) fn gently<E>(frames: &[Vec<u8>], mut send: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    for burst in frames.chunks(GENTLE_BURST) {
        burst.iter().try_for_each(|frame| send(frame))?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
