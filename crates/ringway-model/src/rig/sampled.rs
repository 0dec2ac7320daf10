//! A run with samples of the thread that forwards, by groups of functions.

use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_tester::Fault;
use ringway_tester::dut::DutKind;

use super::bed::Bed;
use super::measure::{Length, measure};
use crate::group::{Groups, shipped};
use crate::profile::Profile;
use crate::sample::{Options, Recorder, Target};
use crate::sweep::{Point, Run};
use crate::time::Clock;

/// Samples a second. It is odd, so it beats with no periodic work.
const FREQUENCY: u32 = 4999;

/// The groups that fit a device.
///
/// # Errors
/// When the rules that ship can't be read.
pub fn groups(device: DutKind) -> Result<Groups, Fault> {
    let name = match device {
        DutKind::RingwayRouter => "router",
        DutKind::RingwaySwitch => "switch",
        DutKind::RingwayPorts => "ports",
        _ => "linux",
    };
    match shipped(name) {
        Some(Ok(groups)) => Ok(groups),
        _ => Err(Fault::Failed(format!("the groups {name} can't be read"))),
    }
}

/// Measures a run, and samples the device's threads meanwhile; where the generator is the device, all threads of this process.
///
/// # Errors
/// As [`measure`], and when the kernel does not sample.
pub fn sampled(
    bed: &mut Bed,
    point: &Point,
    length: Length,
    stop: &Signals,
    groups: &Groups,
) -> Result<Option<Run>, Fault> {
    let target = match bed.threads() {
        [] => Target::Process(std::process::id() as i32),
        threads => Target::Threads(threads.to_vec()),
    };
    let options = Options { frequency: FREQUENCY, ..Options::of(target) };
    let recorder = Recorder::start(&options).map_err(|e| Fault::Failed(e.to_string()))?;
    let run = measure(bed, point, length, stop);
    let profile = Profile::of(&recorder.stop(), None, Clock::default(), Conditions::default());
    let found = groups.attribute(&profile);
    let samples = found.groups.into_iter().map(|share| (share.group, share.by_stack)).collect();
    Ok(run?.map(|run| Run { samples, ..run }))
}
