//! Two ports that meet in one process, and peers that go, come back, and break rules behind the handshake.

use std::time::{Duration, Instant};

use super::*;
use crate::count::{Counters, DropReason};
use crate::port::Port;
use crate::{ErrorKind, Waiter};

/// A socket name that nobody else has.
fn socket(tag: &str) -> String {
    format!("@ringway-memif-{tag}-{}", std::process::id())
}

fn open_port(name: &str, slots: u32) -> Port {
    OpenOptions::new().slots(slots).open(name).unwrap()
}

/// Syncs all rings until `done`.
fn until(ports: &mut [&mut Port], mut done: impl FnMut(&mut [&mut Port]) -> bool) {
    let start = Instant::now();
    while !done(ports) {
        for port in ports.iter_mut() {
            port.rx.iter_mut().for_each(|rx| assert!(rx.sync().is_ok()));
            port.tx.iter_mut().for_each(|tx| assert!(tx.sync().is_ok()));
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{:?}",
            ports.iter().map(|p| p.counters()).collect::<Vec<_>>()
        );
    }
}

fn connected(ports: &mut [&mut Port]) {
    until(ports, |ports| ports.iter().all(|port| port.link_up().unwrap()));
}

fn frame(n: u32, len: usize) -> Vec<u8> {
    (0..len).map(|k| (n as usize * 31 + k) as u8).collect()
}

/// Sends `count` frames of these lengths from `a` to `b` and compares each.
fn exchange(a: &mut Port, b: &mut Port, lens: &[usize], count: u32) {
    let (mut sent, mut got) = (0, 0);
    let len_of = |n: u32| lens[n as usize % lens.len()];
    until(&mut [a, b], |ports| {
        while sent < count && ports[0].tx[0].push(&frame(sent, len_of(sent))) {
            sent += 1;
        }
        for f in ports[1].rx[0].burst(u32::MAX) {
            let mut bytes = Vec::new();
            f.parts().for_each(|part| bytes.extend_from_slice(part));
            assert_eq!(bytes, frame(got, len_of(got)), "frame {got}");
            got += 1;
        }
        got == count
    });
}

/// Both ends, connected; the client with these options.
fn pair(tag: &str, options: &str) -> (Port, Port) {
    let at = socket(tag);
    let mut server = open_port(&format!("memif:{at},id=3"), 64);
    let mut client = open_port(&format!("memif:{at},id=3,role=client{options}"), 64);
    connected(&mut [&mut server, &mut client]);
    (server, client)
}

#[test]
fn frames_arrive_both_ways_with_and_without_copies() {
    for (tag, options) in [("copy", ""), ("small", ",slots=16,size=64"), ("zero", ",zero-copy=yes")] {
        let (mut server, mut client) = pair(tag, options);
        for lens in [&[60][..], &[14, 1514, 60], &[60, 9000, 2112, 2113, 4224], &[15000, 60]] {
            let lens: Vec<usize> =
                lens.iter().copied().filter(|&len| tag != "small" || len <= 1000).collect();
            exchange(&mut client, &mut server, &lens, 500);
            exchange(&mut server, &mut client, &lens, 500);
        }
        let closed = |c: Counters| c.frames_in == c.frames_out && c.dropped() == 0;
        for port in [&server, &client] {
            assert!(closed(port.counters().rx) && closed(port.counters().tx), "{tag}: {:?}", port.counters());
        }
    }
}

#[test]
fn buffers_are_exchanged_with_a_port_of_the_same_region() {
    let at = socket("swap");
    let mut far = open_port(&format!("memif:{at}"), 64);
    let name = format!("memif:{at},role=client,zero-copy=yes");
    let [mut near, mut echo] = OpenOptions::new().slots(64).open_all([name.as_str(), "loop:"]).unwrap();
    assert_eq!(crate::Pairing::of(&near.rx[0], &echo.tx[0]), crate::Pairing::Swap);
    connected(&mut [&mut far, &mut near]);
    let (mut sent, mut back) = (0, 0);
    until(&mut [&mut far, &mut near, &mut echo], |ports| {
        while sent < 1000 && ports[0].tx[0].push(&frame(sent, 100)) {
            sent += 1;
        }
        let [far, near, echo] = ports else { panic!() };
        crate::forward(&mut near.rx[0], &mut echo.tx[0], 64);
        crate::forward(&mut echo.rx[0], &mut near.tx[0], 64);
        for f in far.rx[0].burst(u32::MAX) {
            assert_eq!(f.bytes(), frame(back, 100));
            back += 1;
        }
        back == 1000
    });
    let region = near.region().clone();
    drop((near, echo));
    // All buffers of both ports come back, also the buffers that the peer had.
    let spec = region.shared().layout;
    assert_eq!(region.free_bufs() as u32, spec.bufs - crate::layout::FIRST_BUF);
}

#[test]
fn a_peer_that_goes_comes_back() {
    let at = socket("again");
    let mut server = open_port(&format!("memif:{at}"), 64);
    for round in 1..=20u64 {
        let mut client = open_port(&format!("memif:{at},role=client"), 64);
        connected(&mut [&mut server, &mut client]);
        exchange(&mut client, &mut server, &[60], 100);
        exchange(&mut server, &mut client, &[60], 100);
        drop(client);
        until(&mut [&mut server], |ports| ports[0].counters().rx.link_changes == 2 * round);
    }
    let sum = server.counters();
    assert_eq!((sum.rx.frames_out, sum.tx.frames_out, sum.tx.dropped()), (2000, 2000, 0));
}

#[test]
fn a_server_that_goes_is_found_again() {
    let at = socket("server");
    let mut client = open_port(&format!("memif:{at},role=client"), 64);
    assert!(client.tx[0].push(&frame(0, 60)), "frames wait for a peer");
    client.tx[0].sync().unwrap();
    assert_eq!(client.counters().tx.frames_in, 0);
    for _ in 0..5 {
        let mut server = open_port(&format!("memif:{at}"), 64);
        until(&mut [&mut server, &mut client], |ports| {
            ports[1].tx[0].push(&frame(0, 60));
            ports[0].rx[0].avail() > 0
        });
        drop(server);
        until(&mut [&mut client], |ports| ports[0].counters().rx.link_changes % 2 == 0);
    }
    let tx = client.counters().tx;
    assert_eq!(tx.frames_in, tx.frames_out + tx.dropped());
}

#[test]
fn frames_that_nobody_read_are_counted() {
    let (server, mut client) = pair("unread", "");
    for n in 0..10 {
        assert!(client.tx[0].push(&frame(n, 60)));
    }
    client.tx[0].sync().unwrap();
    assert_eq!(client.counters().tx.frames_out, 10);
    drop(server);
    until(&mut [&mut client], |ports| ports[0].counters().tx.link_changes == 2);
    let tx = client.counters().tx;
    assert_eq!((tx.frames_out, tx.bytes_out, tx.drops(DropReason::PeerGone)), (0, 0, 10));
}

#[test]
fn what_a_peer_sent_before_it_went_arrives() {
    let (mut server, mut client) = pair("late", "");
    for n in 0..40 {
        assert!(client.tx[0].push(&frame(n, 60)));
    }
    client.tx[0].sync().unwrap();
    drop(client);
    let mut got = 0;
    until(&mut [&mut server], |ports| {
        got += ports[0].rx[0].burst(7).count();
        got == 40 && ports[0].counters().rx.link_changes == 2
    });
}

/// Two peers come, send and go while the server's receiver is not synced. The frames of the last one arrive; the others are counted.
#[test]
fn frames_of_peers_that_nobody_saw_are_counted() {
    let at = socket("unseen");
    let mut server = open_port(&format!("memif:{at}"), 64);
    for frames in [5, 7] {
        let mut client = open_port(&format!("memif:{at},role=client"), 64);
        let start = Instant::now();
        // Asking looks after the connection, and syncs no ring.
        while [&server, &client].map(|port| port.link_up().unwrap()) != [true; 2] {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", server.status());
        }
        (0..frames).for_each(|n| assert!(client.tx[0].push(&frame(n, 5000))));
        client.tx[0].sync().unwrap();
        drop(client);
        while server.link_up().unwrap() {}
    }
    server.rx[0].sync().unwrap();
    server.rx[0].sync().unwrap();
    let rx = server.counters().rx;
    assert_eq!((rx.frames_in, rx.frames_out, rx.drops(DropReason::PeerGone)), (12, 7, 5), "{rx:?}");
}

#[test]
fn interfaces_of_one_socket_have_their_own_clients() {
    let at = socket("many");
    let mut a = open_port(&format!("memif:{at},id=1"), 64);
    let mut b = open_port(&format!("memif:{at},id=2,rings=2"), 64);
    let busy = Port::open(&format!("memif:{at},id=2")).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy);
    let mut to_b = open_port(&format!("memif:{at},id=2,role=client,rings=2"), 64);
    let mut to_a = open_port(&format!("memif:{at},id=1,role=client"), 64);
    connected(&mut [&mut a, &mut to_a]);
    connected(&mut [&mut b, &mut to_b]);
    exchange(&mut to_a, &mut a, &[60], 50);
    exchange(&mut b, &mut to_b, &[60], 50);
    assert!(to_b.tx[1].push(&frame(9, 77)));
    until(&mut [&mut b, &mut to_b], |ports| ports[0].rx[1].avail() == 1);
    // A second client of an interface is turned away by name, and tries again.
    let second = open_port(&format!("memif:{at},id=1,role=client"), 64);
    let text = |port: &Port| port.link_up().map(|up| (up, port.status()));
    let start = Instant::now();
    while !text(&second).unwrap().1.contains("Already connected") {
        a.rx[0].sync().unwrap();
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    assert!(!second.link_up().unwrap() && to_a.link_up().unwrap());
}

#[test]
fn a_sleeper_is_woken() {
    for options in ["", ",zero-copy=yes"] {
        let (mut server, mut client) = pair("sleep", options);
        // Without copies a client posts its buffers when it syncs.
        client.rx[0].sync().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut waiter = Waiter::new(Duration::ZERO).unwrap();
                for n in 0..300 {
                    while !waiter.wait(&mut [&mut client.rx[0]], Duration::from_secs(60)).unwrap() {}
                    client.rx[0].burst(1).for_each(|f| assert_eq!(f.bytes(), frame(n, 60)));
                    assert!(client.tx[0].push(&frame(n, 60)));
                    client.tx[0].sync().unwrap();
                }
            });
            let mut waiter = Waiter::new(Duration::ZERO).unwrap();
            for n in 0..300 {
                assert!(server.tx[0].push(&frame(n, 60)));
                server.tx[0].sync().unwrap();
                while !waiter.wait(&mut [&mut server.rx[0]], Duration::from_secs(60)).unwrap() {}
                server.rx[0].burst(1).for_each(|f| assert_eq!(f.bytes(), frame(n, 60)));
            }
        });
        assert!(server.counters().tx.wakeups + client.counters().tx.wakeups > 0);
    }
}

#[test]
fn zero_copy_needs_buffers_in_a_file_of_their_own() {
    let region =
        Region::memfd(&crate::RegionSpec { rings: 2, buffers: 200, slots: 64, ..Default::default() })
            .unwrap();
    let name = format!("memif:{},role=client,zero-copy=yes", socket("region"));
    let refused = OpenOptions::new().slots(64).region(&region).open(&name).unwrap_err();
    assert!(refused.to_string().contains("zero-copy"), "{refused}");
}

#[test]
fn rings_keep_the_connection_when_their_port_is_dropped() {
    let (mut server, mut client) = pair("rings", "");
    let (mut rx, watch) = (std::mem::take(&mut server.rx), server.watch());
    drop(server);
    assert!(client.tx[0].push(&frame(0, 60)));
    let start = Instant::now();
    while rx[0].sync().unwrap() == 0 {
        client.tx[0].sync().unwrap();
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    drop(rx);
    until(&mut [&mut client], |ports| !ports[0].link_up().unwrap());
    assert!(client.status().contains("The port was closed"), "{}", client.status());
    assert_eq!((watch.status().as_str(), watch.counters().rx.frames_out), ("memif: closed", 1));
}
