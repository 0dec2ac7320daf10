//! Sharing an interface with its host: ports that take only frames matching a filter, and ports that take copies. Needs
//! root; says so and passes without.
//!
//! Objective: a port gets exactly the frames that match, the host all others and works on as if there were no port; a
//! copying port gets every frame and the host misses none, whatever becomes of the copies; nothing stays behind.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ringway::{ErrorKind, Filter, OpenOptions, Port, Result, RxRing, open_ports};
use ringway_lab::{AnyError, Lab};

use support::host::{host_and_peer, ping};
use support::{LIMIT, assert_balanced, assert_detached, child, enter, eventually, new_pair, role, whole};

const HOST: [u8; 4] = [10, 0, 0, 1];
const PEER: [u8; 4] = [10, 0, 0, 2];

fn filter(expr: &str) -> Filter {
    Filter::compile(expr).unwrap()
}

fn take(expr: &str) -> OpenOptions {
    OpenOptions::new().take(filter(expr))
}

fn copy() -> OpenOptions {
    OpenOptions::new().copy(true)
}

fn try_open(lab: &Lab, options: &OpenOptions, name: &str) -> Result<Port> {
    lab.run(|| Ok::<_, AnyError>(options.open(name))).unwrap()
}

fn open(lab: &Lab, options: &OpenOptions, name: &str) -> Port {
    try_open(lab, options, name).unwrap()
}

/// A UDP socket in the namespace; a receive waits a fifth of a second at most.
fn udp(lab: &Lab, address: [u8; 4], port: u16) -> UdpSocket {
    let bind = || Ok::<_, AnyError>(UdpSocket::bind(SocketAddr::from((address, port))).unwrap());
    let socket = lab.run(bind).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    socket
}

/// How many datagrams come until none has for a while.
fn drain(socket: &UdpSocket) -> u64 {
    let mut bytes = [0; 2048];
    std::iter::from_fn(|| socket.recv(&mut bytes).ok()).count() as u64
}

/// Has the peer send and read back 300 kB over a TCP connection with the host.
fn tcp_works(host: &Lab, peer: &Lab) {
    let bind = || Ok::<_, AnyError>(TcpListener::bind(SocketAddr::from((HOST, 9))).unwrap());
    let listener = host.run(bind).unwrap();
    let sent: Vec<u8> = (0..300_000u32).map(|i| (i * 7 / 3) as u8).collect();
    thread::scope(|s| {
        s.spawn(|| {
            let mut stream = listener.accept().unwrap().0;
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            let mut all = vec![0; sent.len()];
            stream.read_exact(&mut all).unwrap();
            stream.write_all(&all).unwrap();
        });
        let connect = || Ok::<_, AnyError>(TcpStream::connect_timeout(&(HOST, 9).into(), LIMIT).unwrap());
        let mut stream = peer.run(connect).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(&sent).unwrap();
        let mut back = vec![0; sent.len()];
        stream.read_exact(&mut back).unwrap();
        assert!(back == sent, "the bytes came back changed");
    });
}

/// The frames that have arrived.
fn frames(rx: &mut [RxRing]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for ring in rx {
        ring.sync().unwrap();
        all.extend(ring.burst(u32::MAX).map(|f| whole(&f)));
    }
    all
}

#[test]
fn a_port_takes_its_share_and_the_host_keeps_the_rest() {
    ["ebpf:eth0", "xdp:eth0", "eth0"].into_iter().for_each(takes_its_share);
}

fn takes_its_share(name: &str) {
    const COUNT: u64 = 500;
    let Some((host, peer)) = host_and_peer() else { return };
    let mut port = open(&host, &take("udp port 7"), name);
    assert!(port.info().backend.contains("takes only `udp port 7`"), "{}", port.info().backend);
    let (mine, others) = (udp(&host, HOST, 7), udp(&host, HOST, 8));
    let sender = udp(&peer, PEER, 5000);
    let mut kept = 0;
    for k in 0..COUNT {
        let bytes = vec![k as u8; (k * 3) as usize % 1400];
        sender.send_to(&bytes, SocketAddr::from((HOST, 7))).unwrap();
        sender.send_to(&bytes, SocketAddr::from((HOST, 8))).unwrap();
        let mut back = [0; 2048];
        kept += u64::from(others.recv(&mut back).is_ok_and(|n| back[..n] == bytes));
    }
    tcp_works(&host, &peer);
    assert_eq!(ping(&peer, 100, 1000), 100);
    assert_eq!((kept, drain(&mine)), (COUNT, 0));
    let wanted = filter("udp dst port 7 and dst host 10.0.0.1");
    let got = frames(&mut port.rx);
    assert_eq!(got.len() as u64, COUNT);
    assert!(got.iter().all(|f| wanted.matches(f)));
    let c = port.counters().rx;
    assert_eq!((c.frames_in, c.frames_out, c.dropped()), (COUNT, COUNT, 0), "{c}");
    drop(port);
    assert_detached(&host);
    sender.send_to(&[1], SocketAddr::from((HOST, 7))).unwrap();
    assert_eq!(drain(&mine), 1, "without the port the host has all");
}

/// Sends a datagram back to where it came from.
fn answer(port: &mut Port) {
    let mut frame = Vec::new();
    eventually("a datagram comes", || {
        port.rx[0].sync().unwrap();
        frame = port.rx[0].burst(1).next().map(|f| f.bytes().to_vec()).ok_or("none")?;
        Ok(())
    });
    for (from, to, len) in [(0, 6, 6), (26, 30, 4), (34, 36, 2)] {
        (0..len).for_each(|i| frame.swap(from + i, to + i));
    }
    assert!(port.tx[0].push(&frame));
    port.tx[0].sync().unwrap();
}

/// What the option is for: a service in user space beside a host that goes on working.
#[test]
fn a_service_answers_beside_its_host() {
    let Some((host, peer)) = host_and_peer() else { return };
    let mut port = open(&host, &take("udp dst port 7").extra_bufs(1), "ebpf:eth0");
    let socket = udp(&peer, PEER, 5000);
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    thread::scope(|s| {
        let service = s.spawn(|| (0..50).for_each(|_| answer(&mut port)));
        let mut answers = 0;
        for k in 0..50u8 {
            socket.send_to(&[k; 100], SocketAddr::from((HOST, 7))).unwrap();
            let mut bytes = [0; 200];
            answers += u64::from(socket.recv(&mut bytes).is_ok_and(|n| bytes[..n] == [k; 100]));
        }
        assert_eq!(ping(&peer, 20, 1000), 20);
        service.join().unwrap();
        assert_eq!(answers, 50);
    });
    tcp_works(&host, &peer);
}

#[test]
fn copies_leave_the_host_its_traffic() {
    const COUNT: u16 = 100;
    let Some((host, peer)) = host_and_peer() else { return };
    let mut port = open(&host, &copy(), "ebpf:eth0");
    assert!(port.info().backend.contains("copies"), "{}", port.info().backend);
    assert_eq!(ping(&peer, COUNT, 1000), COUNT);
    let requests = filter("icmp[icmptype] = icmp-echo and dst host 10.0.0.1");
    let got = frames(&mut port.rx);
    assert_eq!(got.iter().filter(|f| requests.matches(f)).count(), usize::from(COUNT));
    let c = port.counters().rx;
    assert_eq!((c.frames_in, c.frames_out), (got.len() as u64, got.len() as u64), "{c}");
    tcp_works(&host, &peer);
    drop(port);
    // Nobody reads: the copies are lost by name, the frames are not.
    let port = open(&host, &copy().slots(16), "ebpf:eth0");
    assert_eq!(ping(&peer, COUNT, 1000), COUNT);
    let c = port.counters().rx;
    assert!(c.drops(ringway::DropReason::RingFull) >= u64::from(COUNT) - 15, "{c}");
    assert_balanced(&c);
    // Both at once: copies of what matches.
    drop(port);
    let mut port = open(&host, &copy().take(filter("icmp")), "ebpf:eth0");
    assert_eq!(ping(&peer, COUNT, 1000), COUNT);
    tcp_works(&host, &peer);
    assert_eq!(frames(&mut port.rx).len(), usize::from(COUNT));
    assert_eq!(port.counters().rx.frames_in, u64::from(COUNT));
    drop(port);
    assert_detached(&host);
}

#[test]
fn host_rings_share_what_the_host_sends() {
    const COUNT: u16 = 50;
    let Some((host, peer)) = host_and_peer() else { return };
    let replies = filter("icmp[icmptype] = icmp-echoreply");
    let mut port = open(&host, &copy().take(replies.clone()), "ebpf:eth0^");
    assert_eq!(ping(&peer, COUNT, 1000), COUNT, "copied");
    let got = frames(&mut port.rx);
    assert_eq!(got.len(), usize::from(COUNT));
    assert!(got.iter().all(|f| replies.matches(f)));
    drop(port);
    let mut port = open(&host, &take("icmp"), "ebpf:eth0^");
    assert_eq!(ping(&peer, 5, 100), 0, "taken");
    tcp_works(&host, &peer);
    assert_eq!(frames(&mut port.rx).len(), 5);
    let c = port.counters().rx;
    assert_eq!((c.frames_in, c.frames_out), (5, 5), "{c}");
    drop(port);
    assert_detached(&host);
    assert_eq!(ping(&peer, 5, 1000), 5);
}

#[test]
fn ports_without_a_host_refuse_and_others_beside_them_do_not() {
    for options in [take("arp"), copy()] {
        for name in ["null:", "loop:"] {
            let e = options.open(name).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Invalid);
            assert!(
                e.to_string().starts_with(name) && e.to_string().contains("only ports of interfaces"),
                "{e}"
            );
        }
    }
    assert!(take("arp").open_all(["null:", "loop:"]).is_err());
    let Some(lab) = new_pair() else { return };
    for (options, name, cure) in
        [(copy(), "xdp:a0", "use ebpf: or packet:"), (take("arp"), "packet:a0", "use ebpf: or xdp:")]
    {
        let e = try_open(&lab, &options, name).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(e.to_string().starts_with(name) && e.to_string().contains(cure), "{e}");
    }
    let ports = lab.run(|| Ok::<_, AnyError>(take("arp").open_all(["null:", "ebpf:a0"]))).unwrap().unwrap();
    let takes = ports.iter().map(|p| p.info().backend.contains("arp"));
    assert_eq!(takes.collect::<Vec<_>>(), [false, true]);
}

/// The child of the next test: holds an interface until it is killed.
#[test]
fn owns_a_share() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let mut port = copy().take(filter("udp")).open("ebpf:eth0").unwrap();
    loop {
        frames(&mut port.rx);
    }
}

#[test]
fn a_killed_owner_leaves_nothing_and_the_host_notices_nothing() {
    let Some((host, peer)) = host_and_peer() else { return };
    for k in 0..8 {
        let mut owner = child("owns_a_share", host.name());
        let id = owner.0.id();
        eventually("the child opens the port", || match open_ports().iter().any(|p| p.pid == id) {
            true => Ok(()),
            false => Err("it is not listed".into()),
        });
        let answered = thread::scope(|s| {
            let pinger = s.spawn(|| ping(&peer, 200, 1000));
            thread::sleep(Duration::from_millis(k));
            owner.kill();
            pinger.join().unwrap()
        });
        assert_eq!(answered, 200);
        assert_detached(&host);
    }
    let mut port = open(&host, &take("icmp"), "ebpf:eth0");
    assert_eq!(ping(&peer, 1, 100), 0);
    assert_eq!(frames(&mut port.rx).len(), 1);
}

/// Who holds an interface is told by the name of its program, and libxdp's dispatcher by what ends it.
#[test]
fn the_program_that_holds_an_interface_is_named() {
    let Some(lab) = new_pair() else { return };
    let first = open(&lab, &take("arp"), "ebpf:a0");
    let e = try_open(&lab, &copy(), "ebpf:a0").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Busy);
    assert!(e.to_string().contains("(ringway_take)"), "{e}");
    drop(first);
    let dir = std::env::temp_dir().join(format!("ringway-dispatcher-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let (source, object) = (dir.join("x.c"), dir.join("x.o"));
    let code = "__attribute__((section(\"xdp\"))) int xdp_dispatcher(void *c) { return 2; }";
    fs::write(&source, code).unwrap();
    let mut clang = Command::new("clang");
    clang.args(["-O2", "-g", "-target", "bpf", "-c"]).arg(&source).arg("-o").arg(&object);
    let built = clang.status().unwrap().success();
    let set = lab.ip(&format!("link set a1 xdp obj {} sec xdp", object.display()));
    fs::remove_dir_all(&dir).unwrap();
    assert!(built);
    set.unwrap();
    let e = try_open(&lab, &OpenOptions::new(), "ebpf:a1").unwrap_err();
    assert!(e.to_string().contains("(xdp_dispatcher)") && e.to_string().contains("xdp-loader unload"), "{e}");
    lab.ip("link set a1 xdp off").unwrap();
    drop(open(&lab, &OpenOptions::new(), "ebpf:a1"));
}
