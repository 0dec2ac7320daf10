//! Every peer once, over veth pairs in a network namespace. Needs root; says so and passes without.
//!
//! Objective: each program sets up, moves packets, counts them as its counterpart does, and leaves nothing
//! attached. Nothing here depends on speed.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in test functions only, not in their helpers

use std::ffi::OsStr;
use std::fs;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringway_bench::peers::testpmd::{self, Driver};
use ringway_bench::peers::{LinuxBridge, Peer, PeerError, PeerKind, Traffic};

/// Seconds of each sender and generator; 0.2 s of warm-up come on top.
const SECONDS: &str = "0.2";
/// Generator rate for receivers that must see every packet.
const GENTLE: &str = "20000";

#[test]
fn senders_reach_the_sink() {
    let Some(net) = Netns::new(1) else { return };
    net.gro("a1");
    for (sink, kind, args) in [
        ("sink", PeerKind::Pcap, ["tx", "a0", "60", "1", SECONDS]),
        ("sink-skb", PeerKind::Pcap, ["tx", "a0", "60", "1", SECONDS]),
        ("sink", PeerKind::Socket, ["tx", "a0", "60", "1", SECONDS]),
        ("sink-skb", PeerKind::Socket, ["tx", "a0", "1514", "256", SECONDS]),
        ("sink", PeerKind::AfXdp, ["tx", "a0", "60", "1", SECONDS]),
        ("sink-skb", PeerKind::AfXdp, ["tx", "a0", "1514", "1024", SECONDS]),
        ("sink", PeerKind::Xdp, ["flood", "a0", "60", SECONDS, "0"]),
        ("sink-skb", PeerKind::Xdp, ["flood", "a0", "1514", SECONDS, GENTLE]),
    ] {
        let what = format!("{kind} {} to {sink}", args.join(" "));
        let Some(sink) = net.spawn(PeerKind::Xdp, [sink, "a1"]) else { return };
        let Some(sender) = net.spawn(kind, args) else { continue };
        let sent = *sender.finish().unwrap().traffic().unwrap();
        let arrived = *sink.stop().unwrap().traffic().unwrap();
        eprintln!("{what}: {sent:?}, arrived {arrived:?}");
        assert!(sent.packets > 0 && sent.seconds > 0.0, "{what}");
        assert_eq!(sent.bytes, sent.packets * args[2].parse::<u64>().unwrap(), "{what}");
        assert_delivered(&sent, &arrived, &what);
    }
}

#[test]
fn receivers_count_what_the_generator_sent() {
    let Some(net) = Netns::new(1) else { return };
    net.gro("a1");
    for (kind, args) in [
        (PeerKind::Pcap, vec!["rx", "a1", SECONDS]),
        (PeerKind::Socket, vec!["rx", "a1", SECONDS]),
        (PeerKind::AfXdp, vec!["rx", "a1", "64", SECONDS]),
    ] {
        let what = format!("{kind} {}", args.join(" "));
        let Some(receiver) = net.spawn(kind, args) else { continue };
        let Some(flood) = net.spawn(PeerKind::Xdp, ["flood", "a0", "60", "0.1", GENTLE]) else { return };
        let sent = *flood.finish().unwrap().traffic().unwrap();
        let received = *receiver.finish().unwrap().traffic().unwrap();
        eprintln!("{what}: sent {sent:?}, {received:?}");
        assert!(received.packets > 0 && received.bytes == 60 * received.packets, "{what}");
        assert_delivered(&sent, &with_drops_of(received, &sent), &what);
    }
}

#[test]
fn forwarders_pass_packets_on() {
    let Some(net) = Netns::new(2) else { return };
    net.gro("a1");
    net.gro("b1");
    for (kind, args, both) in [
        (PeerKind::Pcap, vec!["forward", "a1", "b1"], true),
        (PeerKind::Pcap, vec!["forward1", "a1", "b1"], false),
        (PeerKind::AfXdp, vec!["forward", "a1", "b1", "64"], true),
        (PeerKind::AfXdp, vec!["forward1", "a1", "b1", "64"], false),
        (PeerKind::Xdp, vec!["redirect", "a1", "b1"], true),
    ] {
        let what = format!("{kind} {}", args.join(" "));
        let Some(forwarder) = net.spawn(kind, args) else { continue };
        let Some(mut sent) = net.pass("a0", "b0", &what) else { return };
        if both {
            sent += net.pass("b0", "a0", &what).unwrap();
        }
        let forwarded = *forwarder.stop().unwrap().traffic().unwrap();
        eprintln!("{what}: sent {sent}, {forwarded:?}");
        assert!(forwarded.total_packets + forwarded.drops >= sent, "{what}");
        assert!(forwarded.total_packets > 0, "{what}");
    }
}

#[test]
fn the_kernels_bridge_forwards() {
    let Some(net) = Netns::new(2) else { return };
    net.gro("a1");
    net.gro("b1");
    let bridge = LinuxBridge::create(Some(&net.name), "br0", ["a1", "b1"]).unwrap();
    net.pass("a0", "b0", "linux-bridge");
    drop(bridge);
    let error = LinuxBridge::create(Some(&net.name), "br0", ["a1", "absent"]).unwrap_err();
    assert!(error.to_string().contains("absent"), "{error}");
    let links = net.run("ip", &["-o", "link"]);
    assert!(!links.contains("br0"), "{links}");
}

#[test]
fn testpmd_forwards() {
    let Some(net) = Netns::new(2) else { return };
    net.gro("a1");
    for driver in [Driver::AfPacket, Driver::AfXdp] {
        let testpmd = match testpmd::spawn(driver, "a1", "b1", Some(&net.name), None) {
            Err(error) if error.is_unavailable() => {
                eprintln!("SKIP: {error}");
                continue;
            }
            other => other.unwrap(),
        };
        let Some(sent) = net.pass("a0", "b0", &driver.to_string()) else { return };
        let forwarded = testpmd.stop().unwrap();
        eprintln!("{driver}: sent {sent}, {forwarded:?}");
        assert!(forwarded.total_packets > 0, "{driver}");
        let error = testpmd::spawn(driver, "a1", "absent", Some(&net.name), None).unwrap_err();
        eprintln!("with an absent interface: {error}");
        assert!(matches!(error, PeerError::Failed { .. }), "{error}");
    }
}

#[test]
fn ping_measures_round_trips() {
    let Some(net) = Netns::new(1) else { return };
    let Some(pong) = net.spawn(PeerKind::Pcap, ["pong", "a1"]) else { return };
    let Some(ping) = net.spawn(PeerKind::Pcap, ["ping", "a0", "100", "60", "100"]) else { return };
    let times = *ping.finish().unwrap().round_trip().unwrap();
    let replies = *pong.stop().unwrap().traffic().unwrap();
    eprintln!("{times:?}");
    assert_eq!(times.count, 100);
    assert!(times.lost < 100 && replies.total_packets >= 100 - times.lost);
    assert!(0 < times.min_ns && times.min_ns <= times.p50_ns && times.p50_ns <= times.p90_ns);
    assert!(times.p90_ns <= times.p99_ns && times.p99_ns <= times.max_ns);
}

#[test]
fn a_sink_reports_while_it_runs() {
    let Some(net) = Netns::new(1) else { return };
    let Some(mut sink) = net.spawn(PeerKind::Xdp, ["sink", "a1"]) else { return };
    assert_eq!(sink.snapshot().unwrap().total_packets, 0);
    let Some(flood) = net.spawn(PeerKind::Xdp, ["flood", "a0", "60", "0.1", GENTLE]) else { return };
    flood.finish().unwrap();
    let before = sink.snapshot().unwrap();
    assert!(before.total_packets > 0);
    let end = *sink.stop().unwrap().traffic().unwrap();
    assert_eq!(end.since(&before).total_packets, 0);
}

#[test]
fn a_peer_that_is_dropped_detaches() {
    let Some(net) = Netns::new(1) else { return };
    let Some(sink) = net.spawn(PeerKind::Xdp, ["sink", "a1"]) else { return };
    assert!(net.run("ip", &["link", "show", "a1"]).contains("xdp"));
    drop(sink);
    assert!(!net.run("ip", &["link", "show", "a1"]).contains("xdp"));
}

#[test]
fn set_up_errors_are_one_clear_line() {
    let Some(net) = Netns::new(1) else { return };
    for (kind, args, words) in [
        (PeerKind::Socket, vec!["rx", "absent", "1"], "no interface absent"),
        (PeerKind::Socket, vec!["tx", "a0", "60", "4096", "1"], "BURST must be 1 to 1024"),
        (PeerKind::Pcap, vec!["rx", "absent", "1"], "no interface absent"),
        (PeerKind::AfXdp, vec!["tx", "a0", "9000", "1", "1"], "LEN must be 60 to 1514"),
        (PeerKind::Xdp, vec!["sink"], "usage: peer-xdp"),
    ] {
        match Peer::spawn(kind, args, Some(&net.name), None) {
            Err(error) if error.is_unavailable() => eprintln!("SKIP: {error}"),
            Err(error) => assert!(error.to_string().contains(words), "{error}"),
            Ok(_) => panic!("{kind} took a wrong argument"),
        }
    }
    // No NAPI at the other end: the generator must not claim that it sent anything.
    let Some(flood) = net.spawn(PeerKind::Xdp, ["flood", "a0", "60", "0.05"]) else { return };
    let error = flood.finish().unwrap_err();
    assert!(error.to_string().contains("must run NAPI"), "{error}");
}

/// What arrived lies between what was sent without and with what the sender saw dropped. Those that a sender
/// counts as dropped are partly in its own count (lost behind the API), partly not (refused by it).
fn assert_delivered(sent: &Traffic, arrived: &Traffic, what: &str) {
    assert!(arrived.total_packets <= sent.total_packets + sent.drops, "{what}: more arrived than was sent");
    assert!(
        arrived.total_packets + sent.drops + arrived.drops >= sent.total_packets,
        "{what}: packets are missing"
    );
}

/// A receiver that stopped while the generator still sent: what came later counts as dropped.
fn with_drops_of(received: Traffic, sent: &Traffic) -> Traffic {
    let late = if received.seconds > 0.15 {
        sent.total_packets - received.total_packets.min(sent.total_packets)
    } else {
        0
    };
    Traffic { drops: received.drops + late, ..received }
}

/// A network namespace with veth pairs a0-a1 and b0-b1, deleted when dropped.
///
/// One at a time: the machine may have two cores only.
struct Netns {
    name: String,
    _alone: MutexGuard<'static, ()>,
}

impl Netns {
    fn new(pairs: usize) -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !is_root() {
            eprintln!("SKIP: peers need root (namespaces, XDP); run these tests with sudo");
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("rwp-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        run("ip", &["netns", "add", &name]);
        let net = Self { name, _alone: alone };
        // Without IPv6 an interface sends nothing of its own.
        net.run("sysctl", &["-qw", "net.ipv6.conf.default.disable_ipv6=1"]);
        for pair in ["a", "b"].iter().take(pairs) {
            let (end, other) = (format!("{pair}0"), format!("{pair}1"));
            net.run("ip", &["link", "add", &end, "type", "veth", "peer", "name", &other]);
            net.run("ip", &["link", "set", &end, "up"]);
            net.run("ip", &["link", "set", &other, "up"]);
        }
        Some(net)
    }

    /// Lets an interface run NAPI, so that its other end takes redirected frames.
    fn gro(&self, interface: &str) {
        self.run("ethtool", &["-K", interface, "gro", "on"]);
    }

    /// A peer in this namespace, or none with a loud skip.
    fn spawn(&self, kind: PeerKind, args: impl IntoIterator<Item: AsRef<OsStr>>) -> Option<Peer> {
        match Peer::spawn(kind, args, Some(&self.name), None) {
            Err(error) if error.is_unavailable() => {
                eprintln!("SKIP: {error}");
                None
            }
            other => Some(other.unwrap()),
        }
    }

    /// Sends through a forwarder from one end to the other; how many packets were sent.
    fn pass(&self, from: &str, to: &str, what: &str) -> Option<u64> {
        let sink = self.spawn(PeerKind::Xdp, ["sink", to])?;
        let flood = self.spawn(PeerKind::Xdp, ["flood", from, "60", "0.1", GENTLE])?;
        let sent = *flood.finish().unwrap().traffic().unwrap();
        let arrived = *sink.stop().unwrap().traffic().unwrap();
        eprintln!("{what}: {from} sent {}, {to} got {}", sent.total_packets, arrived.total_packets);
        assert!(arrived.total_packets > 0 && arrived.total_packets <= sent.total_packets, "{what}");
        Some(sent.total_packets)
    }

    fn run(&self, program: &str, args: &[&str]) -> String {
        run("ip", &[&["netns", "exec", &self.name, program], args].concat())
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    text
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}
