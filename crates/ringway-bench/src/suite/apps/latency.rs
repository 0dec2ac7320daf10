//! `latency`: what the forwarder of case `bridge` adds to round trips of single frames.
//!
//! ```text
//! ping, CPU 0 <-> a0|a1 <-> forwarder, CPU 1 <-> b0|b1 <-> pong, CPU 0
//! ```

use super::bridge::{TAKEN, start};
use super::launch::Under;
use crate::peers::{Peer, PeerKind};
use crate::suite::bed::SENDER;
use crate::suite::io::forward::links;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

const NOTE: &str = "median round trip through the forwarder of case bridge and back, a request a \
                    millisecond; who asks and who answers are on the system's libpcap and CPU 0. The program \
                    waits in poll, with a packet buffer timeout of 1 ms, which libpcap keeps to";

const INTERVAL_US: u32 = 1000;

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    Case::new("latency", Unit::Ns)
        .note(NOTE)
        .system("libpcap", move || round_trips(bed, Under::System))
        .system("ringway-default", move || round_trips(bed, Under::Default))
        .system("ringway-copy", move || round_trips(bed, Under::Copy))
        .system("ringway-taken", move || round_trips(bed, Under::Map(TAKEN)))
}

fn round_trips(bed: Bed<'_>, under: Under<'_>) -> Result<Sample, Fault> {
    let links = links(bed)?;
    let netns = Some(links.lab.name());
    let forwarder = start(&links, under)?;
    let pong = Peer::spawn(PeerKind::Pcap, ["pong", "b1"], netns, Some(SENDER))?;
    let count = ((bed.seconds * 1e6) as u32 / INTERVAL_US).max(10).to_string();
    let args = ["ping", "a0", &count, "60", &INTERVAL_US.to_string()];
    let times = Peer::spawn(PeerKind::Pcap, args, netns, Some(SENDER))?.finish()?;
    pong.stop()?;
    forwarder.stop()?;
    match times.round_trip() {
        Some(t) if t.count > t.lost => Ok(Sample::of(t.p50_ns as f64)),
        _ => Err(Fault::Failed("no reply came".into())),
    }
}
