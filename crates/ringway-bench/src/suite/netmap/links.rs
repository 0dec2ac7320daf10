//! `tx`, `rx`, `bridge`: on veths.

use ringway::OpenOptions;

use super::program::{API, OWN, SLOTS, start};
use crate::peers::PeerKind;
use crate::suite::bed::{SENDER, receiver};
use crate::suite::io::Kind;
use crate::suite::io::rx::{self, AS_FAST_AS_IT_GOES};
use crate::suite::io::{forward, tx};
use crate::suite::{Bed, Case, Fault, Sample, Unit};

const TX: &str = "on CPU 0 into a veth. netmap-api: netmap:IF, which is auto:IF, in rings of 1024 slots; poll \
                  with POLLOUT is the only sync, and each call is followed by filling all free slots; ringway: \
                  auto: with as many slots. Counted at the far end by tc for libpcap and af_xdp, by XDP for the \
                  others: each the better one for it";

const RX: &str = "generator and NAPI on CPU 0, receiver on CPU 1, rings of 1024 slots. netmap-api: poll with \
                  POLLIN is the only sync; ringway: auto:";

const BRIDGE: &str = "flood on CPU 0, forwarder on CPU 1, both ways, rings of 1024 slots. netmap-api: exchanges \
                      buffers, one poll of both ports is the only sync; ringway: auto:, zero copy. Counted by a \
                      tc sink for libpcap and af_xdp, by an XDP sink for the others: each the better one for it";

/// Frames that a receiver on AF_XDP takes at a time.
const RX_BURST: u32 = 256;

/// The sink of senders of live frames, which `auto:` is on veths.
const SINK: &str = "sink";

pub(super) fn tx(bed: Bed<'_>) -> Case<'_> {
    Case::new("tx", Unit::Mpps)
        .burst(SLOTS)
        .note(TX)
        .system("libpcap", move || tx::peer(bed, PeerKind::Pcap, SLOTS))
        .system("af_xdp", move || tx::peer(bed, PeerKind::AfXdp, SLOTS))
        .system(API, move || send(bed))
        .system(OWN, move || tx::ringway(bed, Kind::Auto, SLOTS, &options()))
}

pub(super) fn rx(bed: Bed<'_>) -> Case<'_> {
    Case::new("rx", Unit::Mpps)
        .burst(RX_BURST)
        .note(RX)
        .system("libpcap", move || rx::peer(bed, PeerKind::Pcap, None, AS_FAST_AS_IT_GOES))
        .system("af_xdp", move || {
            rx::peer(bed, PeerKind::AfXdp, Some(&RX_BURST.to_string()), AS_FAST_AS_IT_GOES)
        })
        .system(API, move || receive(bed))
        .system(OWN, move || rx::ringway(bed, Kind::Auto, AS_FAST_AS_IT_GOES, SLOTS))
}

pub(super) fn bridge(bed: Bed<'_>) -> Case<'_> {
    Case::new("bridge", Unit::Mpps)
        .burst(forward::BURST)
        .note(BRIDGE)
        .system("libpcap", move || forward::libpcap(bed))
        .system("af_xdp", move || forward::af_xdp(bed))
        .system(API, move || pass_on(bed))
        .system(OWN, move || forward::ringway_with(bed, Kind::Auto, &options()).map(|(sample, _)| sample))
}

fn options() -> OpenOptions {
    OpenOptions::new().slots(SLOTS)
}

fn send(bed: Bed<'_>) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    tx::counted(links.lab, SINK, || {
        let args = ["tx", "a0", &bed.seconds.to_string()];
        start(&args, Some(links.lab.name()), SENDER)?.finish()?;
        Ok(())
    })
}

fn receive(bed: Bed<'_>) -> Result<Sample, Fault> {
    rx::received(bed, AS_FAST_AS_IT_GOES, |links, seconds| {
        start(&["rx", "a1", seconds], Some(links.lab.name()), receiver())
    })
}

fn pass_on(bed: Bed<'_>) -> Result<Sample, Fault> {
    forward::started(bed, SINK, |links| {
        let args = ["bridge", "a1", "b0", &forward::BURST.to_string()];
        start(&args, Some(links.lab.name()), receiver())
    })
}
