//! Tokens of buffers as small values, for code that holds very many and knows their region.
#![allow(unsafe_code, reason = "a token gives the bytes of its buffer")]

use std::num::NonZeroU32;

use super::region::Region;

/// A buffer that belongs to no slot, as [`Buf`](crate::Buf) is, in eight bytes: it names its region by a number and keeps no handle.
///
/// It can be neither copied nor cloned, and no two tokens or slots name one buffer. A token that is dropped is not given back:
/// its buffer stays taken for as long as the region lives.
///
/// ```
/// use ringway::{Region, RegionSpec};
/// let region = Region::memfd(&RegionSpec { buffers: 3, ..RegionSpec::default() })?;
/// let mut token = region.take_token().expect("one buffer is free");
/// region.token_bytes_mut(&mut token)[0] = 7;
/// assert_eq!(region.token_bytes(&token)[0], 7);
/// assert!(region.give_token(token).is_ok() && region.free_bufs() == 1);
/// # Ok::<(), ringway::Error>(())
/// ```
#[doc(hidden)]
#[derive(Debug)]
#[must_use = "a token that is dropped is not given back"]
pub struct BufToken {
    region: NonZeroU32,
    idx: u32,
}

#[doc(hidden)]
impl Region {
    /// Takes a buffer that belongs to no slot, or `None` when all are in use.
    #[must_use]
    pub fn take_token(&self) -> Option<BufToken> {
        let idx = self.alloc().take_buf()?;
        Some(BufToken { region: self.number(), idx })
    }

    /// Takes a buffer back.
    ///
    /// # Errors
    /// The token itself, when it is of another region.
    pub fn give_token(&self, token: BufToken) -> Result<(), BufToken> {
        if token.region != self.number() {
            return Err(token);
        }
        self.alloc().give_buf(token.idx);
        Ok(())
    }

    /// The bytes, for reading.
    ///
    /// # Panics
    /// When the token is of another region.
    #[inline]
    #[must_use]
    pub fn token_bytes<'a>(&'a self, token: &'a BufToken) -> &'a [u8] {
        let at = self.address(token);
        // SAFETY: the token owns this buffer, as in `Buf::bytes`: an index is in one token or slot, and moves by exchange.
        unsafe { std::slice::from_raw_parts(at, self.buf_size() as usize) }
    }

    /// The bytes, for writing.
    ///
    /// # Panics
    /// When the token is of another region.
    #[inline]
    pub fn token_bytes_mut<'a>(&'a self, token: &'a mut BufToken) -> &'a mut [u8] {
        let at = self.address(token);
        // SAFETY: as in `token_bytes`, and the exclusive borrow of the token makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(at, self.buf_size() as usize) }
    }

    #[inline]
    fn address(&self, token: &BufToken) -> *mut u8 {
        assert!(token.region == self.number(), "a token of another region");
        self.shared().buf_ptr(token.idx)
    }
}

impl BufToken {
    /// Takes a buffer of `region` as the one held, and returns the index held before; `None`, and nothing done, for a token of
    /// another region.
    #[inline]
    pub(crate) fn replace_index(&mut self, region: &Region, other: u32) -> Option<u32> {
        (self.region == region.number()).then(|| std::mem::replace(&mut self.idx, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::RegionSpec;

    fn region() -> Region {
        Region::memfd(&RegionSpec { buffers: 4, ..RegionSpec::default() }).unwrap()
    }

    #[test]
    fn a_token_is_of_one_region() {
        let (a, b) = (region(), region());
        let mut token = a.take_token().unwrap();
        assert_eq!(token.replace_index(&b, 2), None);
        let token = b.give_token(token).unwrap_err();
        assert_eq!((a.free_bufs(), b.free_bufs()), (1, 2));
        assert!(a.give_token(token).is_ok() && a.free_bufs() == 2);
    }

    #[test]
    #[should_panic(expected = "a token of another region")]
    fn another_region_does_not_read_it() {
        let token = region().take_token().unwrap();
        let _ = region().token_bytes(&token);
    }

    #[test]
    fn a_lifetime_is_that_of_token_and_region() {
        let r = region();
        let (mut one, two) = (r.take_token().unwrap(), r.take_token().unwrap());
        r.token_bytes_mut(&mut one).fill(7);
        assert_eq!((r.token_bytes(&one)[2047], r.token_bytes(&two)[0]), (7, 0));
        assert!(r.take_token().is_none());
    }
}
