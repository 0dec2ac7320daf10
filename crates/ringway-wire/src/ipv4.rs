//! Internet Protocol version 4 header (RFC 791 section 3.1).

use std::net::Ipv4Addr;

use super::bytes::{array, set_array, set_bits, set_u16, u16_at};
use super::checksum::{self, PseudoHeader};
use super::{IpProtocol, Malformed};

/// IPv4 packet.
///
/// Header and total length are validated once and kept in the view, so the payload excludes the padding of a
/// short Ethernet frame and cannot leave the buffer. Setters do not maintain the header checksum, except
/// [`decrement_ttl`](Self::decrement_ttl): call [`fill_checksum`](Self::fill_checksum) last.
///
/// # Examples
///
/// ```
/// use ringway_wire::{IpProtocol, Ipv4};
///
/// let mut ip = Ipv4::init([0; 64], 8)?;
/// ip.set_src([192, 0, 2, 1].into());
/// ip.set_dst([198, 51, 100, 1].into());
/// ip.set_protocol(IpProtocol::UDP);
/// ip.fill_checksum();
///
/// let ip = Ipv4::new_checked(ip.into_inner())?;
/// assert!(ip.verify_checksum());
/// assert_eq!((ip.total_len(), ip.payload().len()), (28, 8));
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4<T> {
    buf: T,
    /// Bytes, 20 to 60.
    header_len: u8,
    /// Bytes, at least `header_len` and at most the buffer.
    total_len: u16,
}

impl<T> Ipv4<T> {
    /// Bytes of header without options.
    pub const HEADER_LEN: usize = 20;
    /// Bytes of options that fit in a header.
    pub const MAX_OPTIONS_LEN: usize = 40;

    /// Returns the buffer.
    #[inline]
    pub fn into_inner(self) -> T {
        self.buf
    }
}

impl<T: AsRef<[u8]>> Ipv4<T> {
    /// Wraps a buffer that starts with an IPv4 header. The checksum is not looked at.
    ///
    /// # Errors
    ///
    /// [`Malformed::Ipv4Truncated`], [`Malformed::Ipv4Version`], [`Malformed::Ipv4HeaderLength`] or
    /// [`Malformed::Ipv4TotalLength`].
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        let bytes = buf.as_ref();
        if bytes.len() < Self::HEADER_LEN {
            return Err(Malformed::Ipv4Truncated);
        }
        if bytes[VERSION_IHL] >> 4 != 4 {
            return Err(Malformed::Ipv4Version);
        }
        let header_len = (bytes[VERSION_IHL] & 0x0f) * 4;
        let total_len = u16_at(bytes, TOTAL_LEN);
        if usize::from(header_len) < Self::HEADER_LEN {
            return Err(Malformed::Ipv4HeaderLength);
        }
        if total_len < u16::from(header_len) {
            return Err(Malformed::Ipv4TotalLength);
        }
        if bytes.len() < usize::from(total_len) {
            return Err(Malformed::Ipv4Truncated);
        }
        Ok(Self { buf, header_len, total_len })
    }

    /// Header length in bytes with options, 20 to 60.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.header_len)
    }

    /// Header and payload in bytes.
    #[inline]
    pub fn total_len(&self) -> usize {
        usize::from(self.total_len)
    }

    /// Differentiated services code point, 0 to 63 (RFC 2474).
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.buf.as_ref()[TOS] >> 2
    }

    /// Explicit congestion notification, 0 to 3 (RFC 3168).
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.buf.as_ref()[TOS] & 3
    }

    /// Identification shared by the fragments of one datagram.
    #[inline]
    pub fn ident(&self) -> u16 {
        u16_at(self.buf.as_ref(), IDENT)
    }

    /// Whether routers must not fragment the packet.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.buf.as_ref()[FLAGS] & DF != 0
    }

    /// Whether further fragments of the datagram follow.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.buf.as_ref()[FLAGS] & MF != 0
    }

    /// Position of the payload in its datagram, in bytes (a multiple of 8).
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        u16_at(self.buf.as_ref(), FLAGS) << 3
    }

    /// Whether the payload is only a part of its datagram.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.more_fragments() || self.fragment_offset() != 0
    }

    /// Time to live in hops.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.buf.as_ref()[TTL]
    }

    /// Protocol of the payload.
    #[inline]
    pub fn protocol(&self) -> IpProtocol {
        IpProtocol(self.buf.as_ref()[PROTOCOL])
    }

    /// Header checksum as it stands in the packet.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.buf.as_ref(), CHECKSUM)
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.buf.as_ref(), SRC))
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.buf.as_ref(), DST))
    }

    /// Options with their padding, empty or a multiple of 4 bytes.
    #[inline]
    pub fn options(&self) -> &[u8] {
        &self.buf.as_ref()[Self::HEADER_LEN..self.header_len()]
    }

    /// Bytes between the header and the total length.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buf.as_ref()[self.header_len()..self.total_len()]
    }

    /// Addresses for the checksum of the payload.
    #[inline]
    pub fn pseudo_header(&self) -> PseudoHeader {
        PseudoHeader::v4(self.src(), self.dst())
    }

    /// Whether the header checksum is right.
    #[inline]
    pub fn verify_checksum(&self) -> bool {
        checksum::of(&self.buf.as_ref()[..self.header_len()]) == 0
    }
}

impl<'a> Ipv4<&'a [u8]> {
    /// [`payload`](Self::payload) with the lifetime of the buffer.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        &self.buf[self.header_len()..self.total_len()]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Ipv4<T> {
    /// Writes a header without options for a payload of `payload_len` bytes, which are left as they are.
    ///
    /// TTL is 64, everything else that the caller can set is zero.
    ///
    /// # Errors
    ///
    /// [`Malformed::Ipv4TotalLength`] above 65,535 bytes in all, [`Malformed::Ipv4Truncated`] when the buffer
    /// is shorter than that.
    pub fn init(buf: T, payload_len: usize) -> Result<Self, Malformed> {
        Self::init_with_options(buf, 0, payload_len)
    }

    /// [`init`](Self::init) with room for `options_len` bytes of options, all zero ("end of list").
    ///
    /// # Errors
    ///
    /// As `init`, and [`Malformed::Ipv4HeaderLength`] when `options_len` is above 40 or not a multiple of 4.
    pub fn init_with_options(mut buf: T, options_len: usize, payload_len: usize) -> Result<Self, Malformed> {
        if options_len > Self::MAX_OPTIONS_LEN || !options_len.is_multiple_of(4) {
            return Err(Malformed::Ipv4HeaderLength);
        }
        let bytes = buf.as_mut();
        let header_len = Self::HEADER_LEN + options_len;
        let total_len = checked_total(bytes, header_len, payload_len)?;
        bytes[..header_len].fill(0);
        // At most 60 bytes, so the word count fits in four bits.
        bytes[VERSION_IHL] = 0x40 | (header_len / 4) as u8;
        bytes[TTL] = 64;
        set_u16(bytes, TOTAL_LEN, total_len);
        Ok(Self { buf, header_len: header_len as u8, total_len })
    }

    /// Changes the total length to fit a payload of `payload_len` bytes.
    ///
    /// # Errors
    ///
    /// As for [`init`](Self::init); nothing is changed then.
    pub fn set_payload_len(&mut self, payload_len: usize) -> Result<(), Malformed> {
        let header_len = self.header_len();
        let bytes = self.buf.as_mut();
        self.total_len = checked_total(bytes, header_len, payload_len)?;
        set_u16(bytes, TOTAL_LEN, self.total_len);
        Ok(())
    }

    /// Sets the code point from the lower 6 bits of `dscp`.
    #[inline]
    pub fn set_dscp(&mut self, dscp: u8) {
        set_bits(self.buf.as_mut(), TOS, 0xfc, dscp << 2);
    }

    /// Sets the congestion notification from the lower 2 bits of `ecn`.
    #[inline]
    pub fn set_ecn(&mut self, ecn: u8) {
        set_bits(self.buf.as_mut(), TOS, 3, ecn);
    }

    /// Sets the identification.
    #[inline]
    pub fn set_ident(&mut self, ident: u16) {
        set_u16(self.buf.as_mut(), IDENT, ident);
    }

    /// Sets or clears "don't fragment".
    #[inline]
    pub fn set_dont_fragment(&mut self, on: bool) {
        set_bits(self.buf.as_mut(), FLAGS, DF, if on { DF } else { 0 });
    }

    /// Sets or clears "more fragments".
    #[inline]
    pub fn set_more_fragments(&mut self, on: bool) {
        set_bits(self.buf.as_mut(), FLAGS, MF, if on { MF } else { 0 });
    }

    /// Sets the position of the payload in its datagram, in bytes rounded down to a multiple of 8.
    #[inline]
    pub fn set_fragment_offset(&mut self, offset: u16) {
        let bytes = self.buf.as_mut();
        let flags = u16_at(bytes, FLAGS) & 0xe000;
        set_u16(bytes, FLAGS, flags | offset >> 3);
    }

    /// Sets the time to live in hops.
    #[inline]
    pub fn set_ttl(&mut self, ttl: u8) {
        self.buf.as_mut()[TTL] = ttl;
    }

    /// Takes one hop from the time to live and updates the checksum incrementally (RFC 1624).
    ///
    /// Returns the new value, or `None` without a change when it would reach 0: such a packet must not be
    /// forwarded (RFC 1812 section 5.3.1). A wrong checksum stays wrong.
    #[inline]
    pub fn decrement_ttl(&mut self) -> Option<u8> {
        let bytes = self.buf.as_mut();
        // The checksum works on 16-bit words: TTL is the upper byte of one, the protocol the lower.
        let old = u16_at(bytes, TTL);
        if old < 0x0200 {
            return None;
        }
        let new = old - 0x0100;
        let checksum = checksum::update_u16(u16_at(bytes, CHECKSUM), old, new);
        set_u16(bytes, TTL, new);
        set_u16(bytes, CHECKSUM, checksum);
        Some((new >> 8) as u8)
    }

    /// Sets the protocol of the payload.
    #[inline]
    pub fn set_protocol(&mut self, protocol: IpProtocol) {
        self.buf.as_mut()[PROTOCOL] = protocol.0;
    }

    /// Sets the header checksum to any value.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        set_u16(self.buf.as_mut(), CHECKSUM, checksum);
    }

    /// Sets the source address.
    #[inline]
    pub fn set_src(&mut self, addr: Ipv4Addr) {
        set_array(self.buf.as_mut(), SRC, addr.octets());
    }

    /// Sets the destination address.
    #[inline]
    pub fn set_dst(&mut self, addr: Ipv4Addr) {
        set_array(self.buf.as_mut(), DST, addr.octets());
    }

    /// Computes and stores the header checksum.
    #[inline]
    pub fn fill_checksum(&mut self) {
        self.set_checksum(0);
        self.set_checksum(checksum::of(&self.buf.as_ref()[..self.header_len()]));
    }

    /// Options, writable.
    #[inline]
    pub fn options_mut(&mut self) -> &mut [u8] {
        let end = self.header_len();
        &mut self.buf.as_mut()[Self::HEADER_LEN..end]
    }

    /// Bytes between the header and the total length, writable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let (start, end) = (self.header_len(), self.total_len());
        &mut self.buf.as_mut()[start..end]
    }
}

/// The total length field for these lengths, if the buffer has room for it.
fn checked_total(bytes: &[u8], header_len: usize, payload_len: usize) -> Result<u16, Malformed> {
    let total =
        u16::try_from(payload_len.saturating_add(header_len)).map_err(|_| Malformed::Ipv4TotalLength)?;
    if bytes.len() < usize::from(total) { Err(Malformed::Ipv4Truncated) } else { Ok(total) }
}

const VERSION_IHL: usize = 0;
const TOS: usize = 1;
const TOTAL_LEN: usize = 2;
const IDENT: usize = 4;
const FLAGS: usize = 6;
const TTL: usize = 8;
const PROTOCOL: usize = 9;
const CHECKSUM: usize = 10;
const SRC: usize = 12;
const DST: usize = 16;
const DF: u8 = 0x40;
const MF: u8 = 0x20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A well-known worked example of the header checksum, 0xb861, followed by a stand-in payload.
    const KNOWN: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];

    fn known() -> Vec<u8> {
        let mut bytes = KNOWN.to_vec();
        bytes.resize(0x73 + 5, 0xee);
        bytes
    }

    #[test]
    fn known_header() {
        let bytes = known();
        let ip = Ipv4::new_checked(&bytes[..]).unwrap();
        assert_eq!((ip.header_len(), ip.total_len(), ip.payload().len()), (20, 0x73, 0x73 - 20));
        assert_eq!((ip.ttl(), ip.protocol(), ip.checksum()), (64, IpProtocol::UDP, 0xb861));
        assert_eq!(ip.src(), Ipv4Addr::new(192, 168, 0, 1));
        assert_eq!(ip.dst(), Ipv4Addr::new(192, 168, 0, 199));
        assert!(ip.dont_fragment() && !ip.is_fragment() && ip.verify_checksum());
        assert_eq!(ip.into_payload().len(), 0x73 - 20);
    }

    #[test]
    fn setters_build_the_same_header() {
        let mut ip = Ipv4::init(vec![0xee; 0x73 + 5], 0x73 - 20).unwrap();
        ip.set_dont_fragment(true);
        ip.set_protocol(IpProtocol::UDP);
        ip.set_src([192, 168, 0, 1].into());
        ip.set_dst([192, 168, 0, 199].into());
        ip.fill_checksum();
        assert_eq!(ip.into_inner(), known());
    }

    #[test]
    fn bit_fields() {
        let mut ip = Ipv4::init([0; 20], 0).unwrap();
        ip.set_dscp(46);
        ip.set_ecn(2);
        ip.set_fragment_offset(65_528);
        ip.set_more_fragments(true);
        ip.set_ident(0x1234);
        assert_eq!((ip.dscp(), ip.ecn(), ip.ident()), (46, 2, 0x1234));
        assert_eq!((ip.fragment_offset(), ip.more_fragments(), ip.dont_fragment()), (65_528, true, false));
        ip.set_more_fragments(false);
        assert!(ip.is_fragment());
        ip.set_fragment_offset(0);
        assert!(!ip.is_fragment());
    }

    #[test]
    fn options_move_the_payload() {
        let mut ip = Ipv4::init_with_options([0; 64], 40, 4).unwrap();
        ip.options_mut().fill(1);
        ip.payload_mut().fill(9);
        let ip = Ipv4::new_checked(ip.into_inner()).unwrap();
        assert_eq!((ip.header_len(), ip.options(), ip.payload()), (60, &[1; 40][..], &[9; 4][..]));
    }

    #[test]
    fn ttl_stops_at_one() {
        let mut ip = Ipv4::init([0; 20], 0).unwrap();
        ip.set_ttl(255);
        ip.fill_checksum();
        for left in (1..255).rev() {
            assert_eq!(ip.decrement_ttl(), Some(left));
            assert!(ip.verify_checksum());
        }
        assert_eq!((ip.decrement_ttl(), ip.ttl()), (None, 1));
    }

    #[test]
    fn refused_headers() {
        let with = |at: usize, value: u8| {
            let mut bytes = known();
            bytes[at] = value;
            Ipv4::new_checked(bytes).map(|_| ())
        };
        assert_eq!(Ipv4::new_checked(&KNOWN[..19]), Err(Malformed::Ipv4Truncated));
        assert_eq!(Ipv4::new_checked(&KNOWN), Err(Malformed::Ipv4Truncated));
        assert_eq!(with(0, 0x65), Err(Malformed::Ipv4Version));
        assert_eq!(with(0, 0x44), Err(Malformed::Ipv4HeaderLength));
        assert_eq!(with(3, 19), Err(Malformed::Ipv4TotalLength));
        assert_eq!(with(2, 1), Err(Malformed::Ipv4Truncated));
    }

    #[test]
    fn refused_builds() {
        assert_eq!(Ipv4::init([0; 64], 45), Err(Malformed::Ipv4Truncated));
        assert_eq!(Ipv4::init([0; 64], usize::MAX), Err(Malformed::Ipv4TotalLength));
        assert_eq!(Ipv4::init_with_options([0; 64], 44, 0), Err(Malformed::Ipv4HeaderLength));
        assert_eq!(Ipv4::init_with_options([0; 64], 2, 0), Err(Malformed::Ipv4HeaderLength));
        let mut ip = Ipv4::init([0; 64], 44).unwrap();
        assert_eq!(ip.set_payload_len(45), Err(Malformed::Ipv4Truncated));
        assert_eq!((ip.total_len(), ip.set_payload_len(8), ip.payload().len()), (64, Ok(()), 8));
    }
}
