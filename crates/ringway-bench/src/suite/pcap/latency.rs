//! `latency` and `latency-ovs`: what the programs of cases `bridge` and `ovs` add to round trips of single frames.
//!
//! ```text
//! ping, CPU 0 <-> a0|a1 <-> program, CPU 1 <-> b0|b1 <-> pong, CPU 0
//! ```

use super::bridge::{TAKEN, start};
use super::launch::Under;
use super::ovs;
use crate::peers::{Peer, PeerKind};
use crate::suite::bed::Links;
use crate::suite::bed::SENDER;
use crate::suite::io::forward::links;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

const NOTE: &str = "median round trip through the forwarder of case bridge and back, a request a \
                    millisecond; who asks and who answers are on the system's libpcap and CPU 0. The program \
                    waits in poll, with a packet buffer timeout of 1 ms, which libpcap keeps to";

const OVS: &str = "median round trip through Open vSwitch of case ovs and back, a request a millisecond; who asks \
                   and who answers are on the system's libpcap and CPU 0";

const INTERVAL_US: u32 = 1000;

pub(super) fn bridge(bed: Bed<'_>) -> Case<'_> {
    let through = move |under: Under<'static>| {
        let links = links(bed)?;
        let forwarder = start(&links, under)?;
        let sample = round_trips(bed, &links)?;
        forwarder.stop()?;
        Ok(sample)
    };
    Case::new("latency", Unit::Ns)
        .note(NOTE)
        .system("libpcap", move || through(Under::System))
        .system("ringway-default", move || through(Under::Default))
        .system("ringway-copy", move || through(Under::Copy))
        .system("ringway-taken", move || through(Under::Map(TAKEN)))
}

pub(super) fn switch(bed: Bed<'_>) -> Case<'_> {
    let through = move |under: Under<'static>| {
        let links = links(bed)?;
        let _daemon = ovs::start(links.lab, under)?;
        round_trips(bed, &links)
    };
    Case::new("latency-ovs", Unit::Ns)
        .note(OVS)
        .system("kernel", move || through(Under::System))
        .system("ringway-default", move || through(Under::Default))
        .system("ringway-taken", move || through(Under::Map(TAKEN)))
}

fn round_trips(bed: Bed<'_>, links: &Links<'_>) -> Result<Sample, Fault> {
    let netns = Some(links.lab.name());
    let pong = Peer::spawn(PeerKind::Pcap, ["pong", "b1"], netns, Some(SENDER))?;
    let count = ((bed.seconds * 1e6) as u32 / INTERVAL_US).max(10).to_string();
    let args = ["ping", "a0", &count, "60", &INTERVAL_US.to_string()];
    let times = Peer::spawn(PeerKind::Pcap, args, netns, Some(SENDER))?.finish()?;
    pong.stop()?;
    match times.round_trip() {
        Some(t) if t.count > t.lost => Ok(Sample::of(t.p50_ns as f64)),
        _ => Err(Fault::Failed("no reply came".into())),
    }
}
