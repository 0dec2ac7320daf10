//! Every peer once, over veth pairs in a network namespace. Needs root; says so and passes without.
//!
//! Objective: each program sets up, moves packets, counts them as its counterpart does, and leaves nothing
//! attached. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ringway_bench::peers::testpmd::{self, Driver};
use ringway_bench::peers::{MemifPair, Peer, PeerKind, Traffic};
use ringway_lab::program::{ProgramError, children};
use ringway_tester::dut::{LinuxBridge, OvsUserspace};

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
        tried(|| {
            let Some(sink) = net.spawn(PeerKind::Xdp, [sink, "a1"]) else { return };
            let Some(sender) = net.spawn(kind, args) else { return };
            let sent = *sender.finish().unwrap().traffic().unwrap();
            let arrived = *sink.stop().unwrap().traffic().unwrap();
            eprintln!("{what}: {sent:?}, arrived {arrived:?}");
            assert!(sent.packets > 0 && sent.seconds > 0.0, "{what}");
            assert_eq!(sent.bytes, sent.packets * args[2].parse::<u64>().unwrap(), "{what}");
            assert_delivered(&sent, &arrived, &what);
        });
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
        tried(|| {
            let Some(receiver) = net.spawn(kind, args.clone()) else { return };
            let Some(flood) = net.spawn(PeerKind::Xdp, ["flood", "a0", "60", "0.1", GENTLE]) else { return };
            let sent = *flood.finish().unwrap().traffic().unwrap();
            let received = *receiver.finish().unwrap().traffic().unwrap();
            eprintln!("{what}: sent {sent:?}, {received:?}");
            assert!(received.packets > 0 && received.bytes == 60 * received.packets, "{what}");
            assert_delivered(&sent, &with_drops_of(received, &sent), &what);
        });
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
        tried(|| {
            let Some(forwarder) = net.spawn(kind, args.clone()) else { return };
            let Some(mut sent) = net.pass("a0", "b0", &what) else { return };
            if both {
                sent += net.pass("b0", "a0", &what).unwrap();
            }
            let forwarded = *forwarder.stop().unwrap().traffic().unwrap();
            eprintln!("{what}: sent {sent}, {forwarded:?}");
            assert!(forwarded.total_packets + forwarded.drops >= sent, "{what}");
            assert!(forwarded.total_packets > 0, "{what}");
        });
    }
}

#[test]
fn the_kernels_bridge_forwards() {
    let Some(net) = Netns::new(2) else { return };
    net.gro("a1");
    net.gro("b1");
    let bridge = LinuxBridge::create(Some(&net.name), "br0", &["a1", "b1"]).unwrap();
    net.pass("a0", "b0", "linux-bridge");
    drop(bridge);
    let error = LinuxBridge::create(Some(&net.name), "br0", &["a1", "absent"]).unwrap_err();
    assert!(error.to_string().contains("absent"), "{error}");
    let links = net.run("ip", &["-o", "link"]);
    assert!(!links.contains("br0"), "{links}");
}

#[test]
fn testpmd_forwards() {
    let Some(net) = Netns::new(2) else { return };
    net.gro("a1");
    for driver in [Driver::AfPacket, Driver::AfXdp] {
        tried(|| {
            let spawned = testpmd::spawn(driver, "a1", "b1", Some(&net.name), None);
            let Some(testpmd) = available(spawned) else { return };
            let Some(sent) = net.pass("a0", "b0", &driver.to_string()) else { return };
            let forwarded = testpmd.stop().unwrap();
            eprintln!("{driver}: sent {sent}, {forwarded:?}");
            assert!(forwarded.total_packets > 0, "{driver}");
        });
        let error = testpmd::spawn(driver, "a1", "absent", Some(&net.name), None).unwrap_err();
        eprintln!("with an absent interface: {error}");
        assert!(error.is_unavailable() || matches!(error, ProgramError::Failed { .. }), "{error}");
    }
}

#[test]
fn open_vswitch_forwards_and_leaves_nothing() {
    let Some(net) = Netns::new(2) else { return };
    net.gro("a1");
    let Some(ovs) = available(OvsUserspace::create(&net.name, &["a1", "b0"], 0)) else { return };
    assert_eq!(owned_by_children("ovs"), 2);
    net.pass("a0", "b1", "ovs-userspace");
    drop(ovs);
    assert_eq!(owned_by_children("ovs"), 0);
    let links = net.run("ip", &["-o", "link"]);
    assert!(!links.contains("ovs"), "{links}");
    let error = OvsUserspace::create(&net.name, &["a1", "absent"], 0).unwrap_err();
    assert!(error.to_string().contains("absent"), "{error}");
    assert_eq!(owned_by_children("ovs"), 0);
    assert_no_folders();
}

#[test]
fn memif_moves_packets_between_two_processes() {
    if !is_root() {
        eprintln!("SKIP: DPDK needs root for its folders; run these tests with sudo");
        return;
    }
    let _alone = alone();
    let Some(mut pair) = available(MemifPair::spawn(60, 0, 1)) else { return };
    let end = Instant::now() + Duration::from_secs(60);
    let first = pair.received().unwrap();
    let later = loop {
        let now = pair.received().unwrap();
        if now.packets > first.packets + 1000 {
            break now;
        }
        assert!(Instant::now() < end, "nothing moves: {now:?}");
    };
    assert!(later.pps_since(&first) > 0.0);
    pair.stop().unwrap();
    assert_eq!(owned_by_children("dpdk-testpmd"), 0);
    assert_no_folders();
}

/// The owner of the next test.
#[test]
fn owns_switches_until_it_is_killed() {
    let Ok(netns) = std::env::var(OWNER_OF) else { return };
    let ovs = OvsUserspace::create(&netns, &["a1", "b0"], 0);
    let pair = MemifPair::spawn(60, 0, 1);
    eprintln!("{}, {}", ovs.is_ok(), pair.is_ok());
    println!("owned");
    loop {
        thread::park();
    }
}

const OWNER_OF: &str = "RINGWAY_TEST_OWNER_OF";

#[test]
fn switches_of_a_killed_owner_end() {
    let Some(net) = Netns::new(2) else { return };
    let mut owner = Command::new(std::env::current_exe().unwrap());
    owner.args(["--exact", "owns_switches_until_it_is_killed", "--nocapture", "--test-threads=1"]);
    let mut owner = owner.env(OWNER_OF, &net.name).stdout(Stdio::piped()).spawn().unwrap();
    let pid = owner.id();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("owned")));
    let children = children(pid);
    assert!(children.len() == 4 || !installed(), "{children:?}");
    owner.kill().unwrap();
    owner.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let alive = |(pid, name): &&(u32, String)| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.contains(name.as_str()) && !status.contains("State:\tZ") // nobody may reap orphans here
    };
    while let Some((pid, name)) = children.iter().find(alive) {
        assert!(Instant::now() < end, "{name} ({pid}) outlives its owner");
        thread::sleep(Duration::from_millis(5));
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
        (PeerKind::Flows, vec!["smtp", "1", "1", "1", "0.05", "127.0.0.1"], "no flows are called \"smtp\""),
        (PeerKind::Flows, vec!["ftp", "0", "1", "1", "0.05", "127.0.0.1"], "FILE must be 1 to 1048576"),
        (PeerKind::Idle, vec!["0", "127.0.0.1"], "CONNECTIONS must be 1 to"),
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

#[test]
fn flows_of_sockets_are_complete() {
    let Some(net) = Netns::new(0) else { return };
    net.run("ip", &["link", "set", "lo", "up"]);
    for kind in ["ftp", "http", "dns", "mix"] {
        tried(|| {
            let args = [kind, "2000", "300", "8", SECONDS, "127.0.0.1"];
            let run = *net.spawn(PeerKind::Flows, args).unwrap().finish().unwrap().flows().unwrap();
            eprintln!("{kind}: {run:?}");
            assert!(run.flows > 0 && run.packets >= 2 * run.flows && run.seconds >= 0.2, "{kind}: {run:?}");
            assert_eq!((run.unfinished, run.failed), (0, [0; 8]), "{kind}");
        });
    }
    let idle = net.spawn(PeerKind::Idle, ["100", "127.0.0.1"]).unwrap().finish().unwrap();
    assert_eq!(idle.idle().unwrap().connections, 100);
}

/// What arrived lies between what was sent without and with what the sender saw dropped. A sender's drops are
/// partly in its own count (lost behind the API), partly not (refused by it).
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

/// Runs a test again when it fails, some times: a program that the machine keeps from running for longer than it measures counts nothing,
/// or misses what came meanwhile.
fn tried(test: impl Fn()) {
    if (0..4).all(|_| std::panic::catch_unwind(std::panic::AssertUnwindSafe(&test)).is_err()) {
        test();
    }
}

/// A peer, or none with a loud skip.
fn available<T>(peer: Result<T, ProgramError>) -> Option<T> {
    match peer {
        Err(error) if error.is_unavailable() => {
            eprintln!("SKIP: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

/// Whether all programs of other projects are there.
fn installed() -> bool {
    ["dpdk-testpmd", "ovs-vswitchd"].iter().all(|p| {
        std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|folder| folder.join(p).is_file())
    })
}

/// How many processes of this one have names that start so.
fn owned_by_children(name: &str) -> usize {
    children(process::id()).iter().filter(|(_, comm)| comm.starts_with(name)).count()
}

/// Peers of this process have left no folder.
fn assert_no_folders() {
    let ours = format!("ringway-{}-", process::id());
    for parent in [std::env::temp_dir(), "/run/dpdk".into()] {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            assert!(!name.starts_with(&ours), "{} is left", entry.path().display());
        }
    }
}

/// One at a time: the machine may have two cores only.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A network namespace with veth pairs a0-a1 and b0-b1, deleted when dropped; one at a time.
struct Netns {
    name: String,
    _alone: MutexGuard<'static, ()>,
}

impl Netns {
    fn new(pairs: usize) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !is_root() {
            eprintln!("SKIP: peers need root (namespaces, XDP); run these tests with sudo");
            return None;
        }
        let alone = alone();
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
        available(Peer::spawn(kind, args, Some(&self.name), None))
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
