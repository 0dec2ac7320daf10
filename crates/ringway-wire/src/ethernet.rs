//! Ethernet II header: destination, source, type (IEEE 802.3 clause 3).

use std::{error, fmt, str};

use super::Malformed;
use super::bytes::{array, set_array, set_u16, u16_at};

/// Ethernet frame without preamble and frame check sequence.
///
/// The payload runs to the end of the buffer, so it includes the padding of a short frame.
///
/// # Examples
///
/// ```
/// use ringway_wire::{EtherType, Ethernet, MacAddr};
///
/// let mut eth = Ethernet::new_checked([0; 60])?;
/// eth.set_dst(MacAddr::BROADCAST);
/// eth.set_ethertype(EtherType::ARP);
/// assert!(eth.dst().is_multicast());
/// assert_eq!(eth.payload().len(), 46);
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ethernet<T> {
    buf: T,
}

impl<T> Ethernet<T> {
    /// Bytes of header: two addresses and a type.
    pub const HEADER_LEN: usize = 14;

    /// Returns the buffer.
    #[inline]
    pub fn into_inner(self) -> T {
        self.buf
    }
}

impl<T: AsRef<[u8]>> Ethernet<T> {
    /// Wraps a buffer that starts with an Ethernet header.
    ///
    /// # Errors
    ///
    /// [`Malformed::EthernetTruncated`] below 14 bytes.
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        if buf.as_ref().len() < Self::HEADER_LEN {
            return Err(Malformed::EthernetTruncated);
        }
        Ok(Self { buf })
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> MacAddr {
        MacAddr(array(self.buf.as_ref(), DST))
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> MacAddr {
        MacAddr(array(self.buf.as_ref(), SRC))
    }

    /// Type of the payload, or its length in bytes (see [`EtherType::is_length`]).
    #[inline]
    pub fn ethertype(&self) -> EtherType {
        EtherType(u16_at(self.buf.as_ref(), TYPE))
    }

    /// Everything after the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buf.as_ref()[Self::HEADER_LEN..]
    }
}

impl<'a> Ethernet<&'a [u8]> {
    /// [`payload`](Self::payload) with the lifetime of the buffer.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        &self.buf[Self::HEADER_LEN..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Ethernet<T> {
    /// Sets the destination address.
    #[inline]
    pub fn set_dst(&mut self, addr: MacAddr) {
        set_array(self.buf.as_mut(), DST, addr.0);
    }

    /// Sets the source address.
    #[inline]
    pub fn set_src(&mut self, addr: MacAddr) {
        set_array(self.buf.as_mut(), SRC, addr.0);
    }

    /// Exchanges destination and source, as a reflector does.
    #[inline]
    pub fn swap_addrs(&mut self) {
        let (dst, src) = (self.dst(), self.src());
        self.set_dst(src);
        self.set_src(dst);
    }

    /// Sets the type of the payload.
    #[inline]
    pub fn set_ethertype(&mut self, ethertype: EtherType) {
        set_u16(self.buf.as_mut(), TYPE, ethertype.0);
    }

    /// Everything after the header, writable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.buf.as_mut()[Self::HEADER_LEN..]
    }
}

/// 48-bit hardware address in transmission order.
///
/// # Examples
///
/// ```
/// use ringway_wire::MacAddr;
///
/// let mac: MacAddr = "02:00:5E:10:00:ff".parse()?;
/// assert_eq!(mac.to_string(), "02:00:5e:10:00:ff");
/// assert_eq!(MacAddr::from_u64(mac.to_u64() + 1).to_string(), "02:00:5e:10:01:00");
/// # Ok::<(), ringway_wire::ParseMacError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All bits zero.
    pub const ZERO: Self = Self([0; 6]);
    /// All bits one: every station.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether this is the all-ones address.
    #[inline]
    pub const fn is_broadcast(self) -> bool {
        self.to_u64() == Self::BROADCAST.to_u64()
    }

    /// Whether the group bit is set; true for broadcast too.
    #[inline]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether the address names one station: not a group address and not zero.
    #[inline]
    pub const fn is_unicast(self) -> bool {
        !self.is_multicast() && self.to_u64() != 0
    }

    /// The address as a number below 2^48, first byte most significant.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The inverse of [`to_u64`](Self::to_u64); the upper 16 bits of `value` are ignored.
    #[inline]
    pub const fn from_u64(value: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = value.to_be_bytes();
        Self([a, b, c, d, e, f])
    }
}

impl From<[u8; 6]> for MacAddr {
    fn from(octets: [u8; 6]) -> Self {
        Self(octets)
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl str::FromStr for MacAddr {
    type Err = ParseMacError;

    /// Reads six groups of one or two hex digits separated by `:` or `-`.
    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut groups = text.split(separator);
        let mut octets = [0; 6];
        for octet in &mut octets {
            *octet = groups.next().and_then(hex_octet).ok_or(ParseMacError)?;
        }
        if groups.next().is_some() { Err(ParseMacError) } else { Ok(Self(octets)) }
    }
}

/// Reads one or two hex digits; unlike `from_str_radix`, no sign is allowed.
fn hex_octet(group: &str) -> Option<u8> {
    let plain = matches!(group.len(), 1 | 2) && group.bytes().all(|b| b.is_ascii_hexdigit());
    if plain { u8::from_str_radix(group, 16).ok() } else { None }
}

/// The text is not a MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseMacError;

impl fmt::Display for ParseMacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a MAC address, expected six hex bytes like 02:00:00:00:00:01")
    }
}

impl error::Error for ParseMacError {}

/// Type of an Ethernet payload (IANA registry "IEEE 802 Numbers"), host order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EtherType(pub u16);

impl EtherType {
    /// Internet Protocol version 4.
    pub const IPV4: Self = Self(0x0800);
    /// Address Resolution Protocol.
    pub const ARP: Self = Self(0x0806);
    /// 802.1Q customer VLAN tag.
    pub const VLAN: Self = Self(0x8100);
    /// Internet Protocol version 6.
    pub const IPV6: Self = Self(0x86dd);
    /// MPLS unicast.
    pub const MPLS: Self = Self(0x8847);
    /// 802.1ad service VLAN tag.
    pub const QINQ: Self = Self(0x88a8);
    /// Link Layer Discovery Protocol.
    pub const LLDP: Self = Self(0x88cc);

    /// Whether a 4-byte VLAN tag follows: 802.1Q, 802.1ad, or 0x9100 as used before 802.1ad.
    #[inline]
    pub const fn is_vlan(self) -> bool {
        matches!(self.0, 0x8100 | 0x88a8 | 0x9100)
    }

    /// Whether the field is an 802.3 payload length in bytes (at most 1500) and not a type.
    #[inline]
    pub const fn is_length(self) -> bool {
        self.0 <= 1500
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EtherType({self})")
    }
}

const DST: usize = 0;
const SRC: usize = 6;
const TYPE: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_standard_puts_them() {
        let frame = *b"\x01\x02\x03\x04\x05\x06\x0a\x0b\x0c\x0d\x0e\x0f\x86\xddpayload";
        let eth = Ethernet::new_checked(&frame[..]).unwrap();
        assert_eq!(eth.dst(), MacAddr([1, 2, 3, 4, 5, 6]));
        assert_eq!(eth.src(), MacAddr([10, 11, 12, 13, 14, 15]));
        assert_eq!(eth.ethertype(), EtherType::IPV6);
        assert_eq!(eth.into_payload(), b"payload");

        let mut copy = Ethernet::new_checked([0; 21]).unwrap();
        copy.set_dst(eth.src());
        copy.set_src(eth.dst());
        copy.swap_addrs();
        copy.set_ethertype(eth.ethertype());
        copy.payload_mut().copy_from_slice(eth.payload());
        assert_eq!(copy.into_inner(), frame);
    }

    #[test]
    fn short_frames_are_refused() {
        assert_eq!(Ethernet::new_checked([0; 13]), Err(Malformed::EthernetTruncated));
        assert_eq!(Ethernet::new_checked([0; 14]).unwrap().payload(), []);
    }

    #[test]
    fn mac_text_round_trip() {
        let mac = MacAddr([0, 0x1b, 0x21, 0xff, 9, 0xa0]);
        assert_eq!(mac.to_string().parse(), Ok(mac));
        assert_eq!("0:1b:21:FF:9:a0".parse(), Ok(mac));
        assert_eq!("00-1B-21-FF-09-A0".parse(), Ok(mac));
        assert_eq!(MacAddr::from_u64(mac.to_u64()), mac);
    }

    #[test]
    fn bad_mac_texts() {
        for text in
            ["", "1:2:3:4:5", "1:2:3:4:5:6:7", "+1:2:3:4:5:6", "100:2:3:4:5:6", "1:2:3:4:5:", "1-2:3:4:5:6"]
        {
            assert_eq!(text.parse::<MacAddr>(), Err(ParseMacError), "{text}");
        }
    }

    #[test]
    fn mac_classes() {
        assert!(MacAddr::BROADCAST.is_broadcast() && MacAddr::BROADCAST.is_multicast());
        assert!(MacAddr([1, 0, 0x5e, 0, 0, 1]).is_multicast());
        assert!(MacAddr([2, 0, 0, 0, 0, 1]).is_unicast());
        assert!(!MacAddr::ZERO.is_unicast() && !MacAddr::ZERO.is_multicast());
    }

    #[test]
    fn ethertype_classes() {
        assert!(EtherType(1500).is_length() && !EtherType(1536).is_length());
        assert!(EtherType::VLAN.is_vlan() && EtherType::QINQ.is_vlan() && !EtherType::IPV4.is_vlan());
        assert_eq!(EtherType::IPV4.to_string(), "0x0800");
    }
}
