//! Frames of several slots: how far they go.

use super::view::RingView;
use crate::abi::layout::MAX_CHAIN;

impl RingView {
    /// Slots and bytes of the frame at `at`, which ends before `end`; `Err(slots)` when a slot is bad or the chain has no end.
    pub(crate) fn measure(&self, mut at: u32, end: u32) -> Result<(u32, usize), u32> {
        let (mut slots, mut total, mut good) = (0, 0, true);
        while at != end {
            let s = self.slot(at);
            good &= self.valid(s);
            slots += 1;
            total += s.len as usize;
            at = self.next(at);
            if !s.more() {
                return if good && slots <= MAX_CHAIN { Ok((slots, total)) } else { Err(slots) };
            }
        }
        Err(slots)
    }
}
