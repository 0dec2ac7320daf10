//! Frames that are wrong (RFC 2889, 5.9): a switch drops them, and repairs those with dribble bits.

use serde::{Deserialize, Serialize};

use super::plan::{order, rate};
use crate::benchmark::stop::Stop;
use crate::rfc2889::session::{Purpose, Session};
use crate::rfc2889::settings::Test;
use crate::rfc2889::traffic::{Flaw, Route, Sender};
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::spec::Length;

/// Load at which they are sent: that of the frames is not the question.
const LOAD: u32 = 100_000;

/// What became of frames with one flaw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errored {
    /// Flaw.
    pub flaw: Flaw,
    /// Bytes with FCS.
    pub size: u32,
    /// Why the ports can't send such frames; the rest is nothing then.
    pub impossible: Option<String>,
    /// Frames sent.
    pub sent: u64,
    /// Frames that came out of any port.
    pub forwarded: u64,
    /// None came, or all, of frames that are to be repaired.
    pub right: bool,
}

pub(super) fn run(session: &mut Session<'_>, flaw: Flaw) -> Result<Errored, Stop> {
    let settings = session.settings();
    let nothing = Errored { flaw, size: flaw.size(), impossible: None, sent: 0, forwarded: 0, right: false };
    if let Err(why) = session.bed().can(flaw) {
        return Ok(Errored { impossible: Some(why), ..nothing });
    }
    let load = Load(LOAD);
    let sender = Sender {
        port: 0,
        rate: rate(settings, flaw.size(), load),
        length: Length::Time(settings.trials.trial_ps),
        route: Route::Ports(vec![1]),
    };
    let mut order = order(settings, flaw.size(), vec![sender]);
    order.flaw = Some(flaw);
    let purpose = Purpose { test: Test::Errored, what: flaw.to_string(), load: Some(load) };
    let trial = session.trial(&purpose, &order)?;
    let changed: u64 = trial.ports.iter().map(|p| p.received.corrupted).sum();
    let forwarded = trial.rx + trial.flooded + changed;
    let right = if flaw == Flaw::Dribble { trial.lost == 0 } else { forwarded == 0 };
    Ok(Errored { sent: trial.tx, forwarded, right, ..nothing })
}
