//! What a switch makes of frames: lengths, chains, flags, full rings, ages. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod switch;

use std::thread;
use std::time::{Duration, Instant};

use ringway::layout::{NS_INDIRECT, NS_NO_LEARN, NS_PORT_SHIFT};
use ringway::switch::SwitchSpec;
use ringway::{DropReason, Port};
use ringway_wire::MacAddr;

use switch::{Temporary, assert_closed, frame, push_parts, receive, send};

const BUF: usize = 2112;

/// A frame whose bytes tell its number and their places.
fn numbered(to: u8, from: u8, len: usize, n: usize) -> Vec<u8> {
    let mut f = frame(to, from, len.max(14), 0);
    (12..f.len()).for_each(|i| f[i] = (n * 31 + i * 7 + i / 256) as u8);
    f.truncate(len);
    f
}

/// Has the switch learn where stations 1 to N are: on ports 1 to N.
fn learn<const N: usize>(ports: &mut [Port; N]) {
    for (i, p) in ports.iter_mut().enumerate() {
        send(p, &[frame(0, i as u8 + 1, 60, 0)]);
    }
    ports.iter_mut().for_each(|p| _ = receive(p));
}

fn drops(port: &Port, why: DropReason) -> [u64; 2] {
    let c = port.counters();
    [c.tx.drops(why), c.rx.drops(why)]
}

#[test]
fn frames_of_all_lengths() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut ports @ [_, _] = switch.ports();
    learn(&mut ports);
    let [mut a, mut b] = ports;
    for (n, len) in [0, 1, 13].into_iter().enumerate() {
        send(&mut a, &[numbered(2, 1, len, n)]);
        assert!(receive(&mut b).is_empty(), "{len} bytes");
        assert_eq!(drops(&a, DropReason::TooShort), [n as u64 + 1, 0]);
    }
    let edges = [59, 60, 61, 1514, 1515, 2111, 2112, 2113, 4224, 4225, 9000, 9216, 65535];
    for len in (14..=130).chain(edges) {
        let f = numbered(2, 1, len, len);
        send(&mut a, std::slice::from_ref(&f));
        assert_eq!(receive(&mut b), [f], "{len} bytes");
    }
    let burst: Vec<_> = edges.iter().take(12).map(|&len| numbered(2, 1, len, len + 1)).collect();
    send(&mut a, &burst);
    assert_eq!(receive(&mut b), burst);
    assert_closed(&switch);
}

#[test]
fn frames_of_all_lengths_over_small_buffers() {
    for buf_size in [256, 320, 1024] {
        let spec = SwitchSpec { slots: 64, buf_size, ..SwitchSpec::default() };
        let Some(switch) = Temporary::new(&spec) else { return };
        let mut ports @ [_, _] = switch.ports();
        learn(&mut ports);
        let [mut a, mut b] = ports;
        let size = buf_size as usize;
        let edges = [60, size - 1, size, size + 1, 1514, 2 * size, 2112, 2113, 9000, 31 * size, 63 * size];
        for len in (14..=130).chain(edges) {
            let f = numbered(2, 1, len, len);
            send(&mut a, std::slice::from_ref(&f));
            assert_eq!(receive(&mut b), [f], "{len} bytes in buffers of {buf_size}");
        }
        assert_eq!(switch.spec(), spec);
        assert_closed(&switch);
    }
}

#[test]
fn chains_at_their_bounds() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut ports @ [_, _, _] = switch.ports();
    learn(&mut ports);
    let [mut a, mut b, mut c] = ports;
    let good = numbered(2, 1, 60, 1);
    // What is sent between two good frames, and why it is lost; `None`: it arrives.
    let cases: [(&[usize], Option<DropReason>); 10] = [
        (&[1000; 64], None),
        (&[100; 65], Some(DropReason::BadSlot)),
        (&[100; 200], Some(DropReason::BadSlot)),
        (&[13, 100], Some(DropReason::TooShort)),
        (&[0, 100], Some(DropReason::TooShort)),
        (&[14, 0, 1, 0], None),
        (&[14, 0], None),
        (&[BUF; 31], None),
        (&[BUF; 32], Some(DropReason::TooLong)),
        (&[BUF; 64], Some(DropReason::TooLong)),
    ];
    for (parts, why) in cases {
        let before = why.map_or(0, |w| drops(&a, w)[0]);
        let f = numbered(2, 1, parts.iter().sum(), parts.len());
        push_parts(&mut a, &[60], &good, 0);
        push_parts(&mut a, parts, &f, 0);
        send(&mut a, std::slice::from_ref(&good));
        let want = if why.is_some() {
            vec![good.clone(), good.clone()]
        } else {
            vec![good.clone(), f, good.clone()]
        };
        assert!(receive(&mut b) == want, "{} parts of {}: {:?}", parts.len(), parts[0], why);
        assert_eq!(why.map_or(0, |w| drops(&a, w)[0]), before + u64::from(why.is_some()), "{why:?}");
        // Of a frame to all nothing is left in the lists of the receivers either.
        push_parts(&mut a, parts, &numbered(0, 1, parts.iter().sum(), 3), 0);
        send(&mut a, &[]);
        let n = usize::from(why.is_none());
        assert_eq!([receive(&mut b).len(), receive(&mut c).len()], [n, n], "{why:?}");
    }
    assert_eq!(switch.fdb().len(), 3);
    assert_closed(&switch);
}

#[test]
fn a_frame_without_end_is_dropped_at_head() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut ports @ [_, _] = switch.ports();
    learn(&mut ports);
    let [mut a, mut b] = ports;
    let f = numbered(2, 1, 200, 1);
    push_parts(&mut a, &[100, 100], &f, ringway::layout::NS_MOREFRAG);
    send(&mut a, &[]);
    assert!(receive(&mut b).is_empty());
    assert_eq!(drops(&a, DropReason::BadSlot), [1, 0]);
    send(&mut a, std::slice::from_ref(&f));
    assert_eq!(receive(&mut b), [f]);
    assert_closed(&switch);
}

#[test]
fn chains_over_the_ends_of_rings_and_bursts() {
    for slots in [64, 2048, 4096] {
        let Some(switch) = Temporary::new(&SwitchSpec { slots, ..SwitchSpec::default() }) else { return };
        let mut ports @ [_, _] = switch.ports();
        learn(&mut ports);
        let [mut a, mut b] = ports;
        let mut n = 0;
        // So many slots a frame that bursts and rings end within frames.
        for round in 0..12 {
            let mut sent = Vec::new();
            while a.tx[0].free() >= 7 {
                let parts = 1 + (n % 7);
                let f = numbered(2, 1, 20 * parts, n);
                push_parts(&mut a, &vec![20; parts], &f, 0);
                sent.push(f);
                n += 1;
            }
            send(&mut a, &[]);
            assert!(receive(&mut b) == sent, "{slots} slots, round {round}");
        }
        assert_eq!(a.counters().tx.dropped() + b.counters().rx.dropped(), 0);
        assert_closed(&switch);
    }
}

/// Longer than any burst, so that no run could take it whole.
#[test]
fn a_chain_longer_than_a_burst_does_not_stop_the_ring() {
    let Some(switch) = Temporary::new(&SwitchSpec { slots: 4096, ..SwitchSpec::default() }) else { return };
    let mut ports @ [_, _] = switch.ports();
    learn(&mut ports);
    let [mut a, mut b] = ports;
    push_parts(&mut a, &vec![15; 3000], &numbered(2, 1, 45000, 1), 0);
    send(&mut a, &[]);
    assert_eq!(a.tx[0].pending(), 0);
    assert!(drops(&a, DropReason::BadSlot)[0] >= 1);
    let f = numbered(2, 1, 60, 2);
    send(&mut a, std::slice::from_ref(&f));
    assert_eq!(receive(&mut b).last(), Some(&f));
    assert_closed(&switch);
}

#[test]
fn flags_of_slots() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b, mut c] = switch.ports();
    let f = frame(0, 1, 60, 1);
    push_parts(&mut a, &[60], &f, NS_NO_LEARN);
    send(&mut a, &[]);
    assert_eq!([receive(&mut b).len(), receive(&mut c).len()], [1, 1]);
    assert!(switch.fdb().is_empty());
    // To all though the address is known, to one though it is for all, to a port that is not there, to the sender.
    send(&mut b, &[frame(0, 2, 60, 1)]);
    [&mut a, &mut c].into_iter().for_each(|p| _ = receive(p));
    for (to, port, b_gets, c_gets) in
        [(2, 255, 1, 1), (0, 3, 0, 1), (2, 3, 0, 1), (2, 77, 0, 0), (2, 1, 0, 0)]
    {
        push_parts(&mut a, &[30, 30], &frame(to, 1, 60, 1), port << NS_PORT_SHIFT);
        push_parts(&mut a, &[60], &frame(to, 1, 60, 1), port << NS_PORT_SHIFT);
        send(&mut a, &[frame(2, 1, 60, 9)]);
        let got = [receive(&mut b).len(), receive(&mut c).len()];
        assert_eq!(got, [2 * b_gets + 1, 2 * c_gets], "to {to}, by force to {port}");
    }
    assert_eq!(drops(&a, DropReason::NoDestination), [2, 0]);
    assert_eq!(drops(&a, DropReason::SamePort), [2, 0]);
    push_parts(&mut a, &[60], &f, NS_INDIRECT);
    send(&mut a, &[]);
    assert_eq!(drops(&a, DropReason::BadSlot), [1, 0]);
    assert!(receive(&mut b).is_empty());
    assert_closed(&switch);
}

fn mac(n: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, n])
}

#[test]
fn addresses_set_by_hand() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b, mut c] = switch.ports();
    switch.fdb_set(mac(9), 0, Some("p3")).unwrap();
    switch.fdb_set(mac(8), 0, None).unwrap();
    // Frames from elsewhere do not move it.
    send(&mut b, &[frame(1, 9, 60, 1)]);
    [&mut a, &mut c].into_iter().for_each(|p| _ = receive(p));
    send(&mut a, &[frame(9, 1, 60, 2), frame(8, 1, 60, 3)]);
    assert_eq!([receive(&mut b).len(), receive(&mut c).len()], [0, 1]);
    assert_eq!(drops(&a, DropReason::Blackhole), [1, 0]);
    let set: Vec<_> = switch.fdb().iter().filter(|e| e.age.is_none()).map(|e| (e.mac, e.port)).collect();
    assert_eq!(set, [(mac(8), None), (mac(9), Some(3))]);
    assert_eq!(switch.fdb_flush(), 1);
    assert_eq!(switch.fdb().len(), 2);
    assert!(switch.fdb_del(mac(8), 0) && !switch.fdb_del(mac(8), 0));
    send(&mut a, &[frame(8, 1, 60, 3)]);
    assert_eq!([receive(&mut b).len(), receive(&mut c).len()], [1, 1]);
    assert!(switch.fdb_set(MacAddr([1; 6]), 0, None).is_err());
    assert!(switch.fdb_set(mac(1), 4096, None).is_err());
    assert!(switch.fdb_set(mac(1), 0, Some("p9")).is_err());
    assert_closed(&switch);
}

#[test]
fn addresses_age() {
    let spec = SwitchSpec { ageing: Duration::from_millis(100), ..SwitchSpec::default() };
    let Some(switch) = Temporary::new(&spec) else { return };
    let mut ports @ [_, _, _] = switch.ports();
    learn(&mut ports);
    let [mut a, mut b, mut c] = ports;
    let start = Instant::now();
    // Longer than the 256 units of time after which the table's count comes round, more than once; b speaks, c does not.
    let mut looks = 0;
    while start.elapsed() < Duration::from_millis(1800) || looks < 20 {
        let spoke = Instant::now();
        send(&mut b, &[frame(2, 2, 60, 1)]);
        if start.elapsed() > Duration::from_millis(150) {
            let known: Vec<_> = switch.fdb().iter().map(|e| e.mac).collect();
            // Else the machine stood still, and b's has aged as well.
            if spoke.elapsed() < Duration::from_millis(80) {
                assert_eq!(known, [mac(2)], "after {:?}", start.elapsed());
                looks += 1;
            }
            send(&mut a, &[frame(3, 1, 60, 2)]);
            assert_eq!([receive(&mut b).len(), receive(&mut c).len()], [1, 1], "after {:?}", start.elapsed());
            assert!(switch.fdb_del(mac(1), 0));
        }
        thread::sleep(Duration::from_millis(5));
    }
    send(&mut b, &[frame(2, 2, 60, 1)]); // clears what is old
    assert_eq!(switch.stats().iter().map(|s| s.addresses).sum::<u32>(), 1);
    // A pause after which the count has come round just once.
    thread::sleep(Duration::from_millis(805));
    assert_eq!(switch.fdb(), []);
    send(&mut a, &[frame(2, 1, 60, 2)]);
    assert_eq!([receive(&mut b).len(), receive(&mut c).len()], [1, 1]);
    assert_closed(&switch);
}

#[test]
fn a_port_learns_no_more_than_its_quota() {
    let Some(switch) = Temporary::new(&SwitchSpec { quota: 5, ..SwitchSpec::default() }) else { return };
    let [mut a, mut b] = switch.ports();
    send(&mut b, &(101..=104).map(|n| frame(0, n, 60, 0)).collect::<Vec<_>>());
    send(&mut a, &(1..=50).chain(101..=104).map(|n| frame(0, n, 60, 0)).collect::<Vec<_>>());
    let stats = assert_closed(&switch);
    assert_eq!([stats[0].addresses, stats[1].addresses], [5, 4]);
    assert_eq!(stats[0].unlearned, 49);
    // Addresses move to a port that has room.
    send(&mut b, &[frame(0, 1, 60, 0)]);
    let on = |n| switch.fdb().iter().find(|e| e.mac == mac(n)).and_then(|e| e.port);
    assert_eq!(on(1), Some(2));
    send(&mut b, &[frame(0, 2, 60, 0)]);
    assert_eq!(on(2), Some(1), "b has its five");
    assert_eq!(switch.stats()[1].addresses, 5);
}

fn from_mac(to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
    [&to[..], &from, &[0; 48]].concat()
}

/// Machines of one kind have addresses in a row; they must not meet in a few buckets.
#[test]
fn addresses_in_a_row_find_places() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b] = switch.ports();
    for at in 2..6 {
        let row: Vec<_> = (0..=255)
            .map(|n| {
                let mut mac = [2, 1, 1, 1, 1, 1];
                mac[at] = n;
                from_mac([0xff; 6], mac)
            })
            .collect();
        send(&mut a, &row);
        receive(&mut b);
    }
    // A port has 6 places of a bucket: with one key of some thousands, 7 addresses meet.
    let known = switch.fdb().len();
    assert!((4 * 255 - 3..=4 * 255 + 1).contains(&known), "{known}");
    assert_eq!(switch.stats()[0].unlearned, 0);
}

#[test]
fn frames_to_one_and_to_all_keep_their_order() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut ports: [Port; 9] = switch.ports();
    learn(&mut ports);
    let [a, receivers @ ..] = &mut ports;
    for round in 0..20 {
        let sent: Vec<_> = (0..300u32)
            .map(|n| {
                let to = (n.wrapping_mul(2_654_435_761) >> 7) % 12;
                let to = if to < 8 { to as u8 + 2 } else { 0 };
                numbered(to, 1, [60, 61, 5000][n as usize % 3 * usize::from(n % 17 == 0)], n as usize)
            })
            .collect();
        send(a, &sent);
        for (k, r) in receivers.iter_mut().enumerate() {
            let mine: Vec<_> = sent.iter().filter(|f| f[0] == 0xff || f[5] == k as u8 + 2).cloned().collect();
            assert!(receive(r) == mine, "port {k}, round {round}");
        }
    }
    let stats = assert_closed(&switch);
    assert_eq!(stats[0].counters.tx.dropped(), 0);
}

#[test]
fn a_full_receiver_loses_whole_frames_and_holds_up_nobody() {
    let Some(switch) = Temporary::new(&SwitchSpec { slots: 64, ..SwitchSpec::default() }) else { return };
    let mut ports @ [_, _, _] = switch.ports();
    learn(&mut ports);
    let [mut a, mut b, mut c] = ports;
    // 60 slots, then frames of 3: one more fits, then none; but frames of one slot that follow do not overtake.
    let fill: Vec<_> = (0..60).map(|n| numbered(2, 1, 60, n)).collect();
    send(&mut a, &fill);
    let long: Vec<_> = (0..10).map(|n| numbered(2, 1, 2 * BUF + 1, n)).collect();
    for f in &long {
        push_parts(&mut a, &[BUF, BUF, 1], f, 0);
        push_parts(&mut a, &[60], &numbered(0, 1, 60, 7), 0);
        a.tx[0].sync().unwrap();
        assert_eq!(a.tx[0].pending(), 0, "a sender never waits for a receiver");
    }
    let mut want = fill;
    want.push(long[0].clone());
    assert!(receive(&mut b) == want, "whole frames only, in order");
    assert_eq!(receive(&mut c).len(), 10, "another receiver has them all");
    assert_eq!(drops(&a, DropReason::ReceiverFull), [9, 0], "frames to all went out, if only to one");
    assert_eq!(drops(&b, DropReason::RingFull), [0, 19]);
    // Afterwards there is room again.
    for _ in 0..5 {
        let more: Vec<_> = (0..63).map(|n| numbered(2, 1, 60, n)).collect();
        receive(&mut b);
        send(&mut a, &more);
        assert!(receive(&mut b) == more);
    }
    // Both full: frames to all are lost by the name of a full receiver.
    let flood: Vec<_> = (0..63).map(|n| numbered(0, 1, 60, n)).collect();
    send(&mut a, &flood);
    let before = drops(&a, DropReason::ReceiverFull)[0];
    send(&mut a, &flood[..7]);
    assert_eq!(drops(&a, DropReason::ReceiverFull)[0], before + 7);
    assert_closed(&switch);
}

#[test]
fn rings_of_a_port_are_apart() {
    let Some(switch) = Temporary::new(&SwitchSpec { rings: 4, ..SwitchSpec::default() }) else { return };
    let mut ports @ [_, _] = switch.ports();
    learn(&mut ports);
    let [mut a, mut b] = ports;
    for ring in 0..4usize {
        for n in 0..=ring {
            assert!(a.tx[ring].push(&numbered(2, 1, 60, ring * 10 + n)));
        }
        a.tx[ring].sync().unwrap();
    }
    for ring in 0..4usize {
        b.rx[ring].sync().unwrap();
        let got: Vec<_> = b.rx[ring].burst(u32::MAX).map(|f| f.bytes().to_vec()).collect();
        let want: Vec<_> = (0..=ring).map(|n| numbered(2, 1, 60, ring * 10 + n)).collect();
        assert_eq!(got, want, "ring {ring}");
    }
    assert_closed(&switch);
}

/// The program loads, and works, for the smallest and largest rings that a switch may have.
#[test]
fn all_shapes_load() {
    for (slots, rings) in [(64, 1), (64, 8), (4096, 1), (4096, 8)] {
        let Some(switch) = Temporary::new(&SwitchSpec { slots, rings, ..SwitchSpec::default() }) else {
            return;
        };
        let mut ports @ [_, _] = switch.ports();
        learn(&mut ports);
        let [mut a, mut b] = ports;
        let last = rings as usize - 1;
        for n in 0..3 * slots as usize {
            let f = numbered(2, 1, 60, n);
            assert!(a.tx[last].push(&f));
            if n % 50 == 49 {
                a.tx[last].sync().unwrap();
                assert_eq!(b.rx[last].sync().unwrap(), 50);
                b.rx[last].burst(u32::MAX).for_each(drop);
                b.rx[last].sync().unwrap();
            }
        }
        assert_closed(&switch);
    }
    for (slots, rings) in [(32, 1), (8192, 1), (100, 1), (64, 0), (64, 9)] {
        let spec = SwitchSpec { slots, rings, ..SwitchSpec::default() };
        assert!(
            ringway::switch::Switch::create("vale-shape", &spec).is_err(),
            "{slots} slots, {rings} rings"
        );
    }
}
