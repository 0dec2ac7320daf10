//! How the ports of a switch, or the ends of a pipe, exchange frames: one thread, in turn.

use ringway::Port;

use super::frames::Frames;
use crate::suite::bed::{SENDER, receiver};
use crate::suite::duo::alone;
use crate::suite::loops::{drain, timed};
use crate::suite::{Bed, Fault, Sample};

/// The sender, which is the first port, fills a burst and syncs; then each of the others syncs and takes what is there, one byte of
/// each frame. Counts the frames taken.
pub(super) fn in_turn(
    bed: Bed<'_>,
    ports: &mut [Port],
    frames: &mut Frames,
    burst: u32,
) -> Result<Sample, Fault> {
    let taken = alone(None, receiver(), || {
        let Some((sender, receivers)) = ports.split_first_mut() else { return Err(nothing()) };
        timed(bed, || {
            frames.fill(&mut sender.tx[0], burst);
            sender.tx[0].sync()?;
            receivers.iter_mut().try_fold(0, |sum, port| {
                port.rx[0].sync()?;
                Ok(sum + drain(&mut port.rx[0]))
            })
        })
    })?;
    something(taken)
}

/// Needs two CPUs: two that spin on one would only wait for each other.
pub(in crate::suite) fn need_two_cpus() -> Result<(), Fault> {
    match receiver() == SENDER {
        true => Err(Fault::Unavailable("it needs two CPUs".into())),
        false => Ok(()),
    }
}

fn something(sample: Sample) -> Result<Sample, Fault> {
    if sample.value > 0.0 { Ok(sample) } else { Err(nothing()) }
}

fn nothing() -> Fault {
    Fault::Failed("nothing was received".into())
}
