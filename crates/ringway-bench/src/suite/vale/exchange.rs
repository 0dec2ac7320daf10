//! How the ports of a switch, or the ends of a pipe, exchange frames: one thread in turn, or two on two cores.

use ringway::{Port, Waiter};

use super::frames::Frames;
use crate::suite::bed::{SENDER, receiver};
use crate::suite::duo::{Control, alone, beside};
use crate::suite::loops::{NAP, SPIN, drain, timed};
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

/// The sender on CPU 0, the receiver on CPU 1; a waiter for either looks again for a while before it sleeps. Counts the frames
/// taken.
pub(super) fn on_two_cores(
    bed: Bed<'_>,
    [mut sender, mut taker]: [Port; 2],
    mut frames: Frames,
    burst: u32,
) -> Result<Sample, Fault> {
    let send = |control: &Control<'_>| {
        let mut waiter = Waiter::new(SPIN)?;
        control.ready();
        while !control.stopped() {
            if frames.fill(&mut sender.tx[0], burst) == 0 {
                waiter.wait(&mut [&mut sender.tx[0]], NAP)?;
            }
            sender.tx[0].sync()?;
        }
        Ok(())
    };
    let take = || {
        alone(None, receiver(), || {
            let mut waiter = Waiter::new(SPIN)?;
            timed(bed, || {
                if taker.rx[0].sync()? == 0 {
                    waiter.wait(&mut [&mut taker.rx[0]], NAP)?;
                }
                Ok(drain(&mut taker.rx[0]))
            })
        })
    };
    beside(None, SENDER, send, take).and_then(|((), sample)| something(sample))
}

/// Needs two CPUs: two that spin on one would only wait for each other.
pub(super) fn need_two_cpus() -> Result<(), Fault> {
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
