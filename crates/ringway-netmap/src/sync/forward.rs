//! Frames that a program marked cross from the NIC to its host, or from the host to the NIC.

use crate::bound::Bound;
use crate::ring_words::RingWords;

/// Flag of a ring: slots that are marked go on to the host, or to the NIC.
pub(super) const NR_FORWARD: u32 = 0x4;

/// Slot flag: the frame goes on when its slot is given back.
const NS_FORWARD: u16 = 0x4;

impl Bound {
    /// Opens the port that marked frames of `served` leave by. The caller has no lock of a ring.
    #[cold]
    pub(super) fn open_crossing(&self, served: usize) {
        self.crossings.open(served, self.served[served].name());
    }

    /// Forwards the marked frames in slots `[at, end)` of an rx ring that `served` serves.
    #[cold]
    pub(super) fn forward_marked(&self, served: usize, words: &RingWords<'_>, span: (u32, u32)) {
        let frames = self.marked(words, span);
        if frames.is_empty() {
            return;
        }
        self.crossings.with(served, |port| {
            for frame in &frames {
                if !port.tx[0].push(frame) {
                    let _ = port.tx[0].sync(); // what it refuses it counts
                    port.tx[0].push(frame);
                }
            }
            let _ = port.tx[0].sync(); // as above
        });
    }

    /// The frames of which a slot is marked.
    fn marked(&self, words: &RingWords<'_>, (mut at, end): (u32, u32)) -> Vec<Vec<u8>> {
        let (mut frames, mut frame, mut marked) = (Vec::new(), Vec::new(), false);
        while at != end {
            let slot = words.slot(at);
            marked |= slot.flags & NS_FORWARD != 0;
            if words.valid(slot) {
                self.region().read_slot(slot, &mut frame);
            }
            if !slot.more() {
                let whole = std::mem::take(&mut frame);
                if std::mem::take(&mut marked) {
                    frames.push(whole);
                }
            }
            at = words.next(at);
        }
        frames
    }
}
