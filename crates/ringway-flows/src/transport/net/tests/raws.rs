//! Packets of attacks.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::received::Body;
use super::super::refused::Refused;
use super::*;
use crate::code::{Field, Fill, MARKER, Place, Raw, Sum as How};

fn raw(fields: Vec<Field>) -> Raw {
    let place = Place::Pool(0);
    let (ip_sum, sum) = (How::Good, How::Good);
    Raw {
        template: 0,
        source: place,
        target: place,
        land: false,
        fields,
        ip_sum,
        sum,
        any: false,
        no_reply: true,
    }
}

/// The IP packet of a frame as a template: addresses, and its checksums, are garbage.
fn template(frame: &[u8], is_v4: bool) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    let (addresses, end) = if is_v4 {
        (12..20, u16::from_be_bytes([packet[2], packet[3]]))
    } else {
        (8..40, 40 + u16::from_be_bytes([packet[4], packet[5]]))
    };
    packet[addresses].fill(0xdd);
    packet.truncate(end.into());
    packet
}

fn write(
    pair: &Pair,
    is_v4: bool,
    raw: &Raw,
    template: &[u8],
    draw: impl FnMut(usize, &Field) -> u64,
) -> Vec<u8> {
    let mut buf = vec![0xee; 2048];
    let len = pair.client.raw(&mut buf, pair.way(is_v4), raw, template, draw);
    buf.truncate(len);
    buf
}

const RANDOM: Fill = Fill::Random;

proptest! {
    #[test]
    fn a_raw_segment_or_datagram_arrives_with_its_fields(
        is_v4: bool, is_tcp: bool, is_tagged: bool, len in 0..80usize, ports: [u16; 2], seq: u32
    ) {
        let mut pair = if is_tagged { Pair::tagged() } else { Pair::plain() };
        let base = Pair::plain();
        let from = if is_tcp { base.tcp(is_v4, &segment(len), &data(len)) } else { base.udp(is_v4, &data(len)) };
        let at = if is_v4 { 20 } else { 40 };
        let mut fields = vec![Field { offset: at, width: 2, fill: RANDOM }, Field { offset: at + 2, width: 2, fill: RANDOM }];
        if is_tcp {
            fields.push(Field { offset: at + 4, width: 4, fill: RANDOM });
        }
        // The upper bytes of a value are left out.
        let values = [ports[0].into(), ports[1].into(), u64::from(seq)].map(|value: u64| value | 0xffff << 48);
        let frame = write(&pair, is_v4, &raw(fields), &template(&from, is_v4), |number, _| values[number]);
        prop_assert!(is_right(&frame));
        let ip = ip_at(&frame);
        let marker = if is_v4 { &frame[ip + 4..ip + 6] } else { &frame[ip + 2..ip + 4] };
        prop_assert_eq!(marker, MARKER.to_be_bytes());
        let way = pair.way(is_v4);
        let got = arrival(pair.server.parse(&frame));
        prop_assert_eq!((got.source, got.target), (way.from, way.to));
        let ports = Ports { source: ports[0], target: ports[1] };
        match got.body {
            Body::Tcp(seen, segment) => prop_assert!(is_tcp && seen == ports && segment.seq == seq && segment.data == data(len)),
            Body::Udp(seen, bytes) => prop_assert!(!is_tcp && seen == ports && bytes == data(len)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_wrong_checksum_is_never_right(is_v4: bool, kind in 0..3usize, word: u16) {
        let mut pair = Pair::plain();
        let data = word.to_be_bytes();
        let from = match kind {
            0 => pair.tcp(is_v4, &segment(2), &data),
            1 => pair.udp(is_v4, &data),
            _ => hostile::echo_request(&pair, is_v4, &data),
        };
        let made = |raw: &Raw| write(&Pair::plain(), is_v4, raw, &template(&from, is_v4), |_, _| 0);
        let bad = Raw { sum: How::Bad, ..raw(Vec::new()) };
        prop_assert_eq!(pair.server.parse(&made(&bad)).err(), Some(Refused::Checksum));
        let bad = Raw { ip_sum: How::Bad, ..raw(Vec::new()) };
        prop_assert_eq!(pair.server.parse(&made(&bad)).err(), is_v4.then_some(Refused::IpChecksum));
        prop_assert!(pair.server.parse(&made(&raw(Vec::new()))).is_ok());
    }

    #[test]
    fn any_template_and_fields_make_a_packet(
        bytes in vec(any::<u8>(), 0..120), first in prop_oneof![Just(0x45), Just(0x4f), Just(0x60), any::<u8>()], protocol in prop_oneof![Just(6), Just(17), Just(1), Just(58), Just(0), any::<u8>()],
        fields in vec((0..130u16, 0..64u8, any::<bool>()), 0..4), is_v4: bool, land: bool, room in 0..140usize, sums in 0..3usize
    ) {
        let mut bytes = bytes;
        for (at, value) in [(0, first), (if is_v4 { 9 } else { 6 }, protocol)] {
            bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = value);
        }
        let field = |(offset, width, letters)| Field { offset, width, fill: if letters { Fill::Letters } else { RANDOM } };
        let how = [How::Good, How::Bad, How::Keep][sums];
        let raw = Raw { land, ip_sum: how, sum: how, ..raw(fields.into_iter().map(field).collect()) };
        let pair = Pair::plain();
        let mut buf = vec![0; room];
        let len = pair.client.raw(&mut buf, pair.way(is_v4), &raw, &bytes, |_, _| 0x1234_5678_9abc_def0);
        let least = if is_v4 { 20 } else { 40 };
        let fits = bytes.len() >= least && room >= (14 + bytes.len()).max(60);
        prop_assert_eq!(len, if fits { (14 + bytes.len()).max(60) } else { 0 });
    }
}

#[test]
fn land_has_the_target_as_its_source() {
    for is_v4 in [true, false] {
        let pair = Pair::plain();
        let from = pair.tcp(is_v4, &segment(0), &[]);
        let land = Raw { land: true, ..raw(Vec::new()) };
        let frame = write(&pair, is_v4, &land, &template(&from, is_v4), |_, _| 0);
        let (source, target) = if is_v4 { (26..30, 30..34) } else { (22..38, 38..54) };
        assert_eq!(frame[source], frame[target.clone()]);
        assert_eq!(frame[target.clone()], from[target]);
        assert!(is_right(&frame));
    }
}

#[test]
fn letters_fill_a_field_and_need_a_draw_for_each_thirteen() {
    let pair = Pair::plain();
    let from = pair.udp(true, &[b'.'; 40]);
    let fields = vec![Field { offset: 30, width: 30, fill: Fill::Letters }];
    let mut draws = 0;
    let draw = |number: usize, field: &Field| {
        assert_eq!((number, field.width), (0, 30));
        draws += 1;
        // 26 letters z, then a, b, c from the lowest digits on.
        if draws < 3 { u64::MAX / 26u64.pow(13) * 26u64.pow(13) - 1 } else { 26 + 2 * 676 }
    };
    let frame = write(&pair, true, &raw(fields), &template(&from, true), draw);
    assert_eq!(
        (&frame[42..44], &frame[44..74], &frame[74..82]),
        (&b".."[..], &b"zzzzzzzzzzzzzzzzzzzzzzzzzzabca"[..], &b"........"[..])
    );
    assert_eq!(draws, 3);
    assert!(is_right(&frame));
}

#[test]
fn fragments_and_kept_sums_stay_as_they_are() {
    let pair = Pair::plain();
    let from = pair.tcp(true, &segment(8), &data(8));
    let kept = Raw { ip_sum: How::Keep, sum: How::Keep, ..raw(Vec::new()) };
    let mut bytes = template(&from, true);
    (bytes[10..12]).copy_from_slice(&[1, 2]);
    bytes[36..38].copy_from_slice(&[3, 4]);
    let frame = write(&pair, true, &kept, &bytes, |_, _| 0);
    assert_eq!((&frame[24..26], &frame[50..52]), (&[1, 2][..], &[3, 4][..]));
    bytes[7] = 1;
    let frame = write(&pair, true, &raw(Vec::new()), &bytes, |_, _| 0);
    assert_eq!(frame[50..52], [3, 4], "a later fragment has no header of TCP");
    assert_eq!(naive(&[&frame[14..34]]), 0);
}

#[test]
fn a_wrong_checksum_is_wrong_too_where_the_right_one_is_zero() {
    for is_v4 in [true, false] {
        let mut pair = Pair::plain();
        let (at, made) = (if is_v4 { 34 } else { 54 }, |from: &[u8], sum| {
            let raw = Raw { sum, ..raw(Vec::new()) };
            write(&Pair::plain(), is_v4, &raw, &template(from, is_v4), |_, _| 0)
        });
        for (sum, make) in
            [(at + 16, Pair::tcp_of_two as fn(&Pair, bool, [u8; 2]) -> Vec<u8>), (at + 6, Pair::udp_of_two)]
        {
            let first = made(&make(&pair, is_v4, [0, 0]), How::Good);
            // With its checksum as the payload, the message has a sum of zero.
            let zero = make(&pair, is_v4, [first[sum], first[sum + 1]]);
            let good = made(&zero, How::Good);
            assert!(matches!(good[sum..sum + 2], [0, 0] | [0xff, 0xff]) && pair.server.parse(&good).is_ok());
            assert_eq!(pair.server.parse(&made(&zero, How::Bad)).err(), Some(Refused::Checksum));
        }
    }
}

impl Pair {
    fn tcp_of_two(&self, is_v4: bool, data: [u8; 2]) -> Vec<u8> {
        self.tcp(is_v4, &segment(2), &data)
    }

    fn udp_of_two(&self, is_v4: bool, data: [u8; 2]) -> Vec<u8> {
        self.udp(is_v4, &data)
    }
}

#[test]
fn the_marker_is_all_of_a_flow_label() {
    let pair = Pair::plain();
    let mut bytes = template(&pair.udp(false, &[]), false);
    bytes[..4].copy_from_slice(&[0x6b, 0xcf, 1, 2]);
    let frame = write(&pair, false, &raw(Vec::new()), &bytes, |_, _| 0);
    assert_eq!(frame[14..18], [0x6b, 0xc0, 0xa7, 0x7c], "the class stays");
}
