//! Big-endian fields and the Internet checksum (RFC 1071), the little that templates and tags need.
//!
//! Sums are kept unfolded in a `u64`. Parts are computed once, added per frame and folded at the
//! end. That gives the same result as the incremental update of RFC 1624 and has no special case
//! for zero.

/// Writes `bytes` at offset `at`. Panics when they do not fit, as [`put_u16`] does.
#[inline]
pub fn put(buf: &mut [u8], at: usize, bytes: &[u8]) {
    buf[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Writes a big-endian 16-bit field at offset `at`.
#[inline]
pub fn put_u16(buf: &mut [u8], at: usize, value: u16) {
    put(buf, at, &value.to_be_bytes());
}

/// Reads a big-endian 16-bit field at offset `at`, if it is inside `buf`.
#[inline]
pub fn get_u16(buf: &[u8], at: usize) -> Option<u16> {
    buf.get(at..)?.first_chunk().map(|&bytes| u16::from_be_bytes(bytes))
}

/// A sum equal to that of the 16-bit words of `bytes` once folded; an odd last byte is padded with zero.
///
/// Words are added with their bytes swapped: swapping the bytes of the folded sum is the same (RFC
/// 1071, 2).
#[inline]
pub fn sum_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum: u64 = words.iter().map(|&word| sum_u64(u64::from_le_bytes(word))).sum();
    let last = rest.iter().rev().fold(0, |last, &byte| last << 8 | u64::from(byte));
    u64::from(fold(sum + sum_u64(last)).swap_bytes())
}

/// A sum equal to that of the four 16-bit words of `value` once folded.
#[inline]
pub fn sum_u64(value: u64) -> u64 {
    (value >> 32) + (value & 0xffff_ffff)
}

/// A sum equal to that of the eight 16-bit words of `value` once folded.
#[inline]
pub fn sum_u128(value: u128) -> u64 {
    sum_u64((value >> 64) as u64) + sum_u64(value as u64)
}

/// Folds a sum to 16 bits with end-around carry: adding a half to the other, twice in one word, brings its
/// carry along. Zero only if the sum is zero.
#[inline]
pub fn fold(sum: u64) -> u16 {
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive_fold(words: &[u16]) -> u16 {
        words.iter().fold(0u16, |acc, &word| {
            let (sum, carry) = acc.overflowing_add(word);
            sum + u16::from(carry)
        })
    }

    #[test]
    fn rfc_1071_example() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum_bytes(&bytes)), 0xddf2);
        assert_eq!(fold(sum_bytes(&[0xab])), 0xab00);
        assert_eq!([0, 0xffff, 0x1_fffe, u64::MAX].map(fold), [0, 0xffff, 0xffff, 0xffff]);
    }

    #[test]
    fn fields_outside_are_none() {
        assert_eq!(get_u16(&[1, 2, 3], 1), Some(0x0203));
        assert_eq!(get_u16(&[1, 2, 3], 2), None);
        assert_eq!(get_u16(&[1, 2, 3], 9), None);
    }

    proptest! {
        #[test]
        fn bytes_are_summed_as_words(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let words: Vec<u16> = bytes.chunks(2).map(|w| u16::from_be_bytes([w[0], *w.get(1).unwrap_or(&0)])).collect();
            prop_assert_eq!(fold(sum_bytes(&bytes)), naive_fold(&words));
        }

        #[test]
        fn wide_sums_agree_with_words(value: u128, extra: u32) {
            let words: Vec<u16> = (0..8).rev().map(|i| (value >> (16 * i)) as u16).collect();
            prop_assert_eq!(fold(sum_u128(value)), naive_fold(&words));
            prop_assert_eq!(fold(value as u64), naive_fold(&words[4..]));
            prop_assert_eq!(fold(sum_bytes(&value.to_be_bytes())), naive_fold(&words));
            let more: Vec<u16> = words.iter().copied().chain([(extra >> 16) as u16, extra as u16]).collect();
            prop_assert_eq!(fold(sum_u128(value) + u64::from(extra)), naive_fold(&more));
        }
    }
}
