//! Unfinished checksums.

use crate::checksum::Sum;
use crate::{IpProtocol, Ipv6, Net, Transport, parse};

use super::PartialChecksum;

/// Finishes a checksum: sums the frame from `start` to its end, the sum of the pseudo header that stands in the checksum
/// field included, and stores the complement at `start + offset`. A result of 0 is stored as 0xffff, which means the
/// same and is never "none" (RFC 768), as the kernel does. Returns false, with nothing done, when the field is outside
/// the frame.
///
/// ```
/// let mut frame = [0x12, 0x34, 0, 0, 0xff];
/// assert!(ringway_wire::offload::finish_checksum(&mut frame, 0, 2));
/// assert_eq!(ringway_wire::checksum::of(&frame), 0);
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
/// XDP programs and AF_XDP sockets on a veth or a tap see such frames without a note. The kernel
/// leaves in the field of an unfinished checksum the sum of the pseudo header, folded to 16 bits
/// and not complemented. A frame is taken for unfinished when the field has just that value. It is
/// looked for behind up to four VLAN tags, IPv4 or IPv6 and its extension headers, not in fragments
/// and not in tunnels. It is not found behind an IPv6 routing header with stops left, where the
/// pseudo header has another address.
///
/// For a frame whose checksum is finished this reads the headers only. One in 65,536 of such frames
/// has the value by chance. That does no harm. Let P be the sum of the pseudo header and S the sum
/// of the segment without the field. A right field is `!(P + S)`. If that equals P, then finishing
/// writes `!(P + S)` once more. Only a corrupt frame that has the value by chance becomes one that
/// looks right, as likely as that its checksum is right by chance.
///
/// ```
/// use ringway_wire::{IpProtocol, Ipv4, Udp, parse};
/// let mut frame = [0; 14 + 20 + 8 + 4];
/// frame[12..14].copy_from_slice(&[0x08, 0x00]);
/// let mut ip = Ipv4::init(&mut frame[14..], 12)?;
/// ip.set_protocol(IpProtocol::UDP);
/// let pseudo = ip.pseudo_header();
/// let mut udp = Udp::init(ip.payload_mut(), 4)?;
/// udp.set_checksum(17 + 12); // the pseudo header: addresses 0.0.0.0, UDP, 12 bytes
/// assert!(ringway_wire::offload::finish_if_partial(&mut frame));
/// assert!(Udp::new_checked(&frame[34..])?.verify_checksum(pseudo));
/// assert!(!ringway_wire::offload::finish_if_partial(&mut frame));
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[inline]
pub fn finish_if_partial(frame: &mut [u8]) -> bool {
    if plainly_finished(frame) {
        return false;
    }
    let Some((PartialChecksum { start, offset }, end)) = find_partial(frame) else { return false };
    finish_checksum(&mut frame[..end], start.into(), offset.into())
}

/// Bytes from the start of the header to its checksum.
pub(super) const TCP_CHECKSUM: u16 = 16;
pub(super) const UDP_CHECKSUM: u16 = 6;

/// Whether this is TCP or UDP in IPv4 without options and its checksum is not the sum of the pseudo header: what most
/// frames are, told by a few loads.
#[inline]
fn plainly_finished(frame: &[u8]) -> bool {
    let Some(f) = frame.first_chunk::<54>() else { return false };
    let word = |at: usize| u32::from(u16::from_be_bytes([f[at], f[at + 1]]));
    if word(12) != 0x0800 || f[14] != 0x45 {
        return false;
    }
    let (len, field) = match f[23] {
        6 => (word(16).wrapping_sub(20), word(34 + usize::from(TCP_CHECKSUM))),
        17 => (word(34 + 4), word(34 + usize::from(UDP_CHECKSUM))),
        _ => return false,
    };
    let sum = word(26) + word(28) + word(30) + word(32) + u32::from(f[23]) + (len & 0xffff);
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16) != field
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The quick look never passes over a frame that the thorough one finds unfinished.
        #[test]
        fn the_quick_look_agrees(
            mut frame in prop::collection::vec(any::<u8>(), 54..90),
            tcp: bool,
            fits: bool,
            unfinished: bool,
        ) {
            frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
            (frame[20], frame[21], frame[23]) = (0, 0, if tcp { 6 } else { 17 });
            let len = (frame.len() - 14) as u16;
            if fits {
                frame[16..18].copy_from_slice(&len.to_be_bytes());
                frame[38..40].copy_from_slice(&(len - 20).to_be_bytes());
                frame[46] = 0x50;
            }
            let field = 34 + usize::from(if tcp { TCP_CHECKSUM } else { UDP_CHECKSUM });
            if unfinished {
                let word = |at: usize| u64::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
                let mut sum = (26..34).step_by(2).map(word).sum::<u64>() + u64::from(frame[23]) + u64::from(len - 20);
                while sum > 0xffff {
                    sum = (sum & 0xffff) + (sum >> 16);
                }
                frame[field..field + 2].copy_from_slice(&(sum as u16).to_be_bytes());
            }
            let found = find_partial(&frame).is_some();
            prop_assert!(!(found && plainly_finished(&frame)));
            prop_assert!(found || !(fits && unfinished) , "{:02x?}", frame);
        }
    }
}
