//! Whether a router does its work: a sample of frames in, the right ones out, each on its port.

use std::time::Duration;

use super::flows::Trip;
use super::plan::{EGRESS, INGRESS};
use super::world::Place;
use crate::peers::{Peer, PeerKind};
use crate::suite::Fault;
use crate::suite::bed::receiver;
use ringway_lab::raw::{RawReceiver, RawSender};

/// Frames on their way at a time, fewer than the ring of a veth holds.
const BURST: usize = 32;

/// How long a frame may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends the frames of all trips and compares what comes out with what must.
pub(super) fn sample(place: &Place, trips: &[Trip]) -> Result<(), Fault> {
    let lab = &place.outside;
    let ends = EGRESS.map(|link| link.outside);
    // Has the ends of the links run NAPI, without which they take nothing from XDP.
    let _pass = Peer::spawn(PeerKind::Xdp, ["pass", ends[0], ends[1]], Some(lab.name()), Some(receiver()))?;
    let mut receivers = [RawReceiver::open(lab, ends[0])?, RawReceiver::open(lab, ends[1])?];
    let sender = RawSender::open(lab, INGRESS.outside)?;
    for burst in trips.chunks(BURST) {
        for trip in burst {
            sender.send(&trip.sent).map_err(|e| Fault::Failed(format!("sending a frame failed: {e}")))?;
        }
        for (egress, from) in receivers.iter_mut().enumerate() {
            let expected = burst.iter().filter(|t| t.egress == egress).map(|t| t.received.to_vec());
            compare(ends[egress], expected.collect(), from)?;
        }
    }
    Ok(())
}

/// Takes as many frames as are expected, in any order.
fn compare(end: &str, mut expected: Vec<Vec<u8>>, from: &mut RawReceiver) -> Result<(), Fault> {
    let total = expected.len();
    while !expected.is_empty() {
        let frame =
            from.next(PATIENCE).map_err(|e| Fault::Failed(format!("receiving at {end} failed: {e}")))?;
        let Some(frame) = frame else {
            let missing = expected.len();
            return Err(Fault::Failed(format!("{missing} of {total} frames did not arrive at {end}")));
        };
        let Some(at) = expected.iter().position(|e| *e == frame) else {
            return Err(Fault::Failed(format!("a wrong frame arrived at {end}: {frame:02x?}")));
        };
        expected.swap_remove(at);
    }
    match from.next(Duration::ZERO) {
        Ok(None) => Ok(()),
        Ok(Some(frame)) => Err(Fault::Failed(format!("a frame too many arrived at {end}: {frame:02x?}"))),
        Err(e) => Err(Fault::Failed(format!("receiving at {end} failed: {e}"))),
    }
}
