//! Tokens of buffers that belong to no slot.
#![allow(unsafe_code, reason = "a token gives the bytes of its buffer")]

use super::region::Region;
use crate::abi::layout::FIRST_BUF;

impl Region {
    /// Takes a buffer that belongs to no slot, or `None` when all are in use.
    #[must_use]
    pub fn take_buf(&self) -> Option<Buf> {
        let idx = self.alloc().take_buf()?;
        Some(Buf { region: self.clone(), idx })
    }
}

impl Region {
    /// The token of a buffer whose index a program in another language had; `None` for no index of a buffer.
    ///
    /// # Safety
    /// No slot and no other token has the index.
    #[doc(hidden)]
    #[must_use]
    pub unsafe fn buf_from_index(&self, idx: u32) -> Option<Buf> {
        let there = (FIRST_BUF..self.shared().layout.bufs).contains(&idx);
        there.then(|| Buf { region: self.clone(), idx })
    }
}

/// A buffer that belongs to no slot: a token that can be neither copied nor cloned.
///
/// Dropping it gives the buffer back to its region. [`TxSlot::exchange`](crate::TxSlot::exchange) trades it
/// for the buffer of a slot, so the number of buffers in a ring never changes.
#[derive(Debug)]
pub struct Buf {
    region: Region,
    idx: u32,
}

impl Buf {
    /// The bytes, for reading.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let s = self.region.shared();
        // SAFETY: the token owns this buffer: `alloc` gave its index out once and no slot holds it.
        unsafe { std::slice::from_raw_parts(s.buf_ptr(self.idx), s.layout.buf_size as usize) }
    }

    /// The bytes, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let s = self.region.shared();
        // SAFETY: as in `bytes`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(s.buf_ptr(self.idx), s.layout.buf_size as usize) }
    }

    /// The region that the buffer belongs to.
    #[must_use]
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The index, for a program in another language; the buffer stays taken until [`Region::buf_from_index`].
    #[doc(hidden)]
    #[must_use]
    pub fn into_index(self) -> u32 {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so its handle is dropped once: here.
        drop(unsafe { std::ptr::read(&raw const this.region) });
        this.idx
    }

    /// Takes `other` as the index held and returns the index held before.
    pub(crate) fn replace_index(&mut self, other: u32) -> u32 {
        std::mem::replace(&mut self.idx, other)
    }

    #[cfg(test)]
    fn index(&self) -> u32 {
        self.idx
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        self.region.alloc().give_buf(self.idx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::RegionSpec;

    #[test]
    fn buffers_are_tokens() {
        let r = Region::memfd(&RegionSpec { buffers: 4, ..RegionSpec::default() }).unwrap();
        let (mut a, b) = (r.take_buf().unwrap(), r.take_buf().unwrap());
        assert!(r.take_buf().is_none());
        assert_ne!(a.index(), b.index());
        assert!(a.index() >= FIRST_BUF && b.index() >= FIRST_BUF);
        a.bytes_mut().fill(7);
        assert_eq!(b.bytes()[0], 0);
        drop(a);
        assert_eq!(r.take_buf().unwrap().bytes()[2047], 7);
        assert!(b.region().ptr_eq(&r));
    }

    #[test]
    fn a_token_is_an_index_for_a_while() {
        let r = Region::memfd(&RegionSpec { buffers: 3, ..RegionSpec::default() }).unwrap();
        let idx = r.take_buf().unwrap().into_index();
        assert_eq!(r.free_bufs(), 0);
        // SAFETY: no token has the indexes: the first is none, the second was just given out.
        let back = unsafe { [r.buf_from_index(3), r.buf_from_index(idx)] };
        assert!(back[0].is_none() && back[1].is_some());
        drop(back);
        assert_eq!(r.free_bufs(), 1);
    }

    #[test]
    fn a_token_keeps_the_memory() {
        let r = Region::memfd(&RegionSpec { buffers: 3, ..RegionSpec::default() }).unwrap();
        let mut b = r.take_buf().unwrap();
        drop(r);
        b.bytes_mut()[0] = 1;
    }
}
