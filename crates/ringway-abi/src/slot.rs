//! One ring entry as a value: read once from shared memory, checked, then used.

use crate::layout::{FIRST_BUF, NS_MOREFRAG, NS_OFFLOAD};

/// The first 8 bytes of a slot, read or written in one access so that index, length and flags agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Index of the buffer.
    pub buf: u32,
    /// Bytes of the frame, or of this part of it.
    pub len: u16,
    /// `NS_*` flags of [`layout`](crate::layout).
    pub flags: u16,
}

impl Slot {
    /// The slot that a word read from memory says.
    #[inline]
    #[must_use]
    pub fn from_word(w: u64) -> Self {
        Self { buf: w as u32, len: (w >> 32) as u16, flags: (w >> 48) as u16 }
    }

    /// The word that is written to memory.
    #[inline]
    #[must_use]
    pub fn word(self) -> u64 {
        u64::from(self.buf) | u64::from(self.len) << 32 | u64::from(self.flags) << 48
    }

    /// Whether the frame goes on in the next slot.
    #[inline]
    #[must_use]
    pub fn more(self) -> bool {
        self.flags & NS_MOREFRAG != 0
    }

    /// Whether the slot's `ptr` word tells what is left to be done on the frame.
    #[inline]
    #[must_use]
    pub fn offload(self) -> bool {
        self.flags & NS_OFFLOAD != 0
    }

    /// Whether the index names a buffer of a region with `bufs` buffers and the length fits it.
    #[inline]
    #[must_use]
    pub fn valid(self, bufs: u32, buf_size: u32) -> bool {
        self.buf.wrapping_sub(FIRST_BUF) < bufs - FIRST_BUF && u32::from(self.len) <= buf_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn word_round_trip(buf: u32, len: u16, flags: u16) {
            let s = Slot { buf, len, flags };
            prop_assert_eq!(Slot::from_word(s.word()), s);
            prop_assert_eq!(&s.word().to_le_bytes()[..4], &buf.to_le_bytes()[..]);
        }

        #[test]
        fn validity_is_the_obvious_one(buf in 0u32..20, len in 0u16..3000, bufs in 3u32..20) {
            let s = Slot { buf, len, flags: 0 };
            prop_assert_eq!(s.valid(bufs, 2048), (2..bufs).contains(&buf) && len <= 2048);
        }
    }
}
