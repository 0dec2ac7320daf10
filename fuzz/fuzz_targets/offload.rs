//! Frames with work left to be done: metadata, unfinished checksums, super-frames, VLAN tags beside the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::Input;
use ringway_wire::offload::{Offload, Segments, VLAN_LEN, finish_checksum, finish_if_partial, insert_vlan};
use ringway_wire::{Net, Transport, parse};

fn segments(frame: &[u8], offload: &Offload) {
    let Ok(segments) = Segments::new(frame, offload) else { return };
    let headers = segments.header_len();
    let size = usize::from(offload.gso.map_or(0, |g| g.size));
    assert!(segments.count() >= 1 && segments.count() <= frame.len().max(1) && headers <= frame.len());
    let (mut buf, mut payload) = (vec![0; frame.len() + 1], Vec::new());
    for index in 0..segments.count() {
        let len = segments.len(index);
        assert!(len >= headers && len <= headers + size && len <= frame.len());
        assert_eq!(segments.write(index, &mut buf[..len - 1]), None);
        assert_eq!(segments.write(index, &mut buf), Some(len));
        payload.extend_from_slice(&buf[headers..len]);
        let packet = parse(&buf[..len]);
        assert_eq!(packet.malformed, None, "{packet}");
        let (pseudo, sums) = match packet.net {
            Some(Net::Ipv4(ip)) => (ip.pseudo_header(), ip.verify_checksum()),
            Some(Net::Ipv6(ip)) => (ip.pseudo_header(), true),
            _ => panic!("no IP: {packet}"),
        };
        assert!(sums, "{packet}");
        // With metadata the sum of the pseudo header is believed as it stands.
        match packet.transport {
            Some(Transport::Tcp(tcp)) => {
                assert!(offload.checksum.is_some() || tcp.verify_checksum(pseudo), "{packet}");
            }
            Some(Transport::Udp(udp)) => {
                let none = udp.checksum() == 0 && !pseudo.is_v6();
                assert!(offload.checksum.is_some() || none || udp.verify_checksum(pseudo), "{packet}");
            }
            _ => panic!("neither TCP nor UDP: {packet}"),
        }
    }
    assert!(frame[headers..].starts_with(&payload), "payloads are the super-frame's");
    assert_eq!((segments.len(segments.count()), segments.write(segments.count(), &mut buf)), (0, None));
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let (word, tci, metadata) = (input.u64(), input.u16(), input.piece(Offload::HEADER_LEN));
    let frame = input.rest();
    for offload in [Offload::parse(metadata, frame.len()), Offload::from_word(word, frame.len())] {
        let Ok(offload) = offload else { continue };
        let mut header = [0; Offload::HEADER_LEN];
        offload.write(&mut header);
        assert_eq!(Offload::parse(&header, frame.len()), Ok(offload));
        if let Some(word) = offload.to_word() {
            assert_eq!(Offload::from_word(word, frame.len()), Ok(offload));
        }
        if let Some(sum) = offload.checksum {
            let mut frame = frame.to_vec();
            assert!(finish_checksum(&mut frame, sum.start.into(), sum.offset.into()));
        }
        segments(frame, &offload);
        let mut tagged = [&[0; VLAN_LEN], frame].concat();
        if insert_vlan(&mut tagged, tci, 0x8100) {
            segments(&tagged, &offload.moved(VLAN_LEN as u16));
        }
    }

    let mut finished = frame.to_vec();
    if finish_if_partial(&mut finished) {
        let packet = parse(&finished);
        match (packet.net, packet.transport) {
            (Some(Net::Ipv4(ip)), Some(Transport::Tcp(tcp))) => {
                assert!(tcp.verify_checksum(ip.pseudo_header()))
            }
            (Some(Net::Ipv4(ip)), Some(Transport::Udp(udp))) => {
                assert!(udp.verify_checksum(ip.pseudo_header()))
            }
            (Some(Net::Ipv6(ip)), Some(Transport::Tcp(tcp))) => {
                assert!(tcp.verify_checksum(ip.pseudo_header()))
            }
            (Some(Net::Ipv6(ip)), Some(Transport::Udp(udp))) => {
                assert!(udp.verify_checksum(ip.pseudo_header()))
            }
            _ => panic!("{packet}"),
        }
    } else {
        assert_eq!(finished, frame);
    }
});
