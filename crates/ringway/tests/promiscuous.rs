//! Interfaces are promiscuous while ports need it. Needs root; says so and passes without.
//!
//! Objective: frames to other stations reach a port on an interface that filters addresses, if the
//! port asks for them. The interface is as before when the port is closed or its owner killed. A
//! port without the right to it says so.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::process::Stdio;
use std::time::Instant;

use ringway::{Filter, OpenOptions, Port};
use ringway_lab::Lab;
use ringway_lab::raw::RawSender;

use support::{LIMIT, assert_detached, assert_line, child_command, child_with_all_open, enter, eventually};
use support::{new_lab, new_pair, open_with, promiscuity, role, wait_with, when_free, whole};

/// A port by each backend that receives.
const PORTS: [&str; 3] = ["ebpf:a0", "xdp:a0", "packet:a0"];

/// Nobody keeps `interface` promiscuous. A process that another test is starting has a copy of each descriptor for a moment.
fn assert_choosy(lab: &Lab, interface: &str) {
    eventually("nobody asks for all frames", || match promiscuity(lab, interface) {
        0 => Ok(()),
        n => Err(format!("promiscuity {n}")),
    });
}

/// The interface is as it was.
fn assert_calm(lab: &Lab) {
    assert_choosy(lab, "a0");
    assert_detached(lab);
}

#[test]
fn ports_ask_for_what_they_are_to_receive() {
    let Some(lab) = new_pair() else { return };
    let plain = OpenOptions::new();
    let asks = |options: &OpenOptions, name, expected| {
        let port = open_with(&lab, options, name);
        assert_eq!(promiscuity(&lab, "a0"), expected, "{name} {options:?}");
        drop(port);
        assert_calm(&lab);
    };
    for name in PORTS {
        asks(&plain, name, 1);
        asks(&plain.clone().promiscuous(false), name, 0);
    }
    asks(&plain.clone().send_only(true), "ebpf:a0", 0);
    asks(&plain.clone().copy(true), "ebpf:a0", 1);
    asks(&plain, "ebpf:a0^", 0);
    asks(&plain.clone().promiscuous(true), "ebpf:a0^", 0);
    let some = plain.take(Filter::compile("udp").unwrap());
    asks(&some, "ebpf:a0", 0);
    asks(&some, "xdp:a0", 0);
    asks(&some.promiscuous(true), "ebpf:a0", 1);
}

/// The child of `a_killed_owner_leaves_nothing`: opens a port and waits to be killed.
#[test]
fn opens_and_waits() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    wait_with([when_free(|| Port::open(&words[1]))]);
}

#[test]
fn a_killed_owner_leaves_nothing() {
    let Some(lab) = new_pair() else { return };
    for name in PORTS {
        let mut owner = child_with_all_open("opens_and_waits", &format!("{} {name}", lab.name()));
        assert_eq!(promiscuity(&lab, "a0"), 1, "{name}");
        assert_eq!(owner.kill(), Some(libc::SIGKILL));
        assert_calm(&lab);
    }
}

/// A macvlan filters groups by address as a NIC filters stations: frames to a group without members
/// do not come in.
#[test]
fn frames_to_others_come_in() {
    let Some(lab) = new_lab() else { return };
    lab.veth("a0", "a1").unwrap();
    lab.ip("link add link a1 name m0 type macvlan mode bridge").unwrap();
    lab.ip("link set m0 up").unwrap();
    let sender = RawSender::open(&lab, "a0").unwrap();
    let foreign = [&[0x03, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1, 0x88, 0xb5][..], &[1; 46]].concat();
    let end = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1, 0x88, 0xb6], &[2; 46]].concat();
    for name in ["xdp:m0", "packet:m0"] {
        for promiscuous in [true, false] {
            let mut port = open_with(&lab, &OpenOptions::new().promiscuous(promiscuous), name);
            // The one to all stations follows the other and tells that it has come or will not come.
            sender.send(&foreign).unwrap();
            sender.send(&end).unwrap();
            let (mut came, start) = (Vec::new(), Instant::now());
            while came.last() != Some(&end) {
                assert!(start.elapsed() < LIMIT, "{name} {promiscuous}: {came:?}");
                port.rx[0].sync().unwrap();
                came.extend(port.rx[0].burst(u32::MAX).map(|f| whole(&f)));
            }
            assert_eq!(came.contains(&foreign), promiscuous, "{name}: {came:?}");
            drop(port);
            assert_choosy(&lab, "m0");
        }
    }
}

/// The child of `without_the_right_a_port_says_so`: opens ports without CAP_NET_RAW.
#[test]
fn opens_without_the_right() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    // SAFETY: the call takes numbers; 13 is CAP_NET_RAW, taken from what this process may ever have.
    assert_eq!(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, 13, 0, 0, 0) }, 0);
    // A program that is executed starts with what is left.
    let me = std::env::current_exe().unwrap();
    let mut again = std::process::Command::new(me);
    again.args(["--exact", "tells_how_opening_went", "--nocapture", "--test-threads=1"]);
    assert!(again.status().unwrap().success());
}

#[test]
fn tells_how_opening_went() {
    if role().is_none() {
        return;
    }
    let port = Port::open("ebpf:a0").unwrap();
    eprintln!("USUAL {}", port.info().backend);
    drop(port);
    let e = OpenOptions::new().promiscuous(true).open("ebpf:a0").unwrap_err();
    eprintln!("ASKED {:?} {e}", e.kind());
}

#[test]
fn without_the_right_a_port_says_so() {
    let Some(lab) = new_pair() else { return };
    let mut child = child_command("opens_without_the_right", lab.name());
    let out = child.stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let line = |word: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(word));
        line.unwrap_or_else(|| panic!("no {word}in {text}")).to_owned()
    };
    assert!(line("USUAL ").ends_with("own addresses only, for want of CAP_NET_RAW"), "{text}");
    assert_line(line("ASKED ").strip_prefix("Denied ").unwrap(), "ebpf:a0", "CAP_NET_RAW");
    assert_calm(&lab);
}
