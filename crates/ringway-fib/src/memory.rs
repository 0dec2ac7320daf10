//! The lookup memory: flat arrays without pointers, in memory of this process or in a mapping that others read too.
//!
//! This module may use unsafe code: it maps memory and hands out slices of atomics.
#![allow(unsafe_code, reason = "it maps memory")]

use std::io;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::AtomicU32;

use crate::FibError;
use crate::cells::Foreign;

/// Entries of the root: one for each value of the first 16 bits.
pub(super) const ROOT: usize = 1 << 16;

/// Where words start, in bytes.
const WORDS_AT: usize = ROOT * 4;

/// Bytes behind the last word that wide loads may touch.
const TAIL: usize = 64;

/// A large page: tables start on one, so that they need few entries of the TLB.
const LARGE: usize = 2 << 20;

/// Where the arrays of a table start, in bytes, and how long they are: the root, 65,536 entries of 4 bytes, starts at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Where words start.
    pub words_at: usize,
    /// Words of 4 bytes.
    pub words: usize,
    /// Bytes of the whole table.
    pub size: usize,
}

impl Layout {
    pub(super) fn new(words: usize) -> Self {
        let size = (WORDS_AT + words * 4 + TAIL).next_multiple_of(4096);
        Self { words_at: WORDS_AT, words, size }
    }
}

/// The memory of one table.
///
/// Thread-safety: one writer, any number of readers. All access is by atomics, or by vector loads under the rules of `simd`.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    /// Bytes to unmap; 0 for memory that belongs to somebody else.
    mapped: usize,
    pub(super) layout: Layout,
}

// SAFETY: plain memory without thread affinity, reached through atomics (see the type).
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed memory of this process, on large pages where the system has some to give.
    pub(super) fn new(layout: Layout) -> Result<Self, FibError> {
        let mapped = layout.size.next_multiple_of(LARGE);
        let base = map_aligned(mapped)
            .map_err(|source| FibError::Os { what: format!("mmap of {mapped} bytes for a table"), source })?;
        Ok(Self { base, mapped, layout })
    }

    /// Memory of somebody else's.
    pub(super) fn foreign(place: Foreign, layout: Layout) -> Result<Self, FibError> {
        let wrong = |what| FibError::Memory { what, need: layout.size };
        if place.len < layout.size {
            return Err(wrong("too small"));
        }
        let base = Some(place.base).filter(|p| p.as_ptr().align_offset(8) == 0);
        Ok(Self { base: base.ok_or_else(|| wrong("not on 8 bytes"))?, mapped: 0, layout })
    }

    /// The root.
    #[inline]
    pub(super) fn root(&self) -> &[AtomicU32; ROOT] {
        // SAFETY: the layout begins with ROOT entries of this size, the base is aligned, and any bits are valid.
        unsafe { self.base.cast().as_ref() }
    }

    /// Nodes, buckets and their leaves.
    #[inline]
    pub(super) fn words(&self) -> &[AtomicU32] {
        // SAFETY: the layout has so many words there, on 8 bytes, and any bits are valid.
        unsafe {
            let first = self.base.as_ptr().add(self.layout.words_at).cast();
            slice::from_raw_parts(first, self.layout.words)
        }
    }

    /// The words, for lookups.
    #[inline(always)]
    pub(super) fn forms(&self) -> Forms<'_> {
        Forms { words: self.words() }
    }

    /// All bytes up to `len`, for copies and digests by the writer.
    pub(super) fn bytes(&self, len: usize) -> Vec<u8> {
        assert!(len <= self.layout.size);
        // SAFETY: in bounds; the writer, who alone stores, calls this with the table borrowed.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), len) }.to_vec()
    }
}

/// What the root leads to. A copy of its own for each burst: what is behind a reference would be loaded again after each leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forms<'a> {
    pub(super) words: &'a [AtomicU32],
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.mapped != 0 {
            // SAFETY: `new` made the mapping that `base` and `mapped` describe; nothing outlives `self`.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped) };
        }
    }
}

/// Maps zeroed memory that starts on a large page, and asks for large pages.
fn map_aligned(len: usize) -> io::Result<NonNull<u8>> {
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping at an address that the kernel chooses overlaps nothing.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), len + LARGE, prot, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let start = start.cast::<u8>();
    let before = start.align_offset(LARGE);
    // SAFETY: `before` is less than LARGE: both cut-off ends lie in the mapping, and nothing was stored there.
    let base = unsafe {
        let base = start.add(before);
        if before > 0 {
            libc::munmap(start.cast(), before);
        }
        if before < LARGE {
            libc::munmap(base.add(len).cast(), LARGE - before);
        }
        // Only a wish: a system without large pages says no, and the table works as well.
        libc::madvise(base.cast(), len, libc::MADV_HUGEPAGE);
        base
    };
    NonNull::new(base).ok_or_else(|| io::Error::other("mmap returned null"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn arrays_lie_behind_each_other() {
        let layout = Layout::new(1000);
        let memory = Memory::new(layout).unwrap();
        assert!(layout.words_at + 4 * layout.words + TAIL <= layout.size);
        memory.root()[ROOT - 1].store(0xabcd, Relaxed);
        memory.words()[0].store(0x1122, Relaxed);
        memory.words()[999].store(7, Relaxed);
        let bytes = memory.bytes(layout.size);
        assert_eq!(bytes[layout.words_at - 4..][..6], [0xcd, 0xab, 0, 0, 0x22, 0x11]);
        assert_eq!(bytes[layout.words_at + 3996], 7);
        assert_eq!(memory.base.as_ptr().align_offset(LARGE), 0);
    }

    #[test]
    fn foreign_memory_is_checked() {
        let layout = Layout::new(10);
        let mut bytes = vec![0u64; layout.size / 8];
        let base = NonNull::new(bytes.as_mut_ptr().cast::<u8>()).unwrap();
        // SAFETY: `bytes` outlives the results.
        let place = |at, len| unsafe { Foreign::new(base.add(at), len) };
        assert!(Memory::foreign(place(0, layout.size - 1), layout).is_err());
        assert!(Memory::foreign(place(1, layout.size), layout).is_err());
        let memory = Memory::foreign(place(0, layout.size), layout).unwrap();
        memory.root()[1].store(5, Relaxed);
        assert_eq!(bytes[0], 5 << 32);
    }
}
