//! Shared memory mappings that are unmapped when dropped.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

/// A mapping shared with the kernel or with other processes.
///
/// Thread-safety: code reaches its words through atomics only, and gets byte ranges as raw pointers. Code that turns one into a
/// slice states who owns it.
#[derive(Debug)]
pub struct Mmap {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is plain memory with no thread affinity; all shared access goes through atomics or through
// raw pointers whose users carry their own argument.
unsafe impl Send for Mmap {}
// SAFETY: as above.
unsafe impl Sync for Mmap {}

impl Mmap {
    /// Maps `len` bytes of `fd` from `offset`, shared, for reading and, if asked, writing.
    pub fn shared(fd: BorrowedFd<'_>, len: usize, offset: i64, write: bool) -> io::Result<Self> {
        let prot = if write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        Self::map(len, prot, libc::MAP_SHARED, fd.as_raw_fd(), offset)
    }

    /// Maps files one behind the other, shared, for reading and writing. All lengths but the last are whole pages.
    pub fn side_by_side(parts: &[(BorrowedFd<'_>, usize)]) -> io::Result<Self> {
        let all = Self::anonymous(parts.iter().map(|part| part.1).sum())?;
        let mut at = 0;
        for (fd, len) in parts {
            let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
            let to = all.at(at, *len).as_ptr().cast();
            // SAFETY: the range lies in the mapping just made, which nobody else knows yet and which is unmapped as one.
            let p = unsafe { libc::mmap(to, *len, prot, flags, fd.as_raw_fd(), 0) };
            if p == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            at += len;
        }
        Ok(all)
    }

    /// Zeroed memory of this process.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        Self::map(len, prot, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
    }

    fn map(len: usize, prot: i32, flags: i32, fd: i32, offset: i64) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address that the kernel chooses overlaps nothing.
        let p = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, fd, offset) };
        if p == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(p.cast()).ok_or_else(|| io::Error::other("mmap returned null"))?;
        Ok(Self { base, len })
    }
    /// Address of `len` bytes at `ofs`.
    ///
    /// # Panics
    /// When the range is not inside the mapping.
    #[inline]
    pub fn at(&self, ofs: usize, len: usize) -> NonNull<u8> {
        assert!(
            ofs <= self.len && len <= self.len - ofs,
            "offset {ofs}+{len} outside a mapping of {}",
            self.len
        );
        // SAFETY: the assertion keeps the result inside the mapping.
        unsafe { self.base.add(ofs) }
    }

    /// Bytes of the mapping.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len
    }

    /// The 16-bit word at `ofs`.
    #[inline]
    pub fn u16(&self, ofs: usize) -> &AtomicU16 {
        let p = self.at(ofs, 2).cast::<AtomicU16>();
        assert!(p.is_aligned());
        // SAFETY: in bounds, aligned, valid for any bits, and alive as long as `self`.
        unsafe { p.as_ref() }
    }

    /// The 32-bit word at `ofs`.
    #[inline]
    pub fn u32(&self, ofs: usize) -> &AtomicU32 {
        let p = self.at(ofs, 4).cast::<AtomicU32>();
        assert!(p.is_aligned());
        // SAFETY: in bounds, aligned, valid for any bits, and alive as long as `self`.
        unsafe { p.as_ref() }
    }

    /// The `N` 32-bit words from `ofs` on, in one check.
    #[inline]
    pub fn u32s<const N: usize>(&self, ofs: usize) -> &[AtomicU32; N] {
        let p = self.at(ofs, 4 * N).cast::<[AtomicU32; N]>();
        assert!(p.is_aligned());
        // SAFETY: in bounds, aligned, valid for any bits, and alive as long as `self`; all access is by atomics.
        unsafe { p.as_ref() }
    }

    /// `count` pairs of 64-bit words from `ofs` on, in one check.
    #[inline]
    pub fn u64_pairs(&self, ofs: usize, count: usize) -> &[[AtomicU64; 2]] {
        let p = self.at(ofs, count.saturating_mul(16)).cast::<[AtomicU64; 2]>();
        assert!(p.is_aligned());
        // SAFETY: as in `u32s`; `at` found `count` pairs inside the mapping.
        unsafe { std::slice::from_raw_parts(p.as_ptr(), count) }
    }

    /// The 64-bit word at `ofs`.
    #[inline]
    pub fn u64(&self, ofs: usize) -> &AtomicU64 {
        let p = self.at(ofs, 8).cast::<AtomicU64>();
        assert!(p.is_aligned());
        // SAFETY: in bounds, aligned, valid for any bits, and alive as long as `self`.
        unsafe { p.as_ref() }
    }

    /// Has the CPU fetch the line at `ofs`, to read it or to write it. Changes nothing.
    #[inline]
    pub fn fetch(&self, ofs: usize, write: bool) {
        #[cfg(target_arch = "x86_64")]
        if ofs < self.len {
            use std::arch::asm;
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: an address in the mapping; a hint reads nothing that could race with who writes there. The second one takes the
            // line away from other CPUs, and does nothing on processors that do not know it.
            unsafe {
                let at = self.base.as_ptr().add(ofs);
                if write {
                    asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags));
                } else {
                    _mm_prefetch::<_MM_HINT_T0>(at.cast());
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (ofs, write);
    }

    /// Copies `bytes` to `ofs`. For set-up, before anybody else looks.
    pub fn write(&self, ofs: usize, bytes: &[u8]) {
        let p = self.at(ofs, bytes.len());
        // SAFETY: the destination is in bounds; source is a slice of this process and can't overlap a mapping
        // that hands out no slices.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), p.as_ptr(), bytes.len()) }
    }

    /// Copies out of `ofs`; the bytes may be changing, so they are only data.
    pub fn read(&self, ofs: usize, out: &mut [u8]) {
        let p = self.at(ofs, out.len());
        // SAFETY: as in `write`, the other way round.
        unsafe { std::ptr::copy_nonoverlapping(p.as_ptr(), out.as_mut_ptr(), out.len()) }
    }
}

/// `N` 64-bit words of a mapping, checked once.
#[derive(Debug, Clone)]
pub struct Words<const N: usize> {
    first: NonNull<AtomicU64>,
    _mem: Arc<Mmap>,
}

// SAFETY: the pointer is into the mapping that `_mem` keeps alive; access is by atomics.
unsafe impl<const N: usize> Send for Words<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Words<N> {}

impl<const N: usize> Words<N> {
    /// The words at `ofs`.
    ///
    /// # Panics
    /// When they are not inside the mapping or not aligned.
    pub fn new(mem: Arc<Mmap>, ofs: usize) -> Self {
        let first = mem.at(ofs, N * 8).cast::<AtomicU64>();
        assert!(first.is_aligned());
        Self { first, _mem: mem }
    }

    /// Word `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &AtomicU64 {
        assert!(i < N);
        // SAFETY: `i < N` and `new` checked that N words lie in the mapping, which lives as long as `self`.
        unsafe { self.first.add(i).as_ref() }
    }
}

impl Drop for Mmap {
    fn drop(&mut self) {
        // SAFETY: `map` made the mapping of `len` bytes at `base`; nothing outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn views_are_of_the_same_words() {
        let mem = Mmap::anonymous(4096).unwrap();
        mem.u64(64).store(7 | 9 << 32, Relaxed);
        mem.u64(72).store(11, Relaxed);
        assert_eq!(mem.u32s::<4>(64).each_ref().map(|word| word.load(Relaxed)), [7, 9, 11, 0]);
        let pairs = mem.u64_pairs(48, 2);
        assert_eq!((pairs.len(), pairs[1][0].load(Relaxed), pairs[1][1].load(Relaxed)), (2, 7 | 9 << 32, 11));
        assert_eq!(mem.u64_pairs(4096 - 16, 1).len(), 1);
    }

    #[test]
    fn short_words_and_hints() {
        let mem = Mmap::anonymous(4096).unwrap();
        mem.u16(6).store(7, Relaxed);
        assert_eq!((mem.u32(4).load(Relaxed), mem.bytes()), (7 << 16, 4096));
        [0, 4095, 4096, usize::MAX].into_iter().for_each(|at| mem.fetch(at, at == 0));
    }

    #[test]
    fn views_are_inside() {
        let mem = Mmap::anonymous(4096).unwrap();
        let refused =
            |f: &dyn Fn() -> usize| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
        assert!(refused(&|| mem.u64_pairs(4096 - 16, 2).len()));
        assert!(refused(&|| mem.u64_pairs(8, usize::MAX / 16 + 1).len()));
        assert!(refused(&|| mem.u32s::<2>(4096 - 4).len()));
        assert!(refused(&|| mem.u64_pairs(4, 1).len()));
    }
}
