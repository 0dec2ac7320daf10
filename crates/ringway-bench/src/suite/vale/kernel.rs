//! The switches that are no rings: programs with packet sockets on veths between them.

use crate::peers::{Peer, PeerKind};
use crate::suite::bed::{SENDER, receiver};
use crate::suite::{Bed, Fault, Sample};
use ringway_lab::Lab;
use ringway_tester::dut::{LinuxBridge, OvsUserspace};

use super::exchange::need_two_cpus;
use super::frames::BURST;

/// How much longer the receiver listens than the sender runs.
const AFTER: f64 = 0.5;

/// From a program to another through the kernel's bridge.
pub(super) fn linux_bridge(bed: Bed<'_>) -> Result<Sample, Fault> {
    between_programs(bed, bridge)
}

/// From a program to another through Open vSwitch.
pub(super) fn ovs(bed: Bed<'_>) -> Result<Sample, Fault> {
    between_programs(bed, open_vswitch)
}

/// The kernel's bridge between `a1` and `b0`.
pub(super) fn bridge(lab: &Lab) -> Result<LinuxBridge, Fault> {
    Ok(LinuxBridge::create(Some(lab.name()), "br0", &["a1", "b0"])?)
}

/// Open vSwitch between `a1` and `b0`, its daemon where the frames come from.
pub(super) fn open_vswitch(lab: &Lab) -> Result<OvsUserspace, Fault> {
    Ok(OvsUserspace::create(lab.name(), &["a1", "b0"], SENDER)?)
}

/// `sendmmsg` on `a0`, `recvmmsg` on `b1`, the switch between the other ends.
fn between_programs<S>(bed: Bed<'_>, switch: impl FnOnce(&Lab) -> Result<S, Fault>) -> Result<Sample, Fault> {
    need_two_cpus()?;
    let links = bed.links(&["a", "b"])?;
    let _switch = switch(links.lab)?;
    let netns = Some(links.lab.name());
    let (burst, seconds) = (BURST.to_string(), bed.seconds.to_string());
    let listening = (bed.seconds + AFTER).to_string();
    let taker = Peer::spawn(PeerKind::Socket, ["rx", "b1", &listening], netns, Some(receiver()))?;
    Peer::spawn(PeerKind::Socket, ["tx", "a0", "60", &burst, &seconds], netns, Some(SENDER))?.finish()?;
    match taker.finish()?.traffic().map_or(0.0, |t| t.pps()) {
        pps if pps > 0.0 => Ok(Sample::of(pps / 1e6)),
        _ => Err(Fault::Failed("nothing was received".into())),
    }
}
