//! Big-endian loads and stores shared by the header views.
//!
//! Each helper does one bounds check for the whole field. The views call them only with offsets that their
//! constructor has validated.

/// Copies `N` bytes starting at `at`.
#[inline]
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// Overwrites `N` bytes starting at `at`.
#[inline]
pub(super) fn set_array<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

/// Reads a network-order `u16` at `at`.
#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

/// Reads a network-order `u32` at `at`.
#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

/// Writes `value` in network order at `at`.
#[inline]
pub(super) fn set_u16(bytes: &mut [u8], at: usize, value: u16) {
    set_array(bytes, at, value.to_be_bytes());
}

/// Writes `value` in network order at `at`.
#[inline]
pub(super) fn set_u32(bytes: &mut [u8], at: usize, value: u32) {
    set_array(bytes, at, value.to_be_bytes());
}

/// Replaces the bits of `bytes[at]` selected by `mask` with the bits of `value`.
#[inline]
pub(super) fn set_bits(bytes: &mut [u8], at: usize, mask: u8, value: u8) {
    bytes[at] = bytes[at] & !mask | value & mask;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_order() {
        let mut bytes = [0; 6];
        set_u16(&mut bytes, 0, 0x0102);
        set_u32(&mut bytes, 2, 0x0304_0506);
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6]);
        assert_eq!((u16_at(&bytes, 1), u32_at(&bytes, 1)), (0x0203, 0x0203_0405));
    }

    #[test]
    fn masked_bits_leave_the_rest() {
        let mut bytes = [0b1010_1010];
        set_bits(&mut bytes, 0, 0b0000_1111, 0b1111_0101);
        assert_eq!(bytes, [0b1010_0101]);
    }
}
