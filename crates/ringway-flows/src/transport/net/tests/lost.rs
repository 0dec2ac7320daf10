//! ICMP messages about packets that were lost.

use super::super::received::{Body, Cause, Lost};
use super::super::refused::Refused;
use super::hostile::fix;
use super::*;
use crate::code::Transport;

/// The IP packet of a segment or datagram from the server to the client.
fn sent(pair: &Pair, is_v4: bool, is_tcp: bool) -> Vec<u8> {
    let Way { from, to, .. } = pair.way(is_v4);
    let way = Way { from: to, to: from, mac: CLIENT_MAC };
    let ports = Ports { source: 80, target: 40_000 };
    let mut buf = [0; 2048];
    let len = if is_tcp {
        pair.server.tcp(&mut buf, way, ports, &segment(100), |out| put(out, &data(100)))
    } else {
        pair.server.udp(&mut buf, way, ports, 100, |out| put(out, &data(100)))
    };
    buf[ip_at(&buf)..len].to_vec()
}

/// A message that quotes the start of a packet. It comes from the client's address.
fn about(pair: &Pair, is_v4: bool, (kind, code): (u8, u8), word: [u8; 4], quoted: &[u8]) -> Vec<u8> {
    // The header of UDP gives way to that of ICMP, which is as long.
    let mut frame = pair.udp(is_v4, quoted);
    let ip = ip_at(&frame);
    let at = ip + if is_v4 { 20 } else { 40 };
    frame[ip + if is_v4 { 9 } else { 6 }] = if is_v4 { 1 } else { 58 };
    frame[at..at + 4].copy_from_slice(&[kind, code, 0, 0]);
    frame[at + 4..at + 8].copy_from_slice(&word);
    fix(&mut frame);
    frame
}

/// A message about a segment of the server.
pub(super) fn message(pair: &Pair, is_v4: bool, kind: (u8, u8), word: [u8; 4]) -> Vec<u8> {
    let start = if is_v4 { 28 } else { 48 };
    about(pair, is_v4, kind, word, &sent(pair, is_v4, true)[..start])
}

fn cause(pair: &mut Pair, is_v4: bool, kind: (u8, u8), word: [u8; 4]) -> Cause {
    let frame = message(pair, is_v4, kind, word);
    match arrival(pair.server.parse(&frame)).body {
        Body::Unreachable(_, cause) => cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_names_the_packet() {
    for mut pair in Pair::both() {
        for is_v4 in [true, false] {
            for is_tcp in [true, false] {
                let packet = sent(&pair, is_v4, is_tcp);
                let start = if is_v4 { 28 } else { 48 };
                let kind = if is_v4 { (3, 3) } else { (1, 4) };
                for len in [start, start + 1, packet.len()] {
                    let frame = about(&pair, is_v4, kind, [0; 4], &packet[..len]);
                    let got = arrival(pair.server.parse(&frame));
                    let Body::Unreachable(lost, Cause::Port) = got.body else { panic!("{got:?}") };
                    let (transport, seq) =
                        if is_tcp { (Transport::Tcp, 0x8000_0001) } else { (Transport::Udp, 0) };
                    assert_eq!(lost, Lost { transport, far_port: 40_000, near_port: 80, seq });
                    let Way { from, to, .. } = pair.way(is_v4);
                    assert_eq!((got.source, got.target), (from, to));
                }
                let frame = about(&pair, is_v4, kind, [0; 4], &packet[..start - 1]);
                assert_eq!(pair.server.parse(&frame).err(), Some(Refused::Malformed));
            }
        }
    }
}

#[test]
fn causes_by_type_and_code() {
    let mut pair = Pair::plain();
    let v4 = [
        ((3, 0), Cause::Host),
        ((3, 1), Cause::Host),
        ((3, 2), Cause::Protocol),
        ((3, 3), Cause::Port),
        ((3, 13), Cause::Prohibited),
        ((11, 0), Cause::Expired),
        ((12, 0), Cause::Parameter),
    ];
    let v6 = [
        ((1, 0), Cause::Host),
        ((1, 1), Cause::Prohibited),
        ((1, 3), Cause::Host),
        ((1, 4), Cause::Port),
        ((3, 0), Cause::Expired),
        ((4, 0), Cause::Parameter),
        ((4, 1), Cause::Protocol),
    ];
    for (is_v4, cases) in [(true, v4), (false, v6)] {
        for (kind, want) in cases {
            assert_eq!(cause(&mut pair, is_v4, kind, [0; 4]), want, "{is_v4} {kind:?}");
        }
    }
    for (is_v4, kind) in [(true, 4), (true, 5), (true, 13), (false, 133), (false, 137), (false, 143)] {
        let frame = message(&pair, is_v4, (kind, 0), [0; 4]);
        assert_eq!(pair.server.parse(&frame).err(), Some(Refused::OtherProtocol), "type {kind}");
    }
}

#[test]
fn the_mtu_of_a_path_is_no_less_than_each_link_takes() {
    let mut pair = Pair::plain();
    let v4 = [
        ([0, 0, 5, 0], 1280),
        ([9, 9, 2, 0x40], 576),
        ([0, 0, 0, 0], 576),
        ([0, 0, 0, 20], 68),
        ([0, 0, 0xff, 0xff], 65_535),
    ];
    for (word, mtu) in v4 {
        assert_eq!(cause(&mut pair, true, (3, 4), word), Cause::TooBig { mtu });
    }
    for (word, mtu) in
        [([0, 0, 5, 0xdc], 1500), ([0, 0, 0, 0], 1280), ([0, 0, 4, 0xff], 1280), ([0, 1, 0, 0], 65_536)]
    {
        assert_eq!(cause(&mut pair, false, (2, 0), word), Cause::TooBig { mtu });
    }
}

#[test]
fn any_router_may_report_but_only_about_packets_of_this_side() {
    let mut pair = Pair::plain();
    for (is_v4, kind, source) in [(true, (3, 1), 26), (false, (1, 0), 22)] {
        let mut frame = message(&pair, is_v4, kind, [0; 4]);
        frame[source..source + 3].copy_from_slice(&[1, 2, 3]);
        fix(&mut frame);
        assert!(matches!(arrival(pair.server.parse(&frame)).body, Body::Unreachable(..)), "from a router");
        let quoted = if is_v4 { 14 + 20 + 8 } else { 14 + 40 + 8 };
        let change = |at: usize, to: u8| {
            let mut changed = frame.clone();
            changed[quoted + at] ^= to;
            fix(&mut changed);
            changed
        };
        let (from, to) = if is_v4 { (15, 16) } else { (23, 24) };
        assert_eq!(pair.server.parse(&change(from, 1)).err(), Some(Refused::Malformed), "of another host");
        assert_eq!(
            pair.server.parse(&change(to, 1)).err(),
            Some(Refused::UnknownSource),
            "to a host of no pool"
        );
        assert_eq!(pair.server.parse(&change(0, 0x20)).err(), Some(Refused::Malformed), "another version");
        let protocol = if is_v4 { 9 } else { 6 };
        assert_eq!(pair.server.parse(&change(protocol, 0x40)).err(), Some(Refused::OtherProtocol));
        if is_v4 {
            assert_eq!(pair.server.parse(&change(7, 1)).err(), Some(Refused::Malformed), "a later fragment");
            assert_eq!(
                pair.server.parse(&change(0, 1)).err(),
                Some(Refused::Malformed),
                "a header below 20 bytes"
            );
        }
        frame[quoted] ^= 1;
        assert_eq!(pair.server.parse(&frame).err(), Some(Refused::Checksum));
    }
}
