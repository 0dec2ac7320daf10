//! Frames that a program marked cross from the NIC to its host, or from the host to the NIC.

use ringway_count::DropReason;

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

    /// Forwards the marked frames in slots `[at, end)` of an rx ring that `served` serves; why each frame is lost that does not leave.
    #[cold]
    pub(super) fn forward_marked(
        &self,
        served: usize,
        words: &RingWords<'_>,
        span: (u32, u32),
    ) -> Vec<DropReason> {
        let (frames, mut lost) = self.marked(words, span);
        let mut frames = frames.iter();
        self.crossings.with(served, |port| {
            for frame in frames.by_ref() {
                if !port.tx[0].push(frame) {
                    let _ = port.tx[0].sync(); // what it refuses it counts
                    if !port.tx[0].push(frame) {
                        lost.push(DropReason::TooLong);
                    }
                }
            }
            let _ = port.tx[0].sync(); // as above
        });
        lost.extend(frames.map(|_| DropReason::DeviceRefused)); // the port could not be opened
        lost
    }

    /// The frames of which a slot is marked, and why each is lost that has a bad slot.
    fn marked(&self, words: &RingWords<'_>, (mut at, end): (u32, u32)) -> (Vec<Vec<u8>>, Vec<DropReason>) {
        let (mut frames, mut lost) = (Vec::new(), Vec::new());
        let (mut frame, mut marked, mut good) = (Vec::new(), false, true);
        while at != end {
            let slot = words.slot(at);
            marked |= slot.flags & NS_FORWARD != 0;
            if words.valid(slot) {
                self.region().read_slot(slot, &mut frame);
            } else {
                good = false;
            }
            at = words.next(at);
            if slot.more() && at != end {
                continue;
            }
            let whole = std::mem::take(&mut frame);
            match (std::mem::take(&mut marked), std::mem::replace(&mut good, true) && !slot.more()) {
                (true, true) => frames.push(whole),
                (true, false) => lost.push(DropReason::BadSlot),
                (false, _) => {}
            }
        }
        (frames, lost)
    }
}
