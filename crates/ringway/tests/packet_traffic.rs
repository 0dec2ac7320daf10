//! Frames between two `packet:` ports on the ends of a veth. Needs root; says so and passes without.
//!
//! Objective: frames of all lengths arrive whole, in order and once, or are refused by name; tags, checksums and
//! super-frames arrive as they would on a wire; several rings keep the order within a flow; doorbells work.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::{Duration, Instant};

use ringway::{DropReason, OpenOptions, Pairing, Port, Region, RegionSpec, Waiter};
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_lab::{AnyError, Lab};

use support::{Flow, LIMIT, Random, Wait, assert_balanced, assert_connected, cpu_time, eventually};
use support::{frame, new_lab, new_pair, open_all, readable, whole};

const PORTS: [&str; 2] = ["packet:a0", "packet:a1"];

/// Sends one frame from `a` to `b` at a time; which lengths were refused, and as what.
fn refused(a: &mut Port, b: &mut Port, lengths: &[usize]) -> Vec<(usize, DropReason)> {
    let mut refused = Vec::new();
    for (seq, &len) in lengths.iter().enumerate() {
        let before = a.counters().tx;
        let f = frame(1, seq as u64, len.max(14));
        assert!(a.tx[0].push(&f[..len]), "{len} bytes fit the ring");
        a.tx[0].sync().unwrap();
        let after = a.counters().tx;
        assert_balanced(&after);
        assert_eq!(after.frames_in, before.frames_in + 1, "{len}: {after}");
        if after.frames_out == before.frames_out {
            let why = after.reasons().find(|&(d, n)| n > before.drops(d)).unwrap().0;
            refused.push((len, why));
            continue;
        }
        let start = Instant::now();
        while b.rx[0].sync().unwrap() == 0 {
            assert!(start.elapsed() < LIMIT, "{len} bytes were sent and did not arrive: {}", b.counters().rx);
        }
        let got: Vec<_> = b.rx[0].burst(u32::MAX).map(|f| whole(&f)).collect();
        assert_eq!(got, [f], "{len} bytes");
    }
    refused
}

const LENGTHS: [usize; 17] =
    [0, 1, 13, 14, 59, 60, 61, 1514, 1515, 2048, 2049, 2112, 2113, 4096, 9000, 9216, 65_535];

#[test]
fn all_lengths_arrive_whole_or_are_refused_by_name() {
    for (mtu, longest) in [(1500, 1514), (9000, 9014), (9300, 9314), (65_535, 65_535)] {
        let Some(lab) = new_pair() else { return };
        lab.set_mtu(["a0", "a1"], mtu).unwrap();
        let [mut a, mut b] = open_all(&lab, PORTS);
        assert_eq!(a.info().max_frame, mtu + 14);
        let refused = refused(&mut a, &mut b, &LENGTHS);
        for (len, why) in &refused {
            assert_eq!(*why, if *len < 14 { DropReason::TooShort } else { DropReason::TooLong }, "{len}");
        }
        let expected = LENGTHS.iter().filter(|&&l| !(14..=longest).contains(&l)).count();
        assert_eq!(refused.len(), expected, "MTU {mtu}: {refused:?}");
        let c = assert_connected(&a, &b);
        assert_eq!((c.rx.dropped(), c.rx.frames_out), (0, (LENGTHS.len() - expected) as u64));
    }
}

#[test]
fn bursts_arrive_once_and_in_order_both_ways() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, PORTS);
    assert_eq!(Pairing::of(&a.rx[0], &b.tx[0]), Pairing::Swap);
    let (mut there, mut back, mut bytes) = (Flow::new(1), Flow::new(2), 0);
    for burst in [1, 3, 16, 17, 255, 256, 700] {
        for len in [14, 60, 64, 1513, 1514] {
            there.send(&mut a.tx[0], len, burst);
            there.take_all(&mut b.rx[0], &a);
            back.send(&mut b.tx[0], len, burst);
            back.take_all(&mut a.rx[0], &b);
            bytes += burst * len as u64;
        }
    }
    for (from, to, flow) in [(&a, &b, &there), (&b, &a, &back)] {
        let c = assert_connected(from, to);
        assert_eq!((c.tx.frames_in, c.tx.dropped(), c.rx.dropped()), (flow.next, 0, 0), "{} {}", c.tx, c.rx);
        assert_eq!((c.rx.frames_out, c.rx.bytes_out, c.tx.bytes_out), (flow.received, bytes, bytes));
    }
}

#[test]
fn the_host_receives_them_too_and_what_it_sends_is_not_received() {
    let Some(lab) = new_pair() else { return };
    let mut host = RawReceiver::open(&lab, "a1").unwrap();
    let [mut a, mut b] = open_all(&lab, PORTS);
    let mut flow = Flow::new(1);
    flow.send(&mut a.tx[0], 100, 10);
    flow.take_all(&mut b.rx[0], &a);
    for seq in 0..10 {
        assert_eq!(host.next(LIMIT).unwrap(), Some(frame(1, seq, 100)));
    }
    assert!(b.info().backend.contains("the host stack receives them too"), "{}", b.info().backend);
    // Neither its own frames nor those of others that leave by the interface.
    RawSender::open(&lab, "a0").unwrap().send(&frame(2, 0, 100)).unwrap();
    assert_eq!(host.next(LIMIT).unwrap(), Some(frame(2, 0, 100)));
    assert_eq!(a.rx[0].sync().unwrap(), 0);
}

#[test]
fn a_ring_that_is_not_read_drops_by_name() {
    let Some(lab) = new_pair() else { return };
    for slots in [16, 1024] {
        let options = OpenOptions::new().slots(slots);
        let [mut a, mut b] = lab.run(|| Ok::<_, AnyError>(options.open_all(PORTS)?)).unwrap();
        let mut flow = Flow::new(1);
        flow.send(&mut a.tx[0], 60, 3000);
        let held = b.counters().rx;
        assert!(held.drops(DropReason::RingFull) > 500, "counted before a sync: {held}");
        flow.take_all_but_lost(&mut b, 3000);
        let c = assert_connected(&a, &b);
        assert_eq!(c.rx.frames_in, 3000);
        let watch = b.watch();
        drop(b);
        assert_eq!(watch.counters().rx, c.rx, "the last word stays");
    }
}

trait TakeLost {
    fn take_all_but_lost(&mut self, port: &mut Port, sent: u64);
}

impl TakeLost for Flow {
    /// Takes frames until all are taken or in the drop counters of the receiver.
    fn take_all_but_lost(&mut self, port: &mut Port, sent: u64) {
        eventually("all are accounted for", || {
            self.take(&mut port.rx[0]);
            let c = port.counters().rx;
            if c.frames_in == sent && c.frames_out == self.received { Ok(()) } else { Err(c.to_string()) }
        });
    }
}

#[test]
fn tags_are_in_the_bytes() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, PORTS);
    let sender = RawSender::open(&lab, "a0").unwrap();
    let tagged = |len: usize, tags: &[[u8; 4]]| {
        let mut f = frame(1, 7, len);
        for (k, tag) in tags.iter().enumerate() {
            f[12 + 4 * k..16 + 4 * k].copy_from_slice(tag);
        }
        f
    };
    let one = [0x81, 0x00, 0xa0, 0x64];
    let two = [[0x88, 0xa8, 0x00, 0x05], one];
    for (len, tags) in [(60, &[one][..]), (64, &two), (1518, &[one]), (1514, &two), (20, &[one])] {
        let f = tagged(len, tags);
        sender.send(&f).unwrap();
        eventually("it arrives", || if b.rx[0].sync().unwrap() > 0 { Ok(()) } else { Err("not".into()) });
        assert_eq!(b.rx[0].burst(2).map(|f| whole(&f)).collect::<Vec<_>>(), std::slice::from_ref(&f));
        // And from one port to the other.
        assert!(b.tx[0].push(&f));
        b.tx[0].sync().unwrap();
        eventually("it returns", || if a.rx[0].sync().unwrap() > 0 { Ok(()) } else { Err("not".into()) });
        assert_eq!(a.rx[0].burst(2).map(|f| whole(&f)).collect::<Vec<_>>(), [f], "{len} {tags:?}");
    }
    assert!(b.tx[0].push(&tagged(1519, &[one])));
    b.tx[0].sync().unwrap();
    assert_eq!(b.counters().tx.drops(DropReason::TooLong), 1);
    assert_connected(&b, &a);
}

#[test]
fn chains_in_regions_of_both_kinds() {
    let Some(lab) = new_pair() else { return };
    lab.set_mtu(["a0", "a1"], 9000).unwrap();
    let spec = RegionSpec { interfaces: 2, rings: 4, slots: 64, buffers: 2 + 4 * 64, buf_size: 512 };
    for region in [Region::memfd(&spec).unwrap(), Region::bpf_array(&spec).unwrap()] {
        let options = OpenOptions::new().slots(64).region(&region);
        let [mut a, mut b] = lab.run(|| Ok::<_, AnyError>(options.open_all(PORTS)?)).unwrap();
        assert!(a.region().ptr_eq(&region) && b.region().ptr_eq(&region));
        let (mut flow, mut random) = (Flow::new(1), Random(1));
        for _ in 0..300 {
            let len = 14 + random.below(9000) as usize;
            flow.send(&mut a.tx[0], len, 1 + random.below(3));
            flow.take_all(&mut b.rx[0], &a);
        }
        let c = assert_connected(&a, &b);
        assert_eq!((c.tx.dropped(), c.rx.dropped()), (0, 0));
        assert!(flow.chained > 250);
    }
}

/// A veth pair whose ends have four queues each.
fn four_queues() -> Option<Lab> {
    let lab = new_lab()?;
    let queues = "numtxqueues 4 numrxqueues 4";
    lab.ip(&format!("link add a0 {queues} type veth peer name a1 {queues}")).unwrap();
    for end in ["a0", "a1"] {
        lab.exec("ethtool", &["-L", end, "rx", "4", "tx", "4"]).unwrap();
        lab.ip(&format!("link set {end} up")).unwrap();
    }
    Some(lab)
}

/// A UDP datagram of flow `flow` over IPv4, with `seq` in it; without checksum.
fn datagram(flow: u16, seq: u32) -> Vec<u8> {
    let mut f = vec![0; 60];
    f[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    f[12..34].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = !ringway_wire::checksum::of(&f[14..34]);
    f[24..26].copy_from_slice(&(!sum).to_be_bytes());
    f[34..36].copy_from_slice(&(1000 + flow).to_be_bytes());
    f[36..40].copy_from_slice(&[0, 9, 0, 26]);
    f[42..46].copy_from_slice(&seq.to_be_bytes());
    f
}

#[test]
fn several_rings_share_flows_and_keep_their_order() {
    const FLOWS: u16 = 64;
    const EACH: u32 = 200;
    let Some(lab) = four_queues() else { return };
    let [mut a, mut b] = open_all(&lab, PORTS);
    assert_eq!((b.rx.len(), b.tx.len()), (4, 4), "{}", b.info().backend);
    let mut expect = HashMap::new();
    let mut rings = HashMap::new();
    let mut take = |b: &mut Port| {
        for (ring, rx) in b.rx.iter_mut().enumerate() {
            rx.sync().unwrap();
            for f in rx.burst(u32::MAX) {
                let bytes = f.bytes();
                let flow = u16::from_be_bytes([bytes[34], bytes[35]]) - 1000;
                let seq = u32::from_be_bytes(bytes[42..46].try_into().unwrap());
                assert_eq!(*expect.entry(flow).or_insert(0), seq, "flow {flow} on ring {ring}");
                *expect.get_mut(&flow).unwrap() += 1;
                assert_eq!(*rings.entry(flow).or_insert(ring), ring, "flow {flow} changed its ring");
            }
        }
        expect.values().sum::<u32>()
    };
    for seq in 0..EACH {
        for flow in 0..FLOWS {
            assert!(a.tx[usize::from(flow % 4)].push(&datagram(flow, seq)));
        }
        for tx in &mut a.tx {
            tx.sync().unwrap();
        }
        take(&mut b);
    }
    let start = Instant::now();
    while take(&mut b) < EACH * u32::from(FLOWS) {
        assert!(start.elapsed() < LIMIT, "{}", b.counters().rx);
    }
    let used: std::collections::HashSet<_> = rings.values().collect();
    assert_eq!(used.len(), 4, "64 flows fall on all four rings");
    let c = assert_connected(&a, &b);
    assert_eq!((c.tx.dropped(), c.rx.frames_out), (0, u64::from(FLOWS) * u64::from(EACH)));
}

#[test]
fn a_queue_has_the_frames_of_that_queue() {
    let Some(lab) = four_queues() else { return };
    let [mut a, all] = open_all(&lab, ["packet:a0", "packet:a1"]);
    let mut ones = open_all(&lab, ["packet:a1-0", "packet:a1-1", "packet:a1-2", "packet:a1-3"]);
    assert!(ones.iter().all(|p| p.rx.len() == 1 && p.tx.len() == 1));
    for seq in 0..100 {
        for flow in 0..16 {
            assert!(a.tx[0].push(&datagram(flow, seq)));
        }
        a.tx[0].sync().unwrap();
        ones.iter_mut().for_each(|p| _ = p.rx[0].sync().unwrap());
    }
    // Each frame came by one queue, whichever it was: the sending CPU chooses.
    eventually("all are on one of the queues", || {
        let counts: Vec<u64> = ones
            .iter_mut()
            .map(|p| {
                p.rx[0].sync().unwrap();
                p.rx[0].burst(u32::MAX).for_each(drop);
                p.counters().rx.frames_in
            })
            .collect();
        if counts.iter().sum::<u64>() == 1600 { Ok(()) } else { Err(format!("{counts:?}")) }
    });
    drop(all);
}

#[test]
fn a_doorbell_rings_for_a_frame_and_not_without() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, PORTS);
    for how in [Wait::Poll, Wait::Select, Wait::Epoll] {
        assert!(!b.rx[0].arm().unwrap());
        for fd in [b.rx[0].as_fd().as_raw_fd(), b.as_fd().as_raw_fd()] {
            assert!(!readable(how, fd, 20), "{how:?}: nothing was sent");
        }
        let sender = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            assert!(a.tx[0].push(&frame(1, 0, 60)));
            a.tx[0].sync().unwrap();
            a
        });
        for fd in [b.rx[0].as_fd().as_raw_fd(), b.as_fd().as_raw_fd()] {
            assert!(readable(how, fd, 60_000), "{how:?}");
        }
        a = sender.join().unwrap();
        assert_eq!(b.rx[0].sync().unwrap(), 1);
        b.rx[0].burst(1).for_each(drop);
        b.rx[0].sync().unwrap();
    }
}

#[test]
fn an_idle_receiver_sleeps() {
    let Some(lab) = new_pair() else { return };
    let [a, mut b] = open_all(&lab, PORTS);
    let mut waiter = Waiter::new(Duration::from_micros(20)).unwrap();
    let idle = |b: &mut Port, waiter: &mut Waiter| {
        let before = cpu_time();
        for _ in 0..10 {
            assert!(!waiter.wait(&mut [&mut b.rx[0]], Duration::from_millis(50)).unwrap());
        }
        let used = cpu_time() - before;
        // Generous: a spinning receiver would use ten times as much.
        assert!(used < Duration::from_millis(50), "{used:?} in half a second");
    };
    idle(&mut b, &mut waiter);
    // The error that a socket keeps when its link goes down must not wake it for ever.
    lab.ip("link set a1 down").unwrap();
    idle(&mut b, &mut waiter);
    lab.ip("link set a1 up").unwrap();
    idle(&mut b, &mut waiter);
    drop(a);
}
