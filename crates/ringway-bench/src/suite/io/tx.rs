//! `tx`: how fast a sender puts frames on a veth.

use std::time::Duration;

use ringway::OpenOptions;

use super::kind::{Kind, with_all};
use super::{Bed, SENDER, receiver};
use crate::peers::{Peer, PeerKind};
use crate::suite::duo::alone;
use crate::suite::loops;
use crate::suite::meter::WARM_UP;
use crate::suite::{Case, Fault, Sample, Unit};
use ringway_lab::Lab;

/// A veth makes a private copy of each socket buffer for an XDP program, and a socket buffer of each live
/// frame for a tc program. So one sink would favour one way of sending. `ebpf:` ports send bursts up to 16 as
/// socket buffers.
const NOTE: &str = "counted at the far end by tc for senders of socket buffers (ringway-ebpf up to burst 16 among them), by XDP \
                    for live frames: each the better one for it";

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    [1, 16, 256, 1024].map(|burst| case(bed, burst)).into()
}

fn case(bed: Bed<'_>, burst: u32) -> Case<'_> {
    let case = Case::new("tx", Unit::Mpps).burst(burst).note(NOTE);
    with_all(case, move |kind| ringway(bed, kind, burst, &OpenOptions::new()))
        .system("libpcap", move || peer(bed, PeerKind::Pcap, burst))
        .system("sendmmsg", move || peer(bed, PeerKind::Socket, burst))
        .system("af_xdp", move || peer(bed, PeerKind::AfXdp, burst))
}

/// A port of that kind sends bursts.
pub(in crate::suite) fn ringway(
    bed: Bed<'_>,
    kind: Kind,
    burst: u32,
    options: &OpenOptions,
) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    counted(links.lab, kind.sink(burst), || {
        alone(Some(links.lab), SENDER, || {
            let mut port = options.clone().open(&kind.port("a0"))?;
            let period = Duration::from_secs_f64(bed.seconds) + WARM_UP;
            Ok(loops::transmit(&mut port, burst, period, bed.signals)?)
        })
    })
}

/// A peer of that kind sends socket buffers.
pub(in crate::suite) fn peer(bed: Bed<'_>, kind: PeerKind, burst: u32) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    let (burst, seconds) = (burst.to_string(), bed.seconds.to_string());
    counted(links.lab, "sink-skb", || {
        let args = ["tx", "a0", "60", &burst, &seconds];
        Peer::spawn(kind, args, Some(links.lab.name()), Some(SENDER))?.finish()?;
        Ok(())
    })
}

/// What arrives at a sink while `send` runs.
pub(in crate::suite) fn counted(
    lab: &Lab,
    sink: &str,
    send: impl FnOnce() -> Result<(), Fault>,
) -> Result<Sample, Fault> {
    let sink = Peer::spawn(PeerKind::Xdp, [sink, "a1"], Some(lab.name()), Some(receiver()))?;
    send()?;
    arrived(sink)
}

/// The rate at a sink, which ends with it.
pub(in crate::suite) fn arrived(sink: Peer) -> Result<Sample, Fault> {
    let pps = sink.stop()?.traffic().map_or(0.0, |t| t.pps());
    if pps == 0.0 {
        return Err(Fault::Failed("nothing arrived at the far end".into()));
    }
    Ok(Sample::of(pps / 1e6))
}
