//! Answers of the emulated hosts: ARP and neighbour discovery, so that a router can send to them.

use std::net::{Ipv4Addr, Ipv6Addr};

use ringway_wire::checksum::PseudoHeader;
use ringway_wire::{Arp, ArpOperation, EtherType, Ethernet, IpProtocol, Ipv6, MacAddr};

use crate::trial::format::{is_test_v4, is_test_v6, v4, vlan_tag};

/// Length of an ARP frame without FCS.
const ARP_LEN: usize = 60;

/// Types of neighbour solicitation and advertisement (RFC 4861).
const SOLICIT: u8 = 135;
const ADVERTISE: u8 = 136;

/// Length of the message with one option: that of the link-layer address.
const ND_LEN: usize = 32;

/// Bytes of the two MAC addresses, which VLAN tags follow.
const ADDRESSES: usize = 12;

/// VLAN tags of a frame, two at most.
fn tags_of(frame: &[u8]) -> &[u8] {
    let rest = frame.get(ADDRESSES..).unwrap_or_default();
    let (words, _) = rest.as_chunks::<4>();
    let tags = words.iter().take(2).take_while(|tag| matches!(tag[..2], [0x81, 0x00] | [0x88, 0xa8])).count();
    &rest[..4 * tags]
}

fn vlan_tags(vlans: &[u16]) -> Vec<u8> {
    (0..vlans.len()).flat_map(|k| vlan_tag(vlans, k)).collect()
}

/// A frame without its tags.
pub(super) fn untagged(frame: &[u8]) -> Vec<u8> {
    let tags = tags_of(frame).len();
    [frame.get(..ADDRESSES).unwrap_or(frame), frame.get(ADDRESSES + tags..).unwrap_or_default()].concat()
}

fn tagged(mut frame: Vec<u8>, tags: &[u8]) -> Vec<u8> {
    frame.splice(ADDRESSES..ADDRESSES, tags.iter().copied());
    frame
}

/// Hosts of one side, all behind one MAC address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// 0 or 1.
    pub(crate) number: usize,
    /// Their MAC address.
    pub(crate) mac: MacAddr,
}

impl Side {
    /// The answer to a frame that asks for one of the hosts, in the same VLANs; `None` for every other frame.
    pub(crate) fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let tags = tags_of(frame);
        if tags.is_empty() {
            return self.answer_untagged(frame);
        }
        self.answer_untagged(&untagged(frame)).map(|answer| tagged(answer, tags))
    }

    fn answer_untagged(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let ethernet = Ethernet::new_checked(frame).ok()?;
        match ethernet.ethertype() {
            EtherType::ARP => self.answer_arp(ethernet.payload()),
            EtherType::IPV6 => self.answer_solicitation(&ethernet),
            _ => None,
        }
    }

    /// A frame from which a switch learns where the hosts are in these VLANs, outer one first: ARP for an address of their own.
    pub(crate) fn announce(&self, vlans: &[u16]) -> Vec<u8> {
        let own = v4(self.number, 0);
        tagged(
            self.arp(MacAddr::BROADCAST, ArpOperation::REQUEST, own, MacAddr::ZERO, own),
            &vlan_tags(vlans),
        )
    }

    /// A frame that asks who has an address.
    pub(super) fn ask(&self, address: Ipv4Addr, vlans: &[u16]) -> Vec<u8> {
        let (own, everyone) = (v4(self.number, 0), MacAddr::BROADCAST);
        tagged(self.arp(everyone, ArpOperation::REQUEST, own, MacAddr::ZERO, address), &vlan_tags(vlans))
    }

    /// The link address that a frame tells of `address`.
    pub(super) fn answered(frame: &[u8], address: Ipv4Addr) -> Option<MacAddr> {
        let frame = untagged(frame);
        let ethernet = Ethernet::new_checked(&frame[..]).ok()?;
        let reply = Arp::new_checked(ethernet.payload()).ok()?;
        let tells = ethernet.ethertype() == EtherType::ARP && reply.operation() == ArpOperation::REPLY;
        (tells && reply.sender_ip() == address).then(|| reply.sender_mac())
    }

    fn answer_arp(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let request = Arp::new_checked(packet).ok()?;
        let target = request.target_ip();
        let ours = is_test_v4(target) && usize::from(target.octets()[1] & 1) == self.number;
        // A host that asks for its own address announces it.
        if request.operation() != ArpOperation::REQUEST || !ours || request.sender_ip() == target {
            return None;
        }
        let asker = request.sender_mac();
        Some(self.arp(asker, ArpOperation::REPLY, target, asker, request.sender_ip()))
    }

    fn arp(
        &self,
        dst: MacAddr,
        operation: ArpOperation,
        sender: Ipv4Addr,
        target_mac: MacAddr,
        target: Ipv4Addr,
    ) -> Vec<u8> {
        let mut frame = self.ethernet(dst, EtherType::ARP, ARP_LEN);
        // The buffer is long enough for the packet by construction.
        if let Ok(mut arp) = Arp::init(&mut frame[14..]) {
            arp.set_operation(operation);
            arp.set_sender_mac(self.mac);
            arp.set_sender_ip(sender);
            arp.set_target_mac(target_mac);
            arp.set_target_ip(target);
        }
        frame
    }

    fn answer_solicitation(&self, ethernet: &Ethernet<&[u8]>) -> Option<Vec<u8>> {
        let packet = Ipv6::new_checked(ethernet.payload()).ok()?;
        let message = packet.payload();
        let target = message.get(8..24).and_then(|a| a.first_chunk::<16>()).map(|&a| Ipv6Addr::from(a))?;
        let ours = is_test_v6(target) && usize::from(target.segments()[3]) == 1 + self.number;
        let asks = packet.next_header() == IpProtocol::ICMPV6 && message.first() == Some(&SOLICIT);
        // Duplicate address detection asks from nowhere, and is not answered.
        if !asks || !ours || packet.src().is_unspecified() {
            return None;
        }
        let mut frame = self.ethernet(ethernet.src(), EtherType::IPV6, 14 + 40 + ND_LEN);
        let mut ip = Ipv6::init(&mut frame[14..], ND_LEN).ok()?;
        ip.set_next_header(IpProtocol::ICMPV6);
        ip.set_hop_limit(255);
        ip.set_src(target);
        ip.set_dst(packet.src());
        let message = ip.payload_mut();
        message[0] = ADVERTISE;
        message[4] = 0x60; // solicited, override
        message[8..24].copy_from_slice(&target.octets());
        message[24..26].copy_from_slice(&[2, 1]);
        message[26..32].copy_from_slice(&self.mac.0);
        let sum = PseudoHeader::v6(target, packet.src()).sum(IpProtocol::ICMPV6, message);
        message[2..4].copy_from_slice(&sum.checksum().to_be_bytes());
        Some(frame)
    }

    fn ethernet(&self, dst: MacAddr, ethertype: EtherType, len: usize) -> Vec<u8> {
        let mut frame = vec![0; len];
        if let Ok(mut ethernet) = Ethernet::new_checked(&mut frame[..]) {
            ethernet.set_dst(dst);
            ethernet.set_src(self.mac);
            ethernet.set_ethertype(ethertype);
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::format::v6;
    use ringway_wire::{Icmp, Net, Transport, parse};

    const US: Side = Side { number: 1, mac: MacAddr([2, 0, 0, 0, 0, 9]) };
    const ASKER: Side = Side { number: 0, mac: MacAddr([2, 0, 0, 0, 0, 1]) };

    #[test]
    fn arp_is_answered_for_hosts_of_the_side_only() {
        let ask =
            |target| ASKER.arp(MacAddr::BROADCAST, ArpOperation::REQUEST, v4(0, 0), MacAddr::ZERO, target);
        let reply = US.answer(&ask(v4(1, 700))).unwrap();
        let Some(Net::Arp(arp)) = parse(&reply).net else { panic!("{reply:?}") };
        assert_eq!(
            (arp.operation(), arp.sender_mac(), arp.sender_ip()),
            (ArpOperation::REPLY, US.mac, v4(1, 700))
        );
        assert_eq!((arp.target_mac(), arp.target_ip()), (ASKER.mac, v4(0, 0)));
        assert!(reply.starts_with(&ASKER.mac.0) && reply.len() == ARP_LEN);
        for other in [v4(0, 5), [10, 0, 0, 1].into()] {
            assert_eq!(US.answer(&ask(other)), None, "{other}");
        }
        assert_eq!(US.answer(&reply), None, "replies are not answered");
        assert_eq!(US.answer(&US.announce(&[])), None, "announcements are not answered");
        for vlans in [&[7][..], &[9, 7]] {
            let tags = vlan_tags(vlans);
            let got = US.answer(&tagged(ask(v4(1, 700)), &tags));
            assert_eq!(got, Some(tagged(reply.clone(), &tags)), "{vlans:?}");
            let hello = US.announce(vlans);
            assert!(hello[ADDRESSES..].starts_with(&tags) && hello.len() == ARP_LEN + tags.len());
        }
        assert_eq!(US.answer(&ask(v4(1, 0))[..20]), None);
        let question = ASKER.ask(v4(1, 3), &[7]);
        let reply = US.answer(&question).unwrap();
        assert_eq!(Side::answered(&reply, v4(1, 3)), Some(US.mac));
        assert_eq!(Side::answered(&reply, v4(1, 4)), None);
        assert_eq!(Side::answered(&question, v4(1, 3)), None);
    }

    #[test]
    fn solicitations_are_answered_with_a_right_checksum() {
        let solicit = |target: Ipv6Addr, src: Ipv6Addr| {
            let mut frame =
                ASKER.ethernet(MacAddr([0x33, 0x33, 0xff, 0, 0, 2]), EtherType::IPV6, 14 + 40 + 24);
            let mut ip = Ipv6::init(&mut frame[14..], 24).unwrap();
            ip.set_next_header(IpProtocol::ICMPV6);
            ip.set_hop_limit(255);
            ip.set_src(src);
            ip.payload_mut()[0] = SOLICIT;
            ip.payload_mut()[8..24].copy_from_slice(&target.octets());
            frame
        };
        let reply = US.answer(&solicit(v6(1, 3), v6(0, 0))).unwrap();
        let packet = parse(&reply);
        let Some(Net::Ipv6(ip)) = packet.net else { panic!("{packet:?}") };
        assert_eq!((ip.src(), ip.dst(), ip.hop_limit()), (v6(1, 3), v6(0, 0), 255));
        let icmp = Icmp::new_checked(ip.payload()).unwrap();
        assert!(icmp.verify_checksum_v6(ip.pseudo_header()) && icmp.msg_type() == ADVERTISE);
        assert!(matches!(packet.transport, Some(Transport::Icmpv6(_))));
        for (target, src) in
            [(v6(0, 3), v6(0, 0)), (v6(1, 3), Ipv6Addr::UNSPECIFIED), ("fe80::1".parse().unwrap(), v6(0, 0))]
        {
            assert_eq!(US.answer(&solicit(target, src)), None, "{target} {src}");
        }
    }
}
