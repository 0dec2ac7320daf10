//! The Internet checksum: sums, pseudo headers, incremental update.
//!
//! RFC 1071 defines the checksum as the complement of the ones-complement sum of the data taken as
//! 16-bit words. That sum does not depend on the byte order used for adding (section 2 B) nor on
//! the word size (section 2 C). So [`Sum`] adds eight bytes per step in the machine's order and
//! swaps once at the end.
//!
//! Checksums are host-order values here: what a header view returns as `checksum()`.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::IpProtocol;

/// Checksum of `data`; an odd last byte is padded with zero (RFC 1071 section 1).
///
/// Over data that contains a correct checksum field the result is 0.
///
/// # Examples
///
/// ```
/// use ringway_wire::checksum;
///
/// // The example of RFC 1071 section 3.
/// let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
/// assert_eq!(checksum::of(&data), !0xddf2);
/// ```
#[inline]
pub fn of(data: &[u8]) -> u16 {
    Sum::new().add_bytes(data).checksum()
}

/// A ones-complement sum that grows part by part.
///
/// Every part but the last must have an even number of bytes, because each is added as if it started on a
/// 16-bit boundary.
///
/// # Examples
///
/// ```
/// use ringway_wire::checksum::{self, Sum};
///
/// let sum = Sum::new().add_bytes(&[1, 2, 3, 4]).add_u16(0x0506).add_bytes(&[7]);
/// assert_eq!(sum.checksum(), checksum::of(&[1, 2, 3, 4, 5, 6, 7]));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum(u32);

impl Sum {
    /// The sum of nothing.
    #[inline]
    pub const fn new() -> Self {
        Self(0)
    }

    /// Adds bytes, padding an odd last one with zero.
    #[inline]
    #[must_use]
    pub fn add_bytes(self, bytes: &[u8]) -> Self {
        self.add_native(sum_bytes(bytes))
    }

    /// Adds a value that stands in network order on the wire.
    #[inline]
    #[must_use]
    pub const fn add_u16(self, value: u16) -> Self {
        self.add_native(value.to_be() as u64)
    }

    /// Adds a value that stands in network order on the wire.
    #[inline]
    #[must_use]
    pub const fn add_u32(self, value: u32) -> Self {
        self.add_native(value.to_be() as u64)
    }

    /// The complement of the sum, host order.
    #[inline]
    pub const fn checksum(self) -> u16 {
        // The lower half of this sum has the carry that the upper half gets.
        let both = self.0.wrapping_add(self.0.rotate_left(16));
        !u16::from_be((both >> 16) as u16)
    }

    /// Adds words in machine order. Each carry out of a half comes back at its lower end, so the value stays the
    /// same modulo 2^16 - 1.
    #[inline]
    const fn add_native(self, words: u64) -> Self {
        // The lower half of this sum has the carry that the upper half gets.
        let both = words.wrapping_add(words.rotate_left(32));
        let (sum, carry) = self.0.overflowing_add((both >> 32) as u32);
        Self(sum + carry as u32)
    }
}

/// The addresses that UDP, TCP and ICMPv6 add to their checksum (RFC 768, RFC 9293 section 3.1, RFC 8200
/// section 8.1). Protocol and length are added by the protocol's own checksum method.
///
/// Get one from [`Ipv4::pseudo_header`](super::Ipv4::pseudo_header) or
/// [`Ipv6::pseudo_header`](super::Ipv6::pseudo_header). It is a small copy, not a borrow, so the payload of
/// the same view can be changed while it is held.
///
/// # Examples
///
/// ```
/// use ringway_wire::{Udp, checksum::PseudoHeader};
///
/// let pseudo = PseudoHeader::v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
/// let mut udp = Udp::init([0; 12], 4)?;
/// udp.fill_checksum(pseudo);
/// assert!(udp.verify_checksum(pseudo));
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PseudoHeader {
    addresses: Sum,
    is_v6: bool,
}

impl PseudoHeader {
    /// Addresses of an IPv4 packet.
    #[inline]
    pub fn v4(src: Ipv4Addr, dst: Ipv4Addr) -> Self {
        Self { addresses: Sum::new().add_bytes(&src.octets()).add_bytes(&dst.octets()), is_v6: false }
    }

    /// Addresses of an IPv6 packet; with a routing header, `dst` is the final destination.
    #[inline]
    pub fn v6(src: Ipv6Addr, dst: Ipv6Addr) -> Self {
        Self { addresses: Sum::new().add_bytes(&src.octets()).add_bytes(&dst.octets()), is_v6: true }
    }

    /// Whether the addresses are IPv6, where a UDP checksum is mandatory.
    #[inline]
    pub const fn is_v6(&self) -> bool {
        self.is_v6
    }

    /// Sum of the whole pseudo header and the segment it protects.
    #[inline]
    pub fn sum(&self, protocol: IpProtocol, segment: &[u8]) -> Sum {
        let len = segment.len() as u32;
        self.addresses.add_u16(u16::from(protocol.0)).add_u32(len).add_bytes(segment)
    }
}

/// New checksum after a 16-bit field changed from `old` to `new` (RFC 1624 equation 3).
///
/// Equals a recomputation unless all the protected data became zero, which no IP header can. For UDP the
/// caller must leave a checksum of 0 alone, as it means "none", and write a result of 0 as 0xffff.
///
/// # Examples
///
/// ```
/// use ringway_wire::checksum;
///
/// // RFC 1624 section 4: 0x5555 becomes 0x3285.
/// assert_eq!(checksum::update_u16(0xdd2f, 0x5555, 0x3285), 0x0000);
/// ```
#[inline]
#[must_use]
pub const fn update_u16(checksum: u16, old: u16, new: u16) -> u16 {
    Sum::new().add_u16(!checksum).add_u16(!old).add_u16(new).checksum()
}

/// [`update_u16`] for a 32-bit field on a 16-bit boundary, such as an IPv4 address.
#[inline]
#[must_use]
pub const fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    Sum::new().add_u16(!checksum).add_u32(!old).add_u32(new).checksum()
}

/// [`update_u16`] for any bytes on a 16-bit boundary, such as an IPv6 address.
///
/// Both slices have the same length; an odd one is right only at the end of the protected data.
#[inline]
#[must_use]
pub fn update_bytes(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    // The checksum of the old bytes is the complement of their sum, the ~m of the equation.
    Sum::new().add_u16(!checksum).add_u16(of(old)).add_bytes(new).checksum()
}

/// Adds 32-bit halves of 64-bit words, so carries collect in the upper half: exact below 16 GiB.
#[inline]
fn sum_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum = 0;
    for word in words {
        let word = u64::from_ne_bytes(*word);
        sum += (word & LOW_HALF) + (word >> 32);
    }
    let (pairs, last) = rest.as_chunks::<2>();
    for pair in pairs {
        sum += u64::from(u16::from_ne_bytes(*pair));
    }
    if let [byte] = last {
        sum += u64::from(u16::from_ne_bytes([*byte, 0]));
    }
    sum
}

const LOW_HALF: u64 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// RFC 1071 section 1 word by word.
    fn naive(data: &[u8]) -> u16 {
        let mut sum = 0u64;
        for pair in data.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn known_values() {
        assert_eq!(of(&[]), 0xffff);
        assert_eq!(of(&[0xff; 64]), 0);
        // Second header of the worked examples in RFC 1624 section 4, with its checksum field zero.
        assert_eq!(update_u16(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn every_short_length_and_extreme_byte() {
        for len in 0..200 {
            for byte in [0x00, 0x01, 0x80, 0xff] {
                let data = vec![byte; len];
                assert_eq!(of(&data), naive(&data), "{len} bytes of {byte:#x}");
            }
        }
    }

    #[test]
    fn jumbo_of_ones_does_not_lose_carries() {
        let data = vec![0xff; 1 << 20];
        assert_eq!(of(&data), naive(&data));
    }

    #[test]
    fn a_carry_that_fills_the_sum_comes_back() {
        // The words of these nine bytes add up to 0x1_ffff_ffff.
        let mut data = vec![0xff; 13];
        data[12] = 1;
        let sum = Sum::new().add_u32(u32::MAX).add_bytes(&data[4..]);
        assert_eq!(sum.checksum(), naive(&data));
    }

    /// A part of a sum, and its bytes.
    #[derive(Debug, Clone)]
    enum Part {
        Short(u16),
        Long(u32),
        Bytes(Vec<u8>),
    }

    impl Part {
        fn add(&self, sum: Sum) -> Sum {
            match self {
                Self::Short(value) => sum.add_u16(*value),
                Self::Long(value) => sum.add_u32(*value),
                Self::Bytes(bytes) => sum.add_bytes(bytes),
            }
        }

        fn bytes(&self) -> Vec<u8> {
            match self {
                Self::Short(value) => value.to_be_bytes().to_vec(),
                Self::Long(value) => value.to_be_bytes().to_vec(),
                Self::Bytes(bytes) => bytes.clone(),
            }
        }
    }

    /// Bytes that begin anywhere in memory. Most are 0xff, so that sums are near the edge of a carry.
    fn edgy(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![12 => Just(0xffu8), 1 => Just(0u8), 1 => Just(1u8), 1 => any::<u8>()];
        vec(byte, len)
    }

    /// Words of ones, and a small word behind them: their carries meet a sum that is nearly full.
    fn full() -> impl Strategy<Value = Vec<u8>> {
        (1usize..8, 0u8..4).prop_map(|(words, small)| [vec![0xff; words * 8], vec![small, 0]].concat())
    }

    /// Parts whose length is even.
    fn part() -> impl Strategy<Value = Part> {
        prop_oneof![
            prop_oneof![Just(u16::MAX), Just(0), Just(1), any::<u16>()].prop_map(Part::Short),
            prop_oneof![Just(u32::MAX), Just(u32::MAX - 1), Just(0), Just(1), any::<u32>()]
                .prop_map(Part::Long),
            full().prop_map(Part::Bytes),
            edgy(0..36).prop_map(|half| Part::Bytes([half.clone(), half].concat())),
        ]
    }

    /// The sum of all words in as many bits as they need, folded at the end.
    fn wide(data: &[u8]) -> u16 {
        let word = |pair: &[u8]| u128::from(pair[0]) << 8 | u128::from(*pair.get(1).unwrap_or(&0));
        match data.chunks(2).map(word).sum::<u128>() {
            0 => u16::MAX,
            sum => !((sum - 1) % 0xffff + 1) as u16,
        }
    }

    #[test]
    fn every_length_at_every_offset() {
        let ones = [0xff; 80];
        let counted: Vec<u8> = (0..80).map(|at: u8| at.wrapping_mul(37)).collect();
        for data in [&ones[..], &counted] {
            for (len, offset) in (0..=70).flat_map(|len| (0..8).map(move |offset| (len, offset))) {
                let part = &data[offset..offset + len];
                for near in [0, 1, 0xffff, 0x10000, u32::MAX - 1, u32::MAX] {
                    let whole = [&near.to_be_bytes()[..], part].concat();
                    let sum = Sum::new().add_u32(near).add_bytes(part);
                    assert_eq!(sum.checksum(), wide(&whole), "{len} bytes at {offset} on {near:#x}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn sums_near_a_carry_equal_the_model(
            parts in vec(part(), 0..8),
            last in prop_oneof![edgy(0..71), full()],
            offset in 0usize..8,
        ) {
            let mut whole = parts.iter().flat_map(Part::bytes).collect::<Vec<_>>();
            whole.extend(&last);
            // The last part begins at an odd address, too.
            let moved = [vec![0x5a; offset], last].concat();
            let sum = parts.iter().fold(Sum::new(), |sum, part| part.add(sum)).add_bytes(&moved[offset..]);
            prop_assert_eq!(sum.checksum(), wide(&whole));
        }
    }

    proptest! {
        #[test]
        fn equals_the_naive_loop(data in vec(any::<u8>(), 0..2000)) {
            prop_assert_eq!(of(&data), naive(&data));
        }

        #[test]
        fn parts_equal_the_whole(data in vec(any::<u8>(), 0..300), cut in 0usize..150, a: u16, b: u32) {
            let cut = (cut * 2).min(data.len() & !1);
            let mut whole = data[..cut].to_vec();
            whole.extend(a.to_be_bytes());
            whole.extend(b.to_be_bytes());
            whole.extend(&data[cut..]);
            let sum = Sum::new().add_bytes(&data[..cut]).add_u16(a).add_u32(b).add_bytes(&data[cut..]);
            prop_assert_eq!(sum.checksum(), naive(&whole));
        }

        #[test]
        fn update_equals_recompute(mut data in vec(any::<u8>(), 8..64), at in 0usize..32, new: u16) {
            // Byte 0 stays non-zero, like the version of an IP header; see update_u16.
            data[0] |= 0x40;
            let at = (at * 2).clamp(2, (data.len() - 2) & !1);
            let before = of(&data);
            let old = u16::from_be_bytes([data[at], data[at + 1]]);
            data[at..at + 2].copy_from_slice(&new.to_be_bytes());
            prop_assert_eq!(update_u16(before, old, new), of(&data));
        }

        #[test]
        fn wide_updates_equal_recompute(mut data in vec(any::<u8>(), 40), v4: u32, v6: [u8; 16]) {
            data[0] |= 0x40;
            let before = of(&data);
            let old = u32::from_be_bytes([data[4], data[5], data[6], data[7]]);
            data[4..8].copy_from_slice(&v4.to_be_bytes());
            let between = of(&data);
            prop_assert_eq!(update_u32(before, old, v4), between);
            let updated = update_bytes(between, &data[24..40], &v6);
            data[24..40].copy_from_slice(&v6);
            prop_assert_eq!(updated, of(&data));
        }
    }
}
