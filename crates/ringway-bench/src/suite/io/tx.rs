//! `tx`: how fast a sender puts frames on a veth.

use std::time::Duration;

use ringway::Port;

use super::duo::alone;
use super::meter::WARM_UP;
use super::{Bed, SENDER, loops, receiver};
use crate::lab::Lab;
use crate::peers::{Peer, PeerKind};
use crate::suite::{Case, Fault, Sample, Unit};

/// A veth makes a private copy of each socket buffer for an XDP program, and a socket buffer of each live frame for a
/// tc program, so one sink would favour one way of sending. Ringway sends bursts up to 16 as socket buffers.
const NOTE: &str = "counted at the far end by tc for senders of socket buffers (ringway up to burst 16 among them), by XDP \
                    for live frames: each the better one for it";

/// Bursts from which on Ringway sends live frames.
const LIVE: u32 = 17;

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    [1, 16, 256, 1024].map(|burst| case(bed, burst)).into()
}

fn case(bed: Bed<'_>, burst: u32) -> Case<'_> {
    Case::new("tx", Unit::Mpps)
        .burst(burst)
        .note(NOTE)
        .system("ringway-ebpf", move || ringway(bed, burst))
        .system("libpcap", move || peer(bed, PeerKind::Pcap, burst))
        .system("sendmmsg", move || peer(bed, PeerKind::Socket, burst))
        .system("af_xdp", move || peer(bed, PeerKind::AfXdp, burst))
}

fn ringway(bed: Bed<'_>, burst: u32) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    let sink = if burst >= LIVE { "sink" } else { "sink-skb" };
    counted(links.lab, sink, || {
        alone(Some(links.lab), SENDER, || {
            let mut port = Port::open("ebpf:a0")?;
            let period = Duration::from_secs_f64(bed.seconds) + WARM_UP;
            Ok(loops::transmit(&mut port, burst, period, bed.signals)?)
        })
    })
}

fn peer(bed: Bed<'_>, kind: PeerKind, burst: u32) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    let (burst, seconds) = (burst.to_string(), bed.seconds.to_string());
    counted(links.lab, "sink-skb", || {
        let args = ["tx", "a0", "60", &burst, &seconds];
        Peer::spawn(kind, args, Some(links.lab.name()), Some(SENDER))?.finish()?;
        Ok(())
    })
}

/// What arrives at a sink while `send` runs.
fn counted(lab: &Lab, sink: &str, send: impl FnOnce() -> Result<(), Fault>) -> Result<Sample, Fault> {
    let sink = Peer::spawn(PeerKind::Xdp, [sink, "a1"], Some(lab.name()), Some(receiver()))?;
    send()?;
    arrived(sink)
}

/// The rate at a sink, which ends with it.
pub(super) fn arrived(sink: Peer) -> Result<Sample, Fault> {
    let pps = sink.stop()?.traffic().map_or(0.0, |t| t.pps());
    if pps == 0.0 {
        return Err(Fault::Failed("nothing arrived at the far end".into()));
    }
    Ok(Sample::of(pps / 1e6))
}
