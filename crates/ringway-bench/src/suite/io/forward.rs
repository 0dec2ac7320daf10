//! `forward`: from one veth to another, by every means that this machine has.
//!
//! ```text
//! flood, CPU 0 -> a0|a1 -> forwarder, CPU 1 -> b0|b1 -> sink
//! ```
//!
//! Forwarders in the kernel have no core of their own: they run where the frames arrive, in the generator's
//! softirq on CPU 0.

use ringway::{OpenOptions, Port, PortCounters};

use super::kind::{Kind, with_all};
use super::{Bed, Links, SENDER, receiver, tx};
use crate::peers::testpmd::{self, Driver};
use crate::peers::{Peer, PeerKind, Traffic};
use crate::suite::duo::{Control, beside};
use crate::suite::{Case, Fault, Sample, Unit};
use ringway_engine::{Bridge, Turns};
use ringway_lab::Lab;
use ringway_lab::raw::RawSender;
use ringway_tester::dut::LinuxBridge;

/// Frames forwarded in one direction before the other gets its turn.
pub(in crate::suite) const BURST: u32 = 256;

const NOTE: &str = "senders of socket buffers: tc sink; ringway-ebpf and xdp-redirect: XDP sink. linux-bridge and \
                    xdp-redirect run in the kernel, in the generator's softirq on CPU 0";

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    let case = Case::new("forward", Unit::Mpps).burst(BURST).note(NOTE);
    with_all(case, move |kind| ringway(bed, kind).map(|(sample, _)| sample))
        .system("libpcap", move || libpcap(bed))
        .system("af_xdp", move || af_xdp(bed))
        .system("xdp-redirect", move || xdp_redirect(bed))
        .system("linux-bridge", move || linux_bridge(bed))
        .system("dpdk-af_packet", move || dpdk(bed, Driver::AfPacket))
        .system("dpdk-af_xdp", move || dpdk(bed, Driver::AfXdp))
}

/// Ringway on both sides, in one region; with the counters of both ports.
///
/// # Errors
///
/// Why there is no number.
pub fn ringway(bed: Bed<'_>, kind: Kind) -> Result<(Sample, [PortCounters; 2]), Fault> {
    ringway_with(bed, kind, &OpenOptions::new())
}

/// The same with ports of these options.
pub(in crate::suite) fn ringway_with(
    bed: Bed<'_>,
    kind: Kind,
    options: &OpenOptions,
) -> Result<(Sample, [PortCounters; 2]), Fault> {
    let links = links(bed)?;
    let sink = sink(&links, kind.sink(BURST))?;
    let (counters, ()) = bridging_with(links.lab, kind, options, || flood(bed).map(drop))?;
    Ok((tx::arrived(sink)?, counters))
}

/// Bridges `a1` and `b0` of a lab over Ringway, on a thread of its own, while `meanwhile` runs.
///
/// # Errors
///
/// The errors of the ports, or else of `meanwhile`.
pub fn bridging<T>(
    lab: &Lab,
    kind: Kind,
    meanwhile: impl FnOnce() -> Result<T, Fault>,
) -> Result<([PortCounters; 2], T), Fault> {
    bridging_with(lab, kind, &OpenOptions::new(), meanwhile)
}

fn bridging_with<T>(
    lab: &Lab,
    kind: Kind,
    options: &OpenOptions,
    meanwhile: impl FnOnce() -> Result<T, Fault>,
) -> Result<([PortCounters; 2], T), Fault> {
    let work = |control: &Control<'_>| {
        let [a, b] = options.clone().open_all([&kind.port("a1"), &kind.port("b0")])?;
        let mut bridge = Bridge::new(a, b).with_turns(Turns::of(BURST));
        control.ready();
        bridge.run(control.signals())?;
        Ok(bridge.ports().each_ref().map(Port::counters))
    };
    beside(Some(lab), receiver(), work, meanwhile)
}

/// libpcap on both sides.
///
/// # Errors
///
/// Why there is no number.
pub fn libpcap(bed: Bed<'_>) -> Result<Sample, Fault> {
    peer(bed, PeerKind::Pcap, &["forward", "a1", "b0"], "sink-skb")
}

pub(in crate::suite) fn af_xdp(bed: Bed<'_>) -> Result<Sample, Fault> {
    peer(bed, PeerKind::AfXdp, &["forward", "a1", "b0", &BURST.to_string()], "sink-skb")
}

pub(in crate::suite) fn xdp_redirect(bed: Bed<'_>) -> Result<Sample, Fault> {
    peer(bed, PeerKind::Xdp, &["redirect", "a1", "b0"], "sink")
}

fn peer(bed: Bed<'_>, kind: PeerKind, args: &[&str], sink_kind: &str) -> Result<Sample, Fault> {
    started(bed, sink_kind, |links| Ok(Peer::spawn(kind, args, Some(links.lab.name()), Some(receiver()))?))
}

/// What a program forwards that `start` starts between `a1` and `b0`, as the sink of that kind sees it.
pub(in crate::suite) fn started(
    bed: Bed<'_>,
    sink_kind: &str,
    start: impl FnOnce(&Links<'_>) -> Result<Peer, Fault>,
) -> Result<Sample, Fault> {
    let links = links(bed)?;
    let forwarder = start(&links)?;
    let sink = sink(&links, sink_kind)?;
    flood(bed)?;
    forwarder.stop()?;
    tx::arrived(sink)
}

/// The kernel's bridge.
///
/// # Errors
///
/// Why there is no number.
pub fn linux_bridge(bed: Bed<'_>) -> Result<Sample, Fault> {
    through(bed, "sink-skb", |lab| Ok(LinuxBridge::create(Some(lab.name()), "br0", &["a1", "b0"])?))
}

/// The address that the flood's frames go to (peer.h) sends one frame itself: a switch learns where it is.
fn announce(lab: &Lab) -> Result<(), Fault> {
    let mut frame = [0; 60];
    (frame[0], frame[5]) = (2, 1);
    (frame[6], frame[11]) = (2, 2);
    let sent = RawSender::open(lab, "b1")?.send(&frame);
    sent.map_err(|e| Fault::Failed(format!("sending a frame from b1 failed: {e}")))
}

/// What `forwarder` brings from `a1` to `b0`, as the sink of that kind sees it.
pub(in crate::suite) fn through<F>(
    bed: Bed<'_>,
    sink_kind: &str,
    forwarder: impl FnOnce(&Lab) -> Result<F, Fault>,
) -> Result<Sample, Fault> {
    let links = links(bed)?;
    let _forwarder = forwarder(links.lab)?;
    announce(links.lab)?;
    let sink = sink(&links, sink_kind)?;
    flood(bed)?;
    tx::arrived(sink)
}

fn dpdk(bed: Bed<'_>, driver: Driver) -> Result<Sample, Fault> {
    let links = links(bed)?;
    let testpmd = testpmd::spawn(driver, "a1", "b0", Some(links.lab.name()), Some(receiver()))?;
    let sink = sink(&links, "sink-skb")?;
    flood(bed)?;
    testpmd.stop()?;
    tx::arrived(sink)
}

/// Links for a forwarder between `a1` and `b0`.
pub(in crate::suite) fn links(bed: Bed<'_>) -> Result<Links<'_>, Fault> {
    let links = bed.links(&["a", "b"])?;
    links.lab.run_napi("a1")?; // takes what the generator redirects, whoever forwards
    Ok(links)
}

pub(in crate::suite) fn sink(links: &Links<'_>, kind: &str) -> Result<Peer, Fault> {
    Ok(Peer::spawn(PeerKind::Xdp, [kind, "b1"], Some(links.lab.name()), Some(receiver()))?)
}

/// Floods `a0` with frames of 60 bytes; what was sent.
pub(in crate::suite) fn flood(bed: Bed<'_>) -> Result<Traffic, Fault> {
    let seconds = bed.seconds.to_string();
    let args = ["flood", "a0", "60", &seconds];
    let flood = Peer::spawn(PeerKind::Xdp, args, Some(bed.lab()?.name()), Some(SENDER))?;
    Ok(flood.finish()?.traffic().copied().unwrap_or_default())
}
