//! Slot words in private memory, for a ring whose slots another process can write at any time.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::abi::layout::SLOT_SIZE;

/// A slot as in the region: its word, and the second half.
#[derive(Debug, Default)]
#[repr(C, align(16))]
struct OwnSlot(AtomicU64, AtomicU64);

const _: () = assert!(size_of::<OwnSlot>() == SLOT_SIZE);

/// The private words, and where the shared ones are.
#[derive(Debug, Clone)]
pub(super) struct OwnWords {
    slots: Arc<[OwnSlot]>,
    pub(super) shared: NonNull<AtomicU64>,
}

impl OwnWords {
    /// Words for `num` slots, none of which names a buffer yet, in place of those at `shared`.
    pub(super) fn new(num: u32, shared: NonNull<AtomicU64>) -> Self {
        Self { slots: (0..num).map(|_| OwnSlot::default()).collect(), shared }
    }

    /// Where they begin. They stay there as long as this value or a clone of it.
    pub(super) fn first(&self) -> NonNull<AtomicU64> {
        NonNull::from(&*self.slots).cast()
    }
}
