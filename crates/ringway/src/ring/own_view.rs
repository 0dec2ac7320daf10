//! A ring seen by slot words of one's own. The backend reads each shared word once, checks it, and puts it here; bursts and
//! `forward` then see these words only. So a word cannot change between its check and its use.

use std::sync::atomic::{Ordering::Relaxed, Ordering::Release};

use super::own_words::OwnWords;
use super::view::RingView;
use crate::abi::Slot;
use crate::abi::layout::{FIRST_BUF, SLOT_SIZE};

impl RingView {
    /// The same ring, with slot words of its own, none of which names a buffer yet.
    pub(crate) fn with_own_words(&self) -> Self {
        let own = OwnWords::new(self.num(), self.slots);
        let mut view = self.clone();
        view.slots = own.first();
        view.own = Some(own);
        view
    }

    /// Whether bursts see words that no other process can write.
    #[inline]
    pub(crate) fn has_own_words(&self) -> bool {
        self.own.is_some()
    }

    /// Writes the word of slot `i` to the region, where the next owner of the ring finds it should this process be killed. A
    /// word that names no buffer stays private.
    pub(crate) fn show(&self, i: u32) {
        let s = self.slot(i);
        if s.buf >= FIRST_BUF {
            self.set_shared_slot(i, s);
        }
    }

    /// Writes the word of slot `i` in the region, where it is not the one that bursts see. One store.
    #[inline]
    pub(crate) fn set_shared_slot(&self, i: u32, s: Slot) {
        if let Some(own) = &self.own {
            assert!(i < self.num());
            // SAFETY: asserted just above; `shared` are the slots of this ring in the region.
            unsafe { own.shared.byte_add(i as usize * SLOT_SIZE).as_ref() }.store(s.word(), Release);
        }
    }

    /// Slot `i` as the region has it now: one load.
    #[inline]
    pub(crate) fn shared_slot(&self, i: u32) -> Slot {
        let Some(own) = &self.own else { return self.slot(i) };
        assert!(i < self.num());
        // SAFETY: asserted just above; `shared` are the slots of this ring in the region.
        Slot::from_word(unsafe { own.shared.byte_add(i as usize * SLOT_SIZE).as_ref() }.load(Relaxed))
    }
}
