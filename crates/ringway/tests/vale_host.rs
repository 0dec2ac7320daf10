//! The host's side of a NIC in a switch. Needs root; says so and passes without.
//!
//! Objective: a host keeps its address on an interface that is a member of a switch. Frames to all
//! reach everybody exactly once. All that enters is accounted for, and nothing stays attached.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use ringway::switch::{NicOptions, NicPath, Switch, SwitchSpec};
use ringway::{DropReason, ErrorKind, Port};
use ringway_lab::Lab;
use ringway_lab::raw::{RawReceiver, RawSender};

use support::host::ping;
use support::members::{KIND, assert_closed, frame, inside, receive, send, stats, transfer};
use support::switch::{Temporary, attached};
use support::{LIMIT, Random, assert_clear, child, enter, eventually, new_lab, role, whole};

/// How the host's side joins the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As the kernel has it: by tcx since Linux 6.6.
    Best,
    /// As on kernels before.
    Clsact,
}

impl Way {
    fn add_nic(self, switch: &Switch, interface: &str, options: &NicOptions) -> ringway::Result<u32> {
        match self {
            Self::Best => switch.add_nic_with(interface, options),
            Self::Clsact => switch.add_nic_by_clsact(interface, options),
        }
    }

    /// Programs between an interface and the stack: at ingress, at egress.
    fn attached(self, lab: &Lab, interface: &str) -> [u32; 2] {
        let filters = |side| {
            let all = support::output(lab, "tc", &["filter", "show", "dev", interface, side]);
            all.matches("ringway_host").count() as u32
        };
        match self {
            Self::Best => inside(lab, || attached(index(interface))),
            Self::Clsact => ["ingress", "egress"].map(filters),
        }
    }
}

/// Each of these tests both ways.
macro_rules! both_ways {
    ($($test:ident)*) => {
        mod best {
            $(#[test] fn $test() { super::$test(super::Way::Best) })*
        }
        mod clsact {
            $(#[test] fn $test() { super::$test(super::Way::Clsact) })*
        }
    };
}

both_ways! {
    frames_to_all_reach_everybody_once
    frames_go_between_the_host_and_each_kind_of_port
    frames_for_the_host_from_another_namespace_are_lost_by_name
    the_host_keeps_its_address_on_a_member
    an_interface_with_its_host_can_be_deleted
    what_can_not_be_is_refused_with_a_cure
    super_frames_for_virtual_ports_are_cut
    whoever_is_killed_half_way_leaves_what_can_be_removed
    switches_of_any_shape_take_hosts
}

/// Makes an interface of the namespace a port; its host's side too, if wanted.
fn add(way: Way, lab: &Lab, switch: &str, interface: &str, host: bool) -> ringway::Result<u32> {
    inside(lab, || way.add_nic(&Switch::open(switch)?, interface, &NicOptions { host, path: NicPath::Xdp }))
}

/// The index of an interface of the present namespace.
fn index(interface: &str) -> u32 {
    let name = std::ffi::CString::new(interface).unwrap();
    // SAFETY: a NUL-terminated name.
    unsafe { libc::if_nametoindex(name.as_ptr()) }
}

/// Receives what the stack of a namespace was given by an interface, behind all programs that are attached to it.
struct Stack(OwnedFd);

impl Stack {
    fn open(lab: &Lab, interface: &str) -> Self {
        let open = || {
            // SAFETY: no pointers; the descriptor is new.
            let fd = unsafe {
                let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
                let fd = libc::socket(libc::AF_PACKET, kind, KIND.to_be().into());
                assert!(fd >= 0, "{}", io::Error::last_os_error());
                OwnedFd::from_raw_fd(fd)
            };
            // SAFETY: plain data, for which zero is a value.
            let mut at: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
            at.sll_family = libc::AF_PACKET as u16;
            at.sll_protocol = KIND.to_be();
            at.sll_ifindex = index(interface) as i32;
            let (room, int) = (16i32 << 20, size_of::<i32>() as u32);
            // SAFETY: `room` outlives the call and has the length given.
            let set = unsafe {
                let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
                libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const room).cast(), int)
            };
            assert_eq!(set, 0, "{}", io::Error::last_os_error());
            let len = size_of_val(&at) as u32;
            // SAFETY: the address outlives the call and has the length given.
            assert_eq!(unsafe { libc::bind(fd.as_raw_fd(), (&raw const at).cast(), len) }, 0);
            fd
        };
        Self(inside(lab, open))
    }

    /// The next frame; `None` when there is none.
    fn take(&self) -> Option<Vec<u8>> {
        let mut buffer = vec![0u8; 65536];
        // SAFETY: the buffer outlives the call and has the length given.
        let n = unsafe { libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        buffer.truncate(usize::try_from(n).ok()?);
        Some(buffer)
    }

    fn next(&self) -> Vec<u8> {
        let mut got = None;
        eventually("the stack receives a frame", || {
            got = self.take();
            got.as_ref().map(|_| ()).ok_or_else(|| "none".into())
        });
        got.unwrap()
    }

    fn silent(&self) {
        thread::sleep(Duration::from_millis(20));
        assert_eq!(self.take(), None);
    }
}

/// A switch with NICs n1, n2... joined to wires w1, w2..., of which the first `hosts` have the host as a port.
struct Bed {
    switch: Temporary,
    wires: Vec<(RawSender, RawReceiver)>,
    /// What the host sends by its NICs, and what its stack receives.
    stacks: Vec<(RawSender, Stack)>,
    lab: Lab,
}

impl Bed {
    fn new(way: Way, nics: usize, hosts: usize) -> Option<Self> {
        let lab = new_lab()?;
        let switch = Temporary::new(&SwitchSpec::default())?;
        let (mut wires, mut stacks) = (Vec::new(), Vec::new());
        for i in 1..=nics {
            let [nic, wire] = [format!("n{i}"), format!("w{i}")];
            lab.veth(&nic, &wire).unwrap();
            lab.run_napi(&wire).unwrap();
            add(way, &lab, switch.name(), &nic, i <= hosts).unwrap();
            wires.push((RawSender::open(&lab, &wire).unwrap(), RawReceiver::open(&lab, &wire).unwrap()));
            stacks.push((RawSender::open(&lab, &nic).unwrap(), Stack::open(&lab, &nic)));
        }
        Some(Self { switch, wires, stacks, lab })
    }

    fn wire_sends(&self, wire: usize, f: &[u8]) {
        self.wires[wire - 1].0.send(f).unwrap();
    }

    fn host_sends(&self, nic: usize, f: &[u8]) {
        self.stacks[nic - 1].0.send(f).unwrap();
    }

    /// The next frame on a wire that it did not send itself.
    fn wire(&mut self, wire: usize) -> Vec<u8> {
        self.wires[wire - 1].1.next(LIMIT).unwrap().expect("a frame arrives")
    }

    fn host(&self, nic: usize) -> Vec<u8> {
        self.stacks[nic - 1].1.next()
    }

    /// Sends by a process of the host's namespace, whose frames may enter its stack.
    fn send(&self, port: &mut Port, frames: &[Vec<u8>]) {
        inside(&self.lab, || send(port, frames));
    }

    /// Nobody has another frame.
    fn silent(&mut self) {
        for (_, wire) in &mut self.wires {
            let frame = wire.next(Duration::from_millis(20)).unwrap();
            assert!(frame.is_none(), "{frame:?}");
        }
        self.stacks.iter().for_each(|(_, stack)| stack.silent());
    }
}

fn frames_to_all_reach_everybody_once(way: Way) {
    let Some(mut bed) = Bed::new(way, 3, 2) else { return };
    let mut ports = ["p", "q"].map(|p| bed.switch.open(p));
    for (n, len) in [(1, 60), (2, 1514), (3, 300)] {
        let f = frame(0, n, len, n.into());
        bed.wire_sends(n.into(), &f);
        ports.iter_mut().for_each(|p| assert_eq!(receive(p, 1), std::slice::from_ref(&f)));
        (1..=3)
            .filter(|&w| w != usize::from(n))
            .for_each(|w| assert_eq!(bed.wire(w), f, "from {n} to wire {w}"));
        (1..=2).for_each(|h| assert_eq!(bed.host(h), f, "from {n} to host {h}"));
        bed.silent();
    }
    for (n, len) in [(1, 60), (2, 1514)] {
        let f = frame(0, 10 + n, len, n.into());
        bed.host_sends(n.into(), &f);
        ports.iter_mut().for_each(|p| assert_eq!(receive(p, 1), std::slice::from_ref(&f)));
        (1..=3).for_each(|w| assert_eq!(bed.wire(w), f, "from host {n} to wire {w}"));
        assert_eq!(bed.host(3 - usize::from(n)), f, "from host {n}");
        bed.silent();
    }
    let f = frame(0, 20, 200, 9);
    bed.send(&mut ports[0], std::slice::from_ref(&f));
    (1..=3).for_each(|w| assert_eq!(bed.wire(w), f));
    (1..=2).for_each(|h| assert_eq!(bed.host(h), f));
    assert_eq!(receive(&mut ports[1], 1), [f]);
    bed.silent();
    assert_closed(&bed.switch);
}

fn frames_go_between_the_host_and_each_kind_of_port(way: Way) {
    let Some(mut bed) = Bed::new(way, 2, 2) else { return };
    let mut p = bed.switch.open("p");
    // Stations 1 and 2 on the wires, 11 and 12 the hosts, 9 the virtual port: each tells where it is.
    for n in [1, 2] {
        bed.switch
            .fdb_set(format!("02:00:00:00:00:0{n}").parse().unwrap(), 0, Some(&format!("n{n}")))
            .unwrap();
        let host = format!("02:00:00:00:00:{:02x}", 10 + n);
        bed.switch.fdb_set(host.parse().unwrap(), 0, Some(&format!("n{n}^"))).unwrap();
    }
    bed.switch.fdb_set("02:00:00:00:00:09".parse().unwrap(), 0, Some("p")).unwrap();
    for (seed, len) in (0..).zip([14, 60, 61, 256, 257, 1000, 1514]) {
        for (from, to) in [(1, 1), (1, 2), (2, 1)] {
            let f = frame(10 + to, from, len, seed);
            bed.wire_sends(from.into(), &f);
            assert_eq!(bed.host(to.into()), f);
            let f = frame(to, 10 + from, len, seed + 100);
            bed.host_sends(from.into(), &f);
            assert!(bed.wire(to.into()).starts_with(&f));
        }
        let f = frame(12, 11, len, seed);
        bed.host_sends(1, &f);
        assert!(bed.host(2).starts_with(&f));
        let f = frame(11, 9, len, seed);
        bed.send(&mut p, std::slice::from_ref(&f));
        assert!(bed.host(1).starts_with(&f));
        let f = frame(9, 11, len, seed);
        bed.host_sends(1, &f);
        assert_eq!(receive(&mut p, 1), [f]);
    }
    let burst: Vec<_> = (0..1000).map(|i| frame(12, 9, 60 + i % 1400, i as u64)).collect();
    for part in burst.chunks(100) {
        bed.send(&mut p, part);
        part.iter().for_each(|f| assert_eq!(&bed.host(2), f));
    }
    bed.silent();
    assert_closed(&bed.switch);
    let host = stats(&bed.switch, "n2^").counters;
    assert_eq!(
        (host.rx.frames_out, host.rx.dropped(), host.tx.frames_in),
        (7 + 7 + 1000, 0, 7),
        "{}",
        host.rx
    );
}

fn frames_for_the_host_from_another_namespace_are_lost_by_name(way: Way) {
    let Some(mut bed) = Bed::new(way, 1, 1) else { return };
    bed.switch.add(&["p"]);
    let mut p = bed.switch.open("p");
    let f = frame(11, 9, 100, 1);
    send(&mut p, std::slice::from_ref(&f));
    assert_eq!(bed.wire(1), f, "to all");
    let address = "02:00:00:00:00:0b".parse().unwrap();
    bed.switch.fdb_set(address, 0, Some("n1^")).unwrap();
    send(&mut p, std::slice::from_ref(&f));
    bed.silent();
    let (p, host) = (stats(&bed.switch, "p").counters.tx, stats(&bed.switch, "n1^").counters.rx);
    assert_eq!(
        (host.drops(DropReason::DeviceRefused), p.drops(DropReason::DeviceRefused)),
        (2, 1),
        "{host}; {p}"
    );
    assert_closed(&bed.switch);
}

#[test]
fn without_the_option_the_stack_receives_nothing() {
    let Some(mut bed) = Bed::new(Way::Best, 2, 0) else { return };
    let f = frame(0, 1, 100, 1);
    bed.wire_sends(1, &f);
    assert_eq!(bed.wire(2), f);
    let f = frame(1, 11, 100, 1);
    bed.host_sends(1, &f);
    assert_eq!(bed.wire(1), f, "what the host sends goes straight to the wire");
    bed.silent();
    let n1 = stats(&bed.switch, "n1");
    assert_eq!((n1.copies, n1.counters.rx.frames_in), (1, 0));
    assert!(!bed.switch.ports().iter().any(|p| p.host));
}

/// The host with n1 at 10.0.0.1 and n2, and two others with eth0 at 10.0.0.2 and 10.0.0.3 at their other ends.
struct Hosts {
    others: [Lab; 2],
    middle: Lab,
}

impl Hosts {
    fn new() -> Option<Self> {
        let (others, middle) = ([new_lab()?, new_lab()?], new_lab()?);
        for (i, other) in (1..).zip(&others) {
            let queues = "numtxqueues 1 numrxqueues 1";
            let name = middle.name();
            other
                .ip(&format!("link add eth0 {queues} type veth peer name n{i} {queues} netns {name}"))
                .unwrap();
            other.ip(&format!("addr add 10.0.0.{}/24 dev eth0", i + 1)).unwrap();
            other.ip("link set eth0 up").unwrap();
            middle.ip(&format!("link set n{i} up")).unwrap();
            other.run_napi("eth0").unwrap();
        }
        middle.ip("addr add 10.0.0.1/24 dev n1").unwrap();
        Some(Self { others, middle })
    }
}

fn the_host_keeps_its_address_on_a_member(way: Way) {
    const SIZE: usize = 4 << 20;
    let Some(net) = Hosts::new() else { return };
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    add(way, &net.middle, switch.name(), "n1", true).unwrap();
    add(way, &net.middle, switch.name(), "n2", false).unwrap();
    let [near, far] = &net.others;
    for (other, address) in [(near, "10.0.0.2"), (far, "10.0.0.3")] {
        assert_eq!(ping(other, 200, 2000), 200, "{address}");
        transfer(other, &net.middle, "10.0.0.1", SIZE);
        transfer(&net.middle, other, address, SIZE);
    }
    transfer(near, far, "10.0.0.3", SIZE);
    assert_closed(&switch);
    let host = stats(&switch, "n1^").counters;
    let least = (SIZE / 1448) as u64;
    // Acknowledgements are some; what the host sends in one piece is counted as the frames that it becomes.
    assert!(host.tx.frames_in > 2 * least && host.rx.frames_in > 2 * least, "tx {}; rx {}", host.tx, host.rx);
    let dropped = switch.stats().iter().map(|s| s.counters.rx.dropped()).sum::<u64>();
    assert!(dropped < 1000, "{dropped} frames lost on the way: {:?}", switch.stats());

    let programs = || ["n1", "n2"].map(|n| way.attached(&net.middle, n));
    thread::scope(|scope| {
        let pings = scope.spawn(|| ping(far, 200, 2000));
        (0..3).for_each(|_| _ = switch.reload().unwrap());
        assert_eq!(pings.join().unwrap(), 200);
    });
    assert_eq!(programs(), [[1, 1], [1, 0]]);
    inside(&net.middle, || switch.del_port("n1", false).unwrap());
    assert_eq!(switch.ports().iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["n2"]);
    inside(&net.middle, || switch.del_port("n2", false).unwrap());
    assert_eq!(programs(), [[0, 0], [0, 0]]);
    support::assert_detached(&net.middle);
    let disciplines = support::output(&net.middle, "tc", &["qdisc", "show"]);
    assert!(!disciplines.contains("clsact"), "{disciplines}");
    assert_eq!(ping(near, 20, 2000), 20, "the interface is the host's again");
}

fn an_interface_with_its_host_can_be_deleted(way: Way) {
    let Some(bed) = Bed::new(way, 2, 1) else { return };
    bed.switch.add(&["p"]);
    let mut p = bed.switch.open("p");
    let f = frame(11, 9, 60, 1);
    bed.switch.fdb_set("02:00:00:00:00:0b".parse().unwrap(), 0, Some("n1^")).unwrap();
    bed.send(&mut p, std::slice::from_ref(&f));
    assert!(bed.host(1).starts_with(&f));
    bed.lab.ip("link del n1").unwrap();
    bed.send(&mut p, &[f.clone(), f.clone()]);
    bed.wire_sends(2, &frame(11, 2, 60, 1));
    eventually("they are dropped by name", || {
        let rx = stats(&bed.switch, "n1^").counters.rx;
        if rx.drops(DropReason::DeviceRefused) == 3 { Ok(()) } else { Err(rx.to_string()) }
    });
    assert_closed(&bed.switch);
    inside(&bed.lab, || bed.switch.del_port("n1", false).unwrap());
    assert_eq!(bed.switch.ports().len(), 2);
    assert_closed(&bed.switch);
}

fn what_can_not_be_is_refused_with_a_cure(way: Way) {
    let Some(bed) = Bed::new(way, 1, 1) else { return };
    let name = bed.switch.name();
    let e = bed.switch.del_port("n1^", true).unwrap_err();
    assert_clear(&e, ErrorKind::Unfit, &format!("{name}:n1^"), "delete the interface");
    let Some(elsewhere) = new_lab() else { return };
    elsewhere.ip("link add index 77 e0 type veth peer name e1").unwrap();
    ["e0", "e1"].iter().for_each(|e| elsewhere.ip(&format!("link set {e} up")).unwrap());
    let e = add(way, &elsewhere, name, "e0", false).unwrap_err();
    assert_clear(&e, ErrorKind::Unfit, &format!("{name}:e0"), "one namespace");
    assert_eq!(bed.switch.ports().len(), 2);
    let other = Temporary::new(&SwitchSpec::default()).unwrap();
    let e = add(way, &bed.lab, other.name(), "n1", true).unwrap_err();
    assert_clear(&e, ErrorKind::Busy, &format!("{}:n1", other.name()), "ringway switch list");
    assert!(other.ports().is_empty(), "nothing half made stays");
    assert!(Port::open(&format!("{name}:n1^")).is_err());
}

/// What the host leaves to the interface to cut arrives cut and finished.
fn super_frames_for_virtual_ports_are_cut(way: Way) {
    let Some(net) = Hosts::new() else { return };
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    add(way, &net.middle, switch.name(), "n1", true).unwrap();
    switch.add(&["p"]);
    let mut p = switch.open("p");
    let near = &net.others[0];
    let shown = support::output(near, "ip", &["-o", "link", "show", "eth0"]);
    let address = shown.split("link/ether ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let listener = inside(near, || TcpListener::bind("10.0.0.2:0").unwrap());
    let to = listener.local_addr().unwrap();
    // Connects, and has the other end move behind the virtual port: what is sent first is in flight at once.
    let send = || {
        switch.fdb_del(address, 0);
        let mut stream = inside(&net.middle, || TcpStream::connect_timeout(&to, LIMIT).unwrap());
        switch.fdb_set(address, 0, Some("p")).unwrap();
        thread::sleep(Duration::from_millis(20)); // programs look again in the next tick
        stream.write_all(&[7; 14480]).unwrap();
        stream
    };
    let frames = send();
    let mut got = Vec::new();
    let port = frames.local_addr().unwrap().port().to_be_bytes();
    eventually("they arrive", || {
        p.rx[0].sync().unwrap();
        let of_it = |f: &Vec<u8>| f[12..14] == [8, 0] && f[34..36] == port;
        got.extend(p.rx[0].burst(u32::MAX).map(|f| whole(&f)).filter(of_it));
        if got.len() >= 10 { Ok(()) } else { Err(got.len().to_string()) }
    });
    for f in got.iter().filter(|f| f.len() > 1000) {
        // The pseudo header: addresses, protocol, length of the TCP segment.
        let len = usize::from(u16::from_be_bytes([f[16], f[17]])) - 20;
        let mut sum: Vec<u8> = f[34..34 + len].to_vec();
        sum.resize(len.next_multiple_of(2), 0);
        sum.extend_from_slice(&f[26..34]);
        sum.extend_from_slice(&[0, 6]);
        sum.extend_from_slice(&(len as u16).to_be_bytes());
        assert_eq!(ringway_wire::checksum::of(&sum), 0);
    }
    assert!(got.iter().all(|f| f.len() <= 1514));
    drop(frames);
    let lost = stats(&switch, "p").counters.rx;
    assert_eq!(lost.drops(DropReason::TooLong), 0, "{lost}");
    drop(p);
    assert_closed(&switch);
}

/// The child of the next test: makes and removes a NIC and its host until it is killed.
#[test]
fn adds_and_removes() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let switch = Switch::open(&words[1]).unwrap();
    let way = if words[2] == "Clsact" { Way::Clsact } else { Way::Best };
    loop {
        way.add_nic(&switch, "n1", &NicOptions { host: true, ..NicOptions::default() }).unwrap();
        switch.del_port("n1", false).unwrap();
    }
}

fn whoever_is_killed_half_way_leaves_what_can_be_removed(way: Way) {
    let Some(lab) = new_lab() else { return };
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    lab.veth("n1", "w1").unwrap();
    lab.run_napi("w1").unwrap();
    let mut random = Random(std::process::id().into());
    let mut found = [0; 3];
    for _ in 0..20 {
        let words = format!("{} {} {way:?}", lab.name(), switch.name());
        let mut maker = child("adds_and_removes", &words);
        thread::sleep(Duration::from_millis(300 + random.below(700)));
        assert_eq!(maker.kill(), Some(9));
        let left = inside(&lab, || {
            let switch = Switch::open(switch.name()).unwrap();
            let left = switch.ports().len();
            if left > 0 {
                switch.del_port("n1", true).unwrap();
            }
            left
        });
        found[left] += 1;
        assert_eq!(switch.ports().len(), 0);
        eventually("all is detached", || match way.attached(&lab, "n1") {
            [0, 0] => Ok(()),
            left => Err(format!("{left:?}")),
        });
        assert!(!support::output(&lab, "ip", &["-d", "link"]).contains("prog/xdp"));
    }
    println!("killed 20 times; found no port, one, both: {found:?}");
    add(way, &lab, switch.name(), "n1", true).unwrap();
    inside(&lab, || switch.del_port("n1", false).unwrap());
}

fn switches_of_any_shape_take_hosts(way: Way) {
    for (slots, rings) in [(64, 8), (4096, 2)] {
        let Some(lab) = new_lab() else { return };
        let spec = SwitchSpec { slots, rings, ..SwitchSpec::default() };
        let Some(switch) = Temporary::new(&spec) else { return };
        lab.veth("n1", "w1").unwrap();
        lab.run_napi("w1").unwrap();
        add(way, &lab, switch.name(), "n1", true).unwrap();
        let mut p = switch.open("p");
        let (host, stack) = (RawSender::open(&lab, "n1").unwrap(), Stack::open(&lab, "n1"));
        let f = frame(0, 11, 1514, 1);
        host.send(&f).unwrap();
        eventually("a ring has it", || {
            let rings = p.rx.iter_mut().map(|r| {
                r.sync().unwrap();
                r.burst(u32::MAX).filter(|got| whole(got) == f).count()
            });
            if rings.sum::<usize>() == 1 { Ok(()) } else { Err("no".into()) }
        });
        for ring in 0..rings as usize {
            let f = frame(0, 9, 100 + ring, 2);
            inside(&lab, || {
                assert!(p.tx[ring].push(&f));
                p.tx[ring].sync().unwrap();
            });
            assert_eq!(stack.next(), f);
        }
        assert_closed(&switch);
    }
}
