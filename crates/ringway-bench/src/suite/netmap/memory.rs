//! `vale`, `pipe`, `poll`: between ports that one program has, on one core.

use std::process;

use super::program::{API, OWN, lacks, start};
use crate::peers::{Peer, Traffic};
use crate::suite::bed::receiver;
use crate::suite::io::in_turn;
use crate::suite::vale::switch_in_turn;
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_tester::temporary::TemporarySwitch;

/// Frames sent before they are received.
const BURST: u32 = 256;

const VALE: &str = "one thread on CPU 1 has both ports: it fills a burst, syncs tx, syncs rx and reads one byte \
                    of each frame; received frames count. netmap-api syncs by ioctl";

const PIPE: &str = "one thread on CPU 1 has both ends: it passes a burst of slots on, syncs tx, syncs rx and looks \
                    at each length; received frames count. netmap-api syncs by ioctl";

const POLL: &str = "a poll with POLLIN that sends one frame and finds one, over a pipe on CPU 1, less the time of \
                    NIOCTXSYNC and NIOCRXSYNC that do the same; medians of blocks of 4096 calls";

const NO_SWITCH: &str = "its sockets are on interfaces: it has no ports of switches";
const NO_PIPE: &str = "its sockets are on interfaces: it has no pipes";

pub(super) fn vale(bed: Bed<'_>) -> Case<'_> {
    Case::new("vale", Unit::Mpps)
        .burst(BURST)
        .note(VALE)
        .system("libpcap", lacks(NO_SWITCH))
        .system("af_xdp", lacks(NO_SWITCH))
        .system(API, move || between_ports(bed))
        .system(OWN, move || switch_in_turn(bed, 64, BURST))
}

pub(super) fn pipe(bed: Bed<'_>) -> Case<'_> {
    Case::new("pipe", Unit::Mpps)
        .burst(BURST)
        .note(PIPE)
        .system("libpcap", lacks(NO_PIPE))
        .system("af_xdp", lacks(NO_PIPE))
        .system(API, move || through_a_pipe(bed))
        .system(OWN, move || in_turn(bed))
}

pub(super) fn poll(bed: Bed<'_>) -> Case<'_> {
    Case::new("poll", Unit::Ns).note(POLL).system(API, move || cost_of_poll(bed))
}

fn between_ports(bed: Bed<'_>) -> Result<Sample, Fault> {
    let switch = TemporarySwitch::with_ports(2, 0)?;
    let [sender, taker] = ["p0", "p1"].map(|port| switch.port_name(port));
    received(alone(&["vale", &sender, &taker, &BURST.to_string(), &bed.seconds.to_string()])?)
}

fn through_a_pipe(bed: Bed<'_>) -> Result<Sample, Fault> {
    let [sender, taker] = ends();
    received(alone(&["pipe", &sender, &taker, &BURST.to_string(), &bed.seconds.to_string()])?)
}

fn cost_of_poll(bed: Bed<'_>) -> Result<Sample, Fault> {
    let [a, b] = ends();
    let result = alone(&["poll", &a, &b, &bed.seconds.to_string()])?.finish()?;
    let cost = result.call_cost().ok_or_else(|| Fault::Failed("no call was measured".into()))?;
    Ok(Sample::of(cost.beyond_sync()))
}

/// Of a pipe on a virtual port that exists for this run.
fn ends() -> [String; 2] {
    ['{', '}'].map(|end| format!("bench{}{end}1", process::id()))
}

fn alone(args: &[&str]) -> Result<Peer, Fault> {
    start(args, None, receiver())
}

fn received(program: Peer) -> Result<Sample, Fault> {
    match program.finish()?.traffic().map_or(0.0, Traffic::pps) {
        pps if pps > 0.0 => Ok(Sample::of(pps / 1e6)),
        _ => Err(Fault::Failed("nothing was received".into())),
    }
}
