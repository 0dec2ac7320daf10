//! ICMP: echo requests, and news of lost packets (RFC 792, RFC 4443).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringway_wire::checksum::PseudoHeader;
use ringway_wire::icmp::{v4, v6};
use ringway_wire::{Icmp, IcmpEcho, IpProtocol};

use super::Net;
use super::build::{HOPS, Message, Route, seal};
use super::hosts::Host;
use super::link::Packet;
use super::received::{Body, Cause, Control, Echo, Lost, Received};
use super::refused::Refused;
use crate::code::Transport;

/// Before RFC 1191 routers gave no MTU. Each host takes packets of this size.
const UNKNOWN_MTU: u32 = 576;
/// Each IPv4 link takes packets of this size (RFC 791, section 3.2).
const MIN_MTU_V4: u32 = 68;
/// Each IPv6 link takes packets of this size (RFC 8200, section 5).
const MIN_MTU_V6: u32 = 1280;

/// Whether an ICMPv6 message is one of neighbour discovery.
#[inline]
pub(super) fn is_neighbour_discovery(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(&(v6::NEIGHBOUR_SOLICITATION | v6::NEIGHBOUR_ADVERTISEMENT)))
}

/// Reads a message to a host of this side.
pub(super) fn v4<'a>(
    net: &Net,
    packet: Packet<'a, Ipv4Addr>,
    target: Host<'_>,
) -> Result<Received<'a>, Refused> {
    let icmp = Icmp::new_checked(packet.bytes)?;
    if !icmp.verify_checksum_v4() {
        return Err(Refused::Checksum);
    }
    let cause = match (icmp.msg_type(), icmp.code()) {
        (v4::ECHO_REQUEST, _) => return echo(&packet, packet.source.into(), target),
        (v4::ECHO_REPLY, _) => {
            return net.arrival(packet.link, net.far(net.hosts.v4(packet.source)), target, Body::EchoReply);
        }
        (v4::UNREACHABLE, 2) => Cause::Protocol,
        (v4::UNREACHABLE, 3) => Cause::Port,
        (v4::UNREACHABLE, 4) => Cause::TooBig { mtu: mtu_v4(icmp.payload()) },
        (v4::UNREACHABLE, 9 | 10 | 13) => Cause::Prohibited,
        (v4::UNREACHABLE, _) => Cause::Host,
        (v4::TIME_EXCEEDED, _) => Cause::Expired,
        (v4::PARAMETER_PROBLEM, _) => Cause::Parameter,
        _ => return Err(Refused::OtherProtocol),
    };
    let (source, far, lost) = lost_v4(quoted(icmp.into_payload())?)?;
    if source != packet.target {
        return Err(Refused::Malformed);
    }
    net.arrival(packet.link, net.far(net.hosts.v4(far)), target, Body::Unreachable(lost, cause))
}

/// Reads a message to a host of this side.
pub(super) fn v6<'a>(
    net: &Net,
    packet: Packet<'a, Ipv6Addr>,
    target: Host<'_>,
    pseudo: PseudoHeader,
) -> Result<Received<'a>, Refused> {
    let icmp = Icmp::new_checked(packet.bytes)?;
    if !icmp.verify_checksum_v6(pseudo) {
        return Err(Refused::Checksum);
    }
    let cause = match (icmp.msg_type(), icmp.code()) {
        (v6::ECHO_REQUEST, _) => return echo(&packet, packet.source.into(), target),
        (v6::ECHO_REPLY, _) => {
            return net.arrival(packet.link, net.far(net.hosts.v6(packet.source)), target, Body::EchoReply);
        }
        (v6::UNREACHABLE, 4) => Cause::Port,
        (v6::UNREACHABLE, 1 | 5 | 6) => Cause::Prohibited,
        (v6::UNREACHABLE, _) => Cause::Host,
        (v6::PACKET_TOO_BIG, _) => Cause::TooBig { mtu: mtu_v6(icmp.payload()) },
        (v6::TIME_EXCEEDED, _) => Cause::Expired,
        (v6::PARAMETER_PROBLEM, 1) => Cause::Protocol,
        (v6::PARAMETER_PROBLEM, _) => Cause::Parameter,
        _ => return Err(Refused::OtherProtocol),
    };
    let (source, far, lost) = lost_v6(quoted(icmp.into_payload())?)?;
    if source != packet.target {
        return Err(Refused::Malformed);
    }
    net.arrival(packet.link, net.far(net.hosts.v6(far)), target, Body::Unreachable(lost, cause))
}

fn echo<'a, A>(packet: &Packet<'a, A>, source: IpAddr, target: Host<'_>) -> Result<Received<'a>, Refused> {
    IcmpEcho::new_checked(packet.bytes)?;
    if !is_answerable(source) {
        return Err(Refused::Malformed);
    }
    let echo = Echo { from: packet.link.from, source, target: target.id(), bytes: packet.bytes };
    Ok(Received::Control(Control::Echo(echo)))
}

/// Answers an echo request.
pub(super) fn answer(net: &Net, request: &Echo<'_>, out: &mut [u8]) -> Option<usize> {
    let from = net.hosts.host(request.target);
    let route = Route { from, mac: request.from, source: from.address(), target: request.source };
    let is_v4 = request.source.is_ipv4();
    let protocol = if is_v4 { IpProtocol::ICMP } else { IpProtocol::ICMPV6 };
    let (at, _) = net.head(out, &route, Message { protocol, len: request.bytes.len(), hops: HOPS })?;
    let end = at + request.bytes.len();
    out[at..end].copy_from_slice(request.bytes);
    let mut reply = IcmpEcho::new_checked(&mut out[at..end]).ok()?;
    reply.flip();
    match (route.source, route.target) {
        (IpAddr::V6(source), IpAddr::V6(target)) => reply.fill_checksum_v6(PseudoHeader::v6(source, target)),
        _ => reply.fill_checksum_v4(),
    }
    Some(seal(out, end))
}

/// The start of the lost packet, behind a word whose meaning depends on the message.
fn quoted(body: &[u8]) -> Result<&[u8], Refused> {
    body.get(4..).ok_or(Refused::Malformed)
}

fn mtu_v4(body: &[u8]) -> u32 {
    match *body {
        [_, _, 0, 0, ..] => UNKNOWN_MTU,
        [_, _, high, low, ..] => u32::from(u16::from_be_bytes([high, low])).max(MIN_MTU_V4),
        _ => UNKNOWN_MTU,
    }
}

fn mtu_v6(body: &[u8]) -> u32 {
    body.first_chunk().map_or(MIN_MTU_V6, |mtu| u32::from_be_bytes(*mtu).max(MIN_MTU_V6))
}

/// Addresses and ports of an IPv4 packet of which only the start is there.
fn lost_v4(bytes: &[u8]) -> Result<(Ipv4Addr, Ipv4Addr, Lost), Refused> {
    let header = bytes.first_chunk::<20>().ok_or(Refused::Malformed)?;
    let [version_ihl, _, _, _, _, _, flags, offset, _, protocol, _, _, addresses @ ..] = *header;
    let len = usize::from(version_ihl & 0x0f) * 4;
    if version_ihl >> 4 != 4 || len < header.len() || flags & 0x1f != 0 || offset != 0 {
        return Err(Refused::Malformed);
    }
    let [a, b, c, d, to @ ..] = addresses;
    let message = bytes.get(len..).ok_or(Refused::Malformed)?;
    Ok(([a, b, c, d].into(), to.into(), lost(IpProtocol(protocol), message)?))
}

/// The same for IPv6. Packets of this side have no extension headers.
fn lost_v6(bytes: &[u8]) -> Result<(Ipv6Addr, Ipv6Addr, Lost), Refused> {
    let (header, message) = bytes.split_first_chunk::<40>().ok_or(Refused::Malformed)?;
    let [version, _, _, _, _, _, protocol, _, addresses @ ..] = header;
    let (source, target) = addresses.split_first_chunk::<16>().ok_or(Refused::Malformed)?;
    let target = target.first_chunk::<16>().ok_or(Refused::Malformed)?;
    if version >> 4 != 6 {
        return Err(Refused::Malformed);
    }
    Ok(((*source).into(), (*target).into(), lost(IpProtocol(*protocol), message)?))
}

/// The first 8 bytes of a segment or datagram: ports, and in TCP a sequence number.
fn lost(protocol: IpProtocol, message: &[u8]) -> Result<Lost, Refused> {
    let [a, b, c, d, seq @ ..] = *message.first_chunk::<8>().ok_or(Refused::Malformed)?;
    let (near_port, far_port) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    match protocol {
        IpProtocol::TCP => {
            Ok(Lost { transport: Transport::Tcp, far_port, near_port, seq: u32::from_be_bytes(seq) })
        }
        IpProtocol::UDP => Ok(Lost { transport: Transport::Udp, far_port, near_port, seq: 0 }),
        _ => Err(Refused::OtherProtocol),
    }
}

/// Whether answers may go to an address: it names one host.
fn is_answerable(address: IpAddr) -> bool {
    let names_many = match address {
        IpAddr::V4(address) => address.is_broadcast() || address.octets()[0] == 0,
        IpAddr::V6(_) => false,
    };
    !(names_many || address.is_multicast() || address.is_unspecified() || address.is_loopback())
}
