//! Sockets whose kernel side stops giving buffers back. Needs root; says so and passes without.

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::make;
use super::queue::Queue;
use crate::count::{Counters, DropReason};
use crate::port::name::{NicRings, PortName};
use crate::port::{OpenOptions, Port};
use crate::ring::{RxRing, TxRing};
use crate::sys::net;
use crate::sys::xsk::Xsk;

/// No wait takes longer; far above what any needs.
const LIMIT: Duration = Duration::from_secs(60);

/// A port and its queue.
type End = (Port, Arc<Queue>);

/// Ports on both ends of a veth in a namespace of its own, which lives as long as the descriptor.
fn pair(slots: u32) -> Option<(OwnedFd, End, End)> {
    if !crate::sys::is_root() {
        eprintln!("SKIPPED: AF_XDP needs root");
        return None;
    }
    let ip = |arguments: &str| {
        assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success(), "ip {arguments}");
    };
    let end = |interface: &str| {
        let name = PortName::Xdp { interface: interface.into(), rings: NicRings::All };
        let (made, queues) = make(&name, interface, NicRings::All, &OpenOptions::new().slots(slots)).unwrap();
        (Port::assemble(made, "").unwrap(), queues[0].clone())
    };
    let (netns, (a, b)) = net::in_private_netns(|| {
        let queues = "numrxqueues 1 numtxqueues 1";
        ip(&format!("link add a0 {queues} type veth peer name a1 {queues}"));
        // Nothing but the frames of the test.
        ip("link set a0 addrgenmode none");
        ip("link set a1 addrgenmode none");
        ip("link set a0 up");
        ip("link set a1 up");
        Ok((end("a0"), end("a1")))
    })
    .unwrap();
    Some((netns, a, b))
}

fn frame(number: u64) -> [u8; 60] {
    let mut f = [0x88; 60];
    f[..6].fill(2);
    f[52..].copy_from_slice(&number.to_le_bytes());
    f
}

/// Takes what came; numbers rise, with gaps where frames were lost.
fn take(rx: &mut RxRing, next: &mut u64) {
    rx.sync().unwrap();
    for f in rx.burst(u32::MAX) {
        let number = u64::from_le_bytes(f.bytes()[52..].try_into().unwrap());
        assert!(number >= *next, "frame {number} after {next}");
        *next = number + 1;
    }
}

fn send(tx: &mut TxRing, number: &mut u64) {
    *number += u64::from(tx.push(&frame(*number)));
    tx.sync().unwrap();
}

fn balanced(c: &Counters) {
    assert_eq!(c.frames_in, c.frames_out + c.dropped(), "{c}");
}

/// Frames go from `from` to `to`, more than a ring holds.
fn passes(from: &mut TxRing, to: &mut RxRing, number: &mut u64, next: &mut u64) {
    let (start, goal) = (Instant::now(), *number + 100);
    while *next < goal {
        send(from, number);
        take(to, next);
        assert!(start.elapsed() < LIMIT, "{next} of {goal}");
    }
}

/// Each buffer is in one slot.
fn assert_each_buffer_once(port: &Port) {
    let region = port.region().clone();
    let shape = port.info().shape;
    let mut seen = HashSet::new();
    for ring in 0..shape.tx_rings + shape.rx_rings {
        let view = crate::ring::RingView::new(&region, ring, shape.slots);
        (0..shape.slots).for_each(|i| assert!(seen.insert(view.slot(i).buf), "slot {i} of ring {ring}"));
    }
}

/// A sender does not hang: the port replaces the socket while another thread receives from it.
#[test]
fn completions_that_never_come() {
    let Some((_netns, (mut a, queue), (mut b, _))) = pair(16) else { return };
    let (mut sent, mut got, mut back, mut back_got) = (0, 0, 0, 0);
    passes(&mut a.tx[0], &mut b.rx[0], &mut sent, &mut got);
    queue.tx().withhold = true;
    let (watch, stop) = (a.watch(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (rx, back_got, stop) = (&mut a.rx[0], &mut back_got, &stop);
        scope.spawn(move || {
            while !stop.load(Relaxed) {
                take(rx, back_got);
            }
        });
        let (tx, start) = (&mut a.tx[0], Instant::now());
        while watch.counters().tx.resets < 2 {
            send(tx, &mut sent);
            take(&mut b.rx[0], &mut got);
            send(&mut b.tx[0], &mut back);
            if start.elapsed() > LIMIT {
                stop.store(true, Relaxed);
                panic!("{} resets", watch.counters().tx.resets);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        stop.store(true, Relaxed);
    });
    queue.tx().withhold = false;
    passes(&mut a.tx[0], &mut b.rx[0], &mut sent, &mut got);
    passes(&mut b.tx[0], &mut a.rx[0], &mut back, &mut back_got);
    let [a_sum, b_sum] = [&a, &b].map(Port::counters);
    [a_sum.tx, a_sum.rx, b_sum.tx, b_sum.rx].iter().for_each(balanced);
    assert_eq!(a_sum.tx.resets, 2);
    assert_eq!(a_sum.tx.frames_out, b_sum.rx.frames_in, "what left had arrived before its socket was closed");
    assert_each_buffer_once(&a);
}

/// Frames that nobody took from a socket that is replaced are lost by name.
#[test]
fn frames_lost_with_a_socket_are_counted() {
    let Some((_netns, (mut a, queue), (mut b, _))) = pair(64) else { return };
    let mut number = 0;
    (0..40).for_each(|_| send(&mut b.tx[0], &mut number));
    queue.reconnect().unwrap();
    let c = a.counters().rx;
    assert_eq!((c.frames_in, c.drops(DropReason::RingFull)), (40, 40), "before a sync: {c}");
    let mut next = 40;
    // The first sync gives the new socket its buffers.
    take(&mut a.rx[0], &mut next);
    passes(&mut b.tx[0], &mut a.rx[0], &mut number, &mut next);
    let (c, out) = (a.counters().rx, b.counters().tx);
    balanced(&c);
    assert_eq!((c.dropped(), c.frames_in), (40, out.frames_out), "{c}");
    assert_each_buffer_once(&a);
}

/// More frames than the kernel's ring holds are refused by a link that is down, and none of them is sent later.
#[test]
fn frames_given_up_are_never_sent() {
    let Some((netns, (mut a, _), (mut b, _))) = pair(16) else { return };
    let (mut sent, mut got) = (0, 0);
    passes(&mut a.tx[0], &mut b.rx[0], &mut sent, &mut got);
    let inside = |arguments: &str| {
        let netns = netns.try_clone().unwrap();
        let arguments = arguments.to_owned();
        let job = move || {
            net::enter(&netns).unwrap();
            Command::new("ip").args(arguments.split(' ')).status().unwrap().success()
        };
        assert!(std::thread::spawn(job).join().unwrap());
    };
    for round in 0..3 {
        inside("link set a0 down");
        let before = a.counters().tx;
        for _ in 0..100 {
            send(&mut a.tx[0], &mut sent);
            assert_eq!(a.tx[0].pending(), 0, "round {round}: frames do not wait");
        }
        let c = a.counters().tx;
        assert_eq!((c.frames_out, c.dropped() - before.dropped()), (before.frames_out, 100), "{c}");
        inside("link set a0 up");
        let first = sent;
        let start = Instant::now();
        while got <= first {
            send(&mut a.tx[0], &mut sent);
            take(&mut b.rx[0], &mut got);
            assert!(start.elapsed() < LIMIT, "round {round}: {got} of {first}");
        }
        passes(&mut a.tx[0], &mut b.rx[0], &mut sent, &mut got);
        let (out, arrived) = (a.counters().tx, b.counters().rx);
        balanced(&out);
        assert_eq!(out.frames_out, arrived.frames_in, "{out}; {arrived}");
    }
    assert_each_buffer_once(&a);
}

/// The kernel releases a queue in the background: a process that closed the socket waits for that. For others it does not.
#[test]
fn a_queue_that_this_process_closed_is_waited_for() {
    let Some((netns, _a, (b, queue))) = pair(16) else { return };
    let (netns, umem, want) = (File::from(netns), queue.umem, queue.want);
    let open = || {
        let mut tries = 0;
        let make = || {
            tries += 1;
            Xsk::socket()
        };
        let made = net::in_netns(&netns, || Xsk::when_free(make, &umem, &want, Duration::ZERO).map(drop));
        (made.map_err(|e| e.raw_os_error()), tries)
    };
    assert_eq!(open(), (Err(Some(libc::EBUSY)), 1));
    let region = b.region().clone();
    drop((b, queue));
    for _ in 0..20 {
        let (made, tries) = open();
        assert_eq!(made, Ok(()), "{tries} tries");
    }
    drop(region);
}
