//! What one port builds, the other one reads.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::quick;
use super::super::received::Body;
use super::super::refused::Refused;
use super::super::{Gateway, Sides};
use super::*;
use crate::code::Vlans;
use crate::transport::segment::Segment;

fn any_segment() -> impl Strategy<Value = Outgoing> {
    let syn = proptest::option::of((1..=u16::MAX, proptest::option::of(0..=14u8)));
    (any::<[u32; 2]>(), any::<u16>(), 0..64u8, syn).prop_map(|([seq, ack], window, flags, syn)| Outgoing {
        seq,
        ack,
        window,
        flags: if syn.is_some() { flags | flag::SYN } else { flags & !flag::SYN },
        len: 0,
        syn,
    })
}

proptest! {
    #[test]
    fn a_segment_arrives_as_it_was_built(
        mut sent in any_segment(), data in vec(any::<u8>(), 0..1460), ports: [u16; 2], is_v4: bool, is_tagged: bool
    ) {
        let mut pair = if is_tagged { Pair::tagged() } else { Pair::plain() };
        sent.len = data.len() as u16;
        let (way, ports) = (pair.way(is_v4), Ports { source: ports[0], target: ports[1] });
        let mut frame = vec![0xee; 2048];
        let len = pair.client.tcp(&mut frame, way, ports, &sent, |out| put(out, &data));
        frame.truncate(len);
        let options = sent.syn.map_or(0, |(_, shift)| if shift.is_some() { 8 } else { 4 });
        let headers = 14 + if is_tagged { 4 } else { 0 } + if is_v4 { 20 } else { 40 } + 20 + options;
        prop_assert_eq!(len, (headers + data.len()).max(60));
        prop_assert!(is_right(&frame));
        prop_assert!(frame[headers + data.len()..].iter().all(|&byte| byte == 0));
        let is_quick = is_v4 && !is_tagged;
        prop_assert_eq!(quick::segment(&pair.server, &frame).is_some(), is_quick);
        pair.client.heard(way.to, way.mac);
        let quick = pair.client.quick_way(way.from, way.to);
        prop_assert_eq!(quick.is_some(), is_quick);
        if let Some(quick) = quick {
            let mut same = vec![0xee; 2048];
            let len = pair.client.quick_tcp(&mut same, quick, ports, &sent, |out| put(out, &data));
            prop_assert_eq!(&same[..len], &frame, "the quick way writes what the long way writes");
            prop_assert_eq!(pair.client.quick_tcp(&mut same[..len - 1], quick, ports, &sent, |out| put(out, &data)), 0);
        }
        let arrival = arrival(pair.server.parse(&frame));
        prop_assert_eq!((arrival.source, arrival.target, arrival.from), (way.from, way.to, CLIENT_MAC));
        let Body::Tcp(seen, got) = arrival.body else { panic!("{arrival:?}") };
        let (mss, shift) = sent.syn.unwrap_or_default();
        let Outgoing { seq, ack, window, flags, .. } = sent;
        let want = Segment { seq, ack, window, flags, mss, shift, data: &data };
        prop_assert_eq!((seen, format!("{got:?}")), (ports, format!("{want:?}")));
    }

    #[test]
    fn a_datagram_arrives_as_it_was_built(data in vec(any::<u8>(), 0..1472), is_v4: bool, is_tagged: bool) {
        let mut pair = if is_tagged { Pair::tagged() } else { Pair::plain() };
        let frame = pair.udp(is_v4, &data);
        prop_assert!(is_right(&frame));
        let arrival = arrival(pair.server.parse(&frame));
        prop_assert!(matches!(arrival.body, Body::Udp(PORTS, got) if got == data), "{:?}", arrival);
    }

    #[test]
    fn a_datagram_never_has_the_sum_that_stands_for_none(word: u16, is_v4: bool) {
        let pair = Pair::plain();
        let mut frame = pair.udp(is_v4, &word.to_be_bytes());
        let at = if is_v4 { 34 } else { 54 };
        // With its own checksum as the payload, the datagram's sum becomes 0.
        let zero: [u8; 2] = pair.udp(is_v4, &[0, 0])[at + 6..at + 8].try_into().unwrap();
        prop_assert_ne!(&frame[at + 6..at + 8], &[0, 0]);
        frame = pair.udp(is_v4, &zero);
        prop_assert_eq!(&frame[at + 6..at + 8], &[0xff, 0xff]);
        prop_assert!(is_right(&frame));
    }
}

#[test]
fn a_short_buffer_gets_nothing() {
    for pair in Pair::both() {
        for is_v4 in [true, false] {
            for len in [0, 1, 1460] {
                let full = pair.tcp(is_v4, &segment(len), &data(len)).len();
                for room in [0, 13, 53, 59, full - 1] {
                    let mut buf = vec![0; room];
                    let put = |_: &mut [u8]| panic!("no room");
                    assert_eq!(
                        pair.client.tcp(&mut buf, pair.way(is_v4), PORTS, &segment(len), put),
                        0,
                        "{room}"
                    );
                    assert_eq!(pair.client.udp(&mut buf, pair.way(is_v4), PORTS, len + 12, put), 0, "{room}");
                }
                let mut buf = vec![0; full];
                let put = |out: &mut [u8]| put(out, &data(len));
                assert_eq!(pair.client.tcp(&mut buf, pair.way(is_v4), PORTS, &segment(len), put), full);
            }
            let mut buf = vec![0; 70_000];
            let put = |_: &mut [u8]| panic!("no IP packet is that long");
            for len in [65_536, 66_000, usize::MAX] {
                assert_eq!(pair.client.udp(&mut buf, pair.way(is_v4), PORTS, len, put), 0);
            }
        }
    }
}

#[test]
fn options_and_extension_headers_are_skipped() {
    for mut pair in Pair::both() {
        let frame = pair.tcp(true, &segment(5), b"12345");
        let ip = ip_at(&frame);
        // Router alert, and padding to 8 bytes.
        let mut long = [&frame[..ip + 20], &[148, 4, 0, 0, 1, 1, 1, 0], &frame[ip + 20..ip + 45]].concat();
        long[ip] = 0x47;
        long[ip + 3] += 8;
        long[ip + 10..ip + 12].fill(0);
        let sum = naive(&[&long[ip..ip + 28]]);
        long[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        let Body::Tcp(PORTS, got) = arrival(pair.server.parse(&long)).body else { panic!("no segment") };
        assert_eq!(got.data, b"12345");

        let frame = pair.udp(false, b"12345");
        let ip = ip_at(&frame);
        // Hop-by-hop options, destination options of 16 bytes, a fragment header of a whole packet.
        let extensions = [
            60, 0, 1, 4, 0, 0, 0, 0, 44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 1, 2, 3,
            4,
        ];
        let mut long = [&frame[..ip + 40], &extensions, &frame[ip + 40..]].concat();
        long[ip + 5] += extensions.len() as u8;
        long[ip + 6] = 0;
        assert!(matches!(arrival(pair.server.parse(&long)).body, Body::Udp(PORTS, b"12345")));
        long[ip + 40 + 24 + 3] = 1;
        assert_eq!(pair.server.parse(&long).err(), Some(Refused::Fragment), "more fragments follow");
    }
}

#[test]
fn a_frame_in_another_vlan_is_refused() {
    let (mut plain, mut tagged) = (Pair::plain(), Pair::tagged());
    let way = plain.way(true);
    let frame = plain.tcp(true, &segment(0), &[]);
    let mut other = tagged.tcp(true, &segment(0), &[]);
    assert_eq!(
        plain.server.parse(&[&other[..0], &CLIENT_TO_SERVER, &other[12..]].concat()).err(),
        Some(Refused::WrongVlan)
    );
    assert_eq!(
        tagged.server.parse(&[&way_mac(&tagged), &frame[6..]].concat()).err(),
        Some(Refused::WrongVlan)
    );
    other[15] = 101;
    assert_eq!(tagged.server.parse(&other).err(), Some(Refused::WrongVlan));
    other[14..16].copy_from_slice(&[0xf0, 100]);
    assert!(tagged.server.parse(&other).is_ok(), "a priority and a mark change nothing");
    let priority = [&frame[..12], &[0x81, 0, 0xe0, 0], &frame[12..]].concat();
    assert_eq!(arrival(plain.server.parse(&priority)).source, way.from, "VLAN 0 is no VLAN");
    assert_eq!(plain.server.refusals().of(Refused::WrongVlan), 1);
    assert_eq!(tagged.server.refusals().of(Refused::WrongVlan), 2);
}

/// The start of a frame from the client's port to the server's.
const CLIENT_TO_SERVER: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

fn way_mac(pair: &Pair) -> [u8; 6] {
    pair.way(true).mac
}

#[test]
fn hosts_of_one_pool_can_have_many_vlans_and_addresses() {
    let mut pools = pools();
    pools[0].vlans = Some(Vlans { first: 7, last: 9 });
    pools[0].macs = Some(Macs { first: [2, 0, 0, 0, 0, 0xff], count: 2 });
    let pair = Pair::new(&pools, Gateway::default());
    for (client, vlan, mac) in
        [("198.18.0.0", 7, [0, 0xff]), ("198.18.0.1", 8, [1, 0]), ("198.18.0.5", 9, [1, 0])]
    {
        let way = Way { from: pair.host(client), ..pair.way(true) };
        let mut buf = [0; 64];
        assert_eq!(pair.client.udp(&mut buf, way, PORTS, 0, |out| put(out, &[])), 60);
        assert_eq!(buf[..18], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, mac[0], mac[1], 0x81, 0, 0, vlan, 8, 0]);
    }
}

#[test]
fn each_refusal_has_its_name() {
    let change = |is_v4: bool, at: usize, to: &[u8]| {
        let mut frame = Pair::plain().tcp(is_v4, &segment(9), &data(9));
        frame[at..at + to.len()].copy_from_slice(to);
        if is_v4 && (14..34).contains(&at) && at != 24 {
            frame[24..26].fill(0);
            let sum = naive(&[&frame[14..34]]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        frame
    };
    let cases = [
        (Refused::Malformed, change(true, 14, &[0x44])),
        (Refused::Malformed, change(true, 16, &[0xff])),
        (Refused::Malformed, change(true, 46, &[0x40])),
        (Refused::Malformed, change(true, 46, &[0xf0])),
        (Refused::Malformed, change(false, 18, &[0xff])),
        (Refused::Malformed, change(true, 6, &[0xff])),
        (Refused::Malformed, change(true, 12, &[0x81, 0])[..15].to_vec()),
        (Refused::OtherProtocol, change(true, 12, &[0x88, 0xcc])),
        (Refused::OtherProtocol, change(true, 12, &[0x88, 0xa8])),
        (Refused::OtherProtocol, change(true, 23, &[132])),
        (Refused::OtherProtocol, change(false, 20, &[132])),
        (Refused::WrongMac, change(true, 5, &[3])),
        (Refused::WrongMac, change(true, 0, &[0xff; 6])),
        (Refused::NotForUs, change(true, 30, &[198, 19, 4, 0])),
        (Refused::NotForUs, change(true, 30, &[198, 18, 0, 1])),
        (Refused::NotForUs, change(false, 38, &[0xff, 2])),
        (Refused::Fragment, change(true, 20, &[0x20, 0])),
        (Refused::Fragment, change(true, 20, &[0, 1])),
        (Refused::IpChecksum, change(true, 24, &[0, 0])),
        (Refused::Checksum, change(true, 50, &[0, 0])),
        (Refused::Checksum, change(false, 70, &[0, 0])),
    ];
    let mut pair = Pair::plain();
    let mut counts = super::super::refused::Refusals::default();
    for (number, (why, frame)) in cases.into_iter().enumerate() {
        assert_eq!(pair.server.parse(&frame).err(), Some(why), "case {number}");
        counts.add(why);
        assert_eq!(pair.server.refusals(), &counts, "case {number}");
    }
    // A sender that is in no pool of the far side, with right checksums.
    let stranger = Arc::new(
        Hosts::new(&[pool("198.18.9.1", "198.18.9.1"), pool("198.19.0.0", "198.19.3.255")]).unwrap(),
    );
    let net = Net::new(stranger.clone(), Sides { near: &[0], far: &[1] }, CLIENT_MAC, Gateway::default());
    let way = Way { from: HostId(0), to: stranger.find(ip("198.19.0.7")).unwrap(), mac: SERVER_MAC };
    let mut frame = [0; 60];
    assert_eq!(net.udp(&mut frame, way, PORTS, 0, |out| put(out, &[])), 60);
    assert_eq!(pair.server.parse(&frame).err(), Some(Refused::UnknownSource));
    assert_eq!(pair.server.refusals().of(Refused::UnknownSource), 1);
}

#[test]
fn a_datagram_without_checksum_is_right_in_ipv4_only() {
    for is_v4 in [true, false] {
        let mut pair = Pair::plain();
        let mut frame = pair.udp(is_v4, b"data");
        let at = if is_v4 { 40 } else { 60 };
        frame[at..at + 2].fill(0);
        assert_eq!(pair.server.parse(&frame).err(), (!is_v4).then_some(Refused::Checksum));
    }
}
