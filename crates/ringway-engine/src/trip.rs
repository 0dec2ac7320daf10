//! A short test of two ports: frames go from one to the other and are compared.

use std::time::Duration;

use ringway::{Port, Result, Waiter, time::monotonic_ns};

/// Frames on their way at once: fewer than the queue of a veth holds.
const WINDOW: u64 = 64;

/// How long frames may take after the last one that came.
const PATIENCE_NS: u64 = 3_000_000_000;

/// Lengths of the frames, without FCS, one after the other.
const LENGTHS: [usize; 5] = [60, 61, 128, 594, 1514];

/// What became of the frames of a [`trip()`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trip {
    /// Frames sent.
    pub sent: u64,
    /// Frames that arrived in order and unchanged.
    pub intact: u64,
    /// Other frames that arrived.
    pub wrong: u64,
    /// Time from the first sent to the last received, in ns.
    pub ns: u64,
}

/// Sends `count` frames of 60 to 1514 bytes from the first tx ring of one port, and compares what comes out of the rx rings
/// of another. Frames of other senders count as wrong, so the two ports should have the link between them alone.
///
/// ```
/// use ringway::Port;
/// let mut ends = [Port::open("pipe:doc-trip{")?, Port::open("pipe:doc-trip}")?];
/// let [a, b] = &mut ends;
/// let trip = ringway_engine::trip(a, b, 1000)?;
/// assert_eq!((trip.sent, trip.intact, trip.wrong), (1000, 1000, 0));
/// # Ok::<(), ringway::Error>(())
/// ```
///
/// # Errors
/// Those of the rings' syncs.
pub fn trip(from: &mut Port, to: &mut Port, count: u64) -> Result<Trip> {
    let mut waiter = Waiter::new(Duration::from_micros(50))?;
    let start = monotonic_ns();
    let (mut trip, mut last) = (Trip::default(), start);
    let (mut frame, mut seen) = (Vec::new(), Vec::new());
    while trip.intact + trip.wrong < count {
        let (before, looked) = (trip, monotonic_ns());
        while trip.sent < count && trip.sent - (trip.intact + trip.wrong) < WINDOW {
            write(trip.sent, &mut frame);
            if !from.tx[0].push(&frame) {
                break;
            }
            trip.sent += 1;
        }
        from.tx[0].sync()?;
        for rx in &mut to.rx {
            rx.sync()?;
            for received in rx.burst(u32::MAX) {
                write(trip.intact, &mut frame);
                seen.resize(received.len(), 0);
                received.copy_to(&mut seen);
                *(if seen == frame { &mut trip.intact } else { &mut trip.wrong }) += 1;
            }
        }
        if trip != before {
            last = monotonic_ns();
        } else if looked - last >= PATIENCE_NS {
            break;
        } else {
            let mut rings: Vec<_> = to.rx.iter_mut().map(|rx| rx as &mut dyn ringway::Wakeable).collect();
            waiter.wait(&mut rings, Duration::from_millis(1))?;
        }
    }
    trip.ns = last - start;
    Ok(trip)
}

/// Frame `number`: local experimental EtherType (IEEE 802, 0x88b5), the number, then bytes that follow from it.
fn write(number: u64, frame: &mut Vec<u8>) {
    let len = LENGTHS[number as usize % LENGTHS.len()];
    frame.clear();
    frame.extend_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame.extend_from_slice(&number.to_be_bytes());
    frame.extend((frame.len()..len).map(|i| (number as usize + i) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_or_changed_is_seen() {
        for (fault, all) in [("drop=10%", false), ("corrupt=10%", false), ("seed=1", true)] {
            let id = format!("trip-{}-{}", std::process::id(), fault.len());
            let mut a = Port::open(&format!("fault:{fault},port=pipe:{id}{{")).unwrap();
            let mut b = Port::open(&format!("pipe:{id}}}")).unwrap();
            let trip = trip(&mut a, &mut b, 500).unwrap();
            assert_eq!(trip.intact == 500, all, "{fault}: {trip:?}");
        }
    }
}
