//! Address caching capacity and learning rate (RFC 2889, 5.7 and 5.8).
//!
//! Three ports: frames from many hosts come in at the learning port, all for the test port. Then the test port sends a frame to
//! each of the hosts. What the device does not know goes to all ports, so that it is seen at a port where nobody lives: the
//! monitor. Before that, the device has to have forgotten everything, which is checked in the same way.

use serde::{Deserialize, Serialize};

use super::plan::{line, order};
use crate::benchmark::stop::Stop;
use crate::rfc2889::bisect::Bisect;
use crate::rfc2889::session::{Purpose, Session};
use crate::rfc2889::settings::{Settings, Test};
use crate::rfc2889::traffic::{Route, Sender, TrialSpec};
use ringway_tester::trial::rate::Rate;
use ringway_tester::trial::spec::Length;

/// Port at which the hosts are, and the one that looks for them; all others watch.
const LEARNING: usize = 0;
const TEST: usize = 1;

/// Hosts that are looked for to see whether the device has forgotten them.
const SAMPLE: u64 = 32;

/// Addresses of the learning test when nothing else is known.
const ADDRESSES: u64 = 1000;

/// Frames that carry addresses.
const SIZE: u32 = 64;

/// Address caching capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Most addresses of one port that were all known; none when not even one was.
    pub learned: Option<u64>,
    /// Addresses that the device held then, with that of the test port.
    pub cached: u64,
    /// Fewest that were not all known.
    pub failing: Option<u64>,
    /// As many as were tried were known: the device may hold more.
    pub at_least: bool,
    /// Resolution.
    pub step: u64,
    /// Frames a second with new addresses.
    pub learning_fps: u64,
    /// Trials that it took.
    pub trials: u64,
}

/// Address learning rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learning {
    /// Addresses that were to be learned.
    pub addresses: u64,
    /// Most of them a second that were all known afterwards; none when no rate would do.
    pub fps: Option<u64>,
    /// Lowest rate at which some were not known, or that the tester could not send.
    pub failing: Option<u64>,
    /// The highest rate of the port was learned.
    pub at_least: bool,
    /// The tester could not send faster: the device may do better.
    pub limited: bool,
    /// Resolution, addresses a second.
    pub step: u64,
    /// Trials that it took.
    pub trials: u64,
}

/// What became of a number of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    All,
    /// Some frames were flooded, or did not arrive.
    NotAll,
    /// The tester could not teach them as fast as it should.
    TooFast,
}

pub(super) fn capacity(session: &mut Session<'_>) -> Result<Capacity, Stop> {
    let settings = session.settings();
    let before = session.trials();
    let mut search = Bisect::new(settings.addresses, settings.address_step);
    while let Some(n) = search.next() {
        let rate = Rate::new(settings.learning_pps, 1);
        match taught(session, Test::Capacity, &format!("{n} addresses"), n, rate)? {
            Known::TooFast => {
                let why = "the tester can't keep the rate of new addresses; lower --learning-pps";
                return Err(Stop::Unreliable(why.into()));
            }
            known => search.learn(n, known == Known::All),
        }
    }
    let learned = search.passed();
    Ok(Capacity {
        learned,
        cached: learned.map_or(0, |n| n + 1),
        failing: search.failed(),
        at_least: search.failed().is_none(),
        step: settings.address_step,
        learning_fps: settings.learning_pps,
        trials: session.trials() - before,
    })
}

pub(super) fn learning(session: &mut Session<'_>, capacity: Option<u64>) -> Result<Learning, Stop> {
    let settings = session.settings();
    let before = session.trials();
    let addresses = settings.learning_addresses.or(capacity).unwrap_or(ADDRESSES.min(settings.addresses));
    let fastest = line(settings, SIZE).as_f64() as u64;
    let mut search = Bisect::new(fastest, settings.learning_step);
    let mut limited = false;
    while let Some(fps) = search.next() {
        let what = format!("{addresses} addresses at {fps}/s");
        let known = taught(session, Test::Learning, &what, addresses, Rate::new(fps, 1))?;
        limited = if known == Known::NotAll { false } else { limited || known == Known::TooFast };
        search.learn(fps, known == Known::All);
    }
    let fps = search.passed();
    Ok(Learning {
        addresses,
        fps,
        failing: search.failed(),
        at_least: search.failed().is_none(),
        limited,
        step: settings.learning_step,
        trials: session.trials() - before,
    })
}

/// Teaches a device that knows nothing so many addresses, and looks which it knows.
fn taught(session: &mut Session<'_>, test: Test, what: &str, n: u64, learning: Rate) -> Result<Known, Stop> {
    let settings = session.settings();
    let slow = Rate::new(settings.learning_pps, 1);
    let purpose = |step: &str| Purpose { test, what: format!("{what}, {step}"), load: None };
    session.forget()?;
    let look = |n| frames(settings, TEST, Route::ToHosts(LEARNING), n, slow);
    let blank = session.trial(&purpose("forgotten"), &look(n.min(SAMPLE)))?;
    let watchers = settings.ports as u64 - 2;
    if blank.flooded < blank.tx * watchers {
        let unseen = blank.tx * watchers - blank.flooded;
        return Err(Stop::Unreliable(format!(
            "the device still knows addresses, or does not flood: {unseen} of {} frames to hosts that should be forgotten were not \
             seen; raise --age, or give a command with --flush",
            blank.tx * watchers
        )));
    }
    let teach = frames(settings, LEARNING, Route::FromHosts(TEST), n, learning);
    if !session.trial(&purpose("taught"), &teach)?.faults.is_empty() {
        return Ok(Known::TooFast);
    }
    let found = session.trial(&purpose("looked for"), &look(n))?;
    if !found.faults.is_empty() {
        return Ok(Known::TooFast);
    }
    Ok(if found.flooded == 0 && found.lost == 0 { Known::All } else { Known::NotAll })
}

/// `n` frames from one port; only the test port makes itself known before.
fn frames(settings: &Settings, port: usize, route: Route, n: u64, rate: Rate) -> TrialSpec {
    let senders = vec![Sender { port, rate, length: Length::Frames(n), route }];
    TrialSpec { announce: vec![TEST], exact: true, burst: 1, ..order(settings, SIZE, senders) }
}
