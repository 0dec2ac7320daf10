//! `bridge`: a forwarder written for libpcap.
//!
//! ```text
//! flood, CPU 0 -> a0|a1 -> forwarder, CPU 1 -> b0|b1 -> sink
//! ```

use super::launch::Under;
use super::wires::BURST;
use super::wires::Wires;
use crate::peers::{Peer, PeerKind};
use crate::suite::bed::{Links, receiver};
use crate::suite::io::forward::{links, started};
use crate::suite::{Bed, Case, Fault, Sample, Unit};

const NOTE: &str = "one program on libpcap.so.0.8 that calls pcap_dispatch and pcap_inject. libpcap: on the \
                    system's; ringway-default: ringway run; ringway-copy: --copy; ringway-taken: --map \
                    a1=ebpf:a1 --map b0=ebpf:b0; ringway-switch: --map to ports of two switches, which a \
                    thread on CPU 0 floods and drains in turn; at-once: with --batch-us 0. Counted on veths by \
                    a tc sink for libpcap and at-once, which send socket buffers, by an XDP sink for the \
                    others, which send live frames: the better one for each";

/// Both interfaces, taken from their hosts.
pub(super) const TAKEN: &str = "a1=ebpf:a1,b0=ebpf:b0";

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    Case::new("bridge", Unit::Mpps)
        .burst(BURST)
        .note(NOTE)
        .system("libpcap", move || veths(bed, Under::System, "sink-skb"))
        .system("ringway-default", move || veths(bed, Under::Default, "sink"))
        .system("ringway-copy", move || veths(bed, Under::Copy, "sink"))
        .system("ringway-taken", move || veths(bed, Under::Map(TAKEN), "sink"))
        .system("ringway-taken-at-once", move || veths(bed, Under::AtOnce(TAKEN), "sink-skb"))
        .system("ringway-switch", move || switches(bed, |map| Under::Map(map)))
        .system("ringway-switch-at-once", move || switches(bed, |map| Under::AtOnce(map)))
}

/// The forwarder between `a1` and `b0`.
pub(super) fn start(links: &Links<'_>, under: Under<'_>) -> Result<Peer, Fault> {
    let (args, netns) = (["forward", "a1", "b0"], Some(links.lab.name()));
    Ok(Peer::spawn_with(PeerKind::Pcap, args, netns, Some(receiver()), &under.environment()?)?)
}

fn veths(bed: Bed<'_>, under: Under<'_>, sink_kind: &str) -> Result<Sample, Fault> {
    started(bed, sink_kind, |links| start(links, under))
}

/// The links are there for their names alone.
fn switches(bed: Bed<'_>, under: fn(&str) -> Under<'_>) -> Result<Sample, Fault> {
    let links = links(bed)?;
    let mut wires = Wires::new()?;
    let forwarder = start(&links, under(&wires.map()))?;
    let sample = wires.flood(bed)?;
    forwarder.stop()?;
    Ok(sample)
}
