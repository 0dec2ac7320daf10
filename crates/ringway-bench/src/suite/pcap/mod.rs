//! The suite `pcap`: programs that nobody recompiled, on Ringway beside themselves on what the system has.
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `bridge` | a forwarder written for libpcap | at the far end |
//! | `tcpreplay` | `tcpreplay --topspeed` of a capture, over a veth | by an eBPF sink at the far end |
//! | `tcpdump` | `tcpdump -w` of a flood | by tcpdump |
//! | `ovs` | Open vSwitch with its datapath in user space | at the far end |
//! | `ovs-dpdk` | Open vSwitch with DPDK, and on memif ports of a switch | at the far end |
//! | `latency` | round trips of single frames through the forwarder | by a program on libpcap |
//! | `latency-ovs` | the same through Open vSwitch | by a program on libpcap |
//!
//! All systems of a case but `ovs-dpdk` are the same file with the same arguments. Ringway's are started with the
//! environment that `ringway run` sets. Generators run on CPU 0, programs on CPU 1. Frames have 64 bytes with
//! FCS.
//!
//! `preload` says where the library is looked for.

mod bridge;
mod dump;
mod latency;
mod launch;
mod ovs;
mod ovs_dpdk;
mod replay;
mod wires;

use super::{Bed, Case};

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    vec![
        bridge::case(bed),
        replay::case(bed),
        dump::case(bed),
        ovs::case(bed),
        ovs_dpdk::case(bed),
        latency::bridge(bed),
        latency::switch(bed),
    ]
}
