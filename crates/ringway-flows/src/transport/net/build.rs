//! Frames that leave: headers, and checksums over bytes whose sum is known.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringway_wire::checksum::Sum;
use ringway_wire::{EtherType, IpProtocol};

use super::hosts::Host;
use super::words::{checksum, pair, put, sum};
use super::{Net, Ports, Way};
use crate::transport::segment::Outgoing;

/// A shorter frame is filled up with zeros (IEEE 802.3, without check sequence).
pub(super) const MIN_FRAME: usize = 60;
/// Routers that a packet may pass.
pub(super) const HOPS: u8 = 64;
pub(super) const DONT_FRAGMENT: u16 = 0x4000;

/// Where an IP packet goes.
#[derive(Clone, Copy)]
pub(super) struct Route<'h> {
    /// The host in whose VLAN, and from whose hardware address, the frame goes.
    pub(super) from: Host<'h>,
    /// The hardware address to which it goes.
    pub(super) mac: [u8; 6],
    pub(super) source: IpAddr,
    pub(super) target: IpAddr,
}

/// The message of an IP packet.
#[derive(Clone, Copy)]
pub(super) struct Message {
    pub(super) protocol: IpProtocol,
    pub(super) len: usize,
    pub(super) hops: u8,
}

impl Net {
    /// Writes a frame with a segment. `payload` writes the bytes of the stream, and gives their sum.
    ///
    /// The length of the frame, or 0 when the buffer is too short for it.
    #[inline(never)]
    pub(crate) fn tcp(
        &self,
        buf: &mut [u8],
        way: Way,
        ports: Ports,
        outgoing: &Outgoing,
        payload: impl FnOnce(&mut [u8]) -> Sum,
    ) -> usize {
        let (options, options_len) = options(outgoing.syn);
        let header_len = TCP + options_len;
        let len = header_len + usize::from(outgoing.len);
        let Some((at, pseudo)) = self.packet(buf, way, IpProtocol::TCP, len) else { return 0 };
        let Some((header, rest)) = buf[at..at + len].split_first_chunk_mut::<TCP>() else { return 0 };
        let Some((space, data)) = rest.split_at_mut_checked(options_len) else { return 0 };
        put(space, options);
        let offset_and_flags = (header_len as u16) << 10 | u16::from(outgoing.flags);
        let words = [
            pair(ports.source, ports.target),
            outgoing.seq,
            outgoing.ack,
            pair(offset_and_flags, outgoing.window),
        ];
        let data = u64::from(!payload(data).checksum());
        let sum = checksum(pseudo + sum(words) + sum(options) + data);
        let [ports, seq, ack, flags] = words;
        put(header, [ports, seq, ack, flags, pair(sum, 0)]);
        seal(buf, at + len)
    }

    /// Writes a frame with a datagram of `len` bytes. `payload` writes them, and gives their sum.
    ///
    /// The length of the frame, or 0 when the buffer is too short for it.
    #[inline]
    pub(crate) fn udp(
        &self,
        buf: &mut [u8],
        way: Way,
        ports: Ports,
        len: usize,
        payload: impl FnOnce(&mut [u8]) -> Sum,
    ) -> usize {
        let len = len.saturating_add(UDP);
        let Some((at, pseudo)) = self.packet(buf, way, IpProtocol::UDP, len) else { return 0 };
        let Some((header, data)) = buf[at..at + len].split_first_chunk_mut::<UDP>() else { return 0 };
        // An IP packet has fewer than 2^16 bytes.
        let (ports, len_field) = (pair(ports.source, ports.target), len as u16);
        let data = u64::from(!payload(data).checksum());
        // 0 stands for no checksum (RFC 768).
        let sum = match checksum(pseudo + sum([ports, len_field.into()]) + data) {
            0 => 0xffff,
            sum => sum,
        };
        put(header, [ports, pair(len_field, sum)]);
        seal(buf, at + len)
    }

    /// Writes headers down to IP for a message of `len` bytes: where it begins, and the sum of its pseudo header.
    #[inline(always)]
    fn packet(&self, buf: &mut [u8], way: Way, protocol: IpProtocol, len: usize) -> Option<(usize, u64)> {
        let (from, to) = (self.hosts.host(way.from), self.hosts.host(way.to));
        let message = Message { protocol, len, hops: HOPS };
        if let (Some(source), Some(target)) = (from.v4(), to.v4()) {
            return self.v4(buf, from, way.mac, (source, target), message);
        }
        self.packet_v6(buf, (from, to), way.mac, message)
    }

    #[inline(never)]
    fn packet_v6(
        &self,
        buf: &mut [u8],
        (from, to): (Host<'_>, Host<'_>),
        mac: [u8; 6],
        message: Message,
    ) -> Option<(usize, u64)> {
        match (from.address(), to.address()) {
            (IpAddr::V6(source), IpAddr::V6(target)) => self.v6(buf, from, mac, (source, target), message),
            _ => None,
        }
    }

    /// Writes headers down to IP: where the message begins, and the sum of its pseudo header.
    pub(super) fn head(&self, buf: &mut [u8], route: &Route<'_>, message: Message) -> Option<(usize, u64)> {
        match (route.source, route.target) {
            (IpAddr::V4(source), IpAddr::V4(target)) => {
                self.v4(buf, route.from, route.mac, (source, target), message)
            }
            (IpAddr::V6(source), IpAddr::V6(target)) => {
                self.v6(buf, route.from, route.mac, (source, target), message)
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn v4(
        &self,
        buf: &mut [u8],
        from: Host<'_>,
        to: [u8; 6],
        (source, target): (Ipv4Addr, Ipv4Addr),
        Message { protocol: IpProtocol(protocol), len, hops }: Message,
    ) -> Option<(usize, u64)> {
        let at = self.link(buf, from, to, EtherType::IPV4)?;
        let total = u16::try_from(len.checked_add(IPV4)?).ok()?;
        let (header, _) = buf.get_mut(at..at + usize::from(total))?.split_first_chunk_mut::<IPV4>()?;
        let (first, second) = (pair(0x4500, total), pair(0, DONT_FRAGMENT));
        let third = u16::from(hops) << 8 | u16::from(protocol);
        let addresses = [source.into(), target.into()];
        let sum_of_addresses = sum(addresses);
        let checksum = checksum(sum([first, second, pair(third, 0)]) + sum_of_addresses);
        let [source, target] = addresses;
        put(header, [first, second, pair(third, checksum), source, target]);
        Some((at + IPV4, sum_of_addresses + u64::from(protocol) + len as u64))
    }

    #[inline]
    fn v6(
        &self,
        buf: &mut [u8],
        from: Host<'_>,
        to: [u8; 6],
        (source, target): (Ipv6Addr, Ipv6Addr),
        Message { protocol: IpProtocol(protocol), len, hops }: Message,
    ) -> Option<(usize, u64)> {
        let at = self.link(buf, from, to, EtherType::IPV6)?;
        let len_field = u16::try_from(len).ok()?;
        let (header, _) = buf.get_mut(at..at + IPV6 + len)?.split_first_chunk_mut::<IPV6>()?;
        let [s0, s1, s2, s3] = words(source);
        let [t0, t1, t2, t3] = words(target);
        let limits = pair(len_field, u16::from(protocol) << 8 | u16::from(hops));
        put(header, [0x6000_0000, limits, s0, s1, s2, s3, t0, t1, t2, t3]);
        Some((at + IPV6, sum([s0, s1, s2, s3, t0, t1, t2, t3]) + u64::from(protocol) + len as u64))
    }

    /// Writes the Ethernet header, and a tag if the sender is in a VLAN: where the packet begins. `None` for a short buffer.
    #[inline]
    pub(super) fn link(
        &self,
        buf: &mut [u8],
        from: Host<'_>,
        to: [u8; 6],
        ethertype: EtherType,
    ) -> Option<usize> {
        let head = buf.first_chunk_mut::<MIN_FRAME>()?;
        head[..6].copy_from_slice(&to);
        head[6..12].copy_from_slice(&from.mac(self.mac));
        match from.vlan() {
            0 => {
                head[12..ETHERNET].copy_from_slice(&ethertype.0.to_be_bytes());
                Some(ETHERNET)
            }
            vlan => {
                put(&mut head[12..TAGGED - 2], [pair(EtherType::VLAN.0, vlan)]);
                head[TAGGED - 2..TAGGED].copy_from_slice(&ethertype.0.to_be_bytes());
                Some(TAGGED)
            }
        }
    }
}

/// Fills a frame of `len` bytes up to the shortest length. The buffer has room for that, as `link` saw.
#[inline]
pub(super) fn seal(buf: &mut [u8], len: usize) -> usize {
    if len < MIN_FRAME {
        buf[len..MIN_FRAME].fill(0);
    }
    len.max(MIN_FRAME)
}

/// The options of a SYN, and their length: the largest segment, and the shift of windows behind one byte of nothing.
#[inline]
pub(super) fn options(syn: Option<(u16, Option<u8>)>) -> ([u32; 2], usize) {
    let segment = |mss| pair(0x0204, mss);
    match syn {
        None => ([0, 0], 0),
        Some((mss, None)) => ([segment(mss), 0], 4),
        Some((mss, Some(shift))) => ([segment(mss), pair(0x0103, 0x0300 | u16::from(shift))], 8),
    }
}

#[inline]
fn words(address: Ipv6Addr) -> [u32; 4] {
    let [a, b, c, d, e, f, g, h] = address.segments();
    [pair(a, b), pair(c, d), pair(e, f), pair(g, h)]
}

const ETHERNET: usize = 14;
/// With a tag of 4 bytes.
const TAGGED: usize = 18;
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP: usize = 20;
const UDP: usize = 8;
