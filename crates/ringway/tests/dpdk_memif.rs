//! Ports of DPDK's memif driver, with Debian's testpmd at the far end, in both roles. Needs root, the plugin and dpdk-testpmd; says so
//! and passes without.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use ringway::{DropReason, Port};

use support::dpdk::{Testpmd, new_lab};
use support::{Flow, assert_balanced, eventually, open, try_open};

/// The far end of `port` answers all that it gets.
fn exchange(port: &mut Port) {
    eventually(
        "the link comes up",
        || if port.link_up().unwrap() { Ok(()) } else { Err("it is down".into()) },
    );
    // A client offers no buffers before it first receives.
    port.rx[0].sync().unwrap();
    let mut flow = Flow::new(7);
    for round in 0..100 {
        flow.send(&mut port.tx[0], [60, 64, 1000, 1514][round % 4], 50);
        eventually("all frames come back", || {
            flow.take(&mut port.rx[0]);
            if flow.received == flow.next {
                Ok(())
            } else {
                Err(format!("{} of {}", flow.received, flow.next))
            }
        });
    }
}

fn assert_closed(port: &Port, frames: u64) {
    let counters = port.counters();
    assert_eq!((counters.tx.frames_out, counters.rx.frames_out), (frames, frames));
    assert_balanced(&counters.tx);
    assert_balanced(&counters.rx);
}

fn device(number: u32, role: &str) -> String {
    let socket = format!("ringway-test-{}-{role}", std::process::id());
    let socket = socket.replace("server", "client"); // both ends of a pair have one
    format!("net_memif{number},role={role},id=0,socket={socket}-{number},socket-abstract=yes")
}

/// The far end comes, goes and comes again.
#[test]
fn testpmd_is_the_client_of_a_port() {
    let Some(lab) = new_lab() else { return };
    let mut port = open(&lab, &format!("dpdk:{}", device(1, "server")));
    assert!(!port.link_up().unwrap(), "nobody is there");
    // Without a far end frames have nowhere to go.
    assert!(port.tx[0].push(&[1; 60]));
    port.tx[0].sync().unwrap();
    assert_eq!(port.counters().tx.drops(DropReason::DeviceRefused), 1);
    for round in 1..=2 {
        let Some(testpmd) = Testpmd::start(&lab, &device(1, "client")) else { return };
        exchange(&mut port);
        testpmd.end();
        eventually("the link goes down", || {
            if port.link_up().unwrap() { Err("it is up".into()) } else { Ok(()) }
        });
        assert_closed(&port, round * 5000);
    }
}

#[test]
fn testpmd_is_the_server_of_a_port() {
    let Some(lab) = new_lab() else { return };
    let name = format!("dpdk:{}", device(2, "client"));
    let nobody = try_open(&lab, &name).unwrap_err();
    assert!(nobody.to_string().contains("Failed to connect socket"), "{nobody}");
    let Some(testpmd) = Testpmd::start(&lab, &device(2, "server")) else { return };
    let mut port = open(&lab, &name);
    exchange(&mut port);
    assert_closed(&port, 5000);
    testpmd.end();
}
