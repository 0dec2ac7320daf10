//! `broadcast`: one frame in, a copy out of every other port.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::exchange::in_turn;
use super::frames::BURST;
use super::frames::{Frames, To};
use crate::peers::{Peer, PeerKind};
use crate::suite::bed::SENDER;
use crate::suite::meter::WARM_UP;
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_lab::{Lab, LabError};
use ringway_tester::dut::LinuxBridge;
use ringway_tester::temporary::TemporarySwitch;

const NOTE: &str = "copies received by all receivers together. ringway-vale: one thread fills a burst of broadcast frames, syncs tx and has each \
                    receiver sync rx and read one byte of each frame. linux-bridge: in the kernel on CPU 0, flood of an unknown address from a \
                    veth to veths whose far ends count and discard";

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let case = |(receivers, variant)| {
        Case::new("broadcast", Unit::Mpps)
            .variant(variant)
            .burst(BURST)
            .note(NOTE)
            .system("ringway-vale", move || switch(bed, receivers))
            .system("linux-bridge", move || linux_bridge(bed, receivers))
    };
    [(2, "2 receivers"), (8, "8 receivers"), (32, "32 receivers")].map(case).into()
}

fn switch(bed: Bed<'_>, receivers: u32) -> Result<Sample, Fault> {
    let mut switch = TemporarySwitch::with_ports(receivers + 1, receivers + 1)?;
    in_turn(bed, &mut switch.ports, &mut Frames::new(64, To::Broadcast), BURST)
}

fn linux_bridge(bed: Bed<'_>, receivers: u32) -> Result<Sample, Fault> {
    let pairs: Vec<String> = (0..=receivers).map(|k| format!("r{k}-")).collect();
    let links = bed.links(&pairs.iter().map(String::as_str).collect::<Vec<_>>())?;
    let lab = links.lab;
    let members: Vec<String> = pairs.iter().map(|pair| format!("{pair}1")).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    lab.run_napi(members[0])?; // takes what the generator redirects
    let _bridge = LinuxBridge::create(Some(lab.name()), "br0", &members)?;
    let seconds = (bed.seconds + WARM_UP.as_secs_f64()).to_string(); // after a warm-up of its own
    let flood =
        Peer::spawn(PeerKind::Xdp, ["flood", "r0-0", "60", &seconds], Some(lab.name()), Some(SENDER))?;
    thread::sleep(WARM_UP);
    let (start, before) = (Instant::now(), copies(lab)?);
    thread::sleep(Duration::from_secs_f64(bed.seconds));
    let (time, copies) = (start.elapsed().as_secs_f64(), copies(lab)? - before);
    flood.finish()?;
    match copies {
        0 => Err(Fault::Failed("nothing was received".into())),
        _ => Ok(Sample::of(copies as f64 / time / 1e6)),
    }
}

/// Frames that the far ends of all receivers' links have got.
fn copies(lab: &Lab) -> Result<u64, Fault> {
    let read = || {
        fs::read_to_string("/proc/thread-self/net/dev")
            .map_err(|source| LabError::Os { action: "reading counters of links", source })
    };
    Ok(received_by_receivers(&lab.run(read)?))
}

/// Sums up "r1-0: bytes packets ..." and so on, without the sender's link.
fn received_by_receivers(table: &str) -> u64 {
    let lines = table.lines().filter_map(|line| line.trim().split_once("-0:"));
    let lines = lines.filter(|(link, _)| link.starts_with('r') && *link != "r0");
    lines.filter_map(|(_, counters)| counters.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_ends_of_receivers_are_summed() {
        let table = "Inter-|   Receive        |  Transmit
 face |bytes    packets errs drop
    lo:       0       0    0    0
  r0-0:     600      10    0    0
  r1-0:     180       3    0    0
  r1-1:     540       9    0    0
 r32-0:     240       4    0    0";
        assert_eq!(received_by_receivers(table), 7);
    }
}
