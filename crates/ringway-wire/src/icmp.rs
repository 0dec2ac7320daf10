//! ICMP for IPv4 (RFC 792) and IPv6 (RFC 4443).
//!
//! Both share one layout: type, code, checksum, body. They differ in the numbers, listed in [`v4`] and [`v6`],
//! and in the checksum, which covers a pseudo header in IPv6 only.

use super::bytes::{set_u16, u16_at};
use super::checksum::{self, PseudoHeader};
use super::{IpProtocol, Malformed};

/// Any ICMP message: type, code, checksum and a body whose meaning depends on the type.
///
/// ICMP carries no length of its own, so the buffer must be exactly the payload of the IP packet.
///
/// # Examples
///
/// ```
/// use ringway_wire::{Icmp, icmp};
///
/// let mut exceeded = Icmp::new_checked([0; 36])?;
/// exceeded.set_msg_type(icmp::v4::TIME_EXCEEDED);
/// exceeded.set_code(0);
/// exceeded.fill_checksum_v4();
/// assert!(exceeded.verify_checksum_v4());
/// assert_eq!(exceeded.payload().len(), 32); // 4 unused bytes, then the packet that expired
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icmp<T> {
    buf: T,
}

impl<T> Icmp<T> {
    /// Bytes of the part that all messages share.
    pub const HEADER_LEN: usize = 4;

    /// Returns the buffer.
    #[inline]
    pub fn into_inner(self) -> T {
        self.buf
    }
}

impl<T: AsRef<[u8]>> Icmp<T> {
    /// Wraps a buffer that is one ICMP message.
    ///
    /// # Errors
    ///
    /// [`Malformed::IcmpTruncated`] below 4 bytes.
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        if buf.as_ref().len() < Self::HEADER_LEN {
            return Err(Malformed::IcmpTruncated);
        }
        Ok(Self { buf })
    }

    /// Message type, one of [`v4`] or [`v6`].
    #[inline]
    pub fn msg_type(&self) -> u8 {
        self.buf.as_ref()[TYPE]
    }

    /// Subtype.
    #[inline]
    pub fn code(&self) -> u8 {
        self.buf.as_ref()[CODE]
    }

    /// Checksum as it stands in the message.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.buf.as_ref(), CHECKSUM)
    }

    /// The message body: everything after the checksum.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buf.as_ref()[Self::HEADER_LEN..]
    }

    /// Whether the checksum of an ICMP message for IPv4 is right.
    #[inline]
    pub fn verify_checksum_v4(&self) -> bool {
        self.compute(None) == 0
    }

    /// Whether the checksum of an ICMP message for IPv6 is right.
    #[inline]
    pub fn verify_checksum_v6(&self, pseudo: PseudoHeader) -> bool {
        self.compute(Some(pseudo)) == 0
    }

    fn compute(&self, pseudo: Option<PseudoHeader>) -> u16 {
        let bytes = self.buf.as_ref();
        pseudo.map_or_else(|| checksum::of(bytes), |p| p.sum(IpProtocol::ICMPV6, bytes).checksum())
    }
}

impl<'a> Icmp<&'a [u8]> {
    /// [`payload`](Self::payload) with the lifetime of the buffer.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        &self.buf[Self::HEADER_LEN..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Icmp<T> {
    /// Sets the message type.
    #[inline]
    pub fn set_msg_type(&mut self, msg_type: u8) {
        self.buf.as_mut()[TYPE] = msg_type;
    }

    /// Sets the subtype.
    #[inline]
    pub fn set_code(&mut self, code: u8) {
        self.buf.as_mut()[CODE] = code;
    }

    /// Sets the checksum to any value.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        set_u16(self.buf.as_mut(), CHECKSUM, checksum);
    }

    /// Computes and stores the checksum of a message for IPv4.
    #[inline]
    pub fn fill_checksum_v4(&mut self) {
        self.set_checksum(0);
        self.set_checksum(self.compute(None));
    }

    /// Computes and stores the checksum of a message for IPv6.
    #[inline]
    pub fn fill_checksum_v6(&mut self, pseudo: PseudoHeader) {
        self.set_checksum(0);
        self.set_checksum(self.compute(Some(pseudo)));
    }

    /// The message body, writable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.buf.as_mut()[Self::HEADER_LEN..]
    }
}

/// Echo request or reply, IPv4 or IPv6: identifier, sequence number and data that the reply repeats.
///
/// # Examples
///
/// ```
/// use ringway_wire::{IcmpEcho, icmp};
///
/// let mut ping = IcmpEcho::init([0; 16], icmp::v4::ECHO_REQUEST)?;
/// ping.set_ident(7);
/// ping.set_seq(1);
/// ping.payload_mut().copy_from_slice(b"ringway!");
/// ping.fill_checksum_v4();
///
/// let ping = IcmpEcho::new_checked(ping.into_inner())?;
/// assert!(ping.is_request());
/// assert_eq!((ping.ident(), ping.seq(), ping.payload()), (7, 1, &b"ringway!"[..]));
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpEcho<T> {
    icmp: Icmp<T>,
}

impl<T> IcmpEcho<T> {
    /// Bytes of header: the common part, identifier and sequence number.
    pub const HEADER_LEN: usize = 8;

    /// Returns the buffer.
    #[inline]
    pub fn into_inner(self) -> T {
        self.icmp.buf
    }
}

impl<T: AsRef<[u8]>> IcmpEcho<T> {
    /// Wraps a buffer that is one echo request or reply.
    ///
    /// # Errors
    ///
    /// [`Malformed::IcmpTruncated`] below 8 bytes, [`Malformed::IcmpNotEcho`] for another type.
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        let icmp = Icmp::new_checked(buf)?;
        if !matches!(icmp.msg_type(), v4::ECHO_REPLY | v4::ECHO_REQUEST | v6::ECHO_REQUEST | v6::ECHO_REPLY) {
            return Err(Malformed::IcmpNotEcho);
        }
        if icmp.buf.as_ref().len() < Self::HEADER_LEN {
            return Err(Malformed::IcmpTruncated);
        }
        Ok(Self { icmp })
    }

    /// Whether this is a request and not a reply.
    #[inline]
    pub fn is_request(&self) -> bool {
        matches!(self.icmp.msg_type(), v4::ECHO_REQUEST | v6::ECHO_REQUEST)
    }

    /// Identifier chosen by the requester.
    #[inline]
    pub fn ident(&self) -> u16 {
        u16_at(self.icmp.buf.as_ref(), IDENT)
    }

    /// Sequence number chosen by the requester.
    #[inline]
    pub fn seq(&self) -> u16 {
        u16_at(self.icmp.buf.as_ref(), SEQ)
    }

    /// The data to repeat.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.icmp.buf.as_ref()[Self::HEADER_LEN..]
    }

    /// The same message as a generic one.
    #[inline]
    pub fn into_icmp(self) -> Icmp<T> {
        self.icmp
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> IcmpEcho<T> {
    /// Writes a header with code, checksum, identifier and sequence number zero; data is left as it is.
    ///
    /// # Errors
    ///
    /// [`Malformed::IcmpTruncated`] below 8 bytes, [`Malformed::IcmpNotEcho`] for another type.
    pub fn init(mut buf: T, msg_type: u8) -> Result<Self, Malformed> {
        let header = buf.as_mut().get_mut(..Self::HEADER_LEN).ok_or(Malformed::IcmpTruncated)?;
        header.fill(0);
        header[TYPE] = msg_type;
        Self::new_checked(buf)
    }

    /// Turns a request into the reply of its family and back; the checksum needs a refill.
    #[inline]
    pub fn flip(&mut self) {
        self.icmp.set_msg_type(match self.icmp.msg_type() {
            v4::ECHO_REQUEST => v4::ECHO_REPLY,
            v4::ECHO_REPLY => v4::ECHO_REQUEST,
            v6::ECHO_REQUEST => v6::ECHO_REPLY,
            _ => v6::ECHO_REQUEST,
        });
    }

    /// Sets the identifier.
    #[inline]
    pub fn set_ident(&mut self, ident: u16) {
        set_u16(self.icmp.buf.as_mut(), IDENT, ident);
    }

    /// Sets the sequence number.
    #[inline]
    pub fn set_seq(&mut self, seq: u16) {
        set_u16(self.icmp.buf.as_mut(), SEQ, seq);
    }

    /// Computes and stores the checksum of a message for IPv4.
    #[inline]
    pub fn fill_checksum_v4(&mut self) {
        self.icmp.fill_checksum_v4();
    }

    /// Computes and stores the checksum of a message for IPv6.
    #[inline]
    pub fn fill_checksum_v6(&mut self, pseudo: PseudoHeader) {
        self.icmp.fill_checksum_v6(pseudo);
    }

    /// The data to repeat, writable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.icmp.buf.as_mut()[Self::HEADER_LEN..]
    }
}

/// Message types for IPv4 (RFC 792).
pub mod v4 {
    /// Answer to an echo request.
    pub const ECHO_REPLY: u8 = 0;
    /// The packet could not be delivered; the code says why.
    pub const UNREACHABLE: u8 = 3;
    /// There is a better first hop.
    pub const REDIRECT: u8 = 5;
    /// Please send the data back.
    pub const ECHO_REQUEST: u8 = 8;
    /// Code 0: TTL ran out. Code 1: reassembly took too long.
    pub const TIME_EXCEEDED: u8 = 11;
    /// A header field makes no sense.
    pub const PARAMETER_PROBLEM: u8 = 12;
}

/// Message types for IPv6 (RFC 4443, RFC 4861).
pub mod v6 {
    /// The packet could not be delivered; the code says why.
    pub const UNREACHABLE: u8 = 1;
    /// The packet exceeds the link MTU, which is the first 4 bytes of the body.
    pub const PACKET_TOO_BIG: u8 = 2;
    /// Code 0: hop limit ran out. Code 1: reassembly took too long.
    pub const TIME_EXCEEDED: u8 = 3;
    /// A header field makes no sense.
    pub const PARAMETER_PROBLEM: u8 = 4;
    /// Please send the data back.
    pub const ECHO_REQUEST: u8 = 128;
    /// Answer to an echo request.
    pub const ECHO_REPLY: u8 = 129;
    /// Who are the routers here?
    pub const ROUTER_SOLICITATION: u8 = 133;
    /// A router announces itself.
    pub const ROUTER_ADVERTISEMENT: u8 = 134;
    /// Who has this address?
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    /// This station has the address.
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
}

const TYPE: usize = 0;
const CODE: usize = 1;
const CHECKSUM: usize = 2;
const IDENT: usize = 4;
const SEQ: usize = 6;

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn known_echo() {
        // 0800 + 0001 + 0009 + 6162 = 696c, complement 9693.
        let bytes = [8, 0, 0x96, 0x93, 0, 1, 0, 9, b'a', b'b'];
        let echo = IcmpEcho::new_checked(&bytes[..]).unwrap();
        assert!(echo.is_request() && echo.into_icmp().verify_checksum_v4());
        assert_eq!((echo.ident(), echo.seq(), echo.payload()), (1, 9, &b"ab"[..]));
        assert_eq!(echo.into_icmp().into_payload(), &bytes[4..]);

        let mut copy = IcmpEcho::init([0xee; 10], v4::ECHO_REQUEST).unwrap();
        copy.set_ident(1);
        copy.set_seq(9);
        copy.payload_mut().copy_from_slice(b"ab");
        copy.fill_checksum_v4();
        assert_eq!(copy.into_inner(), bytes);
    }

    #[test]
    fn v6_checksum_covers_the_addresses() {
        let pseudo = PseudoHeader::v6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let other = PseudoHeader::v6(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
        let mut echo = IcmpEcho::init([7; 9], v6::ECHO_REQUEST).unwrap();
        echo.fill_checksum_v6(pseudo);
        let icmp = echo.into_icmp();
        assert!(icmp.verify_checksum_v6(pseudo) && !icmp.verify_checksum_v6(other));
        assert!(!icmp.verify_checksum_v4());
    }

    #[test]
    fn flip_stays_in_the_family() {
        for (request, reply) in [(v4::ECHO_REQUEST, v4::ECHO_REPLY), (v6::ECHO_REQUEST, v6::ECHO_REPLY)] {
            let mut echo = IcmpEcho::init([0; 8], request).unwrap();
            echo.flip();
            assert_eq!((echo.icmp.msg_type(), echo.is_request()), (reply, false));
            echo.flip();
            assert_eq!((echo.icmp.msg_type(), echo.is_request()), (request, true));
        }
    }

    #[test]
    fn generic_setters() {
        let mut icmp = Icmp::new_checked([0; 8]).unwrap();
        icmp.set_msg_type(v6::PACKET_TOO_BIG);
        icmp.set_code(1);
        icmp.set_checksum(0x0203);
        icmp.payload_mut().copy_from_slice(&1280u32.to_be_bytes());
        assert_eq!((icmp.msg_type(), icmp.code(), icmp.checksum()), (2, 1, 0x0203));
        assert_eq!(icmp.into_inner(), [2, 1, 2, 3, 0, 0, 5, 0]);
    }

    #[test]
    fn refused_messages() {
        assert_eq!(Icmp::new_checked([0; 3]), Err(Malformed::IcmpTruncated));
        assert_eq!(IcmpEcho::new_checked([8, 0, 0, 0, 0, 0, 0]), Err(Malformed::IcmpTruncated));
        assert_eq!(IcmpEcho::new_checked([3; 8]), Err(Malformed::IcmpNotEcho));
        assert_eq!(IcmpEcho::init([0; 8], 3), Err(Malformed::IcmpNotEcho));
        assert_eq!(IcmpEcho::init([0; 7], 8), Err(Malformed::IcmpTruncated));
    }
}
