//! Host rings: a thread with `ebpf:eth0` and `ebpf:eth0^` stands between a host and its wire. Needs root; says so and
//! passes without.
//!
//! Objective: all that the host sends and receives goes through Ringway, and is counted. TCP
//! streams have the offloads that an interface has by default. The host receives nothing while the
//! thread stands still. It receives all, without Ringway, when the ports are dropped or their owner
//! is killed.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::thread;

use ringway::{CounterWatch, DropReason, OpenOptions, Pairing};
use ringway_lab::Lab;

use support::bridge::Bridge;
use support::host::{host_and_peer, ping};
use support::wait_with;
use support::{
    assert_balanced, assert_detached, child_with_all_open, enter, eventually, open_all, role, tcp,
};

fn assert_all_balanced(watches: &[CounterWatch; 2]) {
    for w in watches {
        assert_balanced(&w.counters().rx);
        assert_balanced(&w.counters().tx);
    }
}

#[test]
fn a_host_talks_through_ringway_only_while_it_forwards() {
    let Some((host, peer)) = host_and_peer() else { return };
    assert_eq!(ping(&peer, 5, 60_000), 5, "before");
    let [nic, stack] = open_all(&host, ["ebpf:eth0", "ebpf:eth0^"]);
    let watches = [nic.watch(), stack.watch()];
    let mut bridge = Bridge::new(nic, stack);
    assert_eq!(bridge.pairing(), Pairing::Swap);
    bridge.during(|| (), || assert_eq!(ping(&peer, 200, 60_000), 200, "through Ringway"));
    let [n, s] = [watches[0].counters(), watches[1].counters()];
    assert!(n.rx.frames_out >= 200 && s.tx.frames_out >= 200, "in: {} -> {}", n.rx, s.tx);
    assert!(s.rx.frames_out >= 200 && n.tx.frames_out >= 200, "out: {} -> {}", s.rx, n.tx);
    assert_eq!(n.rx.frames_out, s.tx.frames_in);
    assert_eq!(s.rx.frames_out, n.tx.frames_in);
    assert_all_balanced(&watches);
    assert_eq!(ping(&peer, 3, 100), 0, "nobody forwards");
    bridge.during(|| (), || assert_eq!(ping(&peer, 20, 60_000), 20, "through Ringway again"));
    assert_all_balanced(&watches);
    drop(bridge);
    assert_detached(&host); // `watches` do not keep the port
    // The kernel of the peer may have given the neighbour up meanwhile.
    eventually("the host answers by itself", || match ping(&peer, 5, 500) {
        5 => Ok(()),
        n => Err(format!("{n} of 5 answers")),
    });
}

/// Bytes of each stream.
const STREAM: usize = 100 << 20;

fn addresses(host: &Lab, peer: &Lab) -> [[IpAddr; 2]; 2] {
    for (lab, interface, address) in [(host, "eth0", "fd00::1/64"), (peer, "p0", "fd00::2/64")] {
        lab.exec("sysctl", &["-qew", "net.ipv6.conf.all.disable_ipv6=0"]).unwrap();
        lab.exec("sysctl", &["-qew", &format!("net.ipv6.conf.{interface}.disable_ipv6=0")]).unwrap();
        lab.ip(&format!("addr add {address} dev {interface} nodad")).unwrap();
    }
    [["10.0.0.1", "10.0.0.2"], ["fd00::1", "fd00::2"]].map(|pair| pair.map(|a| a.parse().unwrap()))
}

#[test]
fn a_host_streams_by_tcp_both_ways_with_default_offloads() {
    let Some((host, peer)) = host_and_peer() else { return };
    let pairs = addresses(&host, &peer);
    let [nic, stack] = open_all(&host, ["ebpf:eth0", "ebpf:eth0^"]);
    let watches = [nic.watch(), stack.watch()];
    Bridge::new(nic, stack).during(
        || (),
        || {
            for ([at_host, at_peer], len) in pairs.into_iter().zip([STREAM, STREAM / 4]) {
                tcp::transfer(&host, &peer, at_peer, len);
                tcp::transfer(&peer, &host, at_host, len);
            }
        },
    );
    assert_all_balanced(&watches);
    let [n, s] = [watches[0].counters(), watches[1].counters()];
    // What came after the thread had stopped waits in the rings: the last words of a connection.
    for (came, went) in [(n.rx.frames_out, s.tx.frames_in), (s.rx.frames_out, n.tx.frames_in)] {
        assert!((0..100).contains(&(came as i64 - went as i64)), "{came} came, {went} went on");
    }
    for c in [&n.rx, &n.tx, &s.rx, &s.tx] {
        for never in [DropReason::TooLong, DropReason::BadOffload, DropReason::BadSlot, DropReason::NoMemory]
        {
            assert_eq!(c.drops(never), 0, "{c}");
        }
    }
}

/// The child of the next test: forwards until it is killed.
#[test]
fn forwards_for_a_host() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let [nic, stack] = OpenOptions::new().open_all(["ebpf:eth0", "ebpf:eth0^"]).unwrap();
    let mut bridge = Bridge::new(nic, stack);
    thread::scope(|s| {
        s.spawn(|| bridge.run(&AtomicBool::new(false)));
        wait_with([]);
    });
}

#[test]
fn a_host_whose_forwarder_is_killed_has_its_network_back() {
    let Some((host, peer)) = host_and_peer() else { return };
    let at_peer = "10.0.0.2".parse().unwrap();
    for round in 0..3 {
        let mut owner = child_with_all_open("forwards_for_a_host", host.name());
        tcp::transfer(&host, &peer, at_peer, 1 << 20);
        assert_eq!(owner.kill(), Some(libc::SIGKILL), "round {round}");
        assert_detached(&host);
        tcp::transfer(&host, &peer, at_peer, 1 << 20);
    }
}
