//! `rate`, `generator`: how many frames a second.

use std::time::{Duration, Instant};

use super::place::{Job, Place, at, everywhere, exactly, opened, pipe_ends, spec, trial};
use crate::suite::{Bed, Case, Fault, Sample, Unit, io, vale};
use ringway_tester::bed::{RealTestBed, TestBedSpec};
use ringway_tester::trial::bed::TestBed;

/// More than any sender can do.
const FLOOD: u64 = 100_000_000;

/// Frames that leave together at most.
const BURST: u32 = ringway_tester::trial::schedule::BURST as u32;

const BOTH: &str = "more is asked for than can be sent; frames received and checked count. lost: what the receiver had no room for. \
                    untagged: programs that write and read frames of a pipe, no tags, clock or books. dpdk-memif: testpmd txonly to \
                    rxonly, bursts of 256, no tags, no byte is read";

const IN_TURN: &str = "sender and receiver in turn under a virtual clock: what both cost without waiting for another CPU's memory";

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let case = |variant| Case::new("rate", Unit::Mpps).variant(variant).burst(BURST).cores(2).note(BOTH);
    vec![
        everywhere(case("counted"), move |place| checked(bed, place, false))
            .system("ringway-untagged", move || io::untagged(bed, BURST))
            .system("dpdk-memif", move || vale::memif(bed)),
        everywhere(case("latencies too"), move |place| checked(bed, place, true)),
        Case::new("rate", Unit::Mpps)
            .variant("in turn")
            .burst(BURST)
            .note(IN_TURN)
            .system("ringway-loop", move || in_turn(bed)),
        Case::new("generator", Unit::Mpps)
            .burst(BURST)
            .note("frames with tags to a sink that takes them all")
            .system("ringway-null", move || generated(bed)),
    ]
}

fn checked(bed: Bed<'_>, place: Place, latencies: bool) -> Result<Sample, Fault> {
    let mut order = at(FLOOD, bed.seconds);
    order.latency = latencies;
    let job: Job<'_, _> = &|rig| trial(bed, rig, &order);
    let trial = place.with(bed, job)?;
    Ok(Sample { lost: Some(trial.lost), ..Sample::of(trial.forwarded_fps / 1e6) })
}

/// The receiver listens at a pipe that nobody sends to.
fn generated(bed: Bed<'_>) -> Result<Sample, Fault> {
    let [_, idle] = pipe_ends();
    let order = at(FLOOD, bed.seconds);
    let sent = opened(["null:".into(), idle], &|rig| Ok(rig.run(&order, &mut |_| !bed.signals.stopped())?))?;
    match sent.tx {
        0 => Err(Fault::Failed("nothing was sent".into())),
        _ => Ok(Sample::of(sent.offered_fps / 1e6)),
    }
}

fn in_turn(bed: Bed<'_>) -> Result<Sample, Fault> {
    let ports = ["loop:", "loop:"].map(String::from);
    let mut rig = RealTestBed::open(&TestBedSpec { virtual_time: true, ..spec(ports) })?;
    let order = exactly(1_000_000, 0.1);
    let (start, mut frames) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs_f64(bed.seconds) && !bed.signals.stopped() {
        frames += trial(bed, &mut rig, &order)?.rx;
    }
    Ok(Sample::of(frames as f64 / start.elapsed().as_secs_f64() / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::tester::place::tried;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn frames_are_sent_and_checked() {
        let lab = Err(LabError::NotRoot);
        let signals = Signals::new();
        let bed = Bed::new(&lab, 0.02, &signals);
        let measured =
            [tried(|| checked(bed, Place::Pipe, true)), tried(|| in_turn(bed)), tried(|| generated(bed))];
        assert!(measured.iter().all(|sample| sample.value > 0.0));
        assert!(
            matches!(checked(bed, Place::Ebpf, false), Err(Fault::Unavailable(why)) if why.contains("root"))
        );
    }
}
