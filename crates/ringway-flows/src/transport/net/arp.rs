//! ARP: who has an IPv4 address (RFC 826).

use std::net::{IpAddr, Ipv4Addr};

use ringway_wire::{Arp, ArpOperation, EtherType, MacAddr};

use super::Net;
use super::build::seal;
use super::hosts::Host;
use super::link::Link;
use super::received::{self, Control, Lesson, Received};
use super::refused::Refused;

/// Checks a message. It must ask for a host of this side, or come from a neighbour.
pub(super) fn read<'a>(net: &Net, link: Link, arp: Arp<&[u8]>) -> Result<Received<'a>, Refused> {
    let operation = arp.operation();
    if operation != ArpOperation::REQUEST && operation != ArpOperation::REPLY {
        return Err(Refused::OtherProtocol);
    }
    let (sender, MacAddr(mac)) = (arp.sender_ip(), arp.sender_mac());
    if !MacAddr(mac).is_unicast() || sender.is_multicast() || sender.is_broadcast() {
        return Err(Refused::Malformed);
    }
    let target = net.near(net.hosts.v4(arp.target_ip()));
    if let Some(target) = &target {
        link.reaches(target, net.mac)?;
        net.same_vlan(&link, target)?;
    }
    let teaches = net.neighbour(sender.into(), link.vlan).map(|who| Lesson { who, mac, replaces: true });
    let asked = target.filter(|_| operation == ArpOperation::REQUEST).map(|host| host.id());
    if asked.is_none() && teaches.is_none() {
        return Err(Refused::NotForUs);
    }
    Ok(Received::Control(Control::Arp(received::Arp { sender, sender_mac: mac, asked, teaches })))
}

/// Answers a request for a host of this side.
pub(super) fn answer(net: &Net, message: &received::Arp, out: &mut [u8]) -> Option<usize> {
    let asked = net.hosts.host(message.asked?);
    let IpAddr::V4(own) = asked.address() else { return None };
    let to = (MacAddr(message.sender_mac), message.sender);
    write(net, out, asked, message.sender_mac, (ArpOperation::REPLY, own, to))
}

/// Asks all on the link who has an address.
pub(super) fn ask(
    net: &Net,
    from: Host<'_>,
    source: Ipv4Addr,
    asked: Ipv4Addr,
    out: &mut [u8],
) -> Option<usize> {
    write(net, out, from, MacAddr::BROADCAST.0, (ArpOperation::REQUEST, source, (MacAddr::ZERO, asked)))
}

type Fields = (ArpOperation, Ipv4Addr, (MacAddr, Ipv4Addr));

fn write(net: &Net, out: &mut [u8], from: Host<'_>, to: [u8; 6], fields: Fields) -> Option<usize> {
    let (operation, source, (target_mac, target)) = fields;
    let at = net.link(out, from, to, EtherType::ARP)?;
    let mut arp = Arp::init(&mut out[at..]).ok()?;
    arp.set_operation(operation);
    arp.set_sender_mac(MacAddr(from.mac(net.mac)));
    arp.set_sender_ip(source);
    arp.set_target_mac(target_mac);
    arp.set_target_ip(target);
    Some(seal(out, at + Arp::<&[u8]>::LEN))
}
