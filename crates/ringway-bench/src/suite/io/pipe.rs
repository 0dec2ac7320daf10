//! `pipe`: from one program to another through shared rings; `ring`: what a slot costs before anything moves.

use std::time::{Duration, Instant};

use ringway::{
    PipeEnd, Port, RxRing, TxRing, Waiter,
    pipe::{open_pipe_fds, pipe_fds},
};

use super::{Bed, SENDER, receiver};
use crate::suite::duo::{Control, alone, beside};
use crate::suite::loops::{self, NAP, SPIN};
use crate::suite::{Case, Fault, Sample, Unit};

const BURST: u32 = 256;
const SLOTS: u32 = 1024;

/// Whether programs write and read the frames that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payload {
    Untouched,
    Touched,
}

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let pipe = |cores| Case::new("pipe", Unit::Mpps).burst(BURST).cores(cores);
    vec![
        pipe(1)
            .note("one thread fills, syncs and drains; touch: each frame is written whole and read")
            .system("ringway-pipe", move || in_turn(bed))
            .system("ringway-pipe-touch", move || one_core(bed, Payload::Touched)),
        pipe(2)
            .note("sender on CPU 0, receiver on CPU 1; touch: each frame is written whole and read")
            .system("ringway-pipe", move || two_cores(bed, Payload::Untouched, BURST))
            .system("ringway-pipe-touch", move || two_cores(bed, Payload::Touched, BURST)),
        Case::new("ring", Unit::Ns)
            .burst(BURST)
            .note("time of a slot in a burst, without sync")
            .system("ringway-tx-slot", move || tx_slot(bed))
            .system("ringway-rx-slot", move || rx_slot(bed)),
    ]
}

fn ends() -> Result<(Port, Port), Fault> {
    let fds = pipe_fds(SLOTS)?;
    Ok((open_pipe_fds(&fds, PipeEnd::Open)?, open_pipe_fds(&fds, PipeEnd::Close)?))
}

/// From a thread that writes each frame to one that reads it, `burst` at a time.
pub(in crate::suite) fn untagged(bed: Bed<'_>, burst: u32) -> Result<Sample, Fault> {
    two_cores(bed, Payload::Touched, burst)
}

/// Between two threads without a look at the frames, `burst` at a time.
pub(in crate::suite) fn hand_over(bed: Bed<'_>, burst: u32) -> Result<Sample, Fault> {
    two_cores(bed, Payload::Untouched, burst)
}

/// From one thread to itself, without a look at the frames.
pub(in crate::suite) fn in_turn(bed: Bed<'_>) -> Result<Sample, Fault> {
    one_core(bed, Payload::Untouched)
}

fn fill(ring: &mut TxRing, payload: Payload, burst: u32, sequence: &mut u64) -> u32 {
    match payload {
        Payload::Untouched => loops::fill_untouched(ring, burst),
        Payload::Touched => loops::fill(ring, burst, sequence),
    }
}

fn drain(ring: &mut RxRing, payload: Payload) -> u64 {
    match payload {
        Payload::Untouched => loops::drain_untouched(ring),
        Payload::Touched => loops::drain(ring),
    }
}

fn one_core(bed: Bed<'_>, payload: Payload) -> Result<Sample, Fault> {
    alone(None, receiver(), || {
        let ((mut a, mut b), mut sequence) = (ends()?, 0);
        loops::timed(bed, || {
            fill(&mut a.tx[0], payload, BURST, &mut sequence);
            a.tx[0].sync()?;
            b.rx[0].sync()?;
            Ok(drain(&mut b.rx[0], payload))
        })
    })
}

fn two_cores(bed: Bed<'_>, payload: Payload, burst: u32) -> Result<Sample, Fault> {
    let (mut a, mut b) = ends()?;
    let send = |control: &Control<'_>| {
        let mut waiter = Waiter::new(SPIN)?;
        let mut sequence = 0;
        control.ready();
        while !control.stopped() {
            if fill(&mut a.tx[0], payload, burst, &mut sequence) == 0 {
                waiter.wait(&mut [&mut a.tx[0]], NAP)?;
            }
            a.tx[0].sync()?;
        }
        Ok(())
    };
    let receive = || {
        alone(None, receiver(), || {
            let mut waiter = Waiter::new(SPIN)?;
            loops::timed(bed, || {
                if b.rx[0].sync()? == 0 {
                    waiter.wait(&mut [&mut b.rx[0]], NAP)?;
                }
                Ok(drain(&mut b.rx[0], payload))
            })
        })
    };
    beside(None, SENDER, send, receive).map(|((), sample)| sample)
}

/// Mean time of a slot over all rounds; `round` returns the slots it passed and the time that took.
fn per_slot(
    bed: Bed<'_>,
    mut round: impl FnMut(&mut Port) -> ringway::Result<(u64, Duration)> + Send,
) -> Result<Sample, Fault> {
    alone(None, receiver(), || {
        let mut port = Port::open("null:")?;
        let end = Instant::now() + Duration::from_secs_f64(bed.seconds);
        let (mut slots, mut time) = (0, Duration::ZERO);
        while Instant::now() < end && !bed.signals.stopped() {
            let (n, t) = round(&mut port)?;
            slots += n;
            time += t;
        }
        Ok(Sample::of(time.as_nanos() as f64 / slots.max(1) as f64))
    })
}

fn tx_slot(bed: Bed<'_>) -> Result<Sample, Fault> {
    per_slot(bed, |port| {
        let (start, mut slots) = (Instant::now(), 0);
        loop {
            match loops::fill_untouched(&mut port.tx[0], BURST) {
                0 => break,
                n => slots += u64::from(n),
            }
        }
        let time = start.elapsed();
        port.tx[0].sync()?;
        Ok((slots, time))
    })
}

fn rx_slot(bed: Bed<'_>) -> Result<Sample, Fault> {
    per_slot(bed, |port| {
        port.rx[0].sync()?;
        let (start, mut slots) = (Instant::now(), 0);
        loop {
            match port.rx[0].burst(BURST).map(|f| std::hint::black_box(f.len()).min(1) as u64).sum() {
                0 => break,
                n => slots += n,
            }
        }
        Ok((slots, start.elapsed()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn frames_pass_on_one_core_and_on_two() {
        let lab = Err(LabError::NotRoot);
        let signals = Signals::new();
        let bed = Bed::new(&lab, 0.01, &signals);
        for payload in [Payload::Untouched, Payload::Touched] {
            assert!(one_core(bed, payload).unwrap().value > 0.0);
            // the sender may be kept from running
            assert!((0..20).any(|_| two_cores(bed, payload, BURST).unwrap().value > 0.0));
        }
        assert!(tx_slot(bed).unwrap().value > 0.0);
        assert!(rx_slot(bed).unwrap().value > 0.0);
    }
}
