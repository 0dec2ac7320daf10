//! Neighbour discovery: who has an IPv6 address (RFC 4861). Duplicate address detection is answered.

use std::net::{IpAddr, Ipv6Addr};

use ringway_wire::checksum::PseudoHeader;
use ringway_wire::icmp::v6;
use ringway_wire::{Icmp, IpProtocol, Ipv6};

use super::Net;
use super::build::{Message, Route, seal};
use super::hosts::Host;
use super::link::Link;
use super::received::{Advertisement, Control, Lesson, Received, Solicitation};
use super::refused::Refused;

/// Messages with another hop limit came through a router.
const HOPS: u8 = 255;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// A message behind its checksum: flags, an address, and perhaps options.
const FIXED: usize = 20;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
const SOURCE_MAC: u8 = 1;
const TARGET_MAC: u8 = 2;

/// Checks a solicitation or an advertisement (RFC 4861, sections 7.1.1 and 7.1.2).
pub(super) fn read<'a>(net: &Net, link: Link, ip: &Ipv6<&[u8]>) -> Result<Received<'a>, Refused> {
    let icmp = Icmp::new_checked(ip.payload())?;
    if !icmp.verify_checksum_v6(ip.pseudo_header()) {
        return Err(Refused::Checksum);
    }
    let body = icmp.payload();
    let (fixed, options) = body.split_first_chunk::<FIXED>().ok_or(Refused::Malformed)?;
    let [flags, _, _, _, address @ ..] = *fixed;
    let target = Ipv6Addr::from(address);
    if ip.hop_limit() != HOPS || icmp.code() != 0 || target.is_multicast() {
        return Err(Refused::Malformed);
    }
    if icmp.msg_type() == v6::NEIGHBOUR_SOLICITATION {
        solicitation(net, link, (ip.src(), ip.dst()), target, options)
    } else {
        advertisement(net, link, (flags, ip.dst()), target, options)
    }
}

fn solicitation<'a>(
    net: &Net,
    link: Link,
    (source, to): (Ipv6Addr, Ipv6Addr),
    target: Ipv6Addr,
    options: &[u8],
) -> Result<Received<'a>, Refused> {
    let mac = option(options, SOURCE_MAC)?;
    let is_probe = source.is_unspecified();
    let group = solicited_node(target);
    if source.is_multicast() || is_probe && (to != group || mac.is_some()) {
        return Err(Refused::Malformed);
    }
    let host = net.near(net.hosts.v6(target)).ok_or(Refused::NotForUs)?;
    if to != group && to != target {
        return Err(Refused::NotForUs);
    }
    link.reaches(&host, net.mac)?;
    net.same_vlan(&link, &host)?;
    let sender = net.neighbour(source.into(), link.vlan);
    let teaches = sender.zip(mac).map(|(who, mac)| Lesson { who, mac, replaces: true });
    let message = Solicitation { source, from: link.from, asked: host.id(), teaches };
    Ok(Received::Control(Control::Solicitation(message)))
}

fn advertisement<'a>(
    net: &Net,
    link: Link,
    (flags, to): (u8, Ipv6Addr),
    target: Ipv6Addr,
    options: &[u8],
) -> Result<Received<'a>, Refused> {
    // A neighbour that was asked by itself may leave its hardware address out.
    let mac = option(options, TARGET_MAC)?.unwrap_or(link.from);
    if to.is_multicast() && flags & SOLICITED != 0 {
        return Err(Refused::Malformed);
    }
    if to != ALL_NODES {
        let host = net.near(net.hosts.v6(to)).ok_or(Refused::NotForUs)?;
        link.reaches(&host, net.mac)?;
        net.same_vlan(&link, &host)?;
    }
    let who = net.neighbour(target.into(), link.vlan).ok_or(Refused::UnknownSource)?;
    let teaches = Lesson { who, mac, replaces: flags & OVERRIDE != 0 };
    Ok(Received::Control(Control::Advertisement(Advertisement { teaches })))
}

/// The hardware address in an option of a type, if it is there. Each option has its length in units of 8 bytes.
fn option(mut bytes: &[u8], wanted: u8) -> Result<Option<[u8; 6]>, Refused> {
    let mut found = None;
    while let [kind, units, ..] = *bytes {
        let (this, rest) = bytes.split_at_checked(usize::from(units) * 8).ok_or(Refused::Malformed)?;
        if this.is_empty() {
            return Err(Refused::Malformed);
        }
        if let (true, [_, _, mac @ ..]) = (kind == wanted, this) {
            found = Some(*mac.first_chunk().ok_or(Refused::Malformed)?);
        }
        bytes = rest;
    }
    if bytes.is_empty() { Ok(found) } else { Err(Refused::Malformed) }
}

/// Answers a question for a host of this side. All nodes get the answer to a probe.
pub(super) fn answer(net: &Net, message: &Solicitation, out: &mut [u8]) -> Option<usize> {
    let asked = net.hosts.host(message.asked);
    let IpAddr::V6(own) = asked.address() else { return None };
    let (mac, target, flags) = if message.source.is_unspecified() {
        (group_mac(ALL_NODES), ALL_NODES, OVERRIDE)
    } else {
        (message.from, message.source, SOLICITED | OVERRIDE)
    };
    let route = Route { from: asked, mac, source: own.into(), target: target.into() };
    write(net, &route, v6::NEIGHBOUR_ADVERTISEMENT, flags, own, TARGET_MAC, out)
}

/// Asks the group of an address who has it.
pub(super) fn ask(
    net: &Net,
    from: Host<'_>,
    source: Ipv6Addr,
    asked: Ipv6Addr,
    out: &mut [u8],
) -> Option<usize> {
    let group = solicited_node(asked);
    let route = Route { from, mac: group_mac(group), source: source.into(), target: group.into() };
    write(net, &route, v6::NEIGHBOUR_SOLICITATION, 0, asked, SOURCE_MAC, out)
}

/// Writes a message with the hardware address of its sender as its option.
fn write(
    net: &Net,
    route: &Route<'_>,
    kind: u8,
    flags: u8,
    about: Ipv6Addr,
    option: u8,
    out: &mut [u8],
) -> Option<usize> {
    const LEN: usize = Icmp::<&[u8]>::HEADER_LEN + FIXED + 8;
    let message = Message { protocol: IpProtocol::ICMPV6, len: LEN, hops: HOPS };
    let (at, _) = net.head(out, route, message)?;
    let mut icmp = Icmp::new_checked(&mut out[at..at + LEN]).ok()?;
    icmp.set_msg_type(kind);
    icmp.set_code(0);
    let body = icmp.payload_mut();
    body[..4].copy_from_slice(&[flags, 0, 0, 0]);
    body[4..FIXED].copy_from_slice(&about.octets());
    body[FIXED..FIXED + 2].copy_from_slice(&[option, 1]);
    body[FIXED + 2..].copy_from_slice(&route.from.mac(net.mac));
    if let (IpAddr::V6(source), IpAddr::V6(target)) = (route.source, route.target) {
        icmp.fill_checksum_v6(PseudoHeader::v6(source, target));
    }
    Some(seal(out, at + LEN))
}

/// The group in which the owner of an address listens (RFC 4291, section 2.7.1).
fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]))
}

/// The hardware address of a group (RFC 2464, section 7).
fn group_mac(group: Ipv6Addr) -> [u8; 6] {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}
