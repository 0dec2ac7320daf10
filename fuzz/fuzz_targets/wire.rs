//! Frames: views of headers stay inside them, sums are equal to a slow model's, what was filled in verifies.
#![no_main]

use std::ops::Range;

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::{Input, one_line};
use ringway_wire::{Icmp, IcmpEcho, Ipv4, Ipv6, MAX_VLAN_TAGS, Net, Transport, checksum, parse};

/// RFC 1071, word by word.
fn slow_sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&b| u64::from(b));
    let mut sum: u64 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn inside(part: &[u8], whole: &[u8]) -> bool {
    let Range { start, end } = whole.as_ptr_range();
    part.as_ptr() >= start && part.as_ptr_range().end <= end
}

fn looked_at(frame: &[u8]) {
    let packet = parse(frame);
    one_line(&packet.to_string());
    assert!(inside(packet.payload, frame));
    assert!(packet.net_offset <= frame.len() && packet.transport_offset <= frame.len());
    assert!(packet.vlans().count() <= MAX_VLAN_TAGS && packet.vlans().all(|tag| tag.vid() <= 4095));
    match &packet.net {
        Some(Net::Ipv4(ip)) => {
            assert!(inside(ip.payload(), frame) && inside(ip.options(), frame));
            assert_eq!(ip.header_len() + ip.payload().len(), ip.total_len());
            let header = &frame[packet.net_offset..][..ip.header_len()];
            assert_eq!(ip.verify_checksum(), slow_sum(header) == 0);
        }
        Some(Net::Ipv6(ip)) => {
            assert_eq!(ip.payload().len(), ip.payload_len());
            if let Ok(upper) = ip.upper_layer() {
                assert!(upper.offset <= ip.payload_len());
            }
        }
        _ => {}
    }
    match &packet.transport {
        Some(Transport::Udp(udp)) => assert!(inside(udp.payload(), frame)),
        Some(Transport::Tcp(tcp)) => assert!(inside(tcp.payload(), frame) && inside(tcp.options(), frame)),
        Some(Transport::Icmpv4(icmp)) => assert_eq!(
            icmp.verify_checksum_v4(),
            slow_sum(&frame[packet.transport_offset..][..4 + icmp.payload().len()]) == 0
        ),
        _ => {}
    }
}

/// Sums that are filled in verify, and a frame whose TTL was counted down still does.
fn filled(frame: &mut [u8]) {
    let packet = parse(frame);
    let (net, transport) = (packet.net_offset, packet.transport_offset);
    let is_v4 = matches!(packet.net, Some(Net::Ipv4(_)));
    let end = transport
        + packet.payload.len()
        + (packet.payload.as_ptr() as usize - frame[transport..].as_ptr() as usize);
    let kind = packet.transport.map(|t| match t {
        Transport::Udp(udp) => (17, udp.total_len()),
        Transport::Tcp(_) => (6, end - transport),
        Transport::Icmpv4(_) => (1, end - transport),
        _ => (58, end - transport),
    });
    let pseudo = match packet.net {
        Some(Net::Ipv4(ip)) => ip.pseudo_header(),
        Some(Net::Ipv6(ip)) => ip.pseudo_header(),
        _ => return,
    };
    if let Some((kind, len)) = kind {
        let segment = &mut frame[transport..transport + len];
        match kind {
            17 => {
                let mut udp = ringway_wire::Udp::new_checked(&mut *segment).expect("it was one");
                udp.fill_checksum(pseudo);
                assert!(udp.verify_checksum(pseudo) && udp.checksum() != 0);
            }
            6 => {
                let mut tcp = ringway_wire::Tcp::new_checked(&mut *segment).expect("it was one");
                tcp.fill_checksum(pseudo);
                assert!(tcp.verify_checksum(pseudo));
            }
            _ => {
                let mut icmp = Icmp::new_checked(&mut *segment).expect("it was one");
                if kind == 1 {
                    icmp.fill_checksum_v4();
                    assert!(icmp.verify_checksum_v4());
                } else {
                    icmp.fill_checksum_v6(pseudo);
                    assert!(icmp.verify_checksum_v6(pseudo));
                }
                if let Ok(mut echo) = IcmpEcho::new_checked(&mut *segment) {
                    let request = echo.is_request();
                    echo.flip();
                    assert_ne!(echo.is_request(), request);
                }
            }
        }
    }
    if is_v4 {
        let mut ip = Ipv4::new_checked(&mut frame[net..]).expect("it was one");
        ip.fill_checksum();
        assert!(ip.verify_checksum());
        let ttl = ip.ttl();
        assert_eq!(ip.decrement_ttl(), ttl.checked_sub(1).filter(|left| *left > 0));
        assert!(ip.verify_checksum());
    } else {
        let mut ip = Ipv6::new_checked(&mut frame[net..]).expect("it was one");
        let hops = ip.hop_limit();
        assert_eq!(ip.decrement_hop_limit(), hops.checked_sub(1).filter(|left| *left > 0));
    }
}

fuzz_target!(|bytes: &[u8]| {
    looked_at(bytes);
    assert_eq!(checksum::of(bytes), slow_sum(bytes));
    filled(&mut bytes.to_vec());

    // A changed field, and the sum brought up to date by it.
    let mut input = Input::new(bytes);
    let (at, new) = (usize::from(input.u8()) * 2, input.u16().to_be_bytes());
    let mut data = input.rest().to_vec();
    if let Some(field) = data.get_mut(at..at + 2) {
        let old: [u8; 2] = [field[0], field[1]];
        field.copy_from_slice(&new);
        let changed = slow_sum(&data);
        let before = slow_sum(input.rest());
        let brought = checksum::update_u16(before, u16::from_be_bytes(old), u16::from_be_bytes(new));
        assert!(brought == changed || data.iter().all(|b| *b == 0), "{brought:#x} {changed:#x}");
        assert_eq!(checksum::update_bytes(before, &old, &new), brought);
    }
});
