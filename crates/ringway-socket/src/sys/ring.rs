//! Rings that the kernel maps into the program (`PACKET_RX_RING`, `PACKET_TX_RING`). The kernel made and checked them, but
//! uses them no more: its socket receives nothing, and nobody has it send.

use std::sync::atomic::{AtomicU32, Ordering::*};

/// A mapping of a ring by the program. The program may write any of it at any time.
#[derive(Debug)]
pub(crate) struct Mapping {
    at: *mut u8,
    len: usize,
}

// SAFETY: plain memory, which all threads access by copies and atomics only.
unsafe impl Send for Mapping {}

impl Mapping {
    /// # Safety
    /// `len` bytes at `at` must stay mapped for as long as this lives.
    pub(crate) unsafe fn new(at: *mut u8, len: usize) -> Self {
        Self { at, len }
    }

    /// The same memory from `skip` on.
    pub(crate) fn part(&self, skip: usize, len: usize) -> Option<Self> {
        let fits = skip.checked_add(len).is_some_and(|end| end <= self.len);
        // SAFETY: inside the mapping, as just checked.
        fits.then(|| Self { at: unsafe { self.at.add(skip) }, len })
    }

    /// Whether any of these addresses belongs to it.
    pub(crate) fn overlaps(&self, at: usize, len: usize) -> bool {
        let from = self.at as usize;
        at < from + self.len && from < at.saturating_add(len)
    }

    /// A word that both sides use.
    pub(crate) fn load(&self, at: usize) -> u32 {
        self.word(at).map_or(0, |w| w.load(Acquire))
    }

    pub(crate) fn store(&self, at: usize, value: u32) {
        if let Some(w) = self.word(at) {
            w.store(value, Release);
        }
    }

    fn word(&self, at: usize) -> Option<&AtomicU32> {
        let ok =
            at.checked_add(4).is_some_and(|end| end <= self.len) && (self.at as usize + at).is_multiple_of(4);
        // SAFETY: inside the mapping and aligned, as just checked; mapped as long as `self` by the contract of `new`.
        ok.then(|| unsafe { AtomicU32::from_ptr(self.at.add(at).cast()) })
    }

    /// Copies bytes in; false, and nothing done, where they would not fit.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> bool {
        if at.checked_add(bytes.len()).is_none_or(|end| end > self.len) {
            return false;
        }
        // SAFETY: inside the mapping; `bytes` is memory of this library.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at.add(at), bytes.len()) };
        true
    }

    /// Copies bytes out; false where there are not so many.
    pub(crate) fn read(&self, at: usize, out: &mut [u8]) -> bool {
        if at.checked_add(out.len()).is_none_or(|end| end > self.len) {
            return false;
        }
        // SAFETY: inside the mapping; `out` is memory of this library.
        unsafe { std::ptr::copy_nonoverlapping(self.at.add(at), out.as_mut_ptr(), out.len()) };
        true
    }
}
