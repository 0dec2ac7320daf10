//! `nic`: from one interface to another, through a switch that both are members of.

use super::frames::BURST;
use super::kernel;
use crate::suite::io::forward::{through, xdp_redirect};
use crate::suite::{Bed, Case, Fault, Unit};
use ringway_lab::Lab;
use ringway_tester::temporary::TemporarySwitch;

const NOTE: &str = "as case forward of suite io: flood on CPU 0 into a veth, counted at the far end of another by an XDP sink (for \
                    senders of socket buffers: tc sink). ringway-vale, linux-bridge and xdp-redirect run in the kernel, in the generator's softirq; ovs-userspace is a daemon on CPU 0";

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    Case::new("nic", Unit::Mpps)
        .burst(BURST)
        .note(NOTE)
        .system("ringway-vale", move || through(bed, "sink", members))
        .system("xdp-redirect", move || xdp_redirect(bed))
        .system("linux-bridge", move || through(bed, "sink-skb", kernel::bridge))
        .system("ovs-userspace", move || through(bed, "sink-skb", kernel::open_vswitch))
}

/// Ringway's switch with `a1` and `b0` as members.
fn members(lab: &Lab) -> Result<TemporarySwitch, Fault> {
    let switch = TemporarySwitch::with_ports(0, 0)?;
    switch.add_nics(lab, &["a1", "b0"])?;
    Ok(switch)
}
