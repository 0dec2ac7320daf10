//! Transmission Control Protocol header (RFC 9293 section 3.1).

use std::{fmt, ops};

use super::bytes::{set_u16, set_u32, u16_at, u32_at};
use super::checksum::PseudoHeader;
use super::{IpProtocol, Malformed};

/// TCP segment.
///
/// TCP carries no length of its own, so the buffer must be exactly the payload of the IP packet: payload and
/// checksum run to its end. The header length is validated once and kept in the view.
///
/// # Examples
///
/// ```
/// use ringway_wire::{Tcp, TcpFlags};
///
/// let mut tcp = Tcp::init([0; 24], 4)?;
/// tcp.set_dst_port(80);
/// tcp.set_flags(TcpFlags::SYN);
/// tcp.options_mut().copy_from_slice(&[2, 4, 0x05, 0xb4]); // maximum segment size 1460
///
/// let tcp = Tcp::new_checked(tcp.into_inner())?;
/// assert_eq!((tcp.header_len(), tcp.flags()), (24, TcpFlags::SYN));
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp<T> {
    buf: T,
    /// Bytes, 20 to 60 and at most the buffer.
    header_len: u8,
}

impl<T> Tcp<T> {
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

impl<T: AsRef<[u8]>> Tcp<T> {
    /// Wraps a buffer that is one TCP segment. The checksum is not looked at.
    ///
    /// # Errors
    ///
    /// [`Malformed::TcpTruncated`] or [`Malformed::TcpHeaderLength`].
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        let bytes = buf.as_ref();
        if bytes.len() < Self::HEADER_LEN {
            return Err(Malformed::TcpTruncated);
        }
        let header_len = (bytes[DATA_OFFSET] >> 4) * 4;
        if usize::from(header_len) < Self::HEADER_LEN {
            return Err(Malformed::TcpHeaderLength);
        }
        if bytes.len() < usize::from(header_len) {
            return Err(Malformed::TcpTruncated);
        }
        Ok(Self { buf, header_len })
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

    /// Sequence number of the first payload byte, or of SYN.
    #[inline]
    pub fn seq(&self) -> u32 {
        u32_at(self.buf.as_ref(), SEQ)
    }

    /// Next sequence number expected from the peer; valid with [`TcpFlags::ACK`].
    #[inline]
    pub fn ack(&self) -> u32 {
        u32_at(self.buf.as_ref(), ACK)
    }

    /// Header length in bytes with options, 20 to 60.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.header_len)
    }

    /// Control bits.
    #[inline]
    pub fn flags(&self) -> TcpFlags {
        TcpFlags(self.buf.as_ref()[FLAGS])
    }

    /// Receive window, not scaled.
    #[inline]
    pub fn window(&self) -> u16 {
        u16_at(self.buf.as_ref(), WINDOW)
    }

    /// Checksum as it stands in the segment.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.buf.as_ref(), CHECKSUM)
    }

    /// Urgent pointer, relative to the sequence number; valid with [`TcpFlags::URG`].
    #[inline]
    pub fn urgent(&self) -> u16 {
        u16_at(self.buf.as_ref(), URGENT)
    }

    /// Options with their padding, empty or a multiple of 4 bytes.
    #[inline]
    pub fn options(&self) -> &[u8] {
        &self.buf.as_ref()[Self::HEADER_LEN..self.header_len()]
    }

    /// Bytes after the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buf.as_ref()[self.header_len()..]
    }

    /// Whether the checksum is right.
    #[inline]
    pub fn verify_checksum(&self, pseudo: PseudoHeader) -> bool {
        self.compute(pseudo) == 0
    }

    fn compute(&self, pseudo: PseudoHeader) -> u16 {
        pseudo.sum(IpProtocol::TCP, self.buf.as_ref()).checksum()
    }
}

impl<'a> Tcp<&'a [u8]> {
    /// [`payload`](Self::payload) with the lifetime of the buffer.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        &self.buf[self.header_len()..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Tcp<T> {
    /// Writes a header with `options_len` bytes of zero options ("end of list") and all other fields zero.
    ///
    /// # Errors
    ///
    /// [`Malformed::TcpHeaderLength`] when `options_len` is above 40 or not a multiple of 4,
    /// [`Malformed::TcpTruncated`] when the buffer is too short.
    pub fn init(mut buf: T, options_len: usize) -> Result<Self, Malformed> {
        if options_len > Self::MAX_OPTIONS_LEN || !options_len.is_multiple_of(4) {
            return Err(Malformed::TcpHeaderLength);
        }
        let header_len = Self::HEADER_LEN + options_len;
        let header = buf.as_mut().get_mut(..header_len).ok_or(Malformed::TcpTruncated)?;
        header.fill(0);
        // At most 60 bytes, so the word count fits in four bits.
        header[DATA_OFFSET] = (header_len as u8 / 4) << 4;
        Ok(Self { buf, header_len: header_len as u8 })
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

    /// Sets the sequence number.
    #[inline]
    pub fn set_seq(&mut self, seq: u32) {
        set_u32(self.buf.as_mut(), SEQ, seq);
    }

    /// Sets the acknowledgment number.
    #[inline]
    pub fn set_ack(&mut self, ack: u32) {
        set_u32(self.buf.as_mut(), ACK, ack);
    }

    /// Sets all control bits.
    #[inline]
    pub fn set_flags(&mut self, flags: TcpFlags) {
        self.buf.as_mut()[FLAGS] = flags.0;
    }

    /// Sets the receive window.
    #[inline]
    pub fn set_window(&mut self, window: u16) {
        set_u16(self.buf.as_mut(), WINDOW, window);
    }

    /// Sets the checksum to any value.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        set_u16(self.buf.as_mut(), CHECKSUM, checksum);
    }

    /// Sets the urgent pointer.
    #[inline]
    pub fn set_urgent(&mut self, urgent: u16) {
        set_u16(self.buf.as_mut(), URGENT, urgent);
    }

    /// Computes and stores the checksum.
    #[inline]
    pub fn fill_checksum(&mut self, pseudo: PseudoHeader) {
        self.set_checksum(0);
        self.set_checksum(self.compute(pseudo));
    }

    /// Options, writable.
    #[inline]
    pub fn options_mut(&mut self) -> &mut [u8] {
        let end = self.header_len();
        &mut self.buf.as_mut()[Self::HEADER_LEN..end]
    }

    /// Bytes after the header, writable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let start = self.header_len();
        &mut self.buf.as_mut()[start..]
    }
}

/// TCP control bits (RFC 9293 section 3.1), to be combined with `|`.
///
/// # Examples
///
/// ```
/// use ringway_wire::TcpFlags;
///
/// let flags = TcpFlags::SYN | TcpFlags::ACK;
/// assert!(flags.contains(TcpFlags::ACK) && !flags.contains(TcpFlags::ACK | TcpFlags::FIN));
/// assert_eq!(flags.to_string(), "syn,ack");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push data to the application.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment number is valid.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// Congestion experienced, echoed (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl ops::BitOr for TcpFlags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for TcpFlags {
    /// Names of the set bits, lowest first, separated by commas; "none" without any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("none");
        }
        let mut separator = "";
        for (bit, name) in ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"].iter().enumerate() {
            if self.0 & 1 << bit != 0 {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

const SRC_PORT: usize = 0;
const DST_PORT: usize = 2;
const SEQ: usize = 4;
const ACK: usize = 8;
const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;
const WINDOW: usize = 14;
const CHECKSUM: usize = 16;
const URGENT: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;

    const SYN: [u8; 24] = [
        0xc0, 0x00, 0x00, 0x50, 0x01, 0x02, 0x03, 0x04, 0x0a, 0x0b, 0x0c, 0x0d, 0x60, 0x02, 0x20, 0x00, 0x00,
        0x00, 0x00, 0x07, 0x02, 0x04, 0x05, 0xb4,
    ];

    fn pseudo() -> PseudoHeader {
        PseudoHeader::v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into())
    }

    #[test]
    fn known_segment() {
        let tcp = Tcp::new_checked(&SYN[..]).unwrap();
        assert_eq!((tcp.src_port(), tcp.dst_port()), (0xc000, 80));
        assert_eq!((tcp.seq(), tcp.ack()), (0x0102_0304, 0x0a0b_0c0d));
        assert_eq!((tcp.flags(), tcp.window(), tcp.urgent()), (TcpFlags::SYN, 0x2000, 7));
        assert_eq!(
            (tcp.header_len(), tcp.options(), tcp.into_payload()),
            (24, &[2, 4, 5, 0xb4][..], &[][..])
        );
    }

    #[test]
    fn setters_build_the_same_segment() {
        let mut tcp = Tcp::init([0xee; 24], 4).unwrap();
        tcp.set_src_port(0xc000);
        tcp.set_dst_port(80);
        tcp.set_seq(0x0102_0304);
        tcp.set_ack(0x0a0b_0c0d);
        tcp.set_flags(TcpFlags::SYN);
        tcp.set_window(0x2000);
        tcp.set_urgent(7);
        tcp.options_mut().copy_from_slice(&[2, 4, 5, 0xb4]);
        assert_eq!(tcp.into_inner(), SYN);
    }

    #[test]
    fn checksum_covers_every_byte() {
        let mut tcp = Tcp::init([0x5a; 31], 0).unwrap();
        tcp.fill_checksum(pseudo());
        assert!(tcp.verify_checksum(pseudo()));
        let good = tcp.into_inner();
        for at in 0..good.len() {
            let mut bad = good;
            // The upper half of byte 12 is the header length: leave the segment valid.
            bad[at] ^= 1;
            assert!(!Tcp::new_checked(bad).unwrap().verify_checksum(pseudo()), "byte {at}");
        }
    }

    #[test]
    fn refused_lengths() {
        let with = |offset: u8| {
            let mut bytes = SYN;
            bytes[DATA_OFFSET] = offset << 4;
            Tcp::new_checked(bytes).map(|tcp| tcp.payload().len())
        };
        assert_eq!(with(4), Err(Malformed::TcpHeaderLength));
        assert_eq!((with(5), with(6)), (Ok(4), Ok(0)));
        assert_eq!(with(7), Err(Malformed::TcpTruncated));
        assert_eq!(Tcp::new_checked(&SYN[..19]), Err(Malformed::TcpTruncated));
        assert_eq!(Tcp::init([0; 64], 44), Err(Malformed::TcpHeaderLength));
        assert_eq!(Tcp::init([0; 64], 3), Err(Malformed::TcpHeaderLength));
        assert_eq!(Tcp::init([0; 23], 4), Err(Malformed::TcpTruncated));
    }

    #[test]
    fn flag_names() {
        assert_eq!(TcpFlags::default().to_string(), "none");
        assert_eq!(TcpFlags(0xff).to_string(), "fin,syn,rst,psh,ack,urg,ece,cwr");
    }
}
