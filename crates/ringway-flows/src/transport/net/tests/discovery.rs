//! Questions for hardware addresses, on both ports.

use super::super::neighbours::{RETRY, Resolution};
use super::super::refused::Refused;
use super::control::{answer, arp};
use super::*;

/// Hands the client's questions to the server's port, and the answers back. How many questions there were.
fn exchange(pair: &mut Pair, now: u64) -> usize {
    let (mut asked, mut answered) = ([0; 128], [0; 128]);
    let mut questions = 0;
    loop {
        match pair.client.question(now, &mut asked) {
            0 => return questions,
            len => {
                let message = control(pair.server.parse(&asked[..len]));
                let len = pair.server.control(&message, &mut answered);
                let message = control(pair.client.parse(&answered[..len]));
                assert_eq!(pair.client.control(&message, &mut asked), 0);
                questions += 1;
            }
        }
    }
}

#[test]
fn one_question_each_and_then_all_is_known() {
    for mut pair in Pair::both() {
        let (from_v4, from_v6) = (pair.way(true).from, pair.way(false).from);
        let targets: Vec<_> =
            (0..3).flat_map(|at| [ip(&format!("198.19.0.{at}")), ip(&format!("2001:2:0:2::{at}"))]).collect();
        for target in &targets {
            let to = pair.hosts.find(*target).unwrap();
            let from = if target.is_ipv4() { from_v4 } else { from_v6 };
            assert_eq!(pair.client.resolve(from, to, 5), Resolution::Asking);
            assert_eq!(pair.client.resolve(from, to, 5), Resolution::Asking);
        }
        assert_eq!(pair.client.question_due(), Some(5));
        assert_eq!((exchange(&mut pair, 4), pair.client.take_news()), (0, false));
        assert_eq!((exchange(&mut pair, 5), pair.client.take_news()), (6, true));
        assert!(!pair.client.take_news());
        for target in &targets {
            let to = pair.hosts.find(*target).unwrap();
            let from = if target.is_ipv4() { from_v4 } else { from_v6 };
            let mac = pair.hosts.host(to).mac(SERVER_MAC);
            assert_eq!(pair.client.resolve(from, to, 6), Resolution::Known(mac));
            // The server's port learned from the questions.
            assert_eq!(pair.server.resolve(to, from, 6), Resolution::Known(CLIENT_MAC));
        }
        assert_eq!((exchange(&mut pair, 5 + RETRY), pair.client.question_due()), (0, None));
    }
}

#[test]
fn traffic_teaches_but_a_group_has_no_neighbour() {
    for is_v4 in [true, false] {
        let mut pair = Pair::plain();
        let Way { from, to, .. } = pair.way(is_v4);
        let frame = pair.tcp(is_v4, &segment(0), &[]);
        assert_eq!(pair.server.resolve(to, from, 0), Resolution::Asking);
        assert!(pair.server.parse(&frame).is_ok() && pair.server.take_news());
        assert_eq!(pair.server.resolve(to, from, 0), Resolution::Known(CLIENT_MAC));
        assert_eq!(pair.server.question(0, &mut [0; 128]), 0, "the question is settled");
        let moved = [&frame[..6], &[2, 0, 0, 0, 0, 9], &frame[12..]].concat();
        assert!(pair.server.parse(&moved).is_ok() && !pair.server.take_news());
        assert_eq!(pair.server.resolve(to, from, 0), Resolution::Known([2, 0, 0, 0, 0, 9]));
        let group = [&frame[..6], &[3, 0, 0, 0, 0, 9], &frame[12..]].concat();
        assert_eq!(pair.server.parse(&group).err(), Some(Refused::Malformed));
    }
}

#[test]
fn a_gateway_stands_for_all_far_hosts_of_its_family() {
    let gateway = Gateway { v4: Some([10, 1, 1, 1].into()), v6: None };
    let mut pair = Pair::new(&pools(), gateway);
    let Way { from, to, .. } = pair.way(true);
    let other = pair.host("198.19.2.2");
    let mut out = [0; 128];
    assert_eq!(pair.client.resolve(from, to, 0), Resolution::Asking);
    assert_eq!(pair.client.resolve(from, other, 0), Resolution::Asking);
    assert_eq!((pair.client.question(0, &mut out), pair.client.question(0, &mut [0; 128])), (60, 0));
    assert_eq!(out[38..42], [10, 1, 1, 1]);
    // A far host does not teach; the gateway does.
    assert_eq!(pair.client.parse(&arp("198.18.1.2", "198.19.0.7", 2, None)).err(), Some(Refused::NotForUs));
    assert_eq!(answer(&mut pair.client, &arp("198.18.1.2", "10.1.1.1", 2, None)), []);
    assert!(pair.client.take_news());
    for target in [to, other] {
        assert_eq!(pair.client.resolve(from, target, 0), Resolution::Known([2, 9, 9, 9, 9, 9]));
    }
    // Nor does traffic that comes through it.
    let mut frame = [0; 60];
    let back = Way { from: to, to: from, mac: CLIENT_MAC };
    assert_eq!(pair.server.udp(&mut frame, back, PORTS, 0, |out| put(out, &[])), 60);
    assert!(pair.client.parse(&frame).is_ok() && !pair.client.take_news());
    // The other family has no gateway.
    let Way { from, to, mac } = pair.way(false);
    assert_eq!(pair.client.resolve(from, to, 0), Resolution::Asking);
    exchange(&mut pair, 0);
    assert_eq!(pair.client.resolve(from, to, 0), Resolution::Known(mac));
}

#[test]
fn a_gateway_has_an_address_in_each_vlan() {
    let mut pools = pools();
    pools[0].vlans = Some(Vlans { first: 100, last: 101 });
    let mut pair = Pair::new(&pools, Gateway { v4: Some([10, 1, 1, 1].into()), v6: None });
    let to = pair.way(true).to;
    let (even, odd) = (pair.host("198.18.0.0"), pair.host("198.18.0.1"));
    let mut out = [0; 128];
    for (from, vlan) in [(even, 100), (odd, 101)] {
        assert_eq!(pair.client.resolve(from, to, 0), Resolution::Asking);
        assert_eq!((pair.client.question(0, &mut out), out[15]), (60, vlan));
    }
    answer(&mut pair.client, &arp("198.18.0.1", "10.1.1.1", 2, Some(101)));
    assert_eq!(pair.client.resolve(even, to, 0), Resolution::Asking);
    assert_eq!(pair.client.resolve(odd, to, 0), Resolution::Known([2, 9, 9, 9, 9, 9]));
}

#[test]
fn an_advertisement_replaces_only_with_its_flag() {
    let mut pair = Pair::plain();
    let Way { from, to, mac } = pair.way(false);
    pair.client.resolve(from, to, 0);
    exchange(&mut pair, 0);
    // The server's answer again, with another address and without the flag.
    let mut asked = [0; 128];
    let mut other = Pair::plain();
    other.client.resolve(from, to, 0);
    let len = other.client.question(0, &mut asked);
    let mut reply = answer(&mut pair.server, &asked[..len]);
    for (flags, want) in [(0x40, mac), (0x60, [2, 0, 0, 0, 0, 9])] {
        reply[58] = flags;
        reply[80..86].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        hostile::fix(&mut reply);
        assert_eq!(answer(&mut pair.client, &reply), []);
        assert_eq!(pair.client.resolve(from, to, 0), Resolution::Known(want), "{flags:#x}");
    }
    assert!(pair.client.take_news());
}

#[test]
fn announcements_go_to_all_nodes_or_to_a_host() {
    let mut pair = Pair::plain();
    let Way { from, to, .. } = pair.way(false);
    let mut asked = [0; 128];
    pair.client.resolve(from, to, 0);
    let len = pair.client.question(0, &mut asked);
    let reply = answer(&mut pair.server, &asked[..len]);
    let change = |changes: &[(usize, &[u8])]| {
        let mut frame = reply.clone();
        for (at, bytes) in changes {
            frame[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        hostile::fix(&mut frame);
        frame
    };
    let (mac, group) =
        (&[0x33, 0x33, 0, 0, 0, 1][..], &[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..]);
    let all = change(&[(0, mac), (38, group), (58, &[0x20])]);
    let solicited = change(&[(0, mac), (38, group), (58, &[0x60])]);
    let other_group = change(&[(0, mac), (38, group), (53, &[2]), (58, &[0x20])]);
    let other_host = change(&[(38, &[0x20, 1, 0, 2, 0, 0, 0, 9])]);
    let other_mac = change(&[(5, &[9])]);
    let other_target = change(&[(62, &[0x20, 1, 0, 3])]);
    assert_eq!(pair.client.parse(&solicited).err(), Some(Refused::Malformed));
    assert_eq!(pair.client.parse(&other_group).err(), Some(Refused::NotForUs));
    assert_eq!(pair.client.parse(&other_host).err(), Some(Refused::NotForUs));
    assert_eq!(pair.client.parse(&other_mac).err(), Some(Refused::WrongMac));
    assert_eq!(pair.client.parse(&other_target).err(), Some(Refused::UnknownSource));
    assert_eq!(pair.client.resolve(from, to, 0), Resolution::Asking);
    assert_eq!(answer(&mut pair.client, &all), []);
    assert_eq!(pair.client.resolve(from, to, 0), Resolution::Known(SERVER_MAC));
}

#[test]
fn an_advertisement_without_option_has_the_address_of_its_frame() {
    let mut pair = Pair::plain();
    let Way { from, to, .. } = pair.way(false);
    let mut asked = [0; 128];
    pair.client.resolve(from, to, 0);
    let len = pair.client.question(0, &mut asked);
    let mut reply = answer(&mut pair.server, &asked[..len]);
    reply.truncate(14 + 64);
    reply[19] = 24;
    hostile::fix(&mut reply);
    assert_eq!(answer(&mut pair.client, &reply), []);
    assert_eq!(pair.client.resolve(from, to, 0), Resolution::Known(SERVER_MAC));
}
