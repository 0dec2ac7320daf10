//! Virtio headers before the frames of a port of a switch, where the program set their length (`PORT_HDR_SET`). The switch knows frames
//! alone. A sync hides the headers of what is sent, and puts headers of zeros before what comes. netmap does the same between ports with
//! headers and ports without.

use ringway_abi::Slot;
use ringway_abi::layout::{NS_MOREFRAG, NS_PORT_SHIFT};

use crate::bound::Bound;
use crate::region::Region;
use crate::ring_words::RingWords;

/// A slot as the program filled it.
#[derive(Debug)]
pub(super) struct Hidden {
    at: u32,
    len: u16,
    bytes: Vec<u8>,
}

impl Bound {
    /// The length of the headers of a port's frames.
    #[inline]
    pub(super) fn header(&self, served: u32) -> u16 {
        let served = &self.served[served as usize];
        served.region.ledger.port(served.index).header()
    }
}

/// Takes the headers off the frames in slots `[at, end)`. A frame that is shorter than its header is empty: the switch drops it.
#[cold]
pub(super) fn hide(
    region: &Region,
    words: &RingWords<'_>,
    (mut at, end): (u32, u32),
    header: u16,
) -> Vec<Hidden> {
    let (mut hidden, mut is_first) = (Vec::new(), true);
    while at != end {
        let slot = words.slot(at);
        if is_first && words.valid(slot) {
            let mut bytes = Vec::new();
            region.read_slot(slot, &mut bytes);
            let frame = bytes.get(usize::from(header)..).unwrap_or_default();
            region.write_slot(slot.buf, frame);
            words.set_slot(at, Slot { len: frame.len() as u16, ..slot });
            hidden.push(Hidden { at, len: slot.len, bytes });
        }
        is_first = !slot.more();
        at = words.next(at);
    }
    hidden
}

/// Puts buffers back as the program filled them: it may send them again.
#[cold]
pub(super) fn restore(region: &Region, words: &RingWords<'_>, hidden: &[Hidden]) {
    for before in hidden {
        let slot = words.slot(before.at);
        if words.valid(Slot { len: before.len, ..slot }) {
            region.write_slot(slot.buf, &before.bytes);
            words.set_slot(before.at, Slot { len: before.len, ..slot });
        }
    }
}

/// Puts a header of zeros before each frame in slots `[at, end)`. A frame whose first buffer has no room for it comes without
/// bytes; returns how many there are.
#[cold]
pub(super) fn prepend(region: &Region, words: &RingWords<'_>, (mut at, end): (u32, u32), header: u16) -> u32 {
    let (mut is_first, mut fits, mut unfit) = (true, true, 0);
    while at != end {
        let slot = words.slot(at);
        let len = slot.len.saturating_add(header);
        if is_first {
            fits = words.valid(Slot { len, ..slot });
            unfit += u32::from(!fits);
        }
        if !fits {
            let flags = slot.flags & !NS_MOREFRAG & ((1 << NS_PORT_SHIFT) - 1);
            words.set_slot(at, Slot { len: 0, flags, ..slot });
        } else if is_first {
            let mut bytes = vec![0; usize::from(header)];
            region.read_slot(slot, &mut bytes);
            region.write_slot(slot.buf, &bytes);
            words.set_slot(at, Slot { len, ..slot });
        }
        is_first = !slot.more();
        at = words.next(at);
    }
    unfit
}
