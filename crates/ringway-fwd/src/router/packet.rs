//! Rules 2 to 11: what the frame alone says.

use ringway_wire::checksum;

use super::decision::{Decision, DropReason, HostReason};
use super::interface::Interface;
use crate::control::Family;

/// Bytes of link header.
pub(super) const LINK: usize = 14;

/// IPv4 or IPv6 packet that has to be looked up. Addresses and ports are in the byte order of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    pub(super) family: Family,
    pub(super) source: u128,
    pub(super) destination: u128,
    /// Bytes of the packet, without link header.
    pub(super) len: u32,
    pub(super) protocol: u8,
    pub(super) ttl: u8,
    /// Of source and destination; 0 where there are none.
    pub(super) ports: [u16; 2],
}

impl Packet {
    pub(super) const NONE: Self =
        Self { family: Family::V4, source: 0, destination: 0, len: 0, protocol: 0, ttl: 0, ports: [0; 2] };
}

const MALFORMED: Decision = Decision::Drop(DropReason::Malformed);
const LOCAL: Decision = Decision::Host(HostReason::Local);
const OPTIONS: Decision = Decision::Host(HostReason::Options);

/// What to look up, or what becomes of the frame at once. Of a frame of `len` bytes, `bytes` are the first ones; headers that go on
/// behind them are malformed.
#[inline]
pub(super) fn examine(interface: &Interface, bytes: &[u8], len: usize) -> Result<Packet, Decision> {
    let Some((link, packet)) = bytes.split_first_chunk::<LINK>() else { return Err(MALFORMED) };
    if link[0] & 1 != 0 {
        return Err(Decision::Host(HostReason::LinkMulticast));
    }
    if link[..6] != interface.mac {
        return Err(Decision::Host(HostReason::OtherStation));
    }
    let there = len - LINK;
    match [link[12], link[13]] {
        [0x08, 0x00] if interface.forwards4 => ipv4(packet, there),
        [0x86, 0xdd] if interface.forwards6 => ipv6(packet, there),
        [0x08, 0x00] | [0x86, 0xdd] => Err(Decision::Host(HostReason::NotForwarding)),
        _ => Err(Decision::Host(HostReason::NotIp)),
    }
}

/// RFC 1812, 5.2.2: of the header, lengths, version, checksum; then addresses, options.
#[inline]
fn ipv4(bytes: &[u8], there: usize) -> Result<Packet, Decision> {
    let header: &[u8; 20] = bytes.first_chunk().ok_or(MALFORMED)?;
    let (words, len) = (usize::from(header[0] & 15), usize::from(u16_at(header, 2)));
    if header[0] >> 4 != 4 || words < 5 || len < words * 4 || len > there {
        return Err(MALFORMED);
    }
    let sum = match words {
        5 => checksum::of(header),
        _ => checksum::of(bytes.get(..words * 4).ok_or(MALFORMED)?),
    };
    if sum != 0 {
        return Err(Decision::Drop(DropReason::BadChecksum));
    }
    let [source, destination] = [u32_at(header, 12), u32_at(header, 16)];
    if matches!(source >> 24, 0 | 127 | 224..=239) || source == u32::MAX {
        return Err(Decision::Drop(DropReason::MartianSource));
    }
    match destination >> 24 {
        0 | 127 => return Err(Decision::Drop(DropReason::MartianDestination)),
        224..=239 => return Err(LOCAL),
        169 if destination >> 16 & 255 == 254 => return Err(LOCAL),
        255 if destination == u32::MAX => return Err(LOCAL),
        _ if words > 5 => return Err(OPTIONS),
        _ => {}
    }
    let (source, destination) = (source.into(), destination.into());
    let (len, protocol, ttl) = (len as u32, header[9], header[8]);
    let is_fragment = u16_at(header, 6) & 0x3fff != 0; // offset, or more to come
    let ports = if is_fragment { [0; 2] } else { ports(protocol, &bytes[20..], len - 20) };
    Ok(Packet { family: Family::V4, source, destination, len, protocol, ttl, ports })
}

#[inline]
fn ipv6(bytes: &[u8], there: usize) -> Result<Packet, Decision> {
    let header: &[u8; 40] = bytes.first_chunk().ok_or(MALFORMED)?;
    let (payload, protocol, ttl) = (u32::from(u16_at(header, 4)), header[6], header[7]);
    if header[0] >> 4 != 6 || payload as usize + 40 > there {
        return Err(MALFORMED);
    }
    let [source, destination] = [u128_at(header, 8), u128_at(header, 24)];
    if source <= 1 || source >> 120 == 0xff {
        return Err(Decision::Drop(DropReason::MartianSource));
    }
    if destination <= 1 {
        return Err(Decision::Drop(DropReason::MartianDestination));
    }
    let is_link_local = |addr: u128| addr >> 118 == 0xfe80 >> 6;
    if destination >> 120 == 0xff || is_link_local(destination) || is_link_local(source) {
        return Err(LOCAL);
    }
    if protocol == 0 || payload == 0 {
        return Err(OPTIONS);
    }
    let ports = ports(protocol, &bytes[40..], payload);
    Ok(Packet { family: Family::V6, source, destination, len: payload + 40, protocol, ttl, ports })
}

/// Ports of TCP, UDP, SCTP and DCCP, which have them in the same place; `len` bytes are the packet's.
#[inline]
fn ports(protocol: u8, payload: &[u8], len: u32) -> [u16; 2] {
    match payload.first_chunk::<4>() {
        Some([a, b, c, d]) if len >= 4 && matches!(protocol, 6 | 17 | 33 | 132) => {
            [u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])]
        }
        _ => [0; 2],
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

fn u128_at(bytes: &[u8], at: usize) -> u128 {
    u128::from_be_bytes(array(bytes, at))
}

/// Rule 21: gives a frame its new link header and takes one from its TTL or hop limit.
#[inline]
pub(super) fn rewrite(frame: &mut [u8], header: &[u8; LINK], family: Family) {
    let Some((link, packet)) = frame.split_first_chunk_mut::<LINK>() else { return };
    *link = *header;
    match family {
        Family::V4 => {
            let Some(ip) = packet.first_chunk_mut::<20>() else { return };
            let old = u16::from_be_bytes([ip[8], ip[9]]); // TTL and protocol
            let new = old.wrapping_sub(0x0100);
            let sum = checksum::update_u16(u16::from_be_bytes([ip[10], ip[11]]), old, new);
            [ip[8], ip[9]] = new.to_be_bytes();
            [ip[10], ip[11]] = sum.to_be_bytes();
        }
        Family::V6 => {
            let Some(ip) = packet.first_chunk_mut::<40>() else { return };
            ip[7] = ip[7].wrapping_sub(1);
        }
    }
}
