//! Bytes of frames that a port leaves alone when asked to. Needs root; says so and passes without.
//!
//! Objective: a frame whose checksum its sender left to the interface comes as it is into a raw port of each kind, and
//! finished into others.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Instant;

use ringway::switch::SwitchSpec;
use ringway::{OpenOptions, Port};
use ringway_lab::is_root;
use ringway_wire::offload::SegmentKind;

use support::members::add;
use support::offload::{Sender, on_a_wire, unfinished, verify};
use support::switch::Temporary;
use support::{LIMIT, each_kind, new_pair, open_with, whole};

/// The next TCP frame.
fn next(port: &mut Port) -> Vec<u8> {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < LIMIT, "no frame: {}", port.counters().rx);
        port.rx[0].sync().unwrap();
        let frames: Vec<_> = port.rx[0].burst(u32::MAX).map(|f| whole(&f)).collect();
        if let Some(frame) = frames.into_iter().find(|f| f.starts_with(&[2, 0, 0, 0, 0, 2])) {
            return frame;
        }
    }
}

#[test]
fn ports_of_interfaces() {
    if !is_root() {
        drop(new_pair());
        return;
    }
    each_kind(|kind| {
        let lab = new_pair().unwrap();
        let sender = Sender::open(&lab, "a0");
        for raw in [true, false] {
            let mut port = open_with(&lab, &OpenOptions::new().raw(raw), &format!("{kind}:a1"));
            for tcp in [SegmentKind::Tcp4, SegmentKind::Tcp6] {
                let (frame, offload) = unfinished(tcp, false, 900, None);
                let finished = on_a_wire(&frame, &offload).remove(0);
                verify(&finished);
                assert_ne!(frame, finished);
                sender.send(&frame, offload);
                let expected = if raw { &frame } else { &finished };
                assert_eq!(&next(&mut port), expected, "{kind} raw {raw}");
            }
        }
    });
}

#[test]
fn ports_of_switches() {
    let Some(lab) = new_pair() else { return };
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    add(&lab, switch.name(), "a1", false).unwrap();
    let name = |port: &str| format!("{}:{port}", switch.name());
    let mut raw = OpenOptions::new().raw(true).open(&name("raw")).unwrap();
    let mut other = Port::open(&name("other")).unwrap();
    let (frame, offload) = unfinished(SegmentKind::Tcp4, false, 900, None);
    Sender::open(&lab, "a0").send(&frame, offload);
    assert_eq!(next(&mut raw), frame);
    assert_eq!(next(&mut other), on_a_wire(&frame, &offload).remove(0));
}
