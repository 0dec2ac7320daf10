//! Memory that the program names in a call: the bytes of a frame in several pieces.

use std::ffi::c_int;

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

    /// Bytes that there is room for.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().fold(0, |n, p| n.saturating_add(p.iov_len))
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
                    // more. `part` is borrowed from a ring or queue of this library, so it can't overlap.
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

/// Room for messages beside the bytes (`msg_control`), filled from the front.
#[derive(Debug)]
pub(crate) struct Control {
    at: *mut u8,
    room: usize,
    used: usize,
    cut: bool,
}

impl Control {
    /// Bytes of `struct cmsghdr`.
    const HEADER: usize = size_of::<libc::cmsghdr>();

    /// # Safety
    /// `room` bytes at `at` must be writable for as long as this lives, and by nobody else; or `at` is null.
    pub(crate) unsafe fn new(at: *mut u8, room: usize) -> Self {
        Self { at, room: if at.is_null() { 0 } else { room }, used: 0, cut: false }
    }

    /// Bytes written, with what fills up to the next message.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Whether there was no room for all.
    pub(crate) fn cut(&self) -> bool {
        self.cut
    }

    /// Adds a message; cuts it off where the room ends, as the kernel's `put_cmsg` does.
    pub(crate) fn put(&mut self, level: c_int, kind: c_int, data: &[u8]) {
        let room = self.room - self.used;
        if room < Self::HEADER {
            self.cut = true;
            return;
        }
        let len = Self::HEADER + data.len();
        self.cut |= room < len;
        let len = len.min(room);
        let data = &data[..len - Self::HEADER];
        // SAFETY: `used + len` bytes are no more than there is room for, by the contract of `new`; writes of any alignment.
        unsafe {
            let at = self.at.add(self.used);
            at.cast::<usize>().write_unaligned(len);
            at.add(size_of::<usize>()).cast::<[c_int; 2]>().write_unaligned([level, kind]);
            std::ptr::copy_nonoverlapping(data.as_ptr(), at.add(Self::HEADER), data.len());
        }
        self.used += len.next_multiple_of(size_of::<usize>()).min(room);
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
    fn messages_are_cut_where_the_room_ends() {
        let put = |room: usize| {
            let mut bytes = [0xee; 64];
            // SAFETY: the array lives to the end of the function, and `room` is no more than its length.
            let mut c = unsafe { Control::new(bytes.as_mut_ptr(), room) };
            c.put(1, 2, &[7; 12]);
            c.put(3, 4, &[9; 4]);
            (c.used(), c.cut(), bytes)
        };
        let (used, cut, whole) = put(64);
        assert_eq!((used, cut), (32 + 24, false));
        assert_eq!(whole[..16], [28, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!((&whole[16..28], whole[32], &whole[48..52]), (&[7; 12][..], 20, &[9; 4][..]));
        let (used, cut, bytes) = put(52);
        assert_eq!((used, cut), (52, false), "the last needs nothing behind it");
        assert_eq!(bytes[..28], whole[..28]);
        let (used, cut, bytes) = put(50);
        assert_eq!((used, cut, bytes[32], &bytes[48..52]), (50, true, 18, &[9, 9, 0xee, 0xee][..]));
        assert_eq!((put(40).0, put(40).1), (32, true));
        assert_eq!((put(15).0, put(15).1, put(15).2), (0, true, [0xee; 64]));
    }

    #[test]
    fn null_with_a_length_is_refused() {
        let pieces = [iovec { iov_base: std::ptr::null_mut(), iov_len: 1 }];
        // SAFETY: refused before it is read.
        assert!(unsafe { Gather::new(&pieces) }.is_none());
    }
}
