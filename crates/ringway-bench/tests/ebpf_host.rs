//! Host rings: a thread with `ebpf:eth0` and `ebpf:eth0^` stands between a host and its wire. Needs root; says so and
//! passes without.
//!
//! Objective: what the host says and hears goes through Ringway, both ways and counted; it hears nothing when the thread
//! stands still, and all without Ringway when the ports are dropped.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::thread;

use ringway::{CounterWatch, Pairing};
use ringway_bench::engine::{Bridge, Signals};

use support::host::{host_and_peer, ping};
use support::{assert_balanced, assert_detached, eventually, open_all};

/// Runs `job` while a thread forwards between the two ports.
fn bridged<T>(bridge: &mut Bridge, job: impl FnOnce() -> T) -> T {
    let signals = Signals::new();
    thread::scope(|s| {
        let runner = s.spawn(|| bridge.run(&signals));
        // Stops the thread also when the job panics.
        struct Stop<'a>(&'a Signals);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.stop();
            }
        }
        let stop = Stop(&signals);
        let result = job();
        drop(stop);
        runner.join().unwrap().unwrap();
        result
    })
}

fn assert_all_balanced(watches: &[CounterWatch; 2]) {
    for w in watches {
        assert_balanced(&w.counters().rx);
        assert_balanced(&w.counters().tx);
    }
}

#[test]
fn a_host_talks_through_ringway_only_while_it_forwards() {
    let Some((host, peer)) = host_and_peer() else { return };
    assert_eq!(ping(&peer, 5, 1000), 5, "before");
    let [nic, stack] = open_all(&host, ["ebpf:eth0", "ebpf:eth0^"]);
    let watches = [nic.watch(), stack.watch()];
    let mut bridge = Bridge::new(nic, stack);
    assert_eq!(bridge.pairings(), [Some(Pairing::Swap); 2]);
    bridged(&mut bridge, || assert_eq!(ping(&peer, 200, 60_000), 200, "through Ringway"));
    let [n, s] = [watches[0].counters(), watches[1].counters()];
    assert!(n.rx.frames_out >= 200 && s.tx.frames_out >= 200, "in: {} -> {}", n.rx, s.tx);
    assert!(s.rx.frames_out >= 200 && n.tx.frames_out >= 200, "out: {} -> {}", s.rx, n.tx);
    assert_eq!(n.rx.frames_out, s.tx.frames_in);
    assert_eq!(s.rx.frames_out, n.tx.frames_in);
    assert_all_balanced(&watches);
    assert_eq!(ping(&peer, 3, 100), 0, "nobody forwards");
    bridged(&mut bridge, || assert_eq!(ping(&peer, 20, 60_000), 20, "through Ringway again"));
    assert_all_balanced(&watches);
    drop(bridge);
    assert_detached(&host); // `watches` do not keep the port
    // The kernel of the peer may have given the neighbour up meanwhile.
    eventually("the host answers by itself", || match ping(&peer, 5, 500) {
        5 => Ok(()),
        n => Err(format!("{n} of 5 answers")),
    });
}
