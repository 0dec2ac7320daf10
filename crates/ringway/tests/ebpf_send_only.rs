//! Ports that only send: nothing is attached to their interface, and other receivers there go on.
//! Needs root.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use ringway::{ErrorKind, OpenOptions, Port};
use ringway_lab::{AnyError, Lab};
use support::{Flow, assert_clear, assert_connected, assert_detached, new_pair, open};

fn sender(lab: &Lab, name: &str) -> ringway::Result<Port> {
    lab.run(|| Ok::<_, AnyError>(OpenOptions::new().send_only(true).open(name))).unwrap()
}

#[test]
fn frames_leave_and_nothing_is_attached() {
    let Some(lab) = new_pair() else { return };
    let mut from = sender(&lab, "ebpf:a0").unwrap();
    assert_detached(&lab);
    let mut to = open(&lab, "ebpf:a1");
    let mut flow = Flow::new(1);
    for (len, count) in [(60, 1), (60, 1000), (1514, 300)] {
        flow.send(&mut from.tx[0], len, count);
        flow.take_all(&mut to.rx[0], &from);
    }
    assert_connected(&from, &to);
    assert!(from.info().backend.contains("nothing in"), "{}", from.info().backend);
}

#[test]
fn a_receiver_of_the_same_interface_is_not_disturbed() {
    let Some(lab) = new_pair() else { return };
    let mut here = open(&lab, "ebpf:a0");
    let mut there = open(&lab, "ebpf:a1");
    let mut from = sender(&lab, "ebpf:a0").unwrap();
    let (mut back, mut out) = (Flow::new(1), Flow::new(2));
    back.send(&mut there.tx[0], 60, 100);
    out.send(&mut from.tx[0], 60, 100);
    back.take_all(&mut here.rx[0], &there);
    out.take_all(&mut there.rx[0], &from);
    assert_eq!((back.received, out.received, from.rx[0].sync().unwrap()), (100, 100, 0));
}

#[test]
fn other_ports_refuse_it() {
    let Some(lab) = new_pair() else { return };
    for name in ["ebpf:a0^", "packet:a0", "null:"] {
        assert_eq!(sender(&lab, name).unwrap_err().kind(), ErrorKind::Unsupported, "{name}");
    }
    let both = OpenOptions::new().send_only(true).copy(true);
    let refused = lab.run(|| Ok::<_, AnyError>(both.open("ebpf:a0"))).unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}

#[test]
fn two_senders_want_a_far_end_that_takes_live_frames() {
    let Some(lab) = new_pair() else { return };
    let first = sender(&lab, "ebpf:a0").unwrap();
    assert_clear(&sender(&lab, "ebpf:a0").unwrap_err(), ErrorKind::Busy, "ebpf:a0", "gro on");
    drop(first);
    let mut to = open(&lab, "ebpf:a1");
    for stream in [1, 2] {
        // Two at once, each with its flow.
        let mut from = [sender(&lab, "ebpf:a0").unwrap(), sender(&lab, "ebpf:a0").unwrap()];
        let mut flow = Flow::new(stream);
        flow.send(&mut from[1].tx[0], 60, 40);
        flow.take_all(&mut to.rx[0], &from[1]);
    }
}
