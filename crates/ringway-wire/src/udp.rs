//! User Datagram Protocol header (RFC 768).

use super::bytes::{set_u16, u16_at};
use super::checksum::PseudoHeader;
use super::{IpProtocol, Malformed};

/// UDP datagram.
///
/// The length field is validated once and kept in the view, so bytes of the buffer after it are not part of
/// the payload.
///
/// # Examples
///
/// ```
/// use ringway_wire::Udp;
///
/// let mut udp = Udp::init([0; 12], 4)?;
/// udp.set_src_port(1024);
/// udp.set_dst_port(9);
/// udp.payload_mut().copy_from_slice(b"data");
///
/// let udp = Udp::new_checked(udp.into_inner())?;
/// assert_eq!((udp.dst_port(), udp.payload()), (9, &b"data"[..]));
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp<T> {
    buf: T,
    /// Header and payload in bytes, at least 8 and at most the buffer.
    len: u16,
}

impl<T> Udp<T> {
    /// Bytes of header.
    pub const HEADER_LEN: usize = 8;

    /// Returns the buffer.
    #[inline]
    pub fn into_inner(self) -> T {
        self.buf
    }
}

impl<T: AsRef<[u8]>> Udp<T> {
    /// Wraps a buffer that starts with a UDP header. The checksum is not looked at.
    ///
    /// # Errors
    ///
    /// [`Malformed::UdpTruncated`] or [`Malformed::UdpLength`].
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        let bytes = buf.as_ref();
        if bytes.len() < Self::HEADER_LEN {
            return Err(Malformed::UdpTruncated);
        }
        let len = u16_at(bytes, LENGTH);
        if usize::from(len) < Self::HEADER_LEN {
            return Err(Malformed::UdpLength);
        }
        if bytes.len() < usize::from(len) {
            return Err(Malformed::UdpTruncated);
        }
        Ok(Self { buf, len })
    }

    /// Source port.
    #[inline]
    pub fn src_port(&self) -> u16 {
        u16_at(self.buf.as_ref(), SRC_PORT)
    }

    /// Destination port.
    #[inline]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.buf.as_ref(), DST_PORT)
    }

    /// Header and payload in bytes.
    #[inline]
    pub fn total_len(&self) -> usize {
        usize::from(self.len)
    }

    /// Checksum as it stands in the datagram; 0 means "none".
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.buf.as_ref(), CHECKSUM)
    }

    /// Bytes between the header and the length.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buf.as_ref()[Self::HEADER_LEN..self.total_len()]
    }

    /// Whether the checksum is right. None at all is right for IPv4 only (RFC 8200 section 8.1).
    #[inline]
    pub fn verify_checksum(&self, pseudo: PseudoHeader) -> bool {
        if self.checksum() == 0 {
            return !pseudo.is_v6();
        }
        self.compute(pseudo) == 0
    }

    fn compute(&self, pseudo: PseudoHeader) -> u16 {
        pseudo.sum(IpProtocol::UDP, &self.buf.as_ref()[..self.total_len()]).checksum()
    }
}

impl<'a> Udp<&'a [u8]> {
    /// [`payload`](Self::payload) with the lifetime of the buffer.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        &self.buf[Self::HEADER_LEN..self.total_len()]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Udp<T> {
    /// Writes a header for a payload of `payload_len` bytes, which are left as they are.
    ///
    /// Ports are 0 and the checksum is "none".
    ///
    /// # Errors
    ///
    /// [`Malformed::UdpLength`] above 65,535 bytes in all, [`Malformed::UdpTruncated`] when the buffer is
    /// shorter than that.
    pub fn init(mut buf: T, payload_len: usize) -> Result<Self, Malformed> {
        let bytes = buf.as_mut();
        let len = checked_len(bytes, payload_len)?;
        bytes[..Self::HEADER_LEN].fill(0);
        set_u16(bytes, LENGTH, len);
        Ok(Self { buf, len })
    }

    /// Changes the length to fit a payload of `payload_len` bytes.
    ///
    /// # Errors
    ///
    /// As for [`init`](Self::init); nothing is changed then.
    pub fn set_payload_len(&mut self, payload_len: usize) -> Result<(), Malformed> {
        let bytes = self.buf.as_mut();
        self.len = checked_len(bytes, payload_len)?;
        set_u16(bytes, LENGTH, self.len);
        Ok(())
    }

    /// Sets the source port.
    #[inline]
    pub fn set_src_port(&mut self, port: u16) {
        set_u16(self.buf.as_mut(), SRC_PORT, port);
    }

    /// Sets the destination port.
    #[inline]
    pub fn set_dst_port(&mut self, port: u16) {
        set_u16(self.buf.as_mut(), DST_PORT, port);
    }

    /// Sets the checksum to any value; 0 means "none".
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        set_u16(self.buf.as_mut(), CHECKSUM, checksum);
    }

    /// Computes and stores the checksum; a result of 0 is stored as 0xffff (RFC 768).
    #[inline]
    pub fn fill_checksum(&mut self, pseudo: PseudoHeader) {
        self.set_checksum(0);
        let checksum = self.compute(pseudo);
        self.set_checksum(if checksum == 0 { 0xffff } else { checksum });
    }

    /// Bytes between the header and the length, writable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let end = self.total_len();
        &mut self.buf.as_mut()[Self::HEADER_LEN..end]
    }
}

/// The length field for this payload, if the buffer has room for it.
fn checked_len(bytes: &[u8], payload_len: usize) -> Result<u16, Malformed> {
    let total = payload_len.saturating_add(Udp::<&[u8]>::HEADER_LEN);
    let len = u16::try_from(total).map_err(|_| Malformed::UdpLength)?;
    if bytes.len() < total { Err(Malformed::UdpTruncated) } else { Ok(len) }
}

const SRC_PORT: usize = 0;
const DST_PORT: usize = 2;
const LENGTH: usize = 4;
const CHECKSUM: usize = 6;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn v4() -> PseudoHeader {
        PseudoHeader::v4(Ipv4Addr::new(192, 168, 0, 31), Ipv4Addr::new(192, 168, 0, 30))
    }

    fn v6() -> PseudoHeader {
        PseudoHeader::v6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST)
    }

    #[test]
    fn known_datagram() {
        // Words: c0a8 001f c0a8 001e 0011 000a 0014 000a 000a 4869 sum to ca3a, complement 35c5.
        let udp = Udp::new_checked(&[0, 20, 0, 10, 0, 10, 0x35, 0xc5, b'H', b'i', 0xee][..]).unwrap();
        assert_eq!((udp.src_port(), udp.dst_port(), udp.total_len()), (20, 10, 10));
        assert_eq!((udp.checksum(), udp.verify_checksum(v4())), (0x35c5, true));
        assert_eq!(udp.into_payload(), b"Hi");
    }

    #[test]
    fn setters_build_the_same_datagram() {
        let mut udp = Udp::init([0xee; 10], 2).unwrap();
        udp.set_src_port(20);
        udp.set_dst_port(10);
        udp.payload_mut().copy_from_slice(b"Hi");
        udp.fill_checksum(v4());
        assert_eq!(udp.into_inner(), [0, 20, 0, 10, 0, 10, 0x35, 0xc5, b'H', b'i']);
    }

    #[test]
    fn no_checksum_is_fine_for_v4_only() {
        let udp = Udp::init([0; 8], 0).unwrap();
        assert!(udp.verify_checksum(v4()) && !udp.verify_checksum(v6()));
    }

    #[test]
    fn zero_result_is_sent_as_ones() {
        let mut udp = Udp::init([0; 10], 2).unwrap();
        udp.fill_checksum(v6());
        let word = udp.checksum();
        udp.payload_mut().copy_from_slice(&word.to_be_bytes());
        udp.fill_checksum(v6());
        assert_eq!(udp.checksum(), 0xffff);
        assert!(udp.verify_checksum(v6()));
        udp.payload_mut()[0] ^= 1;
        assert!(!udp.verify_checksum(v6()));
    }

    #[test]
    fn refused_lengths() {
        let with = |len: u16| {
            let mut bytes = [0; 12];
            set_u16(&mut bytes, LENGTH, len);
            Udp::new_checked(bytes).map(|udp| udp.payload().len())
        };
        assert_eq!(with(7), Err(Malformed::UdpLength));
        assert_eq!((with(8), with(12)), (Ok(0), Ok(4)));
        assert_eq!(with(13), Err(Malformed::UdpTruncated));
        assert_eq!(Udp::new_checked([0; 7]), Err(Malformed::UdpTruncated));
        assert_eq!(Udp::init([0; 12], 5), Err(Malformed::UdpTruncated));
        assert_eq!(Udp::init([0; 12], 65_528), Err(Malformed::UdpLength));
        let mut udp = Udp::init([0; 12], 4).unwrap();
        assert_eq!((udp.set_payload_len(5), udp.total_len()), (Err(Malformed::UdpTruncated), 12));
        assert_eq!((udp.set_payload_len(1), udp.payload().len()), (Ok(()), 1));
    }
}
