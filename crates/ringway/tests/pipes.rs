//! Pipes and the other ports that need no privilege: semantics of rings, accounting, hostile input.

use std::time::Duration;

use ringway::layout::NS_MOREFRAG;
use ringway::pipe::{open_pipe_fds, pipe_fds};
use ringway::{DropReason, ErrorKind, OpenOptions, Pairing, PipeEnd, Port, Waiter, forward};

fn unique(tag: &str) -> (String, String) {
    let id = std::process::id();
    (format!("pipe:{tag}-{id}{{1"), format!("pipe:{tag}-{id}}}1"))
}

#[test]
fn frames_of_every_length_cross_a_pipe_in_order() {
    let (a, b) = unique("len");
    let (mut a, mut b) = (Port::open(&a).unwrap(), Port::open(&b).unwrap());
    let mut expected = std::collections::VecDeque::new();
    let mut seen = 0;
    for len in (0..9000).step_by(7).chain([2047, 2048, 2049, 65535]) {
        let frame: Vec<u8> = (0..len).map(|i| (i * 7 + len) as u8).collect();
        while !a.tx[0].push(&frame) {
            a.tx[0].sync().unwrap();
            b.rx[0].sync().unwrap();
            seen += drain(&mut b, &mut expected);
        }
        expected.push_back(frame);
    }
    while !expected.is_empty() {
        a.tx[0].sync().unwrap();
        b.rx[0].sync().unwrap();
        seen += drain(&mut b, &mut expected);
    }
    let (tx, rx) = (a.counters().tx, b.counters().rx);
    assert_eq!(tx.frames_in, seen);
    assert_eq!((tx.frames_out, rx.frames_in, rx.frames_out, rx.dropped()), (seen, seen, seen, 0));
}

fn drain(port: &mut Port, expected: &mut std::collections::VecDeque<Vec<u8>>) -> u64 {
    let mut n = 0;
    for f in port.rx[0].burst(u32::MAX) {
        let mut bytes = vec![0; f.len()];
        f.copy_to(&mut bytes);
        let want = expected.pop_front().expect("a frame nobody sent");
        assert!(bytes == want, "{} bytes instead of {}", bytes.len(), want.len());
        n += 1;
    }
    n
}

#[test]
fn an_end_is_held_once_and_free_after_close() {
    let (a, _) = unique("busy");
    let first = Port::open(&a).unwrap();
    let e = Port::open(&a).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Busy, "{e}");
    drop(first);
    drop(Port::open(&a).unwrap());
}

#[test]
fn an_end_is_held_as_long_as_one_of_its_rings() {
    let (a, b) = unique("rings");
    let mut first = Port::open(&a).unwrap();
    let (mut tx, rx) = (first.tx.remove(0), first.rx.remove(0));
    drop(first);
    assert_eq!(Port::open(&a).unwrap_err().kind(), ErrorKind::Busy);
    drop(rx);
    let mut other = Port::open(&b).unwrap();
    assert_eq!(Port::open(&a).unwrap_err().kind(), ErrorKind::Busy);
    assert!(tx.push(&[5; 60]));
    tx.sync().unwrap();
    assert_eq!(other.rx[0].sync().unwrap(), 1);
    drop(tx);
    drop(Port::open(&a).unwrap());
}

#[test]
fn data_waits_for_a_peer_and_survives_its_change() {
    let (a, b) = unique("wait");
    let mut a = Port::open(&a).unwrap();
    for i in 0..10u8 {
        assert!(a.tx[0].push(&[i; 60]));
    }
    a.tx[0].sync().unwrap();
    let mut first = Port::open(&b).unwrap();
    first.rx[0].sync().unwrap();
    assert!(first.rx[0].burst(4).map(|f| f.bytes()[0]).eq(0..4));
    drop(first);
    let mut second = Port::open(&b).unwrap();
    second.rx[0].sync().unwrap();
    assert!(second.rx[0].burst(99).map(|f| f.bytes()[0]).eq(4..10));
}

#[test]
fn a_full_pipe_waits_and_the_sender_is_woken() {
    let (a, b) = unique("full");
    let (mut a, mut b) = (Port::open(&a).unwrap(), Port::open(&b).unwrap());
    while a.tx[0].push(&[0; 60]) {}
    a.tx[0].sync().unwrap();
    while a.tx[0].push(&[0; 60]) {}
    assert_eq!(a.tx[0].sync().unwrap(), 0, "both rings are full");
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        b.rx[0].sync().unwrap();
        let n = b.rx[0].burst(u32::MAX).count();
        b.rx[0].sync().unwrap();
        (b, n)
    });
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    assert!(waiter.wait(&mut [&mut a.tx[0]], Duration::from_secs(60)).unwrap());
    assert!(a.tx[0].free() > 0);
    assert_eq!(reader.join().unwrap().1, 1023);
}

#[test]
fn two_threads_pass_a_million_frames_in_order() {
    let (a, b) = unique("million");
    let (mut a, mut b) = (Port::open(&a).unwrap(), Port::open(&b).unwrap());
    const N: u64 = 1_000_000;
    let sender = std::thread::spawn(move || {
        let mut waiter = Waiter::new(Duration::from_micros(5)).unwrap();
        let mut next = 0u64;
        while next < N || a.tx[0].pending() > 0 {
            let mut burst = a.tx[0].burst();
            while next < N
                && let Some(mut slot) = burst.next_slot()
            {
                slot.buf()[..8].copy_from_slice(&next.to_le_bytes());
                slot.send(60);
                next += 1;
            }
            burst.commit();
            if a.tx[0].sync().unwrap() == 0 {
                waiter.wait(&mut [&mut a.tx[0]], Duration::from_millis(100)).unwrap();
            }
        }
        a.counters().tx
    });
    let mut waiter = Waiter::new(Duration::from_micros(5)).unwrap();
    let mut next = 0u64;
    while next < N {
        waiter.wait(&mut [&mut b.rx[0]], Duration::from_millis(100)).unwrap();
        for f in b.rx[0].burst(256) {
            assert_eq!(f.bytes()[..8], next.to_le_bytes());
            next += 1;
        }
    }
    let (tx, rx) = (sender.join().unwrap(), b.counters().rx);
    assert_eq!((tx.frames_in, tx.frames_out, rx.frames_in, rx.frames_out), (N, N, N, N));
}

#[test]
fn forwarding_swaps_in_one_region_and_copies_between_two() {
    let [mut a, mut b, _] = OpenOptions::new().open_all(["loop:", "loop:", "null:"]).unwrap();
    let other = Port::open("loop:").unwrap();
    let mut c = other;
    for pairing in [Pairing::Swap, Pairing::Copy] {
        for len in [60usize, 2048, 2049, 9000] {
            assert!(a.tx[0].push(&vec![len as u8; len]));
        }
        a.tx[0].sync().unwrap();
        a.rx[0].sync().unwrap();
        let to = if pairing == Pairing::Swap { &mut b } else { &mut c };
        assert_eq!(Pairing::of(&a.rx[0], &to.tx[0]), pairing);
        assert_eq!(forward(&mut a.rx[0], &mut to.tx[0], u32::MAX), 1 + 1 + 2 + 5);
        to.tx[0].sync().unwrap();
        to.rx[0].sync().unwrap();
        let lens: Vec<_> =
            to.rx[0].burst(9).map(|f| (f.len(), f.parts().all(|p| p[0] == f.len() as u8))).collect();
        assert_eq!(lens, [(60, true), (2048, true), (2049, true), (9000, true)]);
    }
}

/// A chain without an end takes along the frame that was forwarded behind it: all of it is refused, and its slots go on to work.
#[test]
fn a_chain_that_is_refused_costs_no_slot() {
    const LAPS: u64 = 8;
    let fds = pipe_fds(128).unwrap();
    let [mut a, mut b] = [PipeEnd::Open, PipeEnd::Close].map(|end| open_pipe_fds(&fds, end).unwrap());
    for _ in 0..LAPS {
        b.tx[0].push(&[1; 60]);
        b.tx[0].sync().unwrap();
        assert_eq!(a.rx[0].sync().unwrap(), 1);
        let mut burst = a.tx[0].burst();
        for _ in 0..64 {
            let mut slot = burst.next_slot().unwrap();
            slot.set_flags(NS_MOREFRAG);
            slot.send(60);
        }
        burst.commit();
        assert_eq!(forward(&mut a.rx[0], &mut a.tx[0], 1), 1);
        a.tx[0].sync().unwrap();
    }
    let refused = a.counters().tx;
    assert_eq!((refused.drops(DropReason::BadSlot), refused.frames_out), (LAPS, 0));
    for k in 0..400u64 {
        a.tx[0].push(&[2; 60]);
        a.tx[0].sync().unwrap();
        b.rx[0].sync().unwrap();
        assert_eq!(b.rx[0].burst(8).count(), 1, "frame {k}");
    }
    assert_eq!(a.counters().tx.drops(DropReason::BadSlot), LAPS);
}

#[test]
fn closing_ports_gives_their_buffers_back() {
    let region = OpenOptions::new().open_all(["loop:", "null:"]).unwrap()[0].region().clone();
    let free = region.free_bufs();
    for _ in 0..3 {
        let p = OpenOptions::new().region(&region).open("loop:").unwrap();
        assert_eq!(region.free_bufs(), free - 2048);
        drop(p);
        assert_eq!(region.free_bufs(), free);
    }
}

#[test]
fn null_counts_every_frame() {
    let mut p = Port::open("null:1514").unwrap();
    p.rx[0].sync().unwrap();
    assert_eq!(p.rx[0].burst(u32::MAX).map(|f| f.len()).sum::<usize>(), 1023 * 1514);
    assert!(p.tx[0].push(&[0; 5000]));
    p.tx[0].sync().unwrap();
    let c = p.counters();
    assert_eq!((c.tx.frames_in, c.tx.frames_out, c.tx.drops(DropReason::BadSlot)), (1, 1, 0));
    assert_eq!(c.rx.frames_out, 1023);
}

/// What a port states is what its region's file holds, and rings and buffers account for nearly all of it.
#[test]
fn a_port_takes_the_memory_it_states() {
    use std::os::fd::AsRawFd;
    for name in ["null:", "loop:"] {
        let p = Port::open(name).unwrap();
        let fd = std::os::fd::AsFd::as_fd(p.region()).as_raw_fd();
        let held = std::fs::metadata(format!("/proc/self/fd/{fd}")).unwrap().len();
        assert_eq!(held, p.info().memory as u64, "{name}");
        let needed = 2 * 1024 * (2048 + 16);
        assert!((needed..needed + 32 * 1024).contains(&held), "{name} takes {held}");
    }
}
