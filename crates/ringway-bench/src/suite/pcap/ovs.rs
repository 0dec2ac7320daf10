//! `ovs`: Open vSwitch with its datapath in user space, on packet sockets.

use super::bridge::TAKEN;
use super::launch::Under;
use super::wires::BURST;
use super::wires::Wires;
use crate::suite::bed::receiver;
use crate::suite::io::forward::{links, through};
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_lab::Lab;
use ringway_tester::dut::OvsUserspace;

const NOTE: &str = "datapath_type=netdev, one flow between two ports, the daemon on CPU 1. kernel: packet \
                    sockets on veths, a flood on CPU 0, counted by a tc sink; ringway-default: the same \
                    under ringway run, counted by an XDP sink; ringway-taken: --map a1=ebpf:a1 --map b0=ebpf:b0; ringway-switch: --map to ports of two switches, which a thread on CPU \
                    0 floods and drains in turn";

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    Case::new("ovs", Unit::Mpps)
        .burst(BURST)
        .note(NOTE)
        .system("kernel", move || through(bed, "sink-skb", |lab| start(lab, Under::System)))
        .system("ringway-default", move || through(bed, "sink", |lab| start(lab, Under::Default)))
        .system("ringway-taken", move || through(bed, "sink", |lab| start(lab, Under::Map(TAKEN))))
        .system("ringway-switch", move || switches(bed))
}

/// Between `a1` and `b0`.
pub(super) fn start(lab: &Lab, under: Under<'_>) -> Result<OvsUserspace, Fault> {
    Ok(OvsUserspace::create_with(lab.name(), &["a1", "b0"], receiver(), &under.environment()?)?)
}

/// The links are there for their names and addresses alone.
fn switches(bed: Bed<'_>) -> Result<Sample, Fault> {
    let links = links(bed)?;
    let mut wires = Wires::new()?;
    let _daemon = start(links.lab, Under::Map(&wires.map()))?;
    wires.flood(bed)
}
