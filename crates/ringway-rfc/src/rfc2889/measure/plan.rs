//! Trials that several tests run.

use crate::benchmark::stop::Stop;
use crate::rfc2889::session::{Purpose, Session};
use crate::rfc2889::settings::{Settings, Test};
use crate::rfc2889::traffic::{Sender, TrialSpec};
use crate::rfc2889::trial::TrialResult;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::{Load, Rate};
use ringway_tester::trial::search::{Found, Measured, Step};

/// Frames a second of a port at a load.
pub(super) fn rate(settings: &Settings, size: u32, load: Load) -> Rate {
    line(settings, size).at(load)
}

/// Most frames a second of a port.
pub(super) fn line(settings: &Settings, size: u32) -> Rate {
    settings.trials.maximum.rate(&Mix::fixed(size))
}

/// A trial of these senders, with the settings' waits and bursts. All ports announce themselves.
pub(super) fn order(settings: &Settings, size: u32, senders: Vec<Sender>) -> TrialSpec {
    TrialSpec {
        size,
        senders,
        burst: settings.burst,
        line: line(settings, size),
        announce: (0..settings.ports).collect(),
        wait_ps: settings.trials.wait_ps,
        catch_up: settings.trials.catch_up,
        exact: false,
        latency: false,
        held: false,
        flaw: None,
    }
}

/// What a trial at a load is for.
pub(super) fn at(test: Test, what: &str, load: Load) -> Purpose {
    Purpose { test, what: what.into(), load: Some(load) }
}

/// The highest load without loss of the orders that `order` makes of a load and a length; and the trials that it took.
pub(super) fn search(
    session: &mut Session<'_>,
    test: Test,
    what: &str,
    order: &dyn Fn(Load, u64) -> TrialSpec,
) -> Result<(Found, u64), Stop> {
    let before = session.trials();
    let mut search = session.settings().trials.search.start();
    loop {
        match search.next() {
            Step::Done(found) => return Ok((found, session.trials() - before)),
            Step::Try { load, length_ps } => {
                let trial = session.trial(&at(test, what, load), &order(load, length_ps))?;
                search.learn(&measured(load, length_ps, &trial));
            }
        }
    }
}

/// What a search learns of a trial, in integers.
fn measured(load: Load, length_ps: u64, trial: &TrialResult) -> Measured {
    let share = |part: u64, whole: u64, of: Load| {
        Load(((u128::from(of.0) * u128::from(part) / u128::from(whole.max(1))) as u32).max(1))
    };
    let limited = trial.only_short();
    let offered = share(trial.tx, trial.scheduled, load);
    let forwarded = share(trial.rx, trial.expected, offered);
    let load = if limited { offered } else { load };
    Measured { load, length_ps, sent: trial.expected, lost: trial.lost, forwarded, limited }
}
