//! Internet Protocol version 6 header and extension headers (RFC 8200).

use std::net::Ipv6Addr;

use super::bytes::{array, set_array, set_u16, set_u32, u16_at, u32_at};
use super::checksum::PseudoHeader;
use super::{IpProtocol, Malformed};

/// IPv6 packet.
///
/// The payload starts right after the fixed header, so it includes extension headers;
/// [`upper_layer`](Self::upper_layer) finds what is behind them. The payload length is validated once and kept
/// in the view. Jumbograms (RFC 2675) are not supported: their length field of 0 means an empty payload here.
///
/// # Examples
///
/// ```
/// use std::net::Ipv6Addr;
/// use ringway_wire::{IpProtocol, Ipv6};
///
/// let mut ip = Ipv6::init([0; 48], 8)?;
/// ip.set_next_header(IpProtocol::UDP);
/// ip.set_dst(Ipv6Addr::LOCALHOST);
///
/// let ip = Ipv6::new_checked(ip.into_inner())?;
/// assert_eq!(ip.upper_layer()?.protocol, IpProtocol::UDP);
/// assert_eq!(ip.payload().len(), 8);
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6<T> {
    buf: T,
    /// Bytes after the fixed header, at most what the buffer has.
    payload_len: u16,
}

impl<T> Ipv6<T> {
    /// Bytes of fixed header.
    pub const HEADER_LEN: usize = 40;
    /// Extension headers that [`upper_layer`](Self::upper_layer) is willing to walk.
    pub const MAX_EXTENSIONS: usize = MAX_EXTENSIONS;

    /// Returns the buffer.
    #[inline]
    pub fn into_inner(self) -> T {
        self.buf
    }
}

impl<T: AsRef<[u8]>> Ipv6<T> {
    /// Wraps a buffer that starts with an IPv6 header. Extension headers are not looked at.
    ///
    /// # Errors
    ///
    /// [`Malformed::Ipv6Truncated`] or [`Malformed::Ipv6Version`].
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        let bytes = buf.as_ref();
        if bytes.len() < Self::HEADER_LEN {
            return Err(Malformed::Ipv6Truncated);
        }
        if bytes[VERSION_CLASS_LABEL] >> 4 != 6 {
            return Err(Malformed::Ipv6Version);
        }
        let payload_len = u16_at(bytes, PAYLOAD_LEN);
        if bytes.len() - Self::HEADER_LEN < usize::from(payload_len) {
            return Err(Malformed::Ipv6Truncated);
        }
        Ok(Self { buf, payload_len })
    }

    /// Traffic class: code point in the upper 6 bits, congestion notification in the lower 2.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (u16_at(self.buf.as_ref(), VERSION_CLASS_LABEL) >> 4) as u8
    }

    /// Flow label, 20 bits (RFC 6437).
    #[inline]
    pub fn flow_label(&self) -> u32 {
        u32_at(self.buf.as_ref(), VERSION_CLASS_LABEL) & LABEL_MASK
    }

    /// Bytes after the fixed header.
    #[inline]
    pub fn payload_len(&self) -> usize {
        usize::from(self.payload_len)
    }

    /// Type of what follows the fixed header: an extension header or the upper layer.
    #[inline]
    pub fn next_header(&self) -> IpProtocol {
        IpProtocol(self.buf.as_ref()[NEXT_HEADER])
    }

    /// Hops the packet may still take.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.buf.as_ref()[HOP_LIMIT]
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> Ipv6Addr {
        Ipv6Addr::from(array::<16>(self.buf.as_ref(), SRC))
    }

    /// Destination address; the next stop, if a routing header follows.
    #[inline]
    pub fn dst(&self) -> Ipv6Addr {
        Ipv6Addr::from(array::<16>(self.buf.as_ref(), DST))
    }

    /// Bytes after the fixed header up to the payload length.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buf.as_ref()[Self::HEADER_LEN..Self::HEADER_LEN + self.payload_len()]
    }

    /// Addresses for the checksum of the upper layer.
    #[inline]
    pub fn pseudo_header(&self) -> PseudoHeader {
        PseudoHeader::v6(self.src(), self.dst())
    }

    /// Walks the extension headers to the upper-layer protocol.
    ///
    /// # Errors
    ///
    /// [`Malformed::Ipv6ExtensionTruncated`] or [`Malformed::Ipv6TooManyExtensions`].
    #[inline]
    pub fn upper_layer(&self) -> Result<Ipv6Upper, Malformed> {
        walk(self.next_header(), self.payload())
    }
}

impl<'a> Ipv6<&'a [u8]> {
    /// [`payload`](Self::payload) with the lifetime of the buffer.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        &self.buf[Self::HEADER_LEN..Self::HEADER_LEN + self.payload_len()]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Ipv6<T> {
    /// Writes a header for a payload of `payload_len` bytes, which are left as they are.
    ///
    /// Next header is "no next header", hop limit 64, everything else that the caller can set is zero.
    ///
    /// # Errors
    ///
    /// [`Malformed::Ipv6PayloadLength`] above 65,535 bytes, [`Malformed::Ipv6Truncated`] when the buffer is
    /// too short.
    pub fn init(mut buf: T, payload_len: usize) -> Result<Self, Malformed> {
        let bytes = buf.as_mut();
        let payload_len = checked_payload(bytes, payload_len)?;
        bytes[..Self::HEADER_LEN].fill(0);
        bytes[VERSION_CLASS_LABEL] = 0x60;
        bytes[NEXT_HEADER] = IpProtocol::IPV6_NO_NEXT.0;
        bytes[HOP_LIMIT] = 64;
        set_u16(bytes, PAYLOAD_LEN, payload_len);
        Ok(Self { buf, payload_len })
    }

    /// Changes the payload length.
    ///
    /// # Errors
    ///
    /// As for [`init`](Self::init); nothing is changed then.
    pub fn set_payload_len(&mut self, payload_len: usize) -> Result<(), Malformed> {
        let bytes = self.buf.as_mut();
        self.payload_len = checked_payload(bytes, payload_len)?;
        set_u16(bytes, PAYLOAD_LEN, self.payload_len);
        Ok(())
    }

    /// Sets the traffic class.
    #[inline]
    pub fn set_traffic_class(&mut self, class: u8) {
        let bytes = self.buf.as_mut();
        let word = u16_at(bytes, VERSION_CLASS_LABEL) & 0xf00f;
        set_u16(bytes, VERSION_CLASS_LABEL, word | u16::from(class) << 4);
    }

    /// Sets the flow label from the lower 20 bits of `label`.
    #[inline]
    pub fn set_flow_label(&mut self, label: u32) {
        let bytes = self.buf.as_mut();
        let word = u32_at(bytes, VERSION_CLASS_LABEL) & !LABEL_MASK;
        set_u32(bytes, VERSION_CLASS_LABEL, word | label & LABEL_MASK);
    }

    /// Sets the type of what follows the fixed header.
    #[inline]
    pub fn set_next_header(&mut self, protocol: IpProtocol) {
        self.buf.as_mut()[NEXT_HEADER] = protocol.0;
    }

    /// Sets the hop limit.
    #[inline]
    pub fn set_hop_limit(&mut self, hops: u8) {
        self.buf.as_mut()[HOP_LIMIT] = hops;
    }

    /// Takes one hop from the hop limit.
    ///
    /// Returns the new value, or `None` without a change when it would reach 0: such a packet must not be
    /// forwarded (RFC 8200 section 3).
    #[inline]
    pub fn decrement_hop_limit(&mut self) -> Option<u8> {
        let hops = self.hop_limit().checked_sub(1).filter(|&left| left > 0)?;
        self.set_hop_limit(hops);
        Some(hops)
    }

    /// Sets the source address.
    #[inline]
    pub fn set_src(&mut self, addr: Ipv6Addr) {
        set_array(self.buf.as_mut(), SRC, addr.octets());
    }

    /// Sets the destination address.
    #[inline]
    pub fn set_dst(&mut self, addr: Ipv6Addr) {
        set_array(self.buf.as_mut(), DST, addr.octets());
    }

    /// Bytes after the fixed header up to the payload length, writable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let end = Self::HEADER_LEN + self.payload_len();
        &mut self.buf.as_mut()[Self::HEADER_LEN..end]
    }
}

/// Where the extension headers of an IPv6 packet end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Upper {
    /// What stands behind the extension headers.
    pub protocol: IpProtocol,
    /// Bytes of extension headers: the upper layer is `payload()[offset..]`.
    pub offset: usize,
    /// Whether a fragment header says that only a part of the upper layer is here. The walk ends there.
    /// A lone fragment that is the whole packet (RFC 6946) does not count.
    pub is_fragment: bool,
}

/// Walks extension headers in `payload`, of which the first has type `protocol`.
fn walk(mut protocol: IpProtocol, payload: &[u8]) -> Result<Ipv6Upper, Malformed> {
    let mut offset = 0;
    for _ in 0..=MAX_EXTENSIONS {
        // The offset never passes the end, see below.
        let Some(len) = extension_len(protocol, &payload[offset..])? else {
            return Ok(Ipv6Upper { protocol, offset, is_fragment: false });
        };
        let header = payload[offset..].get(..len).ok_or(Malformed::Ipv6ExtensionTruncated)?;
        let was_fragment_header = protocol == IpProtocol::IPV6_FRAGMENT;
        protocol = IpProtocol(header[0]);
        offset += len;
        // Offset and "more" flag are zero only when the fragment is the whole packet.
        if was_fragment_header && u16_at(header, 2) & 0xfff9 != 0 {
            return Ok(Ipv6Upper { protocol, offset, is_fragment: true });
        }
    }
    Err(Malformed::Ipv6TooManyExtensions)
}

/// Length in bytes (at least 8) of the extension header at the start of `bytes`, or `None` when `protocol` is
/// not an extension header that can be skipped.
fn extension_len(protocol: IpProtocol, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let length_field = || bytes.get(1).copied().map(usize::from).ok_or(Malformed::Ipv6ExtensionTruncated);
    Ok(match protocol {
        IpProtocol::IPV6_FRAGMENT => Some(8),
        // 4-byte units without the first two (RFC 4302 section 2.2).
        IpProtocol::AH => Some((length_field()? + 2) * 4),
        // 8-byte units without the first (RFC 8200 sections 4.3, 4.4, 4.6; RFC 6275 section 6.1).
        IpProtocol::HOP_BY_HOP
        | IpProtocol::IPV6_ROUTING
        | IpProtocol::IPV6_DESTINATION
        | IpProtocol::IPV6_MOBILITY => Some((length_field()? + 1) * 8),
        _ => None,
    })
}

/// The payload length field, if the buffer has room for header and payload.
fn checked_payload(bytes: &[u8], payload_len: usize) -> Result<u16, Malformed> {
    let len = u16::try_from(payload_len).map_err(|_| Malformed::Ipv6PayloadLength)?;
    let room = bytes.len().checked_sub(Ipv6::<&[u8]>::HEADER_LEN).ok_or(Malformed::Ipv6Truncated)?;
    if room < payload_len { Err(Malformed::Ipv6Truncated) } else { Ok(len) }
}

const MAX_EXTENSIONS: usize = 8;
const VERSION_CLASS_LABEL: usize = 0;
const PAYLOAD_LEN: usize = 4;
const NEXT_HEADER: usize = 6;
const HOP_LIMIT: usize = 7;
const SRC: usize = 8;
const DST: usize = 24;
const LABEL_MASK: u32 = 0x000f_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    fn upper(first: IpProtocol, payload: &[u8]) -> Result<(IpProtocol, usize, bool), Malformed> {
        let mut ip = Ipv6::init(vec![0; 40 + payload.len()], payload.len()).unwrap();
        ip.set_next_header(first);
        ip.payload_mut().copy_from_slice(payload);
        ip.upper_layer().map(|found| (found.protocol, found.offset, found.is_fragment))
    }

    #[test]
    fn known_header() {
        let mut bytes = vec![0x6a, 0xb1, 0x23, 0x45, 0, 3, 58, 255];
        bytes.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend(b"abcpad");
        let ip = Ipv6::new_checked(&bytes[..]).unwrap();
        assert_eq!((ip.traffic_class(), ip.flow_label()), (0xab, 0x12345));
        assert_eq!((ip.payload_len(), ip.next_header(), ip.hop_limit()), (3, IpProtocol::ICMPV6, 255));
        assert_eq!((ip.src().to_string(), ip.dst().to_string()), ("2001:db8::1".into(), "ff02::2".into()));
        assert_eq!(ip.into_payload(), b"abc");

        let mut copy = Ipv6::init(vec![0xee; bytes.len()], 3).unwrap();
        copy.set_traffic_class(ip.traffic_class());
        copy.set_flow_label(ip.flow_label());
        copy.set_next_header(ip.next_header());
        copy.set_hop_limit(ip.hop_limit());
        copy.set_src(ip.src());
        copy.set_dst(ip.dst());
        copy.payload_mut().copy_from_slice(ip.payload());
        assert_eq!(copy.into_inner()[..43], bytes[..43]);
    }

    #[test]
    fn refused_headers() {
        let good = Ipv6::init([0; 44], 4).unwrap().into_inner();
        assert_eq!(Ipv6::new_checked(&good[..39]), Err(Malformed::Ipv6Truncated));
        assert_eq!(Ipv6::new_checked(&good[..43]), Err(Malformed::Ipv6Truncated));
        let mut bad = good;
        bad[0] = 0x45;
        assert_eq!(Ipv6::new_checked(bad), Err(Malformed::Ipv6Version));
        assert_eq!(Ipv6::init([0; 44], 5), Err(Malformed::Ipv6Truncated));
        assert_eq!(Ipv6::init([0; 39], 0), Err(Malformed::Ipv6Truncated));
        assert_eq!(Ipv6::init([0; 44], 65_536), Err(Malformed::Ipv6PayloadLength));
        let mut ip = Ipv6::new_checked(good).unwrap();
        assert_eq!((ip.set_payload_len(5), ip.payload_len()), (Err(Malformed::Ipv6Truncated), 4));
    }

    #[test]
    fn hop_limit_stops_at_one() {
        let mut ip = Ipv6::init([0; 40], 0).unwrap();
        ip.set_hop_limit(2);
        assert_eq!((ip.decrement_hop_limit(), ip.decrement_hop_limit(), ip.hop_limit()), (Some(1), None, 1));
        ip.set_hop_limit(0);
        assert_eq!((ip.decrement_hop_limit(), ip.hop_limit()), (None, 0));
    }

    #[test]
    fn walk_skips_known_extensions() {
        let mut chain = vec![43, 0, 1, 4, 0, 0, 0, 0]; // hop-by-hop
        chain.extend([51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // routing, 16 bytes
        chain.extend([60, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // authentication, 12 bytes
        chain.extend([6, 0, 1, 4, 0, 0, 0, 0]); // destination options
        assert_eq!(upper(IpProtocol::HOP_BY_HOP, &chain), Ok((IpProtocol::TCP, 44, false)));
        assert_eq!(upper(IpProtocol::UDP, &[]), Ok((IpProtocol::UDP, 0, false)));
        assert_eq!(upper(IpProtocol::ESP, &[0; 8]), Ok((IpProtocol::ESP, 0, false)));
    }

    #[test]
    fn walk_stops_at_fragments() {
        let fragment = |offset_and_flags: u8| [17, 0, 0, offset_and_flags, 0, 0, 0, 9];
        assert_eq!(upper(IpProtocol::IPV6_FRAGMENT, &fragment(1)), Ok((IpProtocol::UDP, 8, true)));
        assert_eq!(upper(IpProtocol::IPV6_FRAGMENT, &fragment(8)), Ok((IpProtocol::UDP, 8, true)));
        assert_eq!(upper(IpProtocol::IPV6_FRAGMENT, &fragment(6)), Ok((IpProtocol::UDP, 8, false)));
    }

    #[test]
    fn walk_is_bounded() {
        let options = [60, 0, 1, 4, 0, 0, 0, 0];
        let truncated = Err(Malformed::Ipv6ExtensionTruncated);
        assert_eq!(upper(IpProtocol::IPV6_DESTINATION, &[]), truncated);
        assert_eq!(upper(IpProtocol::IPV6_DESTINATION, &options[..7]), truncated);
        assert_eq!(upper(IpProtocol::IPV6_DESTINATION, &options), truncated);
        assert_eq!(upper(IpProtocol::IPV6_DESTINATION, &[17, 255, 0, 0, 0, 0, 0, 0]), truncated);
        assert_eq!(upper(IpProtocol::IPV6_FRAGMENT, &[17, 0, 0]), truncated);

        let mut chain = options.repeat(MAX_EXTENSIONS);
        chain[(MAX_EXTENSIONS - 1) * 8] = 17;
        assert_eq!(upper(IpProtocol::IPV6_DESTINATION, &chain), Ok((IpProtocol::UDP, 64, false)));
        let endless = options.repeat(MAX_EXTENSIONS + 2);
        assert_eq!(upper(IpProtocol::IPV6_DESTINATION, &endless), Err(Malformed::Ipv6TooManyExtensions));
    }
}
