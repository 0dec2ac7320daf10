//! `receive`, `send`: on veths.

use super::Shared;
use crate::suite::bed::{SENDER, receiver};
use crate::suite::io::Kind;
use crate::suite::io::rx::{self, AS_FAST_AS_IT_GOES};
use crate::suite::io::tx;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// Frames of a burst, of the systems that have bursts.
const BURST: u32 = 256;

const RECEIVE: &str = "generator and NAPI on CPU 0, Python on CPU 1. ringway: ebpf:, bursts as arrays of numpy; \
                       ringway-views: a memoryview of each frame; scapy: sniff(store=False), which dissects each; \
                       pcapy-ng: dispatch with a callback for each; pcapy-ng-batch: next_batch, the first bytes as \
                       an array; af_packet: recv_into for each";

const SEND: &str = "256 frames again and again, on CPU 0 into a veth. ringway: ebpf:, the rows of an array; scapy: \
                    sendp of a list; pcapy-ng: sendpacket for each; af_packet: send for each. Counted at the far end by \
                    XDP for ringway, by tc for the others: each the better one for it";

/// Systems that receive, ours first.
const RECEIVERS: [&str; 6] = ["ringway", "ringway-views", "scapy", "pcapy-ng", "pcapy-ng-batch", "af_packet"];

/// Systems that send, ours first.
const SENDERS: [&str; 4] = ["ringway", "scapy", "pcapy-ng", "af_packet"];

pub(super) fn receive<'a>(bed: Bed<'a>, scripts: &Shared) -> Case<'a> {
    let case = Case::new("receive", Unit::Mpps).burst(BURST).note(RECEIVE);
    RECEIVERS.into_iter().fold(case, |case, system| {
        let scripts = scripts.clone();
        case.system(system, move || received(bed, &scripts, system))
    })
}

pub(super) fn send<'a>(bed: Bed<'a>, scripts: &Shared) -> Case<'a> {
    let case = Case::new("send", Unit::Mpps).burst(BURST).note(SEND);
    SENDERS.into_iter().fold(case, |case, system| {
        let scripts = scripts.clone();
        case.system(system, move || sent(bed, &scripts, system))
    })
}

fn received(bed: Bed<'_>, scripts: &Shared, system: &str) -> Result<Sample, Fault> {
    rx::received(bed, AS_FAST_AS_IT_GOES, |links, seconds| {
        scripts.start("receive.py", system, &["a1", seconds], Some(links.lab.name()), receiver())
    })
}

fn sent(bed: Bed<'_>, scripts: &Shared, system: &str) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    let sink = if system.starts_with("ringway") { Kind::Ebpf.sink(BURST) } else { "sink-skb" };
    tx::counted(links.lab, sink, || {
        let args = ["a0", &bed.seconds.to_string()];
        scripts.start("send.py", system, &args, Some(links.lab.name()), SENDER)?.finish()?;
        Ok(())
    })
}
