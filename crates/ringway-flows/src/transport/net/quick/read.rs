//! Frames that arrive on the quick way.

use ringway_wire::MacAddr;
use ringway_wire::checksum::Sum;

use super::write::QuickWay;
use super::{HEADERS, IPV4, NUMBER_OF_TCP, TCP};
use crate::transport::net::hosts::HostId;
use crate::transport::net::segment::options;
use crate::transport::net::words::{fold, sum};
use crate::transport::net::{Net, Ports};
use crate::transport::segment::{Segment, flag};

/// A segment of the most frequent form.
#[derive(Debug)]
pub(crate) struct Quick<'a> {
    pub(crate) source: HostId,
    pub(crate) target: HostId,
    pub(crate) ports: Ports,
    pub(crate) segment: Segment<'a>,
    /// The hardware address from which it came, as a number.
    pub(crate) from: u64,
    /// Whether its sender is known to have this address.
    pub(in crate::transport::net) is_known: bool,
    /// Addresses of IPv4: the sender's, and this side's.
    addresses: [u32; 2],
}

impl<'a> Quick<'a> {
    /// The way on which the segment came, if its answer takes the same way.
    #[inline(always)]
    pub(crate) fn back(&self, net: &Net) -> Option<QuickWay> {
        let [target, source] = self.addresses;
        let is_same = self.is_known && !net.is_shared && net.gateway.v4.is_none();
        is_same.then_some(QuickWay { source, target, to: self.from })
    }

    /// The same segment, as the long way reads it.
    #[cfg(test)]
    pub(crate) fn arrival(self) -> super::super::received::Arrival<'a> {
        let [_, _, from @ ..] = self.from.to_be_bytes();
        let body = super::super::received::Body::Tcp(self.ports, self.segment);
        super::super::received::Arrival { source: self.source, target: self.target, from, body }
    }
}

/// Reads a segment. `None` for any other frame, and for one that the long way refuses.
#[inline(always)]
pub(crate) fn segment<'a>(net: &Net, frame: &'a [u8]) -> Option<Quick<'a>> {
    let head = frame.first_chunk::<HEADERS>()?;
    let is_plain = half(head, 12) == 0x0800
        && head[IPV4] == 0x45
        && half(head, IPV4 + 6) & 0x3fff == 0
        && head[IPV4 + 9] == NUMBER_OF_TCP;
    // The shortest total length has both headers.
    let len = usize::from(half(head, IPV4 + 2)).checked_sub(HEADERS - IPV4)?;
    let rest = frame.get(HEADERS..HEADERS + len)?;
    if !is_plain || !is_right(head, rest) {
        return None;
    }
    let flags = head[TCP + 13];
    let (mut data, mut mss, mut shift) = (rest, 0, None);
    if head[TCP + 12] >> 4 != 5 {
        let (list, behind) =
            rest.split_at_checked((usize::from(head[TCP + 12] >> 4) * 4).checked_sub(HEADERS - TCP)?)?;
        data = behind;
        if flags & flag::SYN != 0 {
            (mss, shift) = options(list);
        }
    }
    let addresses = [word(head, IPV4 + 12), word(head, IPV4 + 16)];
    let (source, target) = net.plain.arriving(addresses[0], addresses[1])?;
    let from = long(head, 6) >> 16;
    let is_known = net.neighbours.knows_number(source, from);
    if long(head, 0) >> 16 != net.own || !is_known && !MacAddr::from_u64(from).is_unicast() {
        return None;
    }
    let ports = Ports { source: half(head, TCP), target: half(head, TCP + 2) };
    let segment = Segment {
        seq: word(head, TCP + 4),
        ack: word(head, TCP + 8),
        window: half(head, TCP + 14),
        flags,
        mss,
        shift,
        data,
    };
    Some(Quick { source, target, ports, segment, from, is_known, addresses })
}

/// The hosts and ports of a frame that looks like one of the most frequent form: this side's host first. Nothing is checked.
#[inline(always)]
pub(crate) fn glance(net: &Net, frame: &[u8]) -> Option<(HostId, HostId, Ports)> {
    let head = frame.first_chunk::<HEADERS>()?;
    let (source, target) = net.plain.arriving(word(head, IPV4 + 12), word(head, IPV4 + 16))?;
    Some((target, source, Ports { source: half(head, TCP), target: half(head, TCP + 2) }))
}

/// Whether both checksums are right. `data` is all behind the shortest header of TCP. The header of IPv4 counts for its own, and its addresses for that of TCP too.
#[inline(always)]
fn is_right(head: &[u8; HEADERS], data: &[u8]) -> bool {
    // In the machine's order: a sum of ones only is the same in each order.
    let at = |place| u32::from_ne_bytes([head[place], head[place + 1], head[place + 2], head[place + 3]]);
    let addresses = sum([at(IPV4 + 12), at(IPV4 + 16)]);
    let ip = sum([at(IPV4), at(IPV4 + 4), at(IPV4 + 8)]) + addresses;
    let tcp = sum([at(TCP), at(TCP + 4), at(TCP + 8), at(TCP + 12), at(TCP + 16)]) + addresses;
    let pseudo = (u16::from(NUMBER_OF_TCP) + (HEADERS - TCP + data.len()) as u16).to_be();
    let data = if data.is_empty() { 0 } else { Sum::new().add_bytes(data).native() };
    fold(ip) == 0xffff && fold(tcp + u64::from(pseudo) + u64::from(data)) == 0xffff
}

#[inline(always)]
fn word(head: &[u8; HEADERS], at: usize) -> u32 {
    u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

#[inline(always)]
fn long(head: &[u8; HEADERS], at: usize) -> u64 {
    u64::from(word(head, at)) << 32 | u64::from(word(head, at + 4))
}

#[inline(always)]
fn half(head: &[u8; HEADERS], at: usize) -> u16 {
    u16::from_be_bytes([head[at], head[at + 1]])
}
