//! Which sockets get a frame: each that wants it; of the sockets of a group one.

use crate::frame::Frame;
use crate::receiver::{Fanout, Receiver};

/// To each socket that wants it; of the sockets of a group to one.
pub(super) fn hand_to(receivers: &mut [Receiver], frame: &Frame<'_>, number: usize) {
    for i in 0..receivers.len() {
        match receivers[i].fanout {
            Some(group) if i != chosen(receivers, group, frame, number) => continue,
            _ => {}
        }
        if let Some(snap) = receivers[i].wants(frame) {
            let mut wanted = *frame;
            wanted.meta.snap = snap;
            receivers[i].keep(&wanted);
        }
    }
}

/// Which socket of a group gets the frame: round robin where asked for, else by the flow.
fn chosen(receivers: &[Receiver], group: Fanout, frame: &Frame<'_>, number: usize) -> usize {
    let of = |r: &Receiver| r.fanout.is_some_and(|f| f.group == group.group);
    let members = receivers.iter().filter(|r| of(r)).count().max(1);
    let pick = match group.mode {
        libc::PACKET_FANOUT_LB => number,
        _ => flow(frame.bytes),
    } % members;
    let mut at = receivers.iter().enumerate().filter(|(_, r)| of(r)).map(|(i, _)| i);
    at.nth(pick).unwrap_or(0)
}

/// A number of the flow that a frame belongs to, the same both ways: of addresses and ports.
fn flow(bytes: &[u8]) -> usize {
    let mix = |part: &[u8]| part.iter().fold(17u32, |h, b| h.wrapping_mul(0x0100_0193) ^ u32::from(*b));
    let at = |from: usize, len: usize| mix(bytes.get(from..from + len).unwrap_or_default());
    let sum = match bytes.get(12..15) {
        Some([8, 0, 0x45]) => {
            let ports = matches!(bytes.get(23), Some(6 | 17));
            let ports = if ports { at(34, 2).wrapping_add(at(36, 2)) } else { 0 };
            at(26, 4).wrapping_add(at(30, 4)).wrapping_add(ports)
        }
        Some([0x86, 0xdd, _]) => {
            let ports = matches!(bytes.get(20), Some(6 | 17));
            let ports = if ports { at(54, 2).wrapping_add(at(56, 2)) } else { 0 };
            at(22, 16).wrapping_add(at(38, 16)).wrapping_add(ports)
        }
        _ => at(0, 6).wrapping_add(at(6, 6)),
    };
    (sum.wrapping_mul(0x9e37_79b1) >> 8) as usize
}
