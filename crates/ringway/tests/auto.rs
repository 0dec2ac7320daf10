//! `auto:` names on interfaces of all kinds. Needs root; says so and passes without.
//!
//! Objective: the best backend that works is opened, the description says which and why not a better one, and traffic
//! flows by it.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use ringway::ErrorKind;
use support::foreign::{Foreign, Hook, XDP_PASS};
use support::{Flow, assert_connected, assert_detached, new_lab, new_pair, open, open_all, try_open};

#[test]
fn a_veth_is_served_by_ebpf() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, ["a0", "auto:a1"]);
    for (port, name) in [(&a, "ebpf:a0"), (&b, "ebpf:a1")] {
        let about = &port.info().backend;
        assert_eq!(port.info().name, name);
        assert!(about.starts_with("ebpf: ") && about.contains("not xdp-zero-copy: "), "{about}");
    }
    assert!(a.region().ptr_eq(b.region()), "chosen ports share a region too");
    let mut flow = Flow::new(1);
    flow.send(&mut a.tx[0], 60, 100);
    flow.take_all(&mut b.rx[0], &a);
    assert_connected(&a, &b);
    let host = open(&lab, "a0^");
    assert_eq!(host.info().name, "ebpf:a0^");
    drop((a, b, host));
    assert_detached(&lab);
}

#[test]
fn a_driver_without_xdp_is_served_by_copies() {
    let Some(lab) = new_lab() else { return };
    lab.ip("link add br0 type bridge").unwrap();
    lab.ip("link set br0 up").unwrap();
    let port = open(&lab, "br0");
    let about = &port.info().backend;
    assert_eq!(port.info().name, "xdp:br0");
    assert!(about.contains("generic XDP") && about.contains("not ebpf: "), "{about}");
}

/// A veth refuses programs while its far end has more queues to send from than it has to receive by.
#[test]
fn a_driver_that_refuses_programs_is_served_by_copies_and_its_words_are_told() {
    let Some(lab) = new_lab() else { return };
    lab.ip("link add b0 numrxqueues 1 numtxqueues 1 type veth peer name b1 numrxqueues 2 numtxqueues 2")
        .unwrap();
    lab.ip("link set b0 up").unwrap();
    lab.ip("link set b1 up").unwrap();
    let port = open(&lab, "b0");
    let about = &port.info().backend;
    assert_eq!(port.info().name, "xdp:b0");
    assert!(
        about.contains("generic XDP, the driver refused native XDP: ") && about.contains("queues"),
        "{about}"
    );
    drop(port);
    let e = try_open(&lab, "ebpf:b0").unwrap_err();
    assert!(e.to_string().contains("XDP program refused (") && e.to_string().contains("queues"), "{e}");
    assert_detached(&lab);
}

#[test]
fn an_interface_with_another_program_is_served_by_packet_sockets() {
    let Some(lab) = new_pair() else { return };
    let other = Foreign::attach(&lab, "a0", Hook::Xdp, XDP_PASS);
    let port = open(&lab, "a0");
    assert_eq!(port.info().name, "packet:a0");
    assert!(port.info().backend.contains("not xdp-copy: "), "{}", port.info().backend);
    drop((port, other));
}

/// A packet socket behind a port of ours would wait for frames that never come.
#[test]
fn an_interface_that_a_port_has_is_busy() {
    let Some(lab) = new_pair() else { return };
    for owner in ["ebpf:a0", "xdp:a0"] {
        let first = open(&lab, owner);
        let e = try_open(&lab, "a0").unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Busy, "{e}");
        assert!(e.to_string().contains(&format!("pid {} has {owner} open", std::process::id())), "{e}");
        drop(first);
        assert_detached(&lab);
    }
}

#[test]
fn names_inside_other_names_are_chosen_too() {
    let Some(lab) = new_pair() else { return };
    let name = "trace:file=/dev/null,port=a0";
    let port = open(&lab, name);
    assert_eq!(port.info().name, "trace:file=/dev/null,port=ebpf:a0");
    assert!(port.info().backend.contains("not xdp-zero-copy: "), "{}", port.info().backend);
}
