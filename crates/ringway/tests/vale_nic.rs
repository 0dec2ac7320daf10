//! NICs as members of a switch. Needs root; says so and passes without.
//!
//! Objective: hosts behind NICs talk through a switch, virtual ports and NICs exchange frames unchanged, all that enters is
//! accounted for, forwarding outlives every process, and nothing stays attached.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use ringway::switch::{NicPath, PortAccess, Switch, SwitchSpec};
use ringway::{DropReason, ErrorKind, Port};
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_lab::{AnyError, Lab};

use support::host::ping;
use support::members::{WAYS, add, add_by, assert_closed, frame, inside, receive, send, stats, transfer};
use support::switch::{Temporary, give_next};
use support::{LIMIT, assert_clear, assert_detached, child, enter, eventually, new_lab, role, whole};

/// A switch whose NICs n1, n2... are joined to wires w1, w2...
struct Bed {
    switch: Temporary,
    wires: Vec<(RawSender, RawReceiver)>,
    lab: Lab,
    path: NicPath,
}

impl Bed {
    fn new(nics: usize, path: NicPath) -> Option<Self> {
        Self::with(nics, path, &SwitchSpec::default())
    }

    fn with(nics: usize, path: NicPath, spec: &SwitchSpec) -> Option<Self> {
        let lab = new_lab()?;
        let switch = Temporary::new(spec)?;
        let wires = (1..=nics).map(|i| {
            let [nic, wire] = [format!("n{i}"), format!("w{i}")];
            lab.veth(&nic, &wire).unwrap();
            if path == NicPath::Xdp {
                lab.run_napi(&wire).unwrap();
            }
            add_by(&lab, switch.name(), &nic, path).unwrap();
            (RawSender::open(&lab, &wire).unwrap(), RawReceiver::open(&lab, &wire).unwrap())
        });
        let wires = wires.collect();
        Some(Self { switch, wires, lab, path })
    }

    fn send(&self, wire: usize, f: &[u8]) {
        self.wires[wire - 1].0.send(f).unwrap();
    }

    /// The next frame on a wire that it did not send itself.
    fn next(&mut self, wire: usize) -> Vec<u8> {
        self.wires[wire - 1].1.next(LIMIT).unwrap().expect("a frame arrives")
    }

    fn silent(&mut self, wire: usize) {
        let frame = self.wires[wire - 1].1.next(Duration::from_millis(20)).unwrap();
        assert!(frame.is_none(), "{frame:?}");
    }
}

/// A veth takes no redirected frame while its far end runs no NAPI.
#[test]
fn frames_to_a_far_end_without_napi_are_lost_by_name() {
    let Some(lab) = new_lab() else { return };
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    lab.veth("n1", "w1").unwrap();
    add(&lab, switch.name(), "n1", false).unwrap();
    let mut p = switch.open("p");
    let refused = || stats(&switch, "n1").counters.rx.drops(DropReason::DeviceRefused);
    let f = frame(0, 9, 60, 1);
    send(&mut p, std::slice::from_ref(&f));
    assert_eq!(refused(), 1, "the kernel tells that it takes none");
    lab.run_napi("w1").unwrap();
    // What the kernel tells of n1 stays as it was when this is turned off while w1 is down.
    lab.ip("link set w1 down").unwrap();
    lab.exec("ethtool", &["-K", "w1", "gro", "off"]).unwrap();
    lab.ip("link set w1 up").unwrap();
    send(&mut p, std::slice::from_ref(&f));
    assert_eq!(refused(), 2, "the driver refuses");
    assert_closed(&switch);
}

#[test]
fn frames_go_between_a_nic_and_a_virtual_port_unchanged() {
    for path in WAYS {
        let Some(mut bed) = Bed::new(1, path) else { return };
        bed.lab.set_mtu(["n1", "w1"], 9000).unwrap();
        let mut p = bed.switch.open("p");
        let lengths = [14, 60, 61, 255, 256, 257, 1514, 2112, 2113, 3000, 4225, 9014];
        for (i, len) in (0..).zip(lengths) {
            let f = frame(if i == 0 { 0 } else { 9 }, 1, len, i);
            bed.send(1, &f);
            assert_eq!(receive(&mut p, 1), [f], "{len} bytes");
            let f = frame(1, 9, len, 100 + i);
            send(&mut p, std::slice::from_ref(&f));
            if len <= 3300 {
                assert!(bed.next(1).starts_with(&f), "{len} bytes");
            }
        }
        bed.silent(1);
        let nic = stats(&bed.switch, "n1").counters;
        assert_eq!((nic.tx.frames_out, nic.tx.dropped()), (12, 0), "{}", nic.tx);
        assert_eq!((nic.rx.frames_out, nic.rx.drops(DropReason::TooLong)), (10, 2), "{}", nic.rx);
        let burst: Vec<_> = (0..1000).map(|i| frame(1, 9, 60 + i % 1400, i as u64)).collect();
        send(&mut p, &burst);
        for f in &burst {
            assert_eq!(&bed.next(1), f);
        }
        assert_closed(&bed.switch);
    }
}

#[test]
fn frames_go_between_nics_and_to_all() {
    for path in WAYS {
        let Some(mut bed) = Bed::new(3, path) else { return };
        let mut ports = [bed.switch.open("p"), bed.switch.open("q")];
        let hello = frame(0, 1, 100, 1);
        bed.send(1, &hello);
        assert_eq!((bed.next(2), bed.next(3)), (hello.clone(), hello.clone()));
        ports.iter_mut().for_each(|p| assert_eq!(receive(p, 1), std::slice::from_ref(&hello)));
        bed.silent(1);
        for seed in 0..100 {
            let answer = frame(1, 2, 60 + seed as usize * 14, seed);
            bed.send(2, &answer);
            assert_eq!(bed.next(1), answer);
        }
        bed.silent(3);
        let unknown = frame(77, 5, 200, 3);
        send(&mut ports[0], std::slice::from_ref(&unknown));
        for wire in 1..=3 {
            assert_eq!(bed.next(wire), unknown);
        }
        assert_eq!(receive(&mut ports[1], 1), [unknown]);
        bed.send(1, &frame(1, 1, 60, 4));
        let switch = &bed.switch;
        switch.fdb_set("02:00:00:00:00:63".parse().unwrap(), 0, None).unwrap();
        bed.send(1, &frame(0x63, 1, 60, 4));
        eventually("both are dropped by name", || {
            let tx = stats(&bed.switch, "n1").counters.tx;
            match (tx.drops(DropReason::SamePort), tx.drops(DropReason::Blackhole)) {
                (1, 1) => Ok(()),
                _ => Err(tx.to_string()),
            }
        });
        assert_closed(&bed.switch);
        let stats = stats(&bed.switch, "n1");
        assert_eq!((stats.counters.tx.frames_in, stats.copies, stats.addresses), (3, 4, 1), "{stats:?}");
        for wire in 2..=3 {
            bed.silent(wire);
        }
    }
}

#[test]
fn frames_in_several_pieces_go_between_nics() {
    let Some(mut bed) = Bed::new(3, NicPath::Xdp) else { return };
    (1..=3).for_each(|i| bed.lab.set_mtu([&format!("n{i}"), &format!("w{i}")], 9000).unwrap());
    let mut p = bed.switch.open("p");
    bed.send(2, &frame(0, 2, 60, 0));
    assert_eq!((bed.next(1).len(), bed.next(3).len(), receive(&mut p, 1).len()), (60, 60, 1));
    let long = frame(2, 1, 9014, 1);
    bed.send(1, &long);
    assert_eq!(bed.next(2), long);
    let to_all = frame(0, 1, 9014, 2);
    bed.send(1, &to_all);
    assert_eq!(receive(&mut p, 1), [to_all]);
    for nic in ["n2", "n3"] {
        assert_eq!(stats(&bed.switch, nic).counters.rx.drops(DropReason::TooLong), 1);
    }
    bed.silent(2);
    inside(&bed.lab, || bed.switch.del_port("n3", false).unwrap());
    let to_one = frame(0, 1, 9014, 3);
    bed.send(1, &to_one);
    assert_eq!((bed.next(2), receive(&mut p, 1)), (to_one.clone(), vec![to_one]));
}

#[test]
fn switches_of_any_shape_take_nics() {
    for path in WAYS {
        for (slots, rings) in [(64, 8), (4096, 2)] {
            let Some(mut bed) = Bed::with(1, path, &SwitchSpec { slots, rings, ..Default::default() }) else {
                return;
            };
            let mut p = bed.switch.open("p");
            let f = frame(0, 1, 1514, 1);
            bed.send(1, &f);
            // By XDP a queue of the NIC has a ring, by tc a flow.
            let got = || {
                let frame = p.rx.iter_mut().find_map(|rx| {
                    rx.sync().unwrap();
                    rx.burst(1).map(|f| whole(&f)).next()
                });
                frame.filter(|got| *got == f).map(drop).ok_or_else(|| "not yet".into())
            };
            eventually("the frame arrives on one of the rings", got);
            for ring in 0..rings as usize {
                let burst: Vec<_> = (0..60).map(|i| frame(1, 9, 60 + i, ring as u64)).collect();
                burst.iter().for_each(|f| assert!(p.tx[ring].push(f)));
                p.tx[ring].sync().unwrap();
                burst.iter().for_each(|f| assert_eq!(&bed.next(1), f));
            }
            assert_closed(&bed.switch);
        }
    }
}

#[test]
fn several_senders_send_to_a_nic_at_once() {
    for path in WAYS {
        const EACH: u32 = 3000;
        let Some(mut bed) = Bed::new(1, path) else { return };
        bed.send(1, &frame(0, 1, 60, 0));
        let names = ["p", "q", "r"];
        thread::scope(|scope| {
            for (from, name) in (11..).zip(names) {
                bed.switch.add_port(name, &PortAccess::default()).unwrap(); // stays, with its counters
                let mut port = bed.switch.open(name);
                scope.spawn(move || {
                    for i in 0..EACH / 30 {
                        let burst: Vec<_> =
                            (0..30).map(|k| frame(1, from, 60, u64::from(i * 30 + k))).collect();
                        send(&mut port, &burst);
                        thread::sleep(Duration::from_micros(500));
                    }
                });
            }
        });
        assert_closed(&bed.switch);
        let rx = stats(&bed.switch, "n1").counters.rx;
        assert_eq!(rx.frames_in, u64::from(EACH) * 3);
        let mut arrived = 0;
        while arrived < rx.frames_out {
            let f = bed.next(1);
            let from = f[11];
            assert!((11..=13).contains(&from));
            arrived += 1;
        }
        bed.silent(1);
        assert!(rx.frames_out > u64::from(EACH), "{rx}");
    }
}

/// The child of the next test: sends from a port that it was given, without any privilege.
#[test]
#[allow(unsafe_code, reason = "system calls")]
fn sends_as_nobody() {
    let Some(words) = role() else { return };
    // SAFETY: no pointers.
    unsafe {
        assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
        assert_eq!((libc::setgid(65534), libc::setuid(65534)), (0, 0));
    }
    let mut port = Port::open(&words[0]).unwrap();
    send(&mut port, &[frame(1, 7, 60, 1), frame(1, 7, 1514, 2)]);
    assert!(Switch::open(words[0].split(':').next().unwrap()).is_err(), "nobody may change the switch");
}

#[test]
fn an_unprivileged_sender_reaches_a_nic() {
    for path in WAYS {
        let Some(mut bed) = Bed::new(1, path) else { return };
        let nobody = PortAccess { uid: Some(65534), ..Default::default() };
        bed.switch.add_port("u", &nobody).unwrap();
        let mut sender = child("sends_as_nobody", &format!("{}:u", bed.switch.name()));
        assert!(sender.0.wait().unwrap().success());
        assert_eq!(bed.next(1), frame(1, 7, 60, 1));
        assert_eq!(bed.next(1), frame(1, 7, 1514, 2));
        assert_closed(&bed.switch);
    }
}

/// Hosts with eth0 at 10.0.0.1 and 10.0.0.2, joined to n1 and n2 in the middle.
struct Hosts {
    hosts: [Lab; 2],
    middle: Lab,
}

impl Hosts {
    fn new() -> Option<Self> {
        let (hosts, middle) = ([new_lab()?, new_lab()?], new_lab()?);
        for (i, host) in (1..).zip(&hosts) {
            let queues = "numtxqueues 1 numrxqueues 1";
            let name = middle.name();
            host.ip(&format!("link add eth0 {queues} type veth peer name n{i} {queues} netns {name}"))
                .unwrap();
            host.ip(&format!("addr add 10.0.0.{i}/24 dev eth0")).unwrap();
            host.ip("link set eth0 up").unwrap();
            middle.ip(&format!("link set n{i} up")).unwrap();
            host.run_napi("eth0").unwrap();
        }
        Some(Self { hosts, middle })
    }
}

/// The child of the next test: makes a switch and is killed.
#[test]
fn makes_a_switch() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let switch = Switch::create(&words[1], &SwitchSpec::default()).unwrap();
    switch.add_nic("n1").unwrap();
    switch.add_nic("n2").unwrap();
    std::fs::write(&words[2], "").unwrap();
    thread::sleep(LIMIT);
}

#[test]
fn hosts_talk_through_a_switch_whose_maker_was_killed() {
    let Some(net) = Hosts::new() else { return };
    let Some(switch) = Temporary::of_another() else { return };
    let done = std::env::temp_dir().join(switch.name());
    let mut maker =
        child("makes_a_switch", &format!("{} {} {}", net.middle.name(), switch.name(), done.display()));
    eventually("the switch is made", || if done.exists() { Ok(()) } else { Err("not yet".into()) });
    std::fs::remove_file(&done).unwrap();
    assert_eq!(ping(&net.hosts[1], 20, 2000), 20);
    assert_eq!(maker.kill(), Some(9));
    assert_eq!(ping(&net.hosts[1], 200, 2000), 200);
    transfer(&net.hosts[1], &net.hosts[0], "10.0.0.1", 4 << 20);
    assert_closed(&switch);
    let names: Vec<_> = switch.ports().into_iter().map(|p| (p.name, p.nic.is_some())).collect();
    assert_eq!(names, [("n1".to_owned(), true), ("n2".to_owned(), true)]);
    let n1 = stats(&switch, "n1").counters;
    assert!(n1.tx.frames_in > 220 && n1.rx.frames_out > 3000, "tx {}; rx {}", n1.tx, n1.rx);
    let name = switch.name().to_owned();
    inside(&net.middle, || drop(switch));
    assert!(!ringway::switch::switches().contains(&name));
    assert_detached(&net.middle);
    let links = support::output(&net.middle, "ip", &["-d", "link"]);
    assert!(!links.contains("PROMISC"), "{links}");
}

#[test]
fn virtual_ports_receive_finished_checksums() {
    let Some(net) = Hosts::new() else { return };
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    add(&net.middle, switch.name(), "n1", false).unwrap();
    let mut p = switch.open("p");
    let host = &net.hosts[0];
    host.exec("ip", &["neigh", "add", "10.0.0.9", "lladdr", "02:00:00:00:00:09", "dev", "eth0"]).unwrap();
    let say = || {
        let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
        [7, 1472].iter().for_each(|&n| _ = socket.send_to(&vec![9; n], "10.0.0.9:9").unwrap());
        Ok::<_, AnyError>(())
    };
    host.run(say).unwrap();
    for f in receive(&mut p, 2) {
        // The pseudo header: addresses, protocol, length of the UDP header and what follows.
        let mut sum: Vec<u8> = f[34..].to_vec();
        sum.resize(sum.len().next_multiple_of(2), 0);
        sum.extend_from_slice(&f[26..34]);
        sum.extend_from_slice(&[0, 17, f[38], f[39]]);
        assert_eq!(ringway_wire::checksum::of(&sum), 0, "{f:x?}");
    }
}

#[test]
fn a_nic_can_be_deleted_and_added_again() {
    for path in WAYS {
        let Some(mut bed) = Bed::new(2, path) else { return };
        let mut p = bed.switch.open("p");
        bed.send(1, &frame(0, 1, 60, 0));
        receive(&mut p, 1);
        bed.next(2);
        inside(&bed.lab, || bed.switch.del_port("n1", false).unwrap());
        let f = frame(1, 9, 60, 1);
        send(&mut p, std::slice::from_ref(&f));
        assert_eq!(bed.next(2), f, "its address is forgotten");
        bed.silent(1);
        // With the same number, so that what p knows of it is out of date.
        give_next(bed.switch.name(), 1);
        assert_eq!(add_by(&bed.lab, bed.switch.name(), "n1", bed.path).unwrap(), 1);
        thread::sleep(Duration::from_millis(150)); // p looks for new programs ten times a second
        bed.send(1, &frame(9, 1, 60, 2));
        receive(&mut p, 1);
        send(&mut p, std::slice::from_ref(&f));
        assert_eq!(bed.next(1), f);
        assert_eq!(stats(&bed.switch, "n1").counters.tx.frames_in, 1);
        for nic in ["n1", "n2"] {
            inside(&bed.lab, || bed.switch.del_port(nic, false).unwrap());
        }
        assert_detached(&bed.lab);
    }
}

#[test]
fn a_nic_whose_interface_is_deleted_stays_a_port() {
    for path in WAYS {
        let Some(mut bed) = Bed::new(2, path) else { return };
        let mut p = bed.switch.open("p");
        bed.send(1, &frame(0, 1, 60, 0));
        receive(&mut p, 1);
        assert_eq!(bed.next(2).len(), 60);
        bed.lab.ip("link del n1").unwrap();
        send(&mut p, &[frame(1, 9, 60, 1), frame(1, 9, 60, 2)]);
        bed.send(2, &frame(1, 2, 60, 3));
        eventually("they are dropped by name", || {
            let rx = stats(&bed.switch, "n1").counters.rx;
            if rx.drops(DropReason::DeviceRefused) == 3 { Ok(()) } else { Err(rx.to_string()) }
        });
        assert_eq!(stats(&bed.switch, "n1").counters.tx.frames_in, 1);
        assert_closed(&bed.switch);
        let gone: Vec<_> = bed.switch.ports().into_iter().map(|p| p.gone).collect();
        assert_eq!(gone, [true, false, false]);
        inside(&bed.lab, || bed.switch.del_port("n1", false).unwrap());
        assert_eq!(bed.switch.ports().len(), 2);
    }
}

#[test]
fn what_can_not_be_a_nic_is_refused_with_a_cure() {
    let Some(bed) = Bed::new(1, NicPath::Xdp) else { return };
    let Some(other) = Temporary::new(&SwitchSpec::default()) else { return };
    let refused = |switch: &str, nic: &str, kind, cure: &str| {
        let e = add(&bed.lab, switch, nic, false).unwrap_err();
        assert_clear(&e, kind, &format!("{switch}:{nic}"), cure);
    };
    refused(other.name(), "nothere", ErrorKind::NotFound, "ip link");
    refused(other.name(), "n1", ErrorKind::Busy, "ringway switch list");
    refused(bed.switch.name(), "n1", ErrorKind::Busy, "frees the name");
    bed.lab.ip("link add d0 type veth peer name d1").unwrap();
    refused(other.name(), "d0", ErrorKind::LinkDown, "ip link set d0 up");
    bed.lab.ip("link set lo up").unwrap();
    refused(other.name(), "lo", ErrorKind::Unsupported, "link/ether");
    let owner = bed.lab.run(|| Ok::<_, AnyError>(Port::open("ebpf:w1"))).unwrap().unwrap();
    refused(other.name(), "w1", ErrorKind::Busy, "this process has it open itself");
    drop(owner);
    assert!(other.ports().is_empty(), "nothing half made stays");
    let e = Port::open(&format!("{}:n1", bed.switch.name())).unwrap_err();
    assert_clear(&e, ErrorKind::Busy, &format!("{}:n1", bed.switch.name()), "another name");
    let e = bed.switch.set_access("n1", &PortAccess::default()).unwrap_err();
    assert_clear(&e, ErrorKind::Unfit, &format!("{}:n1", bed.switch.name()), "another name");
}
