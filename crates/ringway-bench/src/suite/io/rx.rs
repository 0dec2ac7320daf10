//! `rx`: how much of a flood a receiver takes; `rx-1mpps`: whether it loses anything of a load it should bear.

use std::time::Duration;

use ringway::OpenOptions;

use super::kind::{Kind, with_all};
use super::tx::counted;
use super::{Bed, Links, SENDER, receiver};
use crate::peers::{Peer, PeerKind, Traffic};
use crate::suite::duo::beside;
use crate::suite::loops;
use crate::suite::{Case, Fault, Sample, Unit};

/// Frames per second that nobody should lose.
const OFFERED: &str = "950000";
pub(in crate::suite) const AS_FAST_AS_IT_GOES: &str = "0";

/// Slots that hold the 16 MB which the peers' buffers have too: none of them may lose frames because it was
/// preempted for some milliseconds.
const AS_THE_PEERS: u32 = 8192;

/// How much longer a peer listens than the generator runs.
const AFTER: f64 = 0.5;

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let flood = "generator and NAPI on CPU 0, receiver on CPU 1; xdp-drop is a program in NAPI that counts frames and drops them: \
                 what the generator leaves to any receiver";
    let gentle = "0.95 Mpps offered, less where the receiver's stack takes the generator's time on CPU 0; lost: frames sent and \
                  not received, all runs; libpcap, recvmmsg and ringway buffer 16 MB, af_xdp 4 MB";
    vec![
        case(bed, "rx", AS_FAST_AS_IT_GOES, 2048).system("xdp-drop", move || dropped(bed)).note(flood),
        case(bed, "rx-1mpps", OFFERED, AS_THE_PEERS).note(gentle),
    ]
}

fn case<'a>(bed: Bed<'a>, name: &'static str, rate: &'static str, slots: u32) -> Case<'a> {
    with_all(Case::new(name, Unit::Mpps).burst(256), move |kind| ringway(bed, kind, rate, slots))
        .system("libpcap", move || peer(bed, PeerKind::Pcap, None, rate))
        .system("recvmmsg", move || peer(bed, PeerKind::Socket, None, rate))
        .system("af_xdp", move || peer(bed, PeerKind::AfXdp, Some("256"), rate))
}

/// A port of that kind receives what is offered.
pub(in crate::suite) fn ringway(bed: Bed<'_>, kind: Kind, rate: &str, slots: u32) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    links.lab.run_napi("a1")?;
    let (meter, sent) = beside(
        Some(links.lab),
        receiver(),
        |control| {
            let mut port = OpenOptions::new().slots(slots).open(&kind.port("a1"))?;
            Ok(loops::receive(&mut port, control)?)
        },
        || flood(bed, rate),
    )?;
    sample(rate, meter.mpps(), &sent, meter.total)
}

/// A peer of that kind does.
pub(in crate::suite) fn peer(
    bed: Bed<'_>,
    kind: PeerKind,
    burst: Option<&str>,
    rate: &str,
) -> Result<Sample, Fault> {
    received(bed, rate, |links, seconds| {
        let mut args = vec!["rx", "a1"];
        args.extend(burst);
        args.push(seconds);
        Ok(Peer::spawn(kind, args, Some(links.lab.name()), Some(receiver()))?)
    })
}

/// What a program of XDP takes that counts and drops.
fn dropped(bed: Bed<'_>) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    links.lab.run_napi("a1")?;
    counted(links.lab, "sink", || flood(bed, AS_FAST_AS_IT_GOES).map(drop))
}

/// What a program receives on `a1`; `start` starts it, for so many seconds.
pub(in crate::suite) fn received(
    bed: Bed<'_>,
    rate: &str,
    start: impl FnOnce(&Links<'_>, &str) -> Result<Peer, Fault>,
) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    links.lab.run_napi("a1")?;
    let receiver = start(&links, &(bed.seconds + AFTER).to_string())?;
    let sent = flood(bed, rate)?;
    let received = receiver.finish()?.traffic().copied().unwrap_or_default();
    sample(rate, received.pps() / 1e6, &sent, received.total_packets)
}

/// Floods `a0` and waits until the last frames have arrived.
fn flood(bed: Bed<'_>, rate: &str) -> Result<Traffic, Fault> {
    let seconds = bed.seconds.to_string();
    let args = ["flood", "a0", "60", &seconds, rate];
    let flood = Peer::spawn(PeerKind::Xdp, args, Some(bed.lab()?.name()), Some(SENDER))?;
    let sent = flood.finish()?.traffic().copied().unwrap_or_default();
    std::thread::sleep(Duration::from_millis(20));
    Ok(sent)
}

fn sample(rate: &str, mpps: f64, sent: &Traffic, received: u64) -> Result<Sample, Fault> {
    if mpps == 0.0 {
        return Err(Fault::Failed("received nothing".into()));
    }
    let lost = (rate != AS_FAST_AS_IT_GOES).then(|| sent.total_packets.saturating_sub(received));
    Ok(Sample { lost, ..Sample::of(mpps) })
}
