//! Packets of attacks: a template, addresses, fields that change, a marker, and checksums that are right or wrong on purpose.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use ringway_wire::checksum::{self, PseudoHeader};
use ringway_wire::{EtherType, IpProtocol, Ipv6};

use super::build::seal;
use super::{Net, Way};
use crate::code::{Field, Fill, MARKER, Raw, Sum};

const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;
/// Letters that one draw gives: 26^13 is below 2^64.
const LETTERS: usize = 13;

impl Net {
    /// Writes a frame with a raw packet, whose template's bytes are `template`.
    ///
    /// `draw` gives the value of a field by its place in [`Raw::fields`], whose lowest bytes are used. For letters it gives random bits, which
    /// last for 13 of them, and is asked again for the next ones.
    ///
    /// The length of the frame, or 0 when the buffer is too short for it or the template for an IP header.
    pub(crate) fn raw(
        &self,
        buf: &mut [u8],
        way: Way,
        raw: &Raw,
        template: &[u8],
        mut draw: impl FnMut(usize, &Field) -> u64,
    ) -> usize {
        let from = self.hosts.host(way.from);
        let target = self.hosts.address(way.to);
        let source = if raw.land { target } else { from.address() };
        let ethertype = if source.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        let Some(at) = self.link(buf, from, way.mac, ethertype) else { return 0 };
        let Some(packet) = buf.get_mut(at..at + template.len()) else { return 0 };
        packet.copy_from_slice(template);
        if address(packet, source, target).is_none() {
            return 0;
        }
        for (number, field) in raw.fields.iter().enumerate() {
            let from = usize::from(field.offset);
            if let Some(bytes) = packet.get_mut(from..from + usize::from(field.width)) {
                fill(bytes, field, || draw(number, field));
            }
        }
        let is_v4 = source.is_ipv4();
        mark(packet, is_v4);
        sums(packet, is_v4, raw);
        seal(buf, at + template.len())
    }
}

/// Writes addresses. `None` when the packet is too short, or they are of two families.
fn address(packet: &mut [u8], source: IpAddr, target: IpAddr) -> Option<()> {
    match (source, target) {
        (IpAddr::V4(source), IpAddr::V4(target)) => {
            let both = packet.get_mut(12..V4_HEADER)?;
            both[..4].copy_from_slice(&source.octets());
            both[4..].copy_from_slice(&target.octets());
        }
        (IpAddr::V6(source), IpAddr::V6(target)) => {
            let both = packet.get_mut(8..V6_HEADER)?;
            both[..16].copy_from_slice(&source.octets());
            both[16..].copy_from_slice(&target.octets());
        }
        _ => return None,
    }
    Some(())
}

/// Fills a field: a number in its last 8 bytes, or letters.
fn fill(bytes: &mut [u8], field: &Field, mut draw: impl FnMut() -> u64) {
    if field.fill == Fill::Letters {
        for part in bytes.chunks_mut(LETTERS) {
            let mut bits = draw();
            for letter in part {
                *letter = b'a' + (bits % 26) as u8;
                bits /= 26;
            }
        }
        return;
    }
    let value = draw().to_be_bytes();
    for (byte, value) in bytes.iter_mut().rev().zip(value.iter().rev()) {
        *byte = *value;
    }
}

/// Marks a packet as one of an attack: IPv4 in its identification, IPv6 in its flow label.
fn mark(packet: &mut [u8], is_v4: bool) {
    let [high, low] = MARKER.to_be_bytes();
    if is_v4 {
        packet[4..6].copy_from_slice(&[high, low]);
    } else {
        // 20 bits, of which the marker takes the lower 16.
        packet[1] &= 0xf0;
        packet[2..4].copy_from_slice(&[high, low]);
    }
}

/// Makes the checksums that are not to stay as they are.
fn sums(packet: &mut [u8], is_v4: bool, raw: &Raw) {
    if raw.ip_sum != Sum::Keep && is_v4 {
        let len = header_len(packet);
        let sum = sum_at(&mut packet[..len], 10, checksum::of);
        put(&mut packet[..len], 10, sum, raw.ip_sum);
    }
    if raw.sum != Sum::Keep {
        message_sum(packet, is_v4, raw.sum);
    }
}

/// Makes the checksum of the message. Without a message, and in fragments, there is none.
fn message_sum(packet: &mut [u8], is_v4: bool, how: Sum) {
    let (protocol, place, pseudo) = if is_v4 { message_v4(packet) } else { message_v6(packet) };
    let Some(mut message) = packet.get_mut(place) else { return };
    let at = match protocol {
        IpProtocol::TCP => 16,
        IpProtocol::UDP => 6,
        IpProtocol::ICMP if is_v4 => 2,
        IpProtocol::ICMPV6 if !is_v4 => 2,
        _ => return,
    };
    if message.len() < at + 2 {
        return;
    }
    if protocol == IpProtocol::UDP {
        // A receiver goes by the length in the header, if that many bytes are there.
        let len = usize::from(u16::from_be_bytes([message[4], message[5]]));
        let end = if (8..=message.len()).contains(&len) { len } else { message.len() };
        message = &mut message[..end];
    }
    let of = |bytes: &[u8]| {
        if protocol == IpProtocol::ICMP {
            checksum::of(bytes)
        } else {
            pseudo.sum(protocol, bytes).checksum()
        }
    };
    let sum = sum_at(message, at, of);
    // 0 stands for no checksum (RFC 768).
    put(message, at, if protocol == IpProtocol::UDP && sum == 0 { 0xffff } else { sum }, how);
}

fn message_v4(packet: &[u8]) -> (IpProtocol, Range<usize>, PseudoHeader) {
    let (source, target) = packet[12..V4_HEADER].split_at(4);
    let octets = |bytes: &[u8]| Ipv4Addr::from(bytes.first_chunk::<4>().copied().unwrap_or_default());
    let pseudo = PseudoHeader::v4(octets(source), octets(target));
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let start = header_len(packet);
    let end = if (start..=packet.len()).contains(&total) { total } else { packet.len() };
    let is_fragment = packet[6] & 0x3f != 0 || packet[7] != 0;
    let place = if is_fragment { 0..0 } else { start..end };
    (IpProtocol(packet[9]), place, pseudo)
}

fn message_v6(packet: &[u8]) -> (IpProtocol, Range<usize>, PseudoHeader) {
    let (source, target) = packet[8..V6_HEADER].split_at(16);
    let octets = |bytes: &[u8]| Ipv6Addr::from(bytes.first_chunk::<16>().copied().unwrap_or_default());
    let pseudo = PseudoHeader::v6(octets(source), octets(target));
    let upper = Ipv6::new_checked(packet).and_then(|ip| Ok((ip.upper_layer()?, ip.payload_len())));
    let (protocol, place) = match upper {
        Ok((upper, _)) if upper.is_fragment => (upper.protocol, 0..0),
        Ok((upper, len)) => (upper.protocol, V6_HEADER + upper.offset..V6_HEADER + len),
        Err(_) => (IpProtocol(packet[6]), V6_HEADER..packet.len()),
    };
    (protocol, place, pseudo)
}

/// The length that the IPv4 header gives itself, if it can have that.
fn header_len(packet: &[u8]) -> usize {
    let len = usize::from(packet[0] & 0x0f) * 4;
    if (V4_HEADER..=packet.len()).contains(&len) { len } else { V4_HEADER }
}

/// The right checksum for the field at `at`.
fn sum_at(bytes: &mut [u8], at: usize, of: impl Fn(&[u8]) -> u16) -> u16 {
    bytes[at..at + 2].fill(0);
    of(bytes)
}

/// Writes a checksum, or a wrong one instead. The sums 0 and 0xffff are the same number, so the other one of them is not wrong.
fn put(bytes: &mut [u8], at: usize, right: u16, how: Sum) {
    let sum = match (how, right) {
        (Sum::Bad, 0 | 0xffff) => 0x5555,
        (Sum::Bad, _) => !right,
        _ => right,
    };
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}
