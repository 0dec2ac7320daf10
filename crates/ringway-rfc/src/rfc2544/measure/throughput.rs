//! Throughput (RFC 2544, 26.1).

use serde::{Deserialize, Serialize};

use crate::benchmark::stop::Stop;
use crate::rfc2544::session::Session;
use crate::rfc2544::settings::{Settings, Test};
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::polled::Work;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::result::TrialResult;
use ringway_tester::trial::search::{Found, Measured, Step};
use ringway_tester::trial::spec::TrialSpec;

/// Throughput of one frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Sizes.
    pub size: Mix,
    /// Highest load that met the first goal.
    pub load: Option<Load>,
    /// The same in frames a second, each direction.
    pub fps: f64,
    /// The most that the link carries, frames a second.
    pub line_fps: f64,
    /// Bits a second of the frames, FCS included.
    pub layer2_bps: f64,
    /// Bits a second with preamble and gap.
    pub layer1_bps: f64,
    /// What each goal found.
    pub found: Found,
    /// The tester could not send more: the device may do better.
    pub limited: bool,
    /// Trials that the search took.
    pub trials: u64,
    /// What a device of this process could do with a CPU of its own, frames a second: all frames of the search over the CPU time of its
    /// thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_fps: Option<f64>,
}

pub(super) fn run(session: &mut Session<'_>, size: &Mix) -> Result<Throughput, Stop> {
    let settings = session.settings();
    let mut search = settings.trials.search.start();
    let (mut trials, mut work) = (0, Work::default());
    let found = loop {
        match search.next() {
            Step::Done(found) => break found,
            Step::Try { load, length_ps } => {
                let order = TrialSpec::at(
                    size,
                    settings.trials.maximum.rate(size).at(load),
                    length_ps,
                    settings.trials.wait_ps,
                );
                let trial = session.trial(Test::Throughput, Some(load), &order)?;
                search.learn(&measured(load, length_ps, &trial));
                trials += 1;
                trial.device.into_iter().for_each(|more| work += more);
            }
        }
    };
    Ok(Throughput { device_fps: work.limit_fps(), ..Throughput::of(settings, size, found, trials) })
}

/// What a search learns of a trial; in integers, so that a journal that is read again says the same.
fn measured(load: Load, length_ps: u64, trial: &TrialResult) -> Measured {
    let share = |frames: u64| {
        let part = u128::from(load.0) * u128::from(frames) / u128::from(trial.scheduled.max(1));
        Load((part as u32).max(1))
    };
    let limited = trial.only_short();
    let load = if limited { share(trial.tx) } else { load };
    Measured { load, length_ps, sent: trial.tx, lost: trial.lost, forwarded: share(trial.rx), limited }
}

impl Throughput {
    fn of(settings: &Settings, size: &Mix, found: Found, trials: u64) -> Self {
        let (load, limited) = (found.load(), found.limited());
        let line_fps = settings.trials.maximum.fps(size);
        let fps = load.map_or(0.0, |load| line_fps * f64::from(load.0) / 1e6);
        let bits = |bytes: f64| fps * 8.0 * bytes;
        let (layer2_bps, layer1_bps) = (bits(size.mean()), bits(size.mean() + 20.0));
        Self {
            size: size.clone(),
            load,
            fps,
            line_fps,
            layer2_bps,
            layer1_bps,
            found,
            limited,
            trials,
            device_fps: None,
        }
    }
}
