//! Unfinished checksums.

use crate::wire::checksum::Sum;
use crate::wire::{IpProtocol, Ipv6, Net, Transport, parse};

use super::PartialChecksum;

/// Finishes a checksum: sums the frame from `start` to its end, the sum of the pseudo header that stands in the checksum
/// field included, and stores the complement at `start + offset`. A result of 0 is stored as 0xffff, which means the
/// same and is never "none" (RFC 768), as the kernel does. Returns false, with nothing done, when the field is outside
/// the frame.
///
/// ```
/// let mut frame = [0x12, 0x34, 0, 0, 0xff];
/// assert!(ringway::offload::finish_checksum(&mut frame, 0, 2));
/// assert_eq!(ringway::wire::checksum::of(&frame), 0);
/// ```
#[must_use]
pub fn finish_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(covered) = frame.get_mut(start..) else { return false };
    let Some(end) = offset.checked_add(2).filter(|&end| end <= covered.len()) else { return false };
    let checksum = match Sum::new().add_bytes(covered).checksum() {
        0 => 0xffff,
        c => c,
    };
    covered[offset..end].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Finishes the TCP or UDP checksum of a frame that came without metadata, if it is unfinished; true if it was.
///
/// XDP programs and AF_XDP sockets on a veth or a tap see such frames and are not told. What the kernel leaves in the
/// field of an unfinished checksum is the sum of the pseudo header, folded to 16 bits and not complemented. A frame is
/// taken for unfinished when the field has just that value. It is looked for behind up to four VLAN tags, IPv4 or IPv6
/// and its extension headers, not in fragments and not in tunnels; behind an IPv6 routing header with stops left, where
/// the pseudo header has another address, it is not found.
///
/// For a frame whose checksum is finished this reads the headers only. One in 65,536 of those has the value by chance.
/// That does no harm: with P the sum of the pseudo header and S that of the segment without the field, a right field is
/// `!(P + S)`, and if that equals P, then finishing writes `!(P + S)` once more. Only a corrupt frame that has the value
/// by chance becomes one that looks right, as likely as that its checksum is right by chance.
///
/// ```
/// use ringway::wire::{IpProtocol, Ipv4, Udp, parse};
/// let mut frame = [0; 14 + 20 + 8 + 4];
/// frame[12..14].copy_from_slice(&[0x08, 0x00]);
/// let mut ip = Ipv4::init(&mut frame[14..], 12)?;
/// ip.set_protocol(IpProtocol::UDP);
/// let pseudo = ip.pseudo_header();
/// let mut udp = Udp::init(ip.payload_mut(), 4)?;
/// udp.set_checksum(17 + 12); // the pseudo header: addresses 0.0.0.0, UDP, 12 bytes
/// assert!(ringway::offload::finish_if_partial(&mut frame));
/// assert!(Udp::new_checked(&frame[34..])?.verify_checksum(pseudo));
/// assert!(!ringway::offload::finish_if_partial(&mut frame));
/// # Ok::<(), ringway::wire::Malformed>(())
/// ```
#[inline]
pub fn finish_if_partial(frame: &mut [u8]) -> bool {
    let Some((PartialChecksum { start, offset }, end)) = find_partial(frame) else { return false };
    finish_checksum(&mut frame[..end], start.into(), offset.into())
}

/// Bytes from the start of the header to its checksum.
pub(super) const TCP_CHECKSUM: u16 = 16;
pub(super) const UDP_CHECKSUM: u16 = 6;

/// Where an unfinished checksum stands and where what it covers ends.
fn find_partial(frame: &[u8]) -> Option<(PartialChecksum, usize)> {
    let packet = parse(frame);
    let start = packet.transport_offset;
    let (pseudo, ip_end) = match packet.net? {
        Net::Ipv4(ip) => (ip.pseudo_header(), packet.net_offset + ip.total_len()),
        Net::Ipv6(ip) => {
            (ip.pseudo_header(), packet.net_offset + Ipv6::<&[u8]>::HEADER_LEN + ip.payload_len())
        }
        Net::Arp(_) => return None,
    };
    let (protocol, field, offset, end) = match packet.transport? {
        Transport::Tcp(tcp) => (IpProtocol::TCP, tcp.checksum(), TCP_CHECKSUM, ip_end),
        Transport::Udp(udp) => (IpProtocol::UDP, udp.checksum(), UDP_CHECKSUM, start + udp.total_len()),
        _ => return None,
    };
    let len = (end - start) as u32;
    // The protocol is not 0, so neither is the sum: a UDP checksum of 0, "none", is never taken for it.
    let unfinished = !pseudo.sum(protocol, &[]).add_u32(len).checksum();
    (field == unfinished).then_some((PartialChecksum { start: start as u16, offset }, end))
}
