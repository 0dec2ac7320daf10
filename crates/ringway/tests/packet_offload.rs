//! What a `packet:` port makes of frames on which something is left to be done. Needs root; says so and passes without.
//!
//! Objective: the metadata that a sender gives the kernel with a frame is honoured, also with a tag, in rings of any
//! size; what is carried whole is not handed to a port that can't take it.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Instant;

use ringway::{DropReason, Gso, OpenOptions, Port, forward};
use ringway_lab::{AnyError, Lab};
use ringway_wire::offload::SegmentKind;

use support::offload::{Sender, on_a_wire, unfinished, verify};
use support::{LIMIT, assert_balanced, new_pair, whole};

/// Takes `count` frames.
fn take(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    let (mut got, start) = (Vec::new(), Instant::now());
    while got.len() < count {
        assert!(start.elapsed() < LIMIT, "{} of {count}: {}", got.len(), port.counters().rx);
        port.rx[0].sync().unwrap();
        got.extend(port.rx[0].burst(u32::MAX).map(|f| whole(&f)));
    }
    got
}

fn open(lab: &Lab, options: &OpenOptions, names: &[&str]) -> Vec<Port> {
    lab.run(|| Ok::<_, AnyError>(options.open_each(names)?)).unwrap()
}

#[test]
fn frames_arrive_as_they_would_on_a_wire() {
    let Some(lab) = new_pair() else { return };
    let sender = Sender::open(&lab, "a0");
    // A ring of 8 slots holds but a part of a super-frame at a time.
    for slots in [8, 1024] {
        let mut ports = open(&lab, &OpenOptions::new().slots(slots), &["packet:a1"]);
        let port = &mut ports[0];
        for tagged in [false, true] {
            for (payload, size) in [
                (0, None),
                (1, None),
                (1460, None),
                (900, Some(300)), // short enough for the kernel's ring
                (1400, Some(1399)),
                (5000, Some(1460)),
                (65_000, Some(1448)),
                (65_000, Some(536)),
            ] {
                let (frame, offload) = unfinished(SegmentKind::Tcp4, tagged, payload, size);
                let expected = on_a_wire(&frame, &offload);
                expected.iter().for_each(|f| verify(f));
                sender.send(&frame, offload);
                assert_eq!(take(port, expected.len()), expected, "{payload} {size:?}, tagged: {tagged}");
            }
        }
        let c = port.counters().rx;
        assert_balanced(&c);
        assert_eq!((c.dropped(), c.resets), (0, 0), "{c}");
    }
}

#[test]
fn what_is_carried_whole_goes_to_ports_that_take_it_only() {
    let Some(lab) = new_pair() else { return };
    lab.veth("b0", "b1").unwrap();
    let sender = Sender::open(&lab, "a0");
    let carry = OpenOptions::new().gso(Gso::Carry);
    let mut ports = open(&lab, &carry, &["packet:a1", "packet:b0", "loop:"]);
    let mut witness = open(&lab, &OpenOptions::new(), &["packet:b1"]);
    let [a, b, other] = &mut ports[..] else { unreachable!() };
    let (frame, offload) = unfinished(SegmentKind::Tcp4, true, 40_000, Some(1448));
    let expected = on_a_wire(&frame, &offload);
    for to_other in [false, true] {
        sender.send(&frame, offload);
        let start = Instant::now();
        while a.rx[0].sync().unwrap() == 0 {
            assert!(start.elapsed() < LIMIT);
        }
        let tx = if to_other { &mut other.tx[0] } else { &mut b.tx[0] };
        let moved = forward(&mut a.rx[0], tx, 1024);
        assert_eq!(moved, frame.len().div_ceil(2112) as u32, "all slots of the super-frame");
        tx.sync().unwrap();
        if !to_other {
            assert_eq!(take(&mut witness[0], expected.len()), expected);
        }
    }
    let c = a.counters().rx;
    assert_eq!((c.frames_in, c.frames_out, c.drops(DropReason::BadOffload)), (2, 1, 1), "{c}");
    assert_eq!(other.counters().tx.frames_in, 0);
    // A program may look at it, and do the work itself.
    sender.send(&frame, offload);
    let start = Instant::now();
    while a.rx[0].sync().unwrap() == 0 {
        assert!(start.elapsed() < LIMIT);
    }
    let seen = a.rx[0].burst(1).next().map(|f| (f.offload().unwrap(), whole(&f))).unwrap();
    assert_eq!(on_a_wire(&seen.1, &seen.0), expected);
    // Segments must fit the MTU of where they go.
    lab.set_mtu(["b0", "b1"], 1400).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(120)); // the port looks ten times a second
    sender.send(&frame, offload);
    while a.rx[0].sync().unwrap() == 0 {
        assert!(start.elapsed() < LIMIT);
    }
    forward(&mut a.rx[0], &mut b.tx[0], 1024);
    b.tx[0].sync().unwrap();
    let c = b.counters().tx;
    assert_balanced(&c);
    assert_eq!((c.frames_out, c.drops(DropReason::TooLong)), (1, 1), "{c}");
}
