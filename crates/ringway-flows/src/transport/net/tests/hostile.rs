//! Mutated and truncated frames: no panic, and no wrong checksum goes through.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::quick;
use super::super::received::Body;
use super::*;

/// A frame of each kind that a port reads, from the client's side.
fn kinds(pair: &mut Pair) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for is_v4 in [true, false] {
        frames.push(pair.tcp(
            is_v4,
            &Outgoing { flags: flag::SYN, syn: Some((1460, Some(7))), ..segment(0) },
            &[],
        ));
        frames.push(pair.tcp(is_v4, &segment(33), &data(33)));
        frames.push(pair.udp(is_v4, &data(12)));
        frames.push(echo_request(pair, is_v4, &data(20)));
        frames.push(lost::message(pair, is_v4, if is_v4 { (3, 4) } else { (2, 0) }, [0, 0, 5, 0]));
        let Way { from, to, .. } = pair.way(is_v4);
        pair.client.resolve(from, to, 0);
        let mut buf = vec![0; 128];
        let len = pair.client.question(0, &mut buf);
        buf.truncate(len);
        let mut reply = vec![0; 128];
        let asked = control(pair.server.parse(&buf));
        let len = pair.server.control(&asked, &mut reply);
        reply.truncate(len);
        frames.extend([buf, reply]);
    }
    frames
}

/// An echo request from a client to a server.
pub(super) fn echo_request(pair: &Pair, is_v4: bool, data: &[u8]) -> Vec<u8> {
    let mut frame = pair.udp(is_v4, data);
    let ip = ip_at(&frame);
    let (protocol, kind, at) = if is_v4 { (1, 8, 20) } else { (58, 128, 40) };
    let message = ip + at..ip + at + 8 + data.len();
    frame[ip + if is_v4 { 9 } else { 6 }] = protocol;
    frame[message.start..message.start + 8].copy_from_slice(&[kind, 0, 0, 0, 1, 2, 3, 4]);
    fix(&mut frame);
    frame
}

/// Makes the checksums of a frame without options and extension headers right, as far as its lengths allow.
pub(super) fn fix(frame: &mut [u8]) {
    let ip = ip_at(frame);
    let Some(packet) = frame.get_mut(ip..).filter(|packet| packet.len() >= 40) else { return };
    let is_v4 = packet[0] >> 4 == 4;
    let (start, protocol, total) = if is_v4 {
        packet[10..12].fill(0);
        let sum = naive(&[&packet[..20]]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        (20, packet[9], usize::from(u16::from_be_bytes([packet[2], packet[3]])))
    } else {
        (40, packet[6], 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]])))
    };
    let at = match protocol {
        6 => 16,
        17 => 6,
        1 | 58 => 2,
        _ => return,
    };
    let addresses = if is_v4 { packet[12..20].to_vec() } else { packet[8..40].to_vec() };
    let Some(message) = packet.get_mut(start..total).filter(|message| message.len() >= at + 2) else {
        return;
    };
    message[at..at + 2].fill(0);
    let len = (message.len() as u16).to_be_bytes();
    let sum =
        if protocol == 1 { naive(&[message]) } else { naive(&[&addresses, &[0, protocol], &len, message]) };
    message[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Reads a frame on both ports, answers it, and looks whether its checksums had to be wrong.
fn read(pair: &mut Pair, frame: &[u8]) {
    for net in [&mut pair.server, &mut pair.client] {
        quick_is_right(net, frame);
        let before: u64 = net.refusals().iter().map(|(_, count)| count).sum();
        let received = net.parse(frame);
        let after: u64 = net.refusals().iter().map(|(_, count)| count).sum();
        assert_eq!(after - before, u64::from(received.is_err()));
        let mut out = [0; 2048];
        let has_ip_options_or_extensions = |frame: &[u8]| {
            let ip = &frame[ip_at(frame)..];
            ip[0] >> 4 == 6 && !matches!(ip[6], 6 | 17 | 58)
        };
        match received {
            Err(_) => {}
            Ok(Received::Control(Control::Arp(_))) => {}
            Ok(received) => {
                assert!(
                    has_ip_options_or_extensions(frame) || is_right(frame),
                    "{received:?} from {frame:02x?}"
                );
            }
        }
        if let Ok(Received::Control(message)) = received {
            let len = net.control(&message, &mut out);
            let is_arp = out[12..14] == [8, 6] || out[16..18] == [8, 6];
            assert!(len == 0 || is_arp || is_right(&out[..len]), "{message:?}");
        }
    }
}

/// The quick way takes segments of IPv4 without tags, and gives what the long way gives.
fn quick_is_right(net: &Net, frame: &[u8]) {
    let (quick, long) = (quick::segment(net, frame).map(quick::Quick::arrival), net.read(frame));
    let is_plain = frame.len() >= 54 && frame[12..15] == [8, 0, 0x45];
    match (quick, long) {
        (Some(quick), Ok(Received::Arrival(long))) => assert_eq!(format!("{quick:?}"), format!("{long:?}")),
        (None, Ok(Received::Arrival(Arrival { body: Body::Tcp(..), .. }))) => {
            assert!(!is_plain, "{frame:02x?}")
        }
        (Some(quick), other) => panic!("{quick:?} and {other:?} from {frame:02x?}"),
        (None, _) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// One byte of the headers changed, with checksums that fit.
    #[test]
    fn the_quick_way_takes_what_the_long_way_takes(at in 0..54usize, to: u8, len in 0..20usize, cut in 0..200usize, fixes: bool) {
        let pair = Pair::plain();
        let mut frame = pair.tcp(true, &segment(len), &data(len));
        frame[at] = to;
        if fixes {
            fix(&mut frame);
        }
        frame.truncate(cut);
        quick_is_right(&pair.server, &frame);
    }

    #[test]
    fn a_changed_frame_is_read_without_harm(
        kind in 0..14usize, changes in vec((0..200usize, any::<u8>()), 1..4), cut in 0..400usize, fixes: bool, is_tagged: bool
    ) {
        let mut pair = if is_tagged { Pair::tagged() } else { Pair::plain() };
        let mut frame = kinds(&mut pair).swap_remove(kind);
        for (at, to) in changes {
            let len = frame.len();
            frame[at % len] = to;
        }
        if fixes {
            fix(&mut frame);
        }
        frame.truncate(cut);
        read(&mut pair, &frame);
    }

    #[test]
    fn any_bytes_are_read_without_harm(mut bytes in vec(any::<u8>(), 0..120), kind in 0..5usize) {
        let starts: [&[u8]; 5] = [&[8, 0, 0x45], &[0x86, 0xdd, 0x60], &[8, 6, 0, 1, 8, 0, 6, 4], &[0x81, 0, 0, 100, 8, 0], &[]];
        let mut pair = Pair::plain();
        for (to, from) in bytes.iter_mut().zip(CLIENT_MAC.iter().chain(&SERVER_MAC).chain(starts[kind])) {
            *to = *from;
        }
        read(&mut pair, &bytes);
    }
}

#[test]
fn each_kind_is_read_as_a_whole_and_refused_one_byte_short() {
    for mut pair in Pair::both() {
        for (kind, frame) in kinds(&mut pair).into_iter().enumerate() {
            let to_client = frame[..6] == CLIENT_MAC;
            let net = if to_client { &mut pair.client } else { &mut pair.server };
            let received = net.parse(&frame);
            assert!(received.is_ok(), "kind {kind}: {received:?}");
            let ip = &frame[ip_at(&frame)..];
            let used = match ip[0] >> 4 {
                4 => usize::from(u16::from_be_bytes([ip[2], ip[3]])),
                6 => 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])),
                _ => 28,
            };
            let used = frame.len() - ip.len() + used;
            for len in 0..used {
                assert!(net.parse(&frame[..len]).is_err(), "kind {kind}, {len} of {used} bytes");
            }
            assert!(net.parse(&frame[..used]).is_ok(), "kind {kind} without padding");
        }
    }
}

/// Each bit of a frame with right checksums, flipped alone, is noticed, or is none that they cover.
#[test]
fn a_flipped_bit_is_noticed() {
    for is_v4 in [true, false] {
        let mut pair = Pair::plain();
        let frame = pair.tcp(is_v4, &segment(33), &data(33));
        for bit in 14 * 8..frame.len() * 8 {
            let mut changed = frame.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            match pair.server.parse(&changed).map(arrival_body) {
                // IPv6 has no checksum over its class, label and hop limit.
                Ok(Some(data)) => {
                    assert!(!is_v4 && (14..18).contains(&(bit / 8)) || bit / 8 == 21, "bit {bit}: {data:?}")
                }
                Ok(None) => panic!("bit {bit}"),
                Err(_) => {}
            }
        }
    }
}

fn arrival_body(received: Received<'_>) -> Option<&[u8]> {
    match received {
        Received::Arrival(Arrival { body: Body::Tcp(_, segment), .. }) => Some(segment.data),
        _ => None,
    }
}
