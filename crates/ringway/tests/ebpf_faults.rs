//! What can go wrong with an `ebpf:` port and no other. Needs root; says so and passes without.
//!
//! Objective: an interface that lacks what the port needs is named with the cure, or served another way.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::thread;
use std::time::Duration;

use ringway::ErrorKind;
use ringway_lab::raw::RawReceiver;

use support::{
    assert_balanced, assert_clear, assert_detached, frame, identify, new_lab, new_pair, open, try_open,
};

#[test]
fn host_rings_of_an_unknown_interface() {
    let Some(lab) = new_lab() else { return };
    for (name, full) in [("absent^", "ebpf:absent^"), ("absent-3", "auto:absent-3")] {
        let e = try_open(&lab, name).unwrap_err();
        assert_clear(&e, ErrorKind::NotFound, full, "`ip link`");
    }
}

#[test]
fn an_interface_without_native_xdp() {
    let Some(lab) = new_lab() else { return };
    lab.ip("link set lo up").unwrap();
    let e = try_open(&lab, "ebpf:lo").unwrap_err();
    assert_clear(&e, ErrorKind::Unsupported, "ebpf:lo", "native XDP");
    assert_detached(&lab);
}

/// Live frames need NAPI at the other end of a veth; while it does not run, all frames go as socket buffers.
#[test]
fn a_veth_whose_peer_does_not_run_napi() {
    let Some(lab) = new_pair() else { return };
    let mut a = open(&lab, "ebpf:a0");
    let about = &a.info().backend;
    assert!(about.contains("takes no live frames") && about.contains("gro on"), "{about}");
    let mut host = RawReceiver::open(&lab, "a1").unwrap();
    let mut number = 0;
    for napi in [false, true] {
        if napi {
            lab.run_napi("a1").unwrap();
            thread::sleep(Duration::from_millis(150)); // the port asks ten times a second
        }
        for burst in [1, 32, 200] {
            for _ in 0..burst {
                assert!(a.tx[0].push(&frame(1, number, 60)));
                number += 1;
            }
            while a.tx[0].pending() > 0 {
                a.tx[0].sync().unwrap();
            }
        }
    }
    let c = a.counters().tx;
    assert_balanced(&c);
    assert_eq!((c.frames_in, c.frames_out), (466, 466), "{c}");
    let mut seen = Vec::new();
    while let Some(f) = host.next(Duration::from_millis(300)).unwrap() {
        seen.extend(identify(&f).ok().map(|(_, number)| number));
    }
    assert_eq!(seen[..233], (0..233).collect::<Vec<_>>(), "{c}");
    seen.sort_unstable(); // the other end's NAPI has a list for what it passes on in groups
    assert_eq!(seen, (0..466).collect::<Vec<_>>(), "{c}");
    drop(a);
    assert_detached(&lab);
}
