//! Atomics in memory of this process or of somebody else's: next hops and groups beside a table.
#![allow(unsafe_code, reason = "it reads and writes memory that others own")]

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU64};

/// Memory that others may read too, for [`Fib::in_memory`](crate::Fib::in_memory) and [`Cells`]: a mapped array of eBPF, or shared memory.
#[derive(Debug)]
pub struct Foreign {
    pub(crate) base: NonNull<u8>,
    pub(crate) len: usize,
}

// SAFETY: plain memory without thread affinity.
unsafe impl Send for Foreign {}

impl Foreign {
    /// `len` bytes at `base`.
    ///
    /// # Safety
    /// * They stay mapped, readable and writable, as long as a table in them, or a reader of it, lives; so for next hops and groups.
    /// * Nobody else writes there meanwhile.
    pub unsafe fn new(base: NonNull<u8>, len: usize) -> Self {
        Self { base, len }
    }
}

/// Atomics, in memory of this process or of somebody else's.
///
/// Thread-safety: that of the atomics; nothing else is reached.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// let cells = ringway_fib::Cells::<AtomicU64>::new(4);
/// cells[3].store(7, Relaxed);
/// assert_eq!(cells[3].load(Relaxed), 7);
/// ```
#[derive(Debug)]
pub struct Cells<T: Cell> {
    all: NonNull<[T]>,
    own: bool,
}

/// What may lie in memory that others write: valid with any bits, changed by single accesses.
pub trait Cell: Sync {
    /// The value of memory that nobody wrote to.
    const ZERO: Self;
}

impl Cell for AtomicU64 {
    const ZERO: Self = Self::new(0);
}

impl Cell for AtomicU16 {
    const ZERO: Self = Self::new(0);
}

// SAFETY: plain memory without thread affinity, reached through atomics only.
unsafe impl<T: Cell> Send for Cells<T> {}
// SAFETY: as above.
unsafe impl<T: Cell> Sync for Cells<T> {}

impl<T: Cell> Cells<T> {
    /// So many zeros in memory of this process.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let all: Box<[T]> = (0..count).map(|_| T::ZERO).collect();
        Self { all: NonNull::from(Box::leak(all)), own: true }
    }

    /// Cells in memory that somebody else owns; `None` when there is not so much, or it is not aligned.
    #[must_use]
    pub fn foreign(place: &Foreign, count: usize) -> Option<Self> {
        let base = place.base.cast::<T>();
        let fits = count.checked_mul(size_of::<T>()).is_some_and(|len| len <= place.len) && base.is_aligned();
        fits.then(|| Self { all: NonNull::slice_from_raw_parts(base, count), own: false })
    }
}

impl<T: Cell> Deref for Cells<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: our own box, or memory that stays mapped as `Foreign::new` was promised; in bounds, aligned, any bits are valid.
        unsafe { self.all.as_ref() }
    }
}

impl<T: Cell> Drop for Cells<T> {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: leaked from a box in `new`, and given back once.
            drop(unsafe { Box::from_raw(self.all.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn cells_lie_where_they_were_put() {
        let mut bytes = vec![0u64; 4];
        let base = NonNull::new(bytes.as_mut_ptr().cast::<u8>()).unwrap();
        // SAFETY: `bytes` outlives the results.
        let place = |at, len| unsafe { Foreign::new(base.add(at), len) };
        assert!(Cells::<AtomicU64>::foreign(&place(0, 31), 4).is_none());
        assert!(Cells::<AtomicU64>::foreign(&place(4, 28), 1).is_none());
        let cells = Cells::<AtomicU64>::foreign(&place(8, 24), 3).unwrap();
        cells[2].store(7, Relaxed);
        assert_eq!((bytes[3], Cells::<AtomicU16>::new(5).len()), (7, 5));
    }
}
