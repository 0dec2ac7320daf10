//! Single frames through ports of each kind: all lengths at all MTUs, and VLAN tags. Needs root; says so and passes
//! without.
//!
//! Objective: a frame arrives with all its bytes or is refused by name at the sender, never cut; tags stay in the bytes,
//! to and from the host stack.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeMap;
use std::time::Instant;

use ringway::{DropReason, Port};
use ringway_lab::raw::{RawReceiver, RawSender};

use support::whole;
use support::{
    LIMIT, Random, assert_balanced, assert_connected, each_kind, eventually, new_pair, open, open_ends,
};

const LENGTHS: [usize; 18] =
    [0, 1, 13, 14, 59, 60, 61, 1514, 1515, 2048, 2049, 2112, 2113, 4096, 9000, 9216, 9230, 65_535];

/// Bytes that no other frame of this test has.
fn bytes(number: u64, len: usize) -> Vec<u8> {
    let mut random = Random(number);
    let mut f: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).collect();
    f.truncate(len);
    // Unicast, and of no protocol that a host stack would answer.
    f.iter_mut().take(1).for_each(|b| *b &= 0xfe);
    f.iter_mut().skip(12).take(2).for_each(|b| *b = 0x88);
    f
}

/// What was received so far and is not in `seen` yet, in order.
fn take(port: &mut Port, seen: &mut Vec<Vec<u8>>) {
    for rx in &mut port.rx {
        rx.sync().unwrap();
        seen.extend(rx.burst(u32::MAX).map(|f| whole(&f)));
    }
}

/// Sends `count` frames of `len` bytes from `a` to `b`, all in one burst; the reason when they were refused.
fn exchange(a: &mut Port, b: &mut Port, number: &mut u64, len: usize, count: u64) -> Option<DropReason> {
    let before = a.counters().tx;
    let sent: Vec<Vec<u8>> = (0..count).map(|k| bytes(*number + k, len)).collect();
    *number += count;
    sent.iter().for_each(|f| assert!(a.tx[0].push(f), "{len} bytes fit the ring"));
    let start = Instant::now();
    while a.tx[0].pending() > 0 {
        a.tx[0].sync().unwrap();
        assert!(start.elapsed() < LIMIT, "{len} bytes, {count} times, are not taken: {}", a.counters().tx);
    }
    let after = a.counters().tx;
    assert_balanced(&after);
    assert_eq!(after.frames_in, before.frames_in + count, "{len} bytes: {after}");
    let reasons: Vec<_> = after.reasons().filter(|&(why, n)| n > before.drops(why)).collect();
    let mut got = Vec::new();
    let expected = (after.frames_out - before.frames_out) as usize;
    while got.len() < expected {
        take(b, &mut got);
        assert!(
            start.elapsed() < LIMIT,
            "{len} bytes, {count} times, left and did not arrive: {}",
            b.counters().rx
        );
    }
    take(b, &mut got);
    match reasons[..] {
        [] => assert!(got == sent, "{len} bytes, {count} times, arrived changed"),
        [(why, n)] => {
            assert_eq!((n - before.drops(why), got.len()), (count, 0), "{len} bytes: {after}");
            return Some(why);
        }
        _ => panic!("{len} bytes: frames of one length have one fate: {after}"),
    }
    None
}

#[test]
fn all_lengths_arrive_whole_or_are_refused_by_name() {
    each_kind(|kind| {
        for mtu in [1500, 9216, 65_535] {
            let Some(lab) = new_pair() else { return };
            lab.set_mtu(["a0", "a1"], mtu).unwrap();
            let [mut a, mut b] = open_ends(&lab, kind);
            let longest = a.info().max_frame as usize;
            let at_least = (mtu as usize + 14).min(9230);
            assert!(longest >= at_least, "MTU {mtu}: frames of {longest} bytes at most");
            let (mut number, mut refused) = (0, BTreeMap::new());
            for burst in [1, 3, 20] {
                for len in LENGTHS {
                    if let Some(why) = exchange(&mut a, &mut b, &mut number, len, burst) {
                        refused.entry(len).or_insert(why);
                    }
                    assert!(
                        !(14..=at_least).contains(&len) || !refused.contains_key(&len),
                        "MTU {mtu}: {refused:?}"
                    );
                }
            }
            eprintln!("{kind}, MTU {mtu}, frames up to {longest}: {refused:?}");
            for (&len, why) in &refused {
                let named: &[DropReason] = match len {
                    ..14 => &[DropReason::TooShort],
                    _ => &[DropReason::TooLong, DropReason::DeviceRefused],
                };
                assert!(named.contains(why), "MTU {mtu}: {len} bytes refused as {why:?}");
            }
            assert_connected(&a, &b);
            assert_connected(&b, &a);
        }
    });
}

/// What the host at the other end sends, and what it receives.
#[test]
fn lengths_from_and_to_a_host() {
    each_kind(|kind| {
        for mtu in [1500, 9216, 65_535] {
            let Some(lab) = new_pair() else { return };
            lab.set_mtu(["a0", "a1"], mtu).unwrap();
            let mut port = open(&lab, &format!("{kind}:a0"));
            let sender = RawSender::open(&lab, "a1").unwrap();
            let mut host = RawReceiver::open(&lab, "a1").unwrap();
            let (mut received, mut refused) = (0, 0);
            for (len, number) in LENGTHS.into_iter().zip(1..) {
                let f = bytes(number, len);
                // The kernel refuses these itself.
                if sender.send(&f).is_ok() {
                    received += 1;
                    let mut got = Vec::new();
                    eventually("it arrives or is dropped by name", || {
                        take(&mut port, &mut got);
                        let c = port.counters().rx;
                        if c.frames_in == received {
                            Ok(())
                        } else {
                            Err(format!("MTU {mtu}: {len} bytes: {c}"))
                        }
                    });
                    take(&mut port, &mut got);
                    match &got[..] {
                        [] => {
                            refused += 1;
                            eprintln!("{kind}, MTU {mtu}: {len} bytes from the host: {}", port.counters().rx);
                        }
                        got => assert!(*got == [f.clone()], "MTU {mtu}: {len} bytes arrived changed"),
                    }
                }
                let out = port.counters().tx.frames_out;
                assert!(port.tx[0].push(&f));
                port.tx[0].sync().unwrap();
                if port.counters().tx.frames_out > out {
                    assert_eq!(host.next(LIMIT).unwrap(), Some(f), "MTU {mtu}: {len} bytes to the host");
                }
            }
            let c = port.counters();
            assert_balanced(&c.rx);
            assert_balanced(&c.tx);
            assert_eq!(c.rx.dropped(), refused, "{}", c.rx);
            assert!(c.tx.frames_out >= 5 && c.rx.frames_out >= 5, "{}; {}", c.rx, c.tx);
        }
    });
}

/// A customer's tag, priority 5, and a provider's tag before it.
const TAGS: [[u8; 4]; 2] = [[0x88, 0xa8, 0x00, 0x05], [0x81, 0x00, 0xa0, 0x64]];

fn tagged(number: u64, len: usize, tags: &[[u8; 4]]) -> Vec<u8> {
    let mut f = bytes(number, len);
    f.splice(12..12, tags.iter().flatten().copied());
    f
}

#[test]
fn tags_stay_in_the_bytes() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let mut port = open(&lab, &format!("{kind}:a0"));
        let sender = RawSender::open(&lab, "a1").unwrap();
        let mut host = RawReceiver::open(&lab, "a1").unwrap();
        let mut cases = Vec::new();
        for tags in [&TAGS[1..], &TAGS[..1], &TAGS] {
            // A host stack drops a tagged frame without two bytes behind the type.
            for len in [16, 46, 60, 1000, 1506, 1510, 1514] {
                let f = tagged(cases.len() as u64, len, tags);
                // The host's socket takes bytes beyond the MTU for one tag, and of this type only.
                cases.extend((f.len() <= if tags == [TAGS[1]] { 1518 } else { 1514 }).then_some(f));
            }
        }
        for f in &cases {
            let what = format!("{} bytes, {:02x?}", f.len(), &f[12..f.len().min(20)]);
            sender.send(f).unwrap();
            let mut got = Vec::new();
            eventually("it arrives", || {
                take(&mut port, &mut got);
                if got.is_empty() { Err(format!("{what}: {}", port.counters().rx)) } else { Ok(()) }
            });
            assert_eq!(got, std::slice::from_ref(f), "{kind}: {what} from the host");
            assert!(port.tx[0].push(f));
            port.tx[0].sync().unwrap();
            assert_eq!(host.next(LIMIT).unwrap().as_ref(), Some(f), "{kind}: {what} to the host");
        }
        let c = port.counters();
        let all = cases.len() as u64;
        assert_eq!((c.rx.frames_in, c.rx.frames_out, c.tx.frames_out), (all, all, all), "{}; {}", c.rx, c.tx);
        drop(port);
        // And between two ports, in bursts of both sizes.
        let [mut a, mut b] = open_ends(&lab, kind);
        for burst in [1, 40] {
            for f in &cases {
                (0..burst).for_each(|_| assert!(a.tx[0].push(f)));
                let mut got = Vec::new();
                eventually("they arrive", || {
                    a.tx[0].sync().unwrap();
                    take(&mut b, &mut got);
                    if got.len() == burst { Ok(()) } else { Err(format!("{} of {burst}", got.len())) }
                });
                assert!(got.iter().all(|g| g == f), "{kind}: {} bytes between ports", f.len());
            }
        }
        assert_connected(&a, &b);
    });
}
