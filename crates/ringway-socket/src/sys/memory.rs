//! Memory that the program names in a call: the bytes of a frame in several pieces.

use libc::iovec;

/// Bytes to send, in the order of their pieces.
#[derive(Clone, Copy)]
pub(crate) struct Gather<'a>(&'a [iovec]);

impl<'a> Gather<'a> {
    /// No bytes.
    pub(crate) const EMPTY: Self = Self(&[]);

    /// `None` where a piece has bytes but no address.
    ///
    /// # Safety
    /// Each piece must be readable, for as long as `'a`.
    pub(crate) unsafe fn new(pieces: &'a [iovec]) -> Option<Self> {
        let ok = pieces.iter().all(|p| p.iov_len == 0 || !p.iov_base.is_null());
        ok.then_some(Self(pieces))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().fold(0, |n, p| n.saturating_add(p.iov_len))
    }

    fn slices(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.0.iter().filter(|p| p.iov_len > 0).map(|p| {
            // SAFETY: readable, by the contract of `new`; not null, as it checked.
            unsafe { std::slice::from_raw_parts(p.iov_base.cast::<u8>().cast_const(), p.iov_len) }
        })
    }

    /// Copies the bytes from `skip` on to `out`, as far as they go; returns how many.
    #[inline]
    pub(crate) fn copy_from(&self, mut skip: usize, out: &mut [u8]) -> usize {
        let mut done = 0;
        for s in self.slices() {
            let from = skip.min(s.len());
            skip -= from;
            let n = (s.len() - from).min(out.len() - done);
            out[done..done + n].copy_from_slice(&s[from..from + n]);
            done += n;
        }
        done
    }
}

/// Room for received bytes, filled piece by piece.
#[derive(Clone, Copy)]
pub(crate) struct Scatter<'a>(&'a [iovec]);

impl<'a> Scatter<'a> {
    /// `None` where a piece has room but no address.
    ///
    /// # Safety
    /// Each piece must be writable for as long as `'a`, and by nobody else.
    pub(crate) unsafe fn new(pieces: &'a [iovec]) -> Option<Self> {
        let ok = pieces.iter().all(|p| p.iov_len == 0 || !p.iov_base.is_null());
        ok.then_some(Self(pieces))
    }

    /// Writes `parts` one after the other as far as there is room; returns the bytes written.
    #[inline]
    pub(crate) fn put(&self, parts: &[&[u8]]) -> usize {
        let (mut piece, mut at, mut done) = (0, 0, 0);
        for part in parts {
            let mut part = *part;
            while !part.is_empty() {
                let Some(room) = self.0.get(piece) else { return done };
                let n = part.len().min(room.iov_len - at);
                if n > 0 {
                    // SAFETY: the piece is writable for `iov_len` bytes by the contract of `new`, and `at + n` is no
                    // more; `part` is borrowed from a ring or queue of ours, so it can't overlap.
                    unsafe {
                        std::ptr::copy_nonoverlapping(part.as_ptr(), room.iov_base.cast::<u8>().add(at), n);
                    }
                }
                (part, at, done) = (&part[n..], at + n, done + n);
                if at == room.iov_len {
                    (piece, at) = (piece + 1, 0);
                }
            }
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(bytes: &mut [u8]) -> iovec {
        iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
    }

    #[test]
    fn pieces_are_read_and_written_in_order() {
        let (mut a, mut b, mut c) = ([1, 2, 3], [], [4, 5]);
        let pieces = [piece(&mut a), piece(&mut b), piece(&mut c)];
        // SAFETY: the arrays live to the end of the test.
        let gather = unsafe { Gather::new(&pieces) }.expect("no piece is null");
        let mut out = [0; 4];
        assert_eq!((gather.len(), gather.copy_from(0, &mut out), out), (5, 4, [1, 2, 3, 4]));
        assert_eq!((gather.copy_from(2, &mut out), &out[..3]), (3, &[3, 4, 5][..]));
        // SAFETY: as above, and nobody else uses them.
        let scatter = unsafe { Scatter::new(&pieces) }.expect("no piece is null");
        assert_eq!(scatter.put(&[&[9, 8], &[7, 6, 5, 4]]), 5);
        assert_eq!((a, c), ([9, 8, 7], [6, 5]));
    }

    #[test]
    fn null_with_a_length_is_refused() {
        let pieces = [iovec { iov_base: std::ptr::null_mut(), iov_len: 1 }];
        // SAFETY: refused before it is read.
        assert!(unsafe { Gather::new(&pieces) }.is_none());
    }
}
