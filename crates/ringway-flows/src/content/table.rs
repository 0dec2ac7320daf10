//! Random bytes for messages: a table that both ends make from the file's seed.
//!
//! The content `random(n)` is a window of the table. The sender copies it, the receiver compares it, and neither makes a
//! byte. Sums over all beginnings of the table give the checksum of a window in a few steps.

use super::random::SplitMix64;

/// Bytes of the table. A position is taken modulo it.
pub const LEN: usize = 1 << 16;

/// 64 KiB of random bytes, followed by a copy of them, so that each window of up to 64 KiB is one slice.
///
/// It takes 256 KiB, and all workers share it.
///
/// ```
/// use ringway_flows::content::table::Contents;
/// use ringway_wire::checksum::Sum;
///
/// let contents = Contents::new(42);
/// let mut message = [0; 1000];
/// contents.copy(65_000, &mut message);
/// assert!(contents.matches(65_000, &message));
/// let sum = Sum::new().add_u16(contents.sum(65_000, 1000));
/// assert_eq!(sum.checksum(), Sum::new().add_bytes(&message).checksum());
/// ```
#[derive(Clone, Debug)]
pub struct Contents {
    bytes: Box<[u8]>,
    /// The sum of the first 2 n bytes as 16-bit words in network order.
    sums: Box<[u32]>,
}

impl Contents {
    /// The table of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = SplitMix64(seed);
        let words = (0..LEN / 8).map(|_| random.draw().to_le_bytes());
        let bytes = words.collect::<Vec<_>>().concat().repeat(2);
        let mut sum = 0;
        let first = bytes[..LEN].as_chunks::<2>().0.iter().map(|pair| {
            sum += u32::from(u16::from_be_bytes(*pair));
            sum
        });
        let sums = std::iter::once(0).chain(first).collect();
        Self { bytes: bytes.into(), sums }
    }

    /// A window of the table. It ends after 64 KiB, where the content of a longer message begins again.
    #[inline]
    pub fn window(&self, start: u64, len: usize) -> &[u8] {
        let from = start as usize % LEN;
        &self.bytes[from..from + len.min(LEN)]
    }

    /// Writes the content from `start` on.
    #[inline]
    pub fn copy(&self, start: u64, out: &mut [u8]) {
        out.chunks_mut(LEN).for_each(|part| part.copy_from_slice(self.window(start, part.len())));
    }

    /// Whether `bytes` are the content from `start` on.
    #[inline]
    pub fn matches(&self, start: u64, bytes: &[u8]) -> bool {
        bytes.chunks(LEN).all(|part| part == self.window(start, part.len()))
    }

    /// The ones-complement sum of `len` bytes of content from `start` on, as if the first one stood on a 16-bit
    /// boundary. Give it to [`Sum::add_u16`](ringway_wire::checksum::Sum::add_u16).
    #[inline]
    pub fn sum(&self, start: u64, len: usize) -> u16 {
        let from = start as usize % LEN;
        let to = from + len % LEN;
        let whole = u64::from(self.sums[LEN / 2]);
        let turns = (len / LEN) as u64 % 0xffff;
        let until = if to < LEN { self.sum_until(to) } else { whole + self.sum_until(to - LEN) };
        // Each fold keeps the sum modulo 2^16 - 1. It is below 2^48, so four leave 16 bits.
        let sum = until - self.sum_until(from) + turns * whole;
        let sum = (sum & 0xffff_ffff) + (sum >> 32);
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        // Bytes on even and on odd places change their roles when the window begins on an odd one.
        if from.is_multiple_of(2) { sum as u16 } else { (sum as u16).swap_bytes() }
    }

    /// The sum of the first `n` bytes, without a fold.
    #[inline]
    fn sum_until(&self, n: usize) -> u64 {
        let odd = if n.is_multiple_of(2) { 0 } else { u32::from(self.bytes[n - 1]) << 8 };
        u64::from(self.sums[n / 2] + odd)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use ringway_wire::checksum::{self, Sum};

    use super::*;

    static CONTENTS: LazyLock<Contents> = LazyLock::new(|| Contents::new(1));

    /// The content byte by byte.
    fn slow(contents: &Contents, start: u64, len: usize) -> Vec<u8> {
        (0..len as u64).map(|at| contents.bytes[((start + at) % LEN as u64) as usize]).collect()
    }

    fn start() -> impl Strategy<Value = u64> {
        prop_oneof![0..3 * LEN as u64, LEN as u64 - 5..LEN as u64 + 5, Just(1 << 40)]
    }

    fn len() -> impl Strategy<Value = usize> {
        prop_oneof![4 => 0..3000usize, 1 => LEN - 3..LEN + 3, 1 => 0..3 * LEN]
    }

    proptest! {
        #[test]
        fn equals_the_slow_content(start in start(), len in len(), wrong in any::<prop::sample::Index>()) {
            let contents = &*CONTENTS;
            let mut out = vec![0; len];
            contents.copy(start, &mut out);
            prop_assert_eq!(&out, &slow(contents, start, len));
            prop_assert!(contents.matches(start, &out));
            if len > 0 {
                out[wrong.index(len)] ^= 1;
                prop_assert!(!contents.matches(start, &out));
            }
        }

        #[test]
        fn sums_are_checksums(start in start(), len in len()) {
            let contents = &*CONTENTS;
            let bytes = slow(contents, start, len);
            prop_assert_eq!(!contents.sum(start, len), checksum::of(&bytes));
            let header = Sum::new().add_u32(0xc612_0001);
            let parts = header.add_u16(contents.sum(start, len));
            prop_assert_eq!(parts.checksum(), header.add_bytes(&bytes).checksum());
        }
    }

    #[test]
    fn golden_bytes() {
        let contents = Contents::new(42);
        // From a second implementation, in Python.
        assert_eq!(
            contents.window(0, 16),
            [0x95, 0x6e, 0xeb, 0x2f, 0x26, 0x32, 0xd7, 0xbd, 0x03, 0xf1, 0x66, 0xb2, 0x33, 0xe3, 0xef, 0x28]
        );
        assert_eq!(contents.window(0, LEN), contents.window(LEN as u64, LEN));
        assert_eq!(contents.window(5, LEN + 1).len(), LEN);
    }

    #[test]
    fn each_byte_value_has_its_share() {
        let mut seen = [0u32; 256];
        Contents::new(3).window(0, LEN).iter().for_each(|&byte| seen[usize::from(byte)] += 1);
        assert!(seen.iter().all(|n| (180..340).contains(n)), "{seen:?}");
    }
}
