//! What Ringway's ends do with frames.

use std::hint::{black_box, spin_loop};

use ringway::{Port, RxRing, TxRing};

use crate::suite::loops::hand_on;

/// Frames handled at a time where a case says nothing else: the burst of testpmd.
pub(super) const BURST: u32 = 256;

/// Looks at a ring before a loop sees to other things.
const LOOKS: u32 = 256;

/// Ethernet, IPv4 and UDP: testpmd writes as many bytes.
const HEADERS: [u8; 42] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0xbd, 10, 0, 0, 1,
    10, 0, 0, 2, 0x10, 0, 0, 9, 0, 26, 0, 0,
];

/// Fills a burst and syncs: frames of `len` bytes, whose headers are written. Returns how many.
pub(super) fn send(ring: &mut TxRing, len: usize) -> ringway::Result<u64> {
    let (mut slots, mut filled) = (ring.burst(), 0);
    while filled < BURST.into()
        && let Some(mut slot) = slots.next_slot()
    {
        slot.buf()[..HEADERS.len()].copy_from_slice(&HEADERS);
        slot.send(len);
        filled += 1;
    }
    drop(slots);
    ring.sync()?;
    Ok(filled)
}

/// Fills a burst with frames of `len` bytes that are as they are, and syncs.
pub(super) fn send_untouched(ring: &mut TxRing, len: usize) -> ringway::Result<()> {
    let mut slots = ring.burst();
    for _ in 0..BURST {
        let Some(slot) = slots.next_slot() else { break };
        slot.send(len);
    }
    drop(slots);
    ring.sync().map(drop)
}

/// Syncs, and takes all frames without reading them. Returns how many.
pub(super) fn take(ring: &mut RxRing) -> ringway::Result<u64> {
    ring.sync()?;
    Ok(ring.burst(u32::MAX).map(|frame| black_box(frame.len()).min(1) as u64).sum())
}

/// Waits a while for frames, and sends them on where they came from. Returns how many.
pub(super) fn turn_round(port: &mut Port) -> ringway::Result<u64> {
    looking(|| hand_on(&mut port.rx[0], &mut port.tx[0], BURST))
}

/// Waits a while for frames of one port, and sends them out of the other. Returns how many.
pub(super) fn pass(a: &mut Port, b: &mut Port) -> ringway::Result<u64> {
    looking(|| Ok(hand_on(&mut a.rx[0], &mut b.tx[0], BURST)? + hand_on(&mut b.rx[0], &mut a.tx[0], BURST)?))
}

/// Tries until something moved, some times.
fn looking(mut step: impl FnMut() -> ringway::Result<u64>) -> ringway::Result<u64> {
    for _ in 0..LOOKS {
        let moved = step()?;
        if moved > 0 {
            return Ok(moved);
        }
        spin_loop();
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_round() {
        let mut port = Port::open("loop:").unwrap();
        assert_eq!(send(&mut port.tx[0], 60).unwrap(), u64::from(BURST));
        assert_eq!(turn_round(&mut port).unwrap(), u64::from(BURST));
        assert_eq!(port.rx[0].sync().unwrap(), BURST);
        assert!(port.rx[0].burst(u32::MAX).all(|frame| frame.bytes()[..42] == HEADERS && frame.len() == 60));
        send_untouched(&mut port.tx[0], 1514).unwrap();
        assert_eq!(take(&mut port.rx[0]).unwrap(), u64::from(BURST));
        assert_eq!(turn_round(&mut port).unwrap(), 0);
        let mut other = Port::open("null:").unwrap();
        send_untouched(&mut port.tx[0], 60).unwrap();
        assert!(pass(&mut port, &mut other).unwrap() >= u64::from(BURST));
    }
}
