//! Frames of a tx ring, read slot by slot, for backends that copy them.

use crate::abi::Slot;
use crate::abi::layout::MAX_CHAIN;
use crate::count::DropReason;
use crate::ring::RingView;
use ringway_wire::EtherType;

/// Ethernet header and VLAN tag.
pub(super) const HEADER: u32 = 14;
pub(super) const TAG: u32 = 4;

/// A frame that can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its bytes.
    pub(super) len: usize,
    /// The word that says what is left to be done on it.
    pub(super) offload: Option<u64>,
}

/// Reads the slots of the frame at `at`, which ends before `head`, into `parts`; returns the slot behind it, and the frame or why it
/// can't be sent.
#[inline]
pub(super) fn gather(
    ring: &RingView,
    mut at: u32,
    head: u32,
    parts: &mut Vec<Slot>,
) -> (u32, Result<Frame, DropReason>) {
    parts.clear();
    let first = at;
    let (mut len, mut good) = (0, true);
    loop {
        let s = ring.slot(at);
        at = ring.next(at);
        good &= ring.valid(s) && parts.len() < MAX_CHAIN as usize;
        if good {
            parts.push(s);
            len += usize::from(s.len);
        }
        if !s.more() || at == head {
            good &= !s.more();
            break;
        }
    }
    let frame = match len {
        _ if !good => Err(DropReason::BadSlot),
        n if n < HEADER as usize => Err(DropReason::TooShort),
        len => {
            let offload = parts.first().is_some_and(|s| s.offload()).then(|| ring.offload_word(first));
            Ok(Frame { len, offload })
        }
    };
    (at, frame)
}

/// Copies the frame of these slots, which has the length of `frame`.
pub(super) fn load(ring: &RingView, parts: &[Slot], frame: &mut [u8]) {
    let mut done = 0;
    for &part in parts {
        ring.load(part, &mut frame[done..]);
        done += usize::from(part.len);
    }
}

/// Whether a frame may be sent where packets have `mtu` bytes at most: it may be longer by its header and a tag.
#[inline]
pub(super) fn fits(frame: &[u8], mtu: u32) -> bool {
    let longest = (mtu + HEADER) as usize;
    frame.len() <= longest || frame.len() <= longest + TAG as usize && is_tagged(frame)
}

fn is_tagged(frame: &[u8]) -> bool {
    EtherType(u16::from_be_bytes([frame[12], frame[13]])).is_vlan()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::layout::NS_MOREFRAG;
    use crate::memory::{Region, RegionSpec};

    #[test]
    fn a_tag_does_not_count() {
        let mut frame = [0; 1519];
        assert!(fits(&frame[..1514], 1500) && !fits(&frame[..1515], 1500));
        frame[12..14].copy_from_slice(&[0x81, 0]);
        assert!(fits(&frame[..1518], 1500) && !fits(&frame, 1500));
    }

    #[test]
    fn slots_are_frames_or_have_a_reason() {
        let spec = RegionSpec { interfaces: 1, rings: 1, slots: 128, buffers: 130, buf_size: 64 };
        let ring = RingView::new(&Region::memfd(&spec).unwrap(), 0, 128);
        let mut parts = Vec::new();
        let mut check = |slots: &[(u32, u16, u16)], expected: (u32, Result<usize, DropReason>)| {
            for (i, (buf, len, flags)) in (0..).zip(slots) {
                ring.set_slot(i, Slot { buf: *buf, len: *len, flags: *flags });
            }
            let (end, frame) = gather(&ring, 0, slots.len() as u32, &mut parts);
            assert_eq!((end, frame.map(|f| f.len)), expected, "{slots:?}");
        };
        check(&[(2, 60, 0)], (1, Ok(60)));
        check(&[(2, 64, NS_MOREFRAG), (3, 10, 0)], (2, Ok(74)));
        check(&[(2, 13, 0)], (1, Err(DropReason::TooShort)));
        check(&[(2, 65, 0)], (1, Err(DropReason::BadSlot)));
        check(&[(999, 60, 0)], (1, Err(DropReason::BadSlot)));
        check(&[(2, 64, NS_MOREFRAG)], (1, Err(DropReason::BadSlot)));
        check(&[(2, 60, NS_MOREFRAG); 65], (65, Err(DropReason::BadSlot)));
    }
}
