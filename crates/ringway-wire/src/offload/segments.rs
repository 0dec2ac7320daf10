//! Cutting a super-frame into the frames that it stands for.

use std::ops::Range;

use crate::checksum::Sum;
use crate::{IpProtocol, Ipv4, Ipv6, Net, Packet, Tcp, TcpFlags, Transport, Udp, parse};

use super::finish::{TCP_CHECKSUM, UDP_CHECKSUM};
use super::{BadOffload, Offload, SegmentKind, Segmentation};

/// The frames that a super-frame stands for, each written into a buffer of the caller when it asks for it, in any order
/// and as often as it likes.
///
/// Each has the headers of the super-frame. IP lengths, the IPv4 header checksum, TCP sequence
/// numbers and UDP lengths are its own, and its checksum is complete. The IPv4 identification
/// counts up. CWR is in the first only, FIN and PSH in the last only. A UDP super-frame without a
/// checksum over IPv4 gives datagrams without one. VLAN tags are repeated.
///
/// The checksum of the super-frame gives the pseudo header when the metadata says that it is
/// partial. So segments behind a routing header are right too. Otherwise it is made from the
/// addresses.
///
/// Bounds: a frame of at most 65,535 bytes behind its Ethernet header and tags, so never more than as many segments.
#[derive(Debug)]
pub struct Segments<'a> {
    headers: &'a [u8],
    payload: &'a [u8],
    size: usize,
    net: usize,
    transport: usize,
    is_v4: bool,
    header: Header,
    /// Sum of the pseudo header without the length; `None` when segments have no checksum.
    pseudo: Option<Sum>,
}

/// The repeated transport header.
#[derive(Debug, Clone, Copy)]
enum Header {
    Tcp { seq: u32, flags: TcpFlags },
    Udp,
}

impl<'a> Segments<'a> {
    /// Looks at the headers of `frame`.
    ///
    /// # Errors
    /// [`BadOffload::NotSegmentable`] when the metadata asks for no segmentation, or the headers do
    /// not fit its kind: another protocol, a fragment, a tunnel, malformed. [`BadOffload::GsoSize`]
    /// for segments of no bytes.
    pub fn new(frame: &'a [u8], offload: &Offload) -> Result<Self, BadOffload> {
        let Some(Segmentation { kind, size, .. }) = offload.gso else {
            return Err(BadOffload::NotSegmentable);
        };
        if size == 0 {
            return Err(BadOffload::GsoSize);
        }
        let packet = parse(frame);
        let transport = packet.transport_offset;
        let Some((is_v4, ip_end, addresses)) = network(&packet, kind) else {
            return Err(BadOffload::NotSegmentable);
        };
        let (header, header_len, field, end) = match packet.transport {
            Some(Transport::Tcp(t)) if kind != SegmentKind::Udp => {
                (Header::Tcp { seq: t.seq(), flags: t.flags() }, t.header_len(), t.checksum(), ip_end)
            }
            Some(Transport::Udp(u)) if kind == SegmentKind::Udp => {
                (Header::Udp, Udp::<&[u8]>::HEADER_LEN, u.checksum(), transport + u.total_len())
            }
            _ => return Err(BadOffload::NotSegmentable),
        };
        let pseudo = match offload.checksum {
            // Ones' complement: adding the complement of the length takes the length out again.
            Some(c) if usize::from(c.start) == transport && c.offset == header.checksum_offset() => {
                Some(Sum::new().add_u16(field).add_u16(!((end - transport) as u16)))
            }
            Some(_) => return Err(BadOffload::NotSegmentable),
            None if field == 0 && is_v4 && kind == SegmentKind::Udp => None,
            None => Some(addresses),
        };
        let (headers, payload) = frame[..end].split_at(transport + header_len);
        let net = packet.net_offset;
        Ok(Self { headers, payload, size: size.into(), net, transport, is_v4, header, pseudo })
    }

    /// How many frames there are: one at least.
    #[must_use]
    pub fn count(&self) -> usize {
        self.payload.len().div_ceil(self.size).max(1)
    }

    /// Bytes of headers before the payload, the same in each frame.
    #[must_use]
    pub fn header_len(&self) -> usize {
        self.headers.len()
    }

    /// Bytes of frame `index`; 0 when there is none.
    #[must_use]
    pub fn len(&self, index: usize) -> usize {
        self.part(index).map_or(0, |part| self.headers.len() + part.len())
    }

    /// Writes frame `index` to the start of `buf`; returns its length, or `None`, with nothing written, when there is no
    /// such frame or it does not fit.
    pub fn write(&self, index: usize, buf: &mut [u8]) -> Option<usize> {
        let part = &self.payload[self.part(index)?];
        let len = self.headers.len() + part.len();
        let frame = buf.get_mut(..len)?;
        let (headers, payload) = frame.split_at_mut(self.headers.len());
        headers.copy_from_slice(self.headers);
        payload.copy_from_slice(part);
        self.network_header(index, &mut frame[self.net..]);
        self.transport_header(index, &mut frame[self.transport..]);
        Some(len)
    }

    fn part(&self, index: usize) -> Option<Range<usize>> {
        let start = index.checked_mul(self.size).filter(|_| index < self.count())?;
        Some(start..self.payload.len().min(start + self.size))
    }

    /// Lengths, and what else differs in IPv4. The packet is a prefix of one that was checked, so offsets hold.
    fn network_header(&self, index: usize, packet: &mut [u8]) {
        if !self.is_v4 {
            let len = (packet.len() - V6_HEADER) as u16;
            packet[V6_LENGTH].copy_from_slice(&len.to_be_bytes());
            return;
        }
        let len = packet.len() as u16;
        packet[V4_LENGTH].copy_from_slice(&len.to_be_bytes());
        if let Ok(mut ip) = Ipv4::new_checked(packet) {
            ip.set_ident(ip.ident().wrapping_add(index as u16));
            ip.fill_checksum();
        }
    }

    fn transport_header(&self, index: usize, segment: &mut [u8]) {
        let len = segment.len();
        match self.header {
            Header::Tcp { seq, flags } => {
                let Ok(mut tcp) = Tcp::new_checked(&mut *segment) else { return };
                tcp.set_seq(seq.wrapping_add((index * self.size) as u32));
                tcp.set_flags(flags_of(flags, index == 0, index + 1 == self.count()));
            }
            Header::Udp => segment[UDP_LENGTH].copy_from_slice(&(len as u16).to_be_bytes()),
        }
        let Some(pseudo) = self.pseudo else { return };
        let at = usize::from(self.header.checksum_offset());
        segment[at..at + 2].fill(0);
        let checksum = match (pseudo.add_u32(len as u32).add_bytes(segment).checksum(), self.header) {
            (0, Header::Udp) => 0xffff,
            (c, _) => c,
        };
        segment[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

impl Header {
    fn checksum_offset(self) -> u16 {
        match self {
            Self::Tcp { .. } => TCP_CHECKSUM,
            Self::Udp => UDP_CHECKSUM,
        }
    }
}

/// Whether it is IPv4, where the IP packet ends, and the sum of the pseudo header without length.
fn network(packet: &Packet<'_>, kind: SegmentKind) -> Option<(bool, usize, Sum)> {
    let protocol = if kind == SegmentKind::Udp { IpProtocol::UDP } else { IpProtocol::TCP };
    match packet.net? {
        Net::Ipv4(ip) if kind != SegmentKind::Tcp6 => {
            Some((true, packet.net_offset + ip.total_len(), ip.pseudo_header().sum(protocol, &[])))
        }
        Net::Ipv6(ip) if kind != SegmentKind::Tcp4 => {
            let end = packet.net_offset + V6_HEADER + ip.payload_len();
            Some((false, end, ip.pseudo_header().sum(protocol, &[])))
        }
        _ => None,
    }
}

/// Congestion window reduced is said once, at the start; the end of the data and of the stream at
/// the end.
fn flags_of(flags: TcpFlags, first: bool, last: bool) -> TcpFlags {
    let mut off = 0;
    if !first {
        off |= TcpFlags::CWR.0;
    }
    if !last {
        off |= TcpFlags::FIN.0 | TcpFlags::PSH.0;
    }
    TcpFlags(flags.0 & !off)
}

const V4_LENGTH: Range<usize> = 2..4;
const V6_LENGTH: Range<usize> = 4..6;
const V6_HEADER: usize = Ipv6::<&[u8]>::HEADER_LEN;
const UDP_LENGTH: Range<usize> = 4..6;
