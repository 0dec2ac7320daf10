//! One measurement: a router is set up, shown to work, and flooded; each lost frame must have a name.

use std::thread;
use std::time::{Duration, Instant};

use super::check;
use super::plan::{EGRESS, INGRESS};
use super::router::Router;
use super::world::{Place, World};
use crate::peers::{Peer, PeerKind, Traffic};
use crate::suite::bed::{SENDER, receiver};
use crate::suite::{Bed, Fault, Sample};

/// How long the last frames may be on their way on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// From one look at the counters to the next.
const PAUSE: Duration = Duration::from_millis(20);

/// Which sink counts what comes out: one that takes live frames, or one that takes socket buffers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sink {
    Xdp,
    Tc,
}

impl Sink {
    fn verb(self) -> &'static str {
        match self {
            Self::Xdp => "sink",
            Self::Tc => "sink-skb",
        }
    }
}

/// The rate behind a router, flooded with the flows of an index in [`FLOWS`](super::world::FLOWS).
pub(super) fn forwarded<'a, R: Router>(
    bed: Bed<'_>,
    world: &'a World,
    flows: usize,
    sink: Sink,
    set_up: impl FnOnce(&'a Place) -> Result<R, Fault>,
) -> Result<Sample, Fault> {
    bed.lab()?; // root and tools
    let (place, flows) = (world.place()?, world.flows(flows)?);
    let trips = flows.sample(world.reference()?)?;
    let mut router = set_up(place)?;
    check::sample(place, &trips)?;
    let ends = EGRESS.map(|link| link.outside);
    let mut sink = spawn(place, &[sink.verb(), ends[0], ends[1]], receiver())?;
    let mut lost = || Ok::<_, Fault>(place.dropped()? + router.lost()?);
    let before = lost()?;
    let sent = flood(bed, place, &flows.file.to_string_lossy())?;
    let end = Instant::now() + PATIENCE;
    // The last frames may be on their way.
    while let Err(e) = explain(sent.total_packets, sink.snapshot()?.total_packets, lost()? - before) {
        if Instant::now() > end {
            return Err(e);
        }
        thread::sleep(PAUSE);
    }
    rate(*sink.stop()?.traffic().unwrap_or(&Traffic::default()))
}

/// What the generator sends into `a1`, dropped or redirected there by a program of `peer-xdp`.
pub(super) fn bed_alone(bed: Bed<'_>, world: &World, redirect: bool) -> Result<Sample, Fault> {
    bed.lab()?;
    let (place, flows) = (world.place()?, world.flows(0)?);
    let (end, file) = (EGRESS[0], flows.file.to_string_lossy());
    let inside = |args: &[&str]| {
        Ok::<_, Fault>(Peer::spawn(PeerKind::Xdp, args, Some(place.router.name()), Some(receiver()))?)
    };
    let arrived = match redirect {
        false => {
            let sink = inside(&["sink", INGRESS.router])?;
            flood(bed, place, &file)?;
            sink.stop()?
        }
        true => {
            let _redirect = inside(&["redirect", INGRESS.router, end.router])?;
            let sink = spawn(place, &["sink", end.outside], receiver())?;
            flood(bed, place, &file)?;
            sink.stop()?
        }
    };
    rate(*arrived.traffic().unwrap_or(&Traffic::default()))
}

pub(super) fn flood(bed: Bed<'_>, place: &Place, file: &str) -> Result<Traffic, Fault> {
    let seconds = bed.seconds.to_string();
    let args = ["flood", INGRESS.outside, file, &seconds];
    let flood = Peer::spawn(PeerKind::L3, args, Some(place.outside.name()), Some(SENDER))?;
    Ok(*flood.finish()?.traffic().unwrap_or(&Traffic::default()))
}

pub(super) fn spawn(place: &Place, args: &[&str], cpu: usize) -> Result<Peer, Fault> {
    Ok(Peer::spawn(PeerKind::Xdp, args, Some(place.outside.name()), Some(cpu))?)
}

fn rate(arrived: Traffic) -> Result<Sample, Fault> {
    match arrived.pps() {
        pps if pps > 0.0 => Ok(Sample::of(pps / 1e6)),
        _ => Err(Fault::Failed("nothing arrived at the far end".into())),
    }
}

/// No frame may be lost without a counter that says so.
fn explain(sent: u64, arrived: u64, lost: u64) -> Result<(), Fault> {
    match sent.checked_sub(arrived + lost) {
        Some(0) => Ok(()),
        _ => Err(Fault::Failed(format!(
            "of {sent} frames {arrived} arrived, and {lost} are counted as lost: the rest has no name"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_is_accounted_for() {
        assert_eq!(explain(10, 7, 3), Ok(()));
        let e = explain(10, 7, 2).unwrap_err().to_string();
        assert!(e.starts_with("of 10 frames 7 arrived, and 2 are counted"), "{e}");
        assert!(explain(10, 10, 1).is_err(), "a frame that arrived twice");
    }

    #[test]
    fn silence_is_a_fault() {
        assert!(rate(Traffic::default()).is_err());
        let arrived = Traffic { packets: 3_000_000, seconds: 1.5, ..Traffic::default() };
        assert_eq!(rate(arrived), Ok(Sample::of(2.0)));
    }
}
