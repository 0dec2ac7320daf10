//! Headers as words of 32 bits: their sums come from registers.
//!
//! A sum over bytes that were just stored in smaller pieces waits until the stores are done. That would be the better part of the time of a
//! short frame. So headers of flows are not written through the views of `ringway-wire`.

/// The sum of words, for [`checksum`]. It has room for 2^32 of them.
#[inline]
pub(super) fn sum<const N: usize>(words: [u32; N]) -> u64 {
    words.into_iter().map(u64::from).sum()
}

/// Writes words in network order, as far as `bytes` goes.
#[inline]
pub(super) fn put<const N: usize>(bytes: &mut [u8], words: [u32; N]) {
    for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *to = word.to_be_bytes();
    }
}

/// Two numbers as a word.
#[inline]
pub(super) const fn pair(high: u16, low: u16) -> u32 {
    (high as u32) << 16 | low as u32
}

/// A sum in 16 bits. Half of each addition has the carry that the other half gets.
#[inline]
pub(super) const fn fold(sum: u64) -> u32 {
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    sum.wrapping_add(sum.rotate_left(16)) >> 16
}

/// The Internet checksum of a sum (RFC 1071). 2^16 counts as 1, so all folds keep it.
#[inline]
pub(super) const fn checksum(sum: u64) -> u16 {
    !(fold(sum) as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ringway_wire::checksum;

    proptest! {
        #[test]
        fn words_have_the_sum_of_their_bytes(words: [u32; 10]) {
            let mut bytes = [0; 40];
            super::put(&mut bytes, words);
            prop_assert_eq!(super::checksum(super::sum(words)), checksum::of(&bytes));
        }
    }

    #[test]
    fn carries_are_not_lost() {
        assert_eq!(super::checksum(0), 0xffff);
        assert_eq!(super::checksum(super::sum([u32::MAX; 16])), 0);
        assert_eq!(super::checksum(u64::MAX), 0);
        assert_eq!(super::checksum(0xffff_0001), 0xfffe);
    }
}
