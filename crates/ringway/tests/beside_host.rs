//! Generic XDP and packet sockets beside host rings of one interface. Needs root; says so and passes without.
//!
//! Objective: generic XDP and host rings refuse each other in a line that names the driver, the reason and the cure, since frames would
//! go round between them; when the first one is gone the other one opens. Packet sockets may look on, and not be opened together with them.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use ringway::{ErrorKind, OpenOptions, Port, Result};
use ringway_lab::{AnyError, Lab};

use support::{assert_clear, assert_detached, eventually, new_lab, open, try_open};

/// A namespace with b0, a veth that refuses programs: its far end has more queues to send from than b0 has to receive by.
fn refusing_veth() -> Option<Lab> {
    let lab = new_lab()?;
    lab.ip("link add b0 numrxqueues 1 numtxqueues 1 type veth peer name b1 numrxqueues 2 numtxqueues 2")
        .unwrap();
    lab.ip("link set b0 up").unwrap();
    lab.ip("link set b1 up").unwrap();
    Some(lab)
}

fn try_open_all(lab: &Lab, names: [&str; 2]) -> Result<[Port; 2]> {
    lab.run(|| Ok::<_, AnyError>(OpenOptions::new().open_all(names))).unwrap()
}

#[test]
fn host_rings_are_refused_where_a_port_is_generic() {
    let Some(lab) = refusing_veth() else { return };
    let (port, onlooker) = (open(&lab, "xdp:b0"), open(&lab, "packet:b0"));
    assert!(port.info().backend.contains("generic XDP"), "{}", port.info().backend);
    let e = try_open(&lab, "ebpf:b0^").unwrap_err();
    assert_clear(&e, ErrorKind::Unsupported, "ebpf:b0^", "leave b0 to the kernel");
    let owner = format!("the XDP program of xdp:b0 (pid {})", std::process::id());
    assert!(e.to_string().contains("driver veth") && e.to_string().contains(&owner), "{e}");
    drop((port, onlooker));
    assert_detached(&lab);
    drop(open(&lab, "ebpf:b0^"));
    assert_detached(&lab);
}

#[test]
fn a_generic_port_is_refused_where_host_rings_are() {
    let Some(lab) = refusing_veth() else { return };
    let host = open(&lab, "ebpf:b0^");
    // What packet sockets hear is no better, so `auto:` does not go on to them.
    for name in ["xdp:b0", "b0"] {
        let e = try_open(&lab, name).unwrap_err();
        assert_clear(&e, ErrorKind::Busy, "xdp:b0", "close the host rings");
        let owner = format!("ebpf:b0^ of pid {}", std::process::id());
        assert!(e.to_string().contains("driver veth refused native XDP: "), "{e}");
        assert!(e.to_string().contains(&owner), "{e}");
    }
    drop(host);
    eventually("b0 opens", || try_open(&lab, "b0").map(drop).map_err(|e| e.to_string()));
    assert_detached(&lab);
}

#[test]
fn both_at_once_are_refused_and_leave_nothing() {
    let Some(lab) = refusing_veth() else { return };
    for names in [["b0", "b0^"], ["b0^", "b0"]] {
        let e = try_open_all(&lab, names).unwrap_err();
        assert!(e.to_string().contains("by the generic hook"), "{e}");
        assert_detached(&lab);
    }
}

#[test]
fn packet_sockets_may_look_on_but_not_exchange_frames() {
    let Some(lab) = refusing_veth() else { return };
    for names in [["packet:b0", "b0^"], ["ebpf:b0^", "trace:file=/dev/null,port=packet:b0"]] {
        let e = try_open_all(&lab, names).unwrap_err();
        assert_clear(&e, ErrorKind::Unsupported, names[usize::from(names[0] != "packet:b0")], "use ebpf:b0");
    }
    try_open_all(&lab, ["packet:b1", "b0^"]).unwrap();
    let host = open(&lab, "ebpf:b0^");
    drop((open(&lab, "packet:b0"), host));
}
