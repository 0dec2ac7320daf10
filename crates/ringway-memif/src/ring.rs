//! A ring in shared memory: two counters, a flag, and descriptors. The client owns `head`, the server `tail`, in both directions.
//!
//! ```text
//!    0 cookie u32    4 flags u16    6 head u16    64 tail u16    128 descriptors of 16 bytes
//! ```
//!
//! The peer may write any word at any time. So each word is read once, and the caller checks what it got.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, fence};

use ringway_sys::mmap::Mmap;

/// What a ring begins with.
pub const COOKIE: u32 = 0x03E3_1F20;

/// Bytes before the descriptors.
const HEADER: usize = 128;

/// Bytes of a descriptor.
const DESCRIPTOR: usize = 16;

const FLAGS: usize = 4;
const HEAD: usize = 6;
const TAIL: usize = 64;

/// Flag of a ring: its receiver polls, and wants no interrupts.
const MASK_INTERRUPTS: u16 = 1;

/// Flag of a descriptor: the frame goes on in the next one.
const NEXT: u16 = 1;

/// The smallest and the largest ring, as powers of two.
pub const LOG2: std::ops::RangeInclusive<u8> = 1..=14;

/// Bytes of a ring.
#[must_use]
pub fn ring_bytes(log2: u8) -> usize {
    HEADER + (DESCRIPTOR << log2)
}

/// A descriptor as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Whether the frame goes on in the next one.
    pub more: bool,
    /// The region of its bytes.
    pub region: u16,
    /// Bytes of the frame, or of the buffer when it is empty.
    pub len: u32,
    /// Where they begin in the region.
    pub offset: u32,
}

impl Descriptor {
    #[inline]
    fn from_words(first: u64, second: u64) -> Self {
        Self {
            more: first as u16 & NEXT != 0,
            region: (first >> 16) as u16,
            len: (first >> 32) as u32,
            offset: second as u32,
        }
    }

    /// Flags, region and length as one word.
    #[inline]
    fn first_word(self) -> u64 {
        (u64::from(self.more) * u64::from(NEXT))
            | (u64::from(self.region) << 16)
            | (u64::from(self.len) << 32)
    }
}

/// A ring.
#[derive(Debug, Clone)]
pub struct Ring {
    mem: Arc<Mmap>,
    at: usize,
    log2: u8,
}

/// The descriptors of a ring, found once for a burst.
#[derive(Debug, Clone, Copy)]
pub struct Descriptors<'a> {
    all: &'a [[AtomicU64; 2]],
    mask: u16,
}

impl Ring {
    /// The ring of `1 << log2` slots at `at`; `None` when it does not lie there whole, on a 64-byte boundary.
    #[must_use]
    pub fn new(mem: Arc<Mmap>, at: usize, log2: u8) -> Option<Self> {
        let fits = LOG2.contains(&log2)
            && at.is_multiple_of(64)
            && at.checked_add(ring_bytes(log2)).is_some_and(|end| end <= mem.bytes());
        fits.then_some(Self { mem, at, log2 })
    }

    /// Writes the cookie, and masks interrupts. For the client, before the server sees the ring.
    pub fn lay_out(&self) {
        self.mem.u32(self.at).store(COOKIE, Relaxed);
        self.mask_interrupts(true);
    }

    /// Whether it begins with the cookie.
    #[must_use]
    pub fn has_cookie(&self) -> bool {
        self.mem.u32(self.at).load(Relaxed) == COOKIE
    }

    /// Number of slots, a power of two.
    #[inline]
    #[must_use]
    pub fn size(&self) -> u16 {
        1 << self.log2
    }

    /// The client's counter. What it published before is visible.
    #[inline]
    #[must_use]
    pub fn head(&self) -> u16 {
        self.mem.u16(self.at + HEAD).load(Acquire)
    }

    /// The server's counter. What it published before is visible.
    #[inline]
    #[must_use]
    pub fn tail(&self) -> u16 {
        self.mem.u16(self.at + TAIL).load(Acquire)
    }

    /// Publishes what the client wrote before.
    #[inline]
    pub fn set_head(&self, head: u16) {
        self.mem.u16(self.at + HEAD).store(head, Release);
    }

    /// Publishes what the server wrote before.
    #[inline]
    pub fn set_tail(&self, tail: u16) {
        self.mem.u16(self.at + TAIL).store(tail, Release);
    }

    /// The receiver says whether it polls. When it stops it must look at the ring again afterwards.
    pub fn mask_interrupts(&self, mask: bool) {
        self.mem.u16(self.at + FLAGS).store(if mask { MASK_INTERRUPTS } else { 0 }, Relaxed);
        fence(SeqCst);
    }

    /// Whether the receiver wants to be woken; for the sender, after it published.
    #[inline]
    #[must_use]
    pub fn wants_interrupt(&self) -> bool {
        fence(SeqCst);
        self.mem.u16(self.at + FLAGS).load(Relaxed) & MASK_INTERRUPTS == 0
    }

    /// The descriptors.
    #[inline]
    #[must_use]
    pub fn descriptors(&self) -> Descriptors<'_> {
        Descriptors { all: self.mem.u64_pairs(self.at + HEADER, self.size().into()), mask: self.size() - 1 }
    }
}

impl<'a> Descriptors<'a> {
    #[inline]
    fn words(self, at: u16) -> &'a [AtomicU64; 2] {
        &self.all[usize::from(at & self.mask)]
    }

    /// The descriptor at a counter, each word read once.
    #[inline]
    #[must_use]
    pub fn read(self, at: u16) -> Descriptor {
        let [first, second] = self.words(at);
        Descriptor::from_words(first.load(Relaxed), second.load(Relaxed))
    }

    /// Only flags, region and length, for a client, which knows the offset.
    #[inline]
    #[must_use]
    pub fn read_len(self, at: u16) -> (u32, bool) {
        let d = Descriptor::from_words(self.words(at)[0].load(Relaxed), 0);
        (d.len, d.more)
    }

    /// Writes a descriptor.
    #[inline]
    pub fn write(self, at: u16, d: Descriptor) {
        let [first, second] = self.words(at);
        first.store(d.first_word(), Relaxed);
        second.store(d.offset.into(), Relaxed);
    }

    /// Writes flags and length, and keeps region and offset, which the client wrote.
    #[inline]
    pub fn write_len(self, at: u16, len: u32, more: bool, region: u16) {
        let d = Descriptor { more, region, len, offset: 0 };
        self.words(at)[0].store(d.first_word(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(log2: u8) -> Ring {
        let mem = Arc::new(Mmap::anonymous(1 << 16).unwrap());
        let ring = Ring::new(mem, 64, log2).unwrap();
        ring.lay_out();
        ring
    }

    #[test]
    fn words_lie_where_the_protocol_has_them() {
        let ring = ring(2);
        ring.set_head(0x1234);
        ring.set_tail(0x4321);
        let d = Descriptor { more: true, region: 7, len: 1514, offset: 0xdead_0000 };
        ring.descriptors().write(5, d);
        let mut bytes = [0; 160];
        ring.mem.read(64, &mut bytes);
        assert_eq!(bytes[..8], [0x20, 0x1f, 0xe3, 0x03, 1, 0, 0x34, 0x12]);
        assert_eq!(bytes[64..66], [0x21, 0x43]);
        assert_eq!(bytes[144..160], [1, 0, 7, 0, 0xea, 5, 0, 0, 0, 0, 0xad, 0xde, 0, 0, 0, 0]);
        assert_eq!((ring.descriptors().read(1), ring.descriptors().read(9)), (d, d), "counters wrap");
        ring.descriptors().write_len(1, 60, false, 7);
        assert_eq!(ring.descriptors().read(1), Descriptor { more: false, len: 60, ..d });
        assert_eq!(ring.descriptors().read_len(1), (60, false));
    }

    #[test]
    fn interrupts_are_masked_until_somebody_sleeps() {
        let ring = ring(4);
        assert!(ring.has_cookie() && !ring.wants_interrupt());
        ring.mask_interrupts(false);
        assert!(ring.wants_interrupt());
    }

    #[test]
    fn a_ring_lies_whole_in_its_region() {
        let mem = Arc::new(Mmap::anonymous(4096).unwrap());
        let there = |at, log2| Ring::new(mem.clone(), at, log2).is_some();
        assert!(there(0, 7) && there(4096 - 192, 2));
        assert!(
            !there(0, 0) && !there(0, 15) && !there(32, 4) && !there(2048, 7) && !there(usize::MAX - 63, 1)
        );
        assert_eq!(ring_bytes(10), 16512);
    }
}
