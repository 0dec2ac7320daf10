//! Frames between two ports of each kind on the ends of a veth. Needs root; says so and passes without.
//!
//! Objective: frames of all lengths and bursts of all sizes arrive intact, in order and once, whichever way they take
//! in the kernel; what can't be sent is a named drop; several rings, threads, doorbells and idle receivers work.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::{DropReason, Port, RxRing, Waiter};
use ringway_lab::raw::{RawReceiver, RawSender};

use support::{
    Flow, LIMIT, Random, Wait, assert_balanced, assert_connected, assert_detached, cpu_time, eventually,
};
use support::{each_kind, ends, frame, identify, new_pair, new_wide_pair, open, open_ends, readable, whole};

const LENGTHS: [usize; 14] = [14, 15, 59, 60, 61, 64, 65, 128, 255, 256, 257, 1000, 1513, 1514];
/// Up to 16 frames a burst of an `ebpf:` port goes by AF_XDP when nothing is in its way, longer ones as live frames.
const BURSTS: [u64; 7] = [1, 3, 15, 16, 17, 255, 1024];

/// A veth's queue holds 256 frames; a burst beyond that may find it full when the other end's NAPI is late.
const VETH_QUEUE: u64 = 256;

#[test]
fn all_lengths_in_all_bursts_arrive_once_and_in_order() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        for regions in [1, 2] {
            let [mut a, mut b] =
                if regions == 1 { open_ends(&lab, kind) } else { ends(kind).map(|name| open(&lab, &name)) };
            let (mut there, mut back) = (Flow::new(1), Flow::new(2));
            let mut bytes = 0;
            for burst in BURSTS {
                for len in LENGTHS {
                    let dropped = a.counters().tx.dropped();
                    there.send(&mut a.tx[0], len, burst);
                    there.take_all(&mut b.rx[0], &a);
                    back.send(&mut b.tx[0], len, burst);
                    back.take_all(&mut a.rx[0], &b);
                    let lost = a.counters().tx.dropped() - dropped;
                    assert!(burst <= VETH_QUEUE || lost < burst, "nothing of a burst arrived");
                    assert!(burst > VETH_QUEUE || lost == 0, "{burst} x {len}: {}", a.counters().tx);
                    bytes += (burst - lost) * len as u64;
                }
            }
            let c = assert_connected(&a, &b);
            assert_eq!((c.tx.frames_in, c.rx.frames_out), (there.next, there.received));
            assert_eq!((c.rx.dropped(), c.rx.bytes_out), (0, bytes));
            assert_connected(&b, &a);
        }
        assert_detached(&lab);
    });
}

#[test]
fn small_and_large_bursts_in_turn_keep_their_order() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let [mut a, mut b] = open_ends(&lab, kind);
        let (mut flow, mut random) = (Flow::new(1), Random(1));
        for _ in 0..2000 {
            for count in [1 + random.below(16), 17 + random.below(48)] {
                let len = LENGTHS[random.below(14) as usize];
                flow.send(&mut a.tx[0], len, count);
                // Not all of it: what went one way must not overtake what is still on the other.
                let start = Instant::now();
                while flow.received + a.counters().tx.dropped() + VETH_QUEUE / 2 < flow.next {
                    flow.take(&mut b.rx[0]);
                    assert!(start.elapsed() < LIMIT, "{} of {}", flow.received, flow.next);
                }
            }
        }
        flow.take_all(&mut b.rx[0], &a);
        let c = assert_connected(&a, &b);
        assert_eq!((c.tx.dropped(), c.rx.frames_out), (0, flow.next));
    });
}

#[test]
fn frames_without_a_whole_header_are_too_short() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let [mut a, mut b] = open_ends(&lab, kind);
        let mut short = 0;
        for burst in [1, 5, 40] {
            for len in 0..14 {
                (0..burst).for_each(|_| assert!(a.tx[0].push(&frame(1, 0, 14)[..len])));
                a.tx[0].sync().unwrap();
                short += burst;
            }
        }
        let c = a.counters().tx;
        assert_eq!((c.frames_in, c.frames_out, c.drops(DropReason::TooShort)), (short, 0, short), "{c}");
        let mut flow = Flow::new(2);
        flow.send(&mut a.tx[0], 14, 20);
        flow.send(&mut a.tx[0], 14, 2);
        eventually("good ones arrive", || {
            flow.take(&mut b.rx[0]);
            if flow.received == 22 { Ok(()) } else { Err(format!("{} of 22", flow.received)) }
        });
        assert_connected(&a, &b);
    });
}

/// Frames longer than a buffer go by AF_XDP, in several buffers each, and arrive in several slots.
#[test]
fn frames_of_several_slots_arrive_whole() {
    each_kind(|kind| {
        const LENGTHS: [usize; 14] =
            [60, 2048, 2112, 2113, 3000, 3299, 3300, 3301, 4096, 4097, 6144, 8192, 9000, 9014];
        let Some(lab) = new_pair() else { return };
        lab.set_mtu(["a0", "a1"], 9000).unwrap();
        let [mut a, mut b] = open_ends(&lab, kind);
        assert_eq!(a.info().buf_size, 2112, "the lengths above are around this");
        let mut flow = Flow::new(1);
        for burst in [1, 3, 15, 16, 40] {
            for len in LENGTHS {
                flow.send(&mut a.tx[0], len, burst);
                flow.take_all(&mut b.rx[0], &a);
            }
            for _ in 0..burst {
                for len in [60, 3000, 60, 9014] {
                    flow.push(&mut a.tx[0], len);
                }
            }
            while a.tx[0].pending() > 0 {
                a.tx[0].sync().unwrap();
            }
            flow.take_all(&mut b.rx[0], &a);
        }
        let c = assert_connected(&a, &b);
        assert_eq!((flow.received, c.tx.dropped(), c.rx.dropped()), (flow.next, 0, 0), "{}", c.tx);
        assert_eq!(flow.chained, 75 * (11 + 2), "all that are longer than a buffer of 2112 bytes");
        let before = c.tx.frames_in;
        for len in [9019, 9500, 20_000, 65_535] {
            assert!(a.tx[0].push(&frame(2, 0, len)));
            a.tx[0].sync().unwrap();
        }
        let c = a.counters().tx;
        assert_eq!((c.frames_in - before, c.drops(DropReason::TooLong)), (4, 4), "{c}");
        flow.send(&mut a.tx[0], 9014, 1);
        eventually("the way is free", || {
            if flow.take(&mut b.rx[0]) == 1 { Ok(()) } else { Err("nothing came".into()) }
        });
        assert_connected(&a, &b);
    });
}

#[test]
fn frames_beyond_the_mtu_are_refused_by_name() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let [mut a, mut b] = open_ends(&lab, kind);
        let mut sent = 0;
        // 1518 bytes pass: the MTU leaves room for a VLAN tag.
        for len in [1519, 1600, 2048, 2049, 3000, 3301, 9014] {
            for burst in [1, 15, 16, 64] {
                (0..burst).for_each(|_| assert!(a.tx[0].push(&frame(1, 0, len))));
                while a.tx[0].pending() > 0 {
                    a.tx[0].sync().unwrap();
                }
                sent += burst;
            }
        }
        let c = a.counters().tx;
        assert_balanced(&c);
        let named = c.drops(DropReason::TooLong) + c.drops(DropReason::DeviceRefused);
        assert_eq!((c.frames_in, c.frames_out, named), (sent, 0, sent), "{c}");
        let mut flow = Flow::new(2);
        // The kernel takes the 4 bytes more from a packet socket only for a frame that has a tag.
        let lengths: &[usize] = if kind == "packet" { &[1514] } else { &[1514, 1518] };
        for &len in lengths {
            flow.send(&mut a.tx[0], len, 3);
            flow.send(&mut a.tx[0], len, 30);
        }
        eventually("good ones arrive", || {
            flow.take(&mut b.rx[0]);
            if flow.received == flow.next {
                Ok(())
            } else {
                Err(format!("{} of {}", flow.received, flow.next))
            }
        });
        assert_connected(&a, &b);
    });
}

/// Two senders and two receivers, each a thread with a ring of its own.
#[test]
fn rings_work_from_threads_of_their_own() {
    each_kind(|kind| {
        const N: u64 = 100_000;
        let Some(lab) = new_wide_pair(2) else { return };
        let [mut a, mut b] = open_ends(&lab, kind);
        assert_eq!((a.rx.len(), a.tx.len(), b.rx.len(), b.tx.len()), (2, 2, 2, 2));
        let (senders, receivers) = (std::mem::take(&mut a.tx), std::mem::take(&mut b.rx));
        let (sending, got) = (AtomicU64::new(2), AtomicU64::new(0));
        let watch = a.watch();
        let rings: Vec<HashMap<u16, Vec<u64>>> = thread::scope(|s| {
            for (k, mut tx) in senders.into_iter().enumerate() {
                let (sending, got, watch) = (&sending, &got, &watch);
                s.spawn(move || {
                    let (mut flow, mut random) = (Flow::new(k as u16), Random(k as u64));
                    let start = Instant::now();
                    while flow.next < N {
                        let len = LENGTHS[random.below(10) as usize];
                        flow.send(&mut tx, len, 1 + random.below(30));
                        let on_the_way = || {
                            let c = watch.counters().tx;
                            c.frames_out.saturating_sub(got.load(Relaxed))
                        };
                        while on_the_way() > VETH_QUEUE / 2 && start.elapsed() < LIMIT {
                            thread::yield_now();
                        }
                    }
                    sending.fetch_sub(1, Relaxed);
                });
            }
            let take = |mut rx: RxRing| {
                let mut seen: HashMap<u16, Vec<u64>> = HashMap::new();
                let mut idle = Instant::now();
                loop {
                    let over = sending.load(Relaxed) == 0 && idle.elapsed() >= Duration::from_millis(200);
                    rx.sync().unwrap();
                    for f in rx.burst(u32::MAX) {
                        let (stream, seq) = identify(&whole(&f)).unwrap();
                        seen.entry(stream).or_default().push(seq);
                        got.fetch_add(1, Relaxed);
                        idle = Instant::now();
                    }
                    if over {
                        return seen; // with all that came before the look at the clock
                    }
                }
            };
            let threads: Vec<_> = receivers.into_iter().map(|rx| s.spawn(move || take(rx))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let mut total = 0;
        for stream in [0, 1] {
            let parts: Vec<&[u64]> = rings.iter().filter_map(|r| r.get(&stream)).map(Vec::as_slice).collect();
            assert!(
                parts.iter().all(|p| p.windows(2).all(|w| w[0] < w[1])),
                "a ring keeps the order of a sender"
            );
            let mut all = parts.concat();
            all.sort_unstable();
            assert!(all.windows(2).all(|w| w[0] != w[1]), "a frame arrived twice");
            total += all.len() as u64;
        }
        let (tx, rx) = (watch.counters().tx, b.counters().rx);
        assert_balanced(&tx);
        assert_balanced(&rx);
        assert_eq!(rx.frames_out, total, "{tx}; {rx}");
        // Before a packet socket lies the kernel's backlog (`netdev_max_backlog`), which loses frames of no port.
        let arrived = tx.frames_out == rx.frames_in || (kind == "packet" && rx.frames_in < tx.frames_out);
        assert!(arrived, "{tx}; {rx}");
        assert!(tx.frames_in >= 2 * N && total > N, "{tx}; {rx}");
    });
}

/// UDP to 10.0.0.2 from one of many ports, so that frames spread over queues.
fn udp(source: u16) -> Vec<u8> {
    let mut f = vec![0u8; 60];
    f[..6].fill(0x02);
    f[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 8, 0]);
    f[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    f[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    f[34..36].copy_from_slice(&source.to_be_bytes());
    f[36..40].copy_from_slice(&[0, 9, 0, 26]);
    f
}

#[test]
fn a_port_of_one_queue_leaves_the_others_to_the_host() {
    each_kind(|kind| {
        const N: u16 = 400;
        if kind == "packet" {
            return; // packet sockets leave all frames to the host
        }
        let Some(lab) = new_wide_pair(2) else { return };
        let mut one = open(&lab, &format!("{kind}:a0-1"));
        let (sender, mut host) =
            (RawSender::open(&lab, "a1").unwrap(), RawReceiver::open(&lab, "a0").unwrap());
        let mut seen = vec![0u32; N as usize];
        for port in 0..N {
            sender.send(&udp(port)).unwrap();
        }
        let (mut to_port, mut to_host) = (0, 0);
        let start = Instant::now();
        let number = |f: &[u8]| u16::from_be_bytes([f[34], f[35]]) as usize;
        while to_port + to_host < u32::from(N) && start.elapsed() < LIMIT {
            one.rx[0].sync().unwrap();
            for f in one.rx[0].burst(u32::MAX) {
                seen[number(f.bytes())] += 1;
                to_port += 1;
            }
            while let Some(f) = host.next(Duration::from_millis(1)).unwrap() {
                seen[number(&f)] += 1;
                to_host += 1;
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "{to_port} to the port, {to_host} to the host of {N}");
        assert!(to_port > 0 && to_host > 0, "{to_port} to the port, {to_host} to the host");
        let c = one.counters().rx;
        assert_eq!((c.frames_in, c.frames_out), (u64::from(to_port), u64::from(to_port)));
    });
}

#[test]
fn doorbells_ring_for_those_that_asked() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let [mut a, mut b] = open_ends(&lab, kind);
        let mut flow = Flow::new(1);
        for how in [Wait::Poll, Wait::Select, Wait::Epoll] {
            for whole_port in [true, false] {
                let what = format!("{how:?}, {}", if whole_port { "Port::fd" } else { "RxRing::fd" });
                let fd =
                    |b: &Port| if whole_port { b.as_fd().as_raw_fd() } else { b.rx[0].as_fd().as_raw_fd() };
                for count in [1, 20] {
                    // Not asked: a frame does not wake, where the doorbell is Ringway's own and not a socket.
                    flow.send(&mut a.tx[0], 60, count);
                    assert!(kind != "ebpf" || !readable(how, fd(&b), 50), "{what}: woken without asking");
                    flow.take_all(&mut b.rx[0], &a);
                    // Asked: nothing wakes before the frame, the frame does.
                    assert!(!b.rx[0].arm().unwrap(), "{what}");
                    assert!(!readable(how, fd(&b), 50), "{what}: woken by nothing");
                    let (from, flow) = (&mut a.tx[0], &mut flow);
                    thread::scope(|s| {
                        s.spawn(|| {
                            thread::sleep(Duration::from_millis(20));
                            flow.send(from, 60, count);
                        });
                        assert!(readable(how, fd(&b), 60_000), "{what}: not woken");
                    });
                    flow.take_all(&mut b.rx[0], &a);
                    assert!(!readable(how, fd(&b), 20), "{what}: a sync makes it quiet again");
                }
            }
        }
        flow.send(&mut a.tx[0], 60, 1);
        eventually("arm tells of frames that are there", || {
            if b.rx[0].arm().unwrap() { Ok(()) } else { Err("it does not".into()) }
        });
        assert!(kind != "ebpf" || b.counters().rx.wakeups >= 12, "{:?}", b.counters().rx);
    });
}

#[test]
fn an_idle_receiver_costs_no_cpu() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let [mut a, mut b] = open_ends(&lab, kind);
        let (stop, was_idle) = (AtomicBool::new(false), AtomicBool::new(false));
        let (cpu, wall, got) = thread::scope(|s| {
            let receiver = s.spawn(|| {
                let mut waiter = Waiter::new(Duration::from_micros(20)).unwrap();
                let (cpu, start) = (cpu_time(), Instant::now());
                while start.elapsed() < Duration::from_secs(1) {
                    assert!(!waiter.wait(&mut [&mut b.rx[0]], Duration::from_millis(250)).unwrap());
                }
                let used = (cpu_time() - cpu, start.elapsed());
                was_idle.store(true, Relaxed);
                let mut got = 0;
                while !stop.load(Relaxed) && start.elapsed() < LIMIT {
                    waiter.wait(&mut [&mut b.rx[0]], Duration::from_millis(250)).unwrap();
                    got += b.rx[0].burst(u32::MAX).count();
                    stop.store(got >= 10, Relaxed);
                }
                (used.0, used.1, got)
            });
            while !was_idle.load(Relaxed) && !receiver.is_finished() {
                thread::sleep(Duration::from_millis(5));
            }
            for k in 0..10 {
                assert!(a.tx[0].push(&frame(1, k, 60)));
                a.tx[0].sync().unwrap();
                thread::sleep(Duration::from_millis(2));
            }
            receiver.join().unwrap()
        });
        assert!(cpu.as_secs_f64() < 0.01 * wall.as_secs_f64(), "{cpu:?} of {wall:?}");
        assert_eq!(got, 10);
    });
}
