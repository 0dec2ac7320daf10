//! Super-frames that a host sends into its host rings. Needs root; says so and passes without.
//!
//! Objective: each is received as the frames that it stands for, as a wire would have brought them.
//! The cases are IPv4 and IPv6, TCP and UDP, a tag in the bytes or beside them, segments of several
//! slots, and rings without room. A frame that can't be cut is dropped by name.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Instant;

use ringway::{DropReason, OpenOptions, Port};
use ringway_lab::Lab;
use ringway_wire::offload::SegmentKind;

use support::offload::{Sender, on_a_wire, unfinished, verify};
use support::{LIMIT, assert_balanced, new_pair, open_with, whole};

fn open(lab: &Lab, options: &OpenOptions) -> Port {
    open_with(lab, options, "ebpf:a0^")
}

/// Takes `count` frames. The frames of one super-frame are in one ring: that of the CPU that sent
/// it.
fn take(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    let (mut got, start) = (Vec::new(), Instant::now());
    while got.len() < count {
        assert!(start.elapsed() < LIMIT, "{} of {count}: {}", got.len(), port.counters().rx);
        for rx in &mut port.rx {
            rx.sync().unwrap();
            got.extend(rx.burst(u32::MAX).map(|f| whole(&f)));
            rx.sync().unwrap(); // gives the slots back
        }
    }
    got
}

#[test]
fn a_super_frame_arrives_as_the_frames_of_a_wire() {
    let Some(lab) = new_pair() else { return };
    lab.set_mtu(["a0", "a1"], 9000).unwrap();
    let sender = Sender::open(&lab, "a0");
    let kinds = sender.kinds();
    let mut port = open(&lab, &OpenOptions::new());
    let mut sent = 0;
    for kind in kinds {
        for tagged in [false, true] {
            // UDP: at most 64 datagrams.
            for (payload, size) in [
                (1460, None),
                (1, Some(1)),
                (900, Some(300)),
                (1400, Some(1399)),
                (5000, Some(1440)),
                (60_000, Some(1440)),
            ]
            .into_iter()
            .chain([(60_000, Some(8000)), (12_000, Some(2112)), (65_000 - 18, Some(8900))])
            {
                let (frame, offload) = unfinished(kind, tagged, payload, size);
                let expected = on_a_wire(&frame, &offload);
                expected.iter().for_each(|f| verify(f));
                sender.send(&frame, offload);
                let got = take(&mut port, expected.len());
                assert_eq!(got, expected, "{kind:?} {payload} {size:?}, tagged: {tagged}");
                sent += expected.len() as u64;
            }
        }
    }
    let c = port.counters().rx;
    assert_eq!((c.frames_in, c.frames_out, c.dropped(), c.resets), (sent, sent, 0, 0), "{c}");
}

/// The stack keeps the tag of a VLAN interface beside the bytes.
#[test]
fn a_tag_beside_the_bytes_comes_back_into_them() {
    let Some(lab) = new_pair() else { return };
    if let Err(e) = lab.ip("link add link a0 name tag type vlan id 7") {
        return eprintln!("SKIP: no VLAN interfaces here: {e}");
    }
    lab.ip("link set tag up").unwrap();
    let sender = Sender::open(&lab, "tag");
    let kinds = sender.kinds();
    let mut port = open(&lab, &OpenOptions::new());
    for kind in kinds {
        for (payload, size) in [(0, None), (1400, None), (20_000, Some(1400)), (20_000, Some(4000))] {
            let (frame, offload) = unfinished(kind, false, payload, size);
            let mut expected = on_a_wire(&frame, &offload);
            expected.iter_mut().for_each(|f| drop(f.splice(12..12, [0x81, 0, 0, 7])));
            sender.send(&frame, offload);
            assert_eq!(take(&mut port, expected.len()), expected, "{kind:?} {payload} {size:?}");
        }
    }
    assert_eq!(port.counters().rx.dropped(), 0);
}

#[test]
fn segments_without_room_are_lost_and_those_before_them_are_not() {
    let Some(lab) = new_pair() else { return };
    let sender = Sender::open(&lab, "a0");
    let mut port = open(&lab, &OpenOptions::new().slots(8));
    for (size, fit) in [(1000, 7), (3000, 3)] {
        let (frame, offload) = unfinished(SegmentKind::Tcp4, false, 30_000, Some(size));
        let expected = on_a_wire(&frame, &offload);
        sender.send(&frame, offload);
        assert_eq!(take(&mut port, fit), expected[..fit]);
        let c = port.counters().rx;
        assert_balanced(&c);
        assert_eq!(c.frames_in - c.frames_out, c.drops(DropReason::RingFull), "{c}");
    }
    // Segments that no ring of this size ever holds: the sender hears of it.
    let before = port.counters().rx;
    let (frame, offload) = unfinished(SegmentKind::Tcp4, false, 60_000, Some(20_000));
    let e = sender.try_send(&frame, offload).unwrap_err();
    assert_eq!(e.raw_os_error(), Some(libc::ENOBUFS), "{e}");
    let c = port.counters().rx;
    assert_balanced(&c);
    assert_eq!(c.drops(DropReason::TooLong) - before.drops(DropReason::TooLong), 3, "{c}");
}

/// A filter of the port is asked once, for the super-frame.
#[test]
fn what_is_taken_is_cut_and_what_is_not_goes_out_whole() {
    let Some(lab) = new_pair() else { return };
    let sender = Sender::open(&lab, "a0");
    let filter = match ringway::Filter::compile("ip6") {
        Ok(filter) => filter,
        Err(e) => return eprintln!("SKIP: {e}"),
    };
    let mut port = open(&lab, &OpenOptions::new().take(filter));
    let (frame, offload) = unfinished(SegmentKind::Tcp4, false, 30_000, Some(1400));
    sender.send(&frame, offload);
    let (frame, offload) = unfinished(SegmentKind::Tcp6, false, 30_000, Some(1400));
    let expected = on_a_wire(&frame, &offload);
    sender.send(&frame, offload);
    assert_eq!(take(&mut port, expected.len()), expected);
    assert_eq!(port.counters().rx.frames_in, expected.len() as u64);
}

/// TCP behind an extension header.
#[test]
fn what_is_not_cut_is_dropped_by_name_and_the_sender_hears_of_it() {
    let Some(lab) = new_pair() else { return };
    let sender = Sender::open(&lab, "a0");
    let port = open(&lab, &OpenOptions::new());
    let (mut frame, mut offload) = unfinished(SegmentKind::Tcp6, false, 30_000, Some(1400));
    frame.splice(54..54, [6, 0, 1, 4, 0, 0, 0, 0]);
    frame[20] = 60; // destination options
    let length = (frame.len() - 54) as u16;
    frame[18..20].copy_from_slice(&length.to_be_bytes());
    offload = offload.moved(8);
    let e = sender.try_send(&frame, offload).unwrap_err();
    assert_eq!(e.raw_os_error(), Some(libc::ENOBUFS), "{e}");
    let c = port.counters().rx;
    assert_eq!((c.frames_in, c.drops(DropReason::BadOffload)), (1, 1), "{c}");
}
