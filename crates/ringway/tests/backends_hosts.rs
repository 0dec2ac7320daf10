//! Two hosts that talk through a bridge of two ports of each kind. Needs root; says so and passes without.
//!
//! Objective: with all offloads as they are by default, TCP and UDP by IPv4 and IPv6 arrive whole, both ways, and the
//! receiving host counts no wrong checksum. `RINGWAY_TCP_MIB=1024` sends more than the 64 MiB of TCP.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use ringway::{DropReason, OpenOptions, Port, PortCounters};
use ringway_lab::{AnyError, Lab};

use support::bridge::Bridge;
use support::{LIMIT, Random, assert_balanced, assert_detached, each_kind, eventually, new_lab};

/// Bytes of a TCP transfer.
fn transfer_len() -> usize {
    std::env::var("RINGWAY_TCP_MIB").map_or(64, |mib| mib.parse::<usize>().unwrap()) << 20
}

/// Hosts L with l0 and R with r0, and between them M with the far ends ml and mr.
struct Net {
    left: Lab,
    middle: Lab,
    right: Lab,
}

impl Net {
    fn new(queues: u32) -> Option<Self> {
        let net = Self { left: new_lab()?, middle: new_lab()?, right: new_lab()? };
        for (host, own, far, n) in [(&net.left, "l0", "ml", 1), (&net.right, "r0", "mr", 2)] {
            let queues = format!("numtxqueues {queues} numrxqueues {queues}");
            let middle = net.middle.name();
            host.ip(&format!("link add {own} {queues} type veth peer name {far} {queues} netns {middle}"))
                .unwrap();
            for of in ["all", own] {
                host.exec("sysctl", &["-qew", &format!("net.ipv6.conf.{of}.disable_ipv6=0")]).unwrap();
            }
            host.ip(&format!("addr add 10.0.0.{n}/24 dev {own}")).unwrap();
            host.ip(&format!("link set {own} up")).unwrap();
            host.ip(&format!("addr add fd00::{n}/64 dev {own} nodad")).unwrap();
            net.middle.ip(&format!("link set {far} up")).unwrap();
        }
        Some(net)
    }

    /// Runs `job` while frames go through; what the two ports counted.
    fn bridged(&self, kind: &str, job: impl FnOnce()) -> [PortCounters; 2] {
        let names = ["ml", "mr"].map(|end| format!("{kind}:{end}"));
        let names = names.each_ref().map(String::as_str);
        let [a, b] = self.middle.run(|| Ok::<_, AnyError>(OpenOptions::new().open_all(names)?)).unwrap();
        let mut bridge = Bridge::new(a, b);
        let before = [&self.left, &self.right].map(checksum_errors);
        bridge.during(|| (), job);
        assert_eq!([&self.left, &self.right].map(checksum_errors), before, "wrong checksums at the hosts");
        let counters = bridge.ports().each_ref().map(Port::counters);
        for c in counters.iter().flat_map(|c| [&c.rx, &c.tx]) {
            assert_balanced(c);
            for never in [DropReason::TooLong, DropReason::BadSlot, DropReason::TooShort] {
                assert_eq!(c.drops(never), 0, "{c}");
            }
        }
        drop(bridge);
        assert_detached(&self.middle);
        counters
    }
}

/// Frames that a host threw away for their checksum, by protocol.
fn checksum_errors(host: &Lab) -> Vec<(String, u64)> {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
    let (v4, v6) = host.run(|| Ok::<_, AnyError>((read("snmp"), read("snmp6")))).unwrap();
    let mut found = Vec::new();
    let lines: Vec<&str> = v4.lines().collect();
    for pair in lines.chunks_exact(2) {
        let (names, values) = (pair[0].split_whitespace(), pair[1].split_whitespace());
        let protocol = names.clone().next().unwrap();
        for (name, value) in names.zip(values).skip(1).filter(|(name, _)| *name == "InCsumErrors") {
            found.push((format!("{protocol}{name}"), value.parse().unwrap()));
        }
    }
    for line in v6.lines().filter(|l| l.contains("InCsumErrors")) {
        let (name, value) = line.split_once(char::is_whitespace).unwrap();
        found.push((name.to_owned(), value.trim().parse().unwrap()));
    }
    assert!(found.len() >= 4, "TCP, UDP, and both by IPv6 are counted: {found:?}");
    found
}

/// A hash in which the place of every byte counts.
struct Hash(u64, usize);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        self.1 += bytes.len();
    }
}

fn send(to: SocketAddr, len: usize) -> (u64, usize) {
    let mut stream = TcpStream::connect_timeout(&to, LIMIT).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    let (mut hash, mut random, mut buf) = (Hash(0, 0), Random(7), vec![0; 1 << 16]);
    while hash.1 < len {
        let n = buf.len().min(len - hash.1);
        buf[..n].chunks_mut(8).for_each(|c| c.copy_from_slice(&random.next().to_le_bytes()[..c.len()]));
        stream.write_all(&buf[..n]).unwrap();
        hash.add(&buf[..n]);
    }
    stream.shutdown(Shutdown::Write).unwrap();
    // The receiver closes when it has all.
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(stream.read(&mut buf).unwrap(), 0);
    (hash.0, hash.1)
}

fn receive(mut stream: TcpStream) -> (u64, usize) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let (mut hash, mut buf) = (Hash(0, 0), vec![0; 1 << 16]);
    loop {
        match stream.read(&mut buf).unwrap() {
            0 => return (hash.0, hash.1),
            n => hash.add(&buf[..n]),
        }
    }
}

/// Sends `len` bytes from one host to address `to` of another by TCP; fails unless the very bytes arrive.
fn transfer(from: &Lab, at: &Lab, to: IpAddr, len: usize) {
    let listener = at.run(|| Ok::<_, AnyError>(TcpListener::bind((to, 0)).unwrap())).unwrap();
    let address = listener.local_addr().unwrap();
    let (sent, received) = thread::scope(|scope| {
        let sender = scope.spawn(|| from.run(|| Ok::<_, AnyError>(send(address, len))).unwrap());
        // A sender that can't connect must not leave the receiver waiting.
        listener.set_nonblocking(true).unwrap();
        let mut accepted = None;
        eventually("a connection comes", || match listener.accept() {
            Ok((stream, _)) => {
                accepted = Some(stream);
                Ok(())
            }
            Err(e) => Err(e.to_string()),
        });
        let received = receive(accepted.unwrap());
        (sender.join().unwrap(), received)
    });
    assert_eq!(received, sent, "to {to}");
    assert_eq!(received.1, len);
}

/// Datagrams of many lengths there and back, each answered by its own bytes.
fn echo(from: &Lab, at: &Lab, to: IpAddr) {
    let any: IpAddr = if to.is_ipv4() { "0.0.0.0" } else { "::" }.parse().unwrap();
    let bind =
        |lab: &Lab, to: IpAddr| lab.run(|| Ok::<_, AnyError>(UdpSocket::bind((to, 0)).unwrap())).unwrap();
    let (asks, answers) = (bind(from, any), bind(at, to));
    asks.connect(answers.local_addr().unwrap()).unwrap();
    for socket in [&asks, &answers] {
        socket.set_read_timeout(Some(LIMIT)).unwrap();
    }
    let (mut random, mut buf) = (Random(9), vec![0; 1 << 16]);
    // Up to 1452 bytes fit a frame by IPv6; longer ones are cut into fragments.
    let lengths = (0..1452).step_by(7).chain([1452, 1472, 1473, 4000, 20_000, 60_000]);
    for len in lengths {
        let data: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        asks.send(&data).unwrap();
        let (n, back) = answers.recv_from(&mut buf).unwrap();
        assert!(buf[..n] == data, "{len} bytes to {to} arrived changed");
        answers.send_to(&buf[..n], back).unwrap();
        let n = asks.recv(&mut buf).unwrap();
        assert!(buf[..n] == data, "{len} bytes from {to} arrived changed");
    }
}

const LEFT: [&str; 2] = ["10.0.0.1", "fd00::1"];
const RIGHT: [&str; 2] = ["10.0.0.2", "fd00::2"];

#[test]
fn tcp_with_default_offloads_arrives_whole() {
    each_kind(|kind| {
        for queues in [1, 4] {
            let Some(net) = Net::new(queues) else { return };
            let [l, r] = net.bridged(kind, || {
                transfer(&net.left, &net.right, RIGHT[0].parse().unwrap(), transfer_len() / queues as usize);
                transfer(&net.right, &net.left, LEFT[0].parse().unwrap(), 8 << 20);
                transfer(&net.left, &net.right, RIGHT[1].parse().unwrap(), 8 << 20);
                transfer(&net.right, &net.left, LEFT[1].parse().unwrap(), 8 << 20);
            });
            eprintln!("{kind}, {queues} queues: left {} / {}; right {} / {}", l.rx, l.tx, r.rx, r.tx);
        }
    });
}

#[test]
fn udp_arrives_whole_both_ways() {
    each_kind(|kind| {
        let Some(net) = Net::new(1) else { return };
        net.bridged(kind, || {
            for (there, back) in RIGHT.into_iter().zip(LEFT) {
                echo(&net.left, &net.right, there.parse().unwrap());
                echo(&net.right, &net.left, back.parse().unwrap());
            }
        });
    });
}
