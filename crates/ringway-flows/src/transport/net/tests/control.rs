//! Answers to ARP, neighbour discovery and echo requests.

use ringway_wire::{Arp, ArpOperation, MacAddr};

use super::super::received::Body;
use super::super::refused::Refused;
use super::hostile::{echo_request, fix};
use super::*;

const STRANGER_MAC: [u8; 6] = [2, 9, 9, 9, 9, 9];

pub(super) fn answer(net: &mut Net, frame: &[u8]) -> Vec<u8> {
    let message = control(net.parse(frame));
    let mut out = vec![0xee; 2048];
    let len = net.control(&message, &mut out);
    out.truncate(len);
    out
}

/// A request from outside all pools.
pub(super) fn arp(target: &str, sender: &str, operation: u16, tag: Option<u8>) -> Vec<u8> {
    let mut frame = [[0xff; 6], STRANGER_MAC].concat();
    frame.extend(tag.iter().flat_map(|&vlan| [0x81, 0, 0, vlan]));
    frame.extend([8, 6]);
    let at = frame.len();
    frame.resize(at + 28, 0);
    let mut arp = Arp::init(&mut frame[at..]).unwrap();
    arp.set_operation(ArpOperation(operation));
    arp.set_sender_mac(MacAddr(STRANGER_MAC));
    let address = |text: &str| text.parse().unwrap();
    arp.set_sender_ip(address(sender));
    arp.set_target_ip(address(target));
    frame
}

#[test]
fn a_request_for_a_host_of_this_side_gets_its_hardware_address() {
    for (mut pair, tag) in [(Pair::plain(), None), (Pair::tagged(), Some(100))] {
        for (sender, target) in
            [("198.18.0.9", "198.19.0.3"), ("10.1.1.1", "198.19.3.255"), ("0.0.0.0", "198.19.0.0")]
        {
            let reply = answer(&mut pair.server, &arp(target, sender, 1, tag));
            let want = pair.hosts.host(pair.host(target)).mac(SERVER_MAC);
            assert_eq!((&reply[..6], &reply[6..12], reply.len()), (&STRANGER_MAC[..], &want[..], 60));
            assert_eq!(
                reply.get(12..18).filter(|_| tag.is_some()),
                tag.map(|_| &[0x81, 0, 0, 100, 8, 6][..])
            );
            let arp = Arp::new_checked(&reply[ip_at(&reply)..]).unwrap();
            assert_eq!((arp.operation(), arp.sender_mac()), (ArpOperation::REPLY, MacAddr(want)));
            assert_eq!(
                (IpAddr::from(arp.sender_ip()), IpAddr::from(arp.target_ip())),
                (ip(target), ip(sender))
            );
            assert_eq!(arp.target_mac(), MacAddr(STRANGER_MAC));
        }
        let refuse = |pair: &mut Pair, frame: &[u8]| pair.server.parse(frame).err();
        assert_eq!(
            refuse(&mut pair, &arp("198.18.0.1", "10.1.1.1", 1, tag)),
            Some(Refused::NotForUs),
            "the far side answers"
        );
        assert_eq!(refuse(&mut pair, &arp("10.1.1.2", "10.1.1.1", 1, tag)), Some(Refused::NotForUs));
        assert_eq!(
            refuse(&mut pair, &arp("198.19.0.1", "10.1.1.1", 2, tag)),
            Some(Refused::NotForUs),
            "nobody asked"
        );
        assert_eq!(refuse(&mut pair, &arp("198.19.0.1", "10.1.1.1", 3, tag)), Some(Refused::OtherProtocol));
        assert_eq!(
            refuse(&mut pair, &arp("198.19.0.1", "255.255.255.255", 1, tag)),
            Some(Refused::Malformed)
        );
        let other = tag.map_or(Some(7), |_| None);
        assert_eq!(refuse(&mut pair, &arp("198.19.0.1", "10.1.1.1", 1, other)), Some(Refused::WrongVlan));
        let mut direct = arp("198.19.0.1", "10.1.1.1", 1, tag);
        direct[..6].copy_from_slice(&[2, 0, 0, 0, 7, 7]);
        assert_eq!(refuse(&mut pair, &direct), Some(Refused::WrongMac));
        let mut other_sizes = arp("198.19.0.1", "10.1.1.1", 1, tag);
        let at = ip_at(&other_sizes);
        other_sizes[at + 4] = 8;
        assert_eq!(refuse(&mut pair, &other_sizes), Some(Refused::OtherProtocol));
    }
}

/// Bytes from some place on.
type Changes<'a> = &'a [(usize, &'a [u8])];

/// A solicitation as the client's port sends it, with some bytes of its packet changed.
fn solicitation(pair: &mut Pair, changes: Changes<'_>) -> Vec<u8> {
    let Way { from, to, .. } = pair.way(false);
    pair.client.resolve(from, to, 0);
    let mut frame = vec![0; 128];
    let len = pair.client.question(0, &mut frame);
    frame.truncate(len);
    let ip = ip_at(&frame);
    for (at, bytes) in changes {
        frame[ip + at..ip + at + bytes.len()].copy_from_slice(bytes);
    }
    fix(&mut frame);
    frame
}

#[test]
fn a_solicitation_gets_an_advertisement() {
    for make in [Pair::plain, Pair::tagged] {
        let mut pair = make();
        let asked = solicitation(&mut pair, &[]);
        // Group ff02::1:ff00:17 and its hardware address.
        assert_eq!(asked[..6], [0x33, 0x33, 0xff, 0, 0, 0x17]);
        let reply = answer(&mut pair.server, &asked);
        let ip = ip_at(&reply);
        assert!(is_right(&reply));
        let Way { mac, .. } = pair.way(false);
        assert_eq!((&reply[..6], &reply[6..12]), (&CLIENT_MAC[..], &mac[..]));
        assert_eq!((reply[ip + 7], &reply[ip + 40..ip + 42], reply[ip + 44]), (255, &[136, 0][..], 0x60));
        assert_eq!(reply[ip + 64..ip + 72], [&[2, 1], &mac[..]].concat());
    }
}

#[test]
fn all_nodes_get_the_answer_to_a_probe() {
    let mut pair = Pair::plain();
    // No source, no option: the payload is 24 bytes.
    let mut probe = solicitation(&mut pair, &[(4, &[0, 24]), (8, &[0; 16])]);
    probe.truncate(14 + 64);
    fix(&mut probe);
    let reply = answer(&mut pair.server, &probe);
    assert_eq!(reply[..6], [0x33, 0x33, 0, 0, 0, 1]);
    assert_eq!((&reply[38..54], reply[58]), (&[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..], 0x20));
    assert!(is_right(&reply));
    pair = Pair::plain();
    let with_option = solicitation(&mut pair, &[(8, &[0; 16])]);
    assert_eq!(pair.server.parse(&with_option).err(), Some(Refused::Malformed));
}

#[test]
fn wrong_solicitations_are_refused() {
    let cases: [(&str, Changes<'_>, Refused); 8] = [
        ("through a router", &[(7, &[254])], Refused::Malformed),
        ("another code", &[(41, &[1])], Refused::Malformed),
        ("for a group", &[(48, &[0xff])], Refused::Malformed),
        ("for a host of the far side", &[(54, &[0, 1]), (55, &[1])], Refused::NotForUs),
        ("to another group", &[(39, &[0x18])], Refused::NotForUs),
        ("an option without length", &[(65, &[0])], Refused::Malformed),
        ("an option beyond the end", &[(65, &[2])], Refused::Malformed),
        ("from a group", &[(8, &[0xff, 2])], Refused::Malformed),
    ];
    for (what, changes, why) in cases {
        let mut pair = Pair::plain();
        let frame = solicitation(&mut pair, changes);
        assert_eq!(pair.server.parse(&frame).err(), Some(why), "{what}");
    }
}

#[test]
fn an_echo_request_is_answered_with_its_data() {
    for mut pair in Pair::both() {
        for is_v4 in [true, false] {
            for len in [0, 1, 56, 1400] {
                let asked = echo_request(&pair, is_v4, &data(len));
                let reply = answer(&mut pair.server, &asked);
                assert!(is_right(&reply));
                let Way { from, to, mac } = pair.way(is_v4);
                assert_eq!((&reply[..6], &reply[6..12]), (&CLIENT_MAC[..], &mac[..]));
                let at = ip_at(&reply) + if is_v4 { 20 } else { 40 };
                assert_eq!(reply[at..at + 2], [if is_v4 { 0 } else { 129 }, 0]);
                assert_eq!(reply[at + 4..at + 8 + len], asked[at + 4..at + 8 + len]);
                let got = arrival(pair.client.parse(&reply));
                assert!(matches!(got.body, Body::EchoReply));
                assert_eq!((got.source, got.target), (to, from));
                let message = control(pair.server.parse(&asked));
                let mut short = vec![0; at + 8 + len - 1];
                assert_eq!(pair.server.control(&message, &mut short), 0);
            }
        }
    }
}

#[test]
fn no_echo_goes_to_a_group() {
    let mut pair = Pair::plain();
    for source in [[224, 0, 0, 1], [255, 255, 255, 255], [0, 0, 0, 0], [127, 0, 0, 1]] {
        let mut frame = echo_request(&pair, true, &[]);
        frame[26..30].copy_from_slice(&source);
        fix(&mut frame);
        assert_eq!(pair.server.parse(&frame).err(), Some(Refused::Malformed), "{source:?}");
    }
    let mut frame = echo_request(&pair, true, &[]);
    frame[26..30].copy_from_slice(&[10, 1, 1, 1]);
    fix(&mut frame);
    let reply = answer(&mut pair.server, &frame);
    assert_eq!(reply[30..34], [10, 1, 1, 1], "the sender needs no emulated address");
}
