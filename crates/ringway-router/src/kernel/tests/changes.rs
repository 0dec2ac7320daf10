//! Tables that change while programs read them, and programs for tables of other sizes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use ringway_fib::{Limits, NextHop, Prefix4, Prefix6};
use ringway_fwd::control::{Adjacency, Family, Plane, Verdict};

use super::trial::Trial;
use super::{Made, in_namespace};
use crate::kernel::program::Identity;
use crate::kernel::{Cut, Interface, Outcome, Path, Spec};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn n(number: u16) -> NextHop {
    NextHop::new(number).unwrap()
}

/// A packet without ports to an address.
fn frame(to: [u8; 4]) -> Vec<u8> {
    let mut ip = [&[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0, 0, 10, 0, 0, 9][..], &to].concat();
    let sum = ringway_wire::checksum::of(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&MAC[..], &[0; 6], &[8, 0], &ip].concat()
}

fn frame6(to: u128) -> Vec<u8> {
    let ip = [&[0x60, 0, 0, 0, 0, 1, 59, 64][..], &[0x20; 16], &to.to_be_bytes(), &[7]].concat();
    [&MAC[..], &[0; 6], &[0x86, 0xdd], &ip].concat()
}

/// An entry whose link header says its number all over.
fn entry(egress: u32, number: u8, family: Family) -> Adjacency {
    Adjacency::incomplete(egress, 1500, None).ready([number & 0xfe; 6], [number; 6], family)
}

/// The address beside those that change keeps its way at any moment; memory is used again meanwhile. An entry that changes is never
/// seen half.
#[test]
fn a_program_never_sees_a_change_half_made() {
    const ROUNDS: u32 = 3000;
    in_namespace(|[lan, wan, _]| {
        // So little room that what is freed has to be used again.
        let small = Limits { words: 1 << 17 };
        let made = Made::new(&Spec { limits4: small, limits6: small, ..Spec::default() });
        let mut control = made.get().take_control().unwrap();
        for number in 1..=200 {
            control.adjacency(n(number), &entry(wan, number as u8, Family::V4));
        }
        control.adjacency(n(201), &entry(wan, 201, Family::V6));
        let four: Prefix4 = "10.1.2.0/25".parse().unwrap();
        let six: Prefix6 = "2001:db8:1:2::/64".parse().unwrap();
        control.routes4(&[(four, Some(n(7)))]).unwrap();
        control.routes6(&[(six, Some(n(201)))]).unwrap();
        control.heartbeat(true).unwrap();
        let trial = Trial::new(&control, Path::Xdp, lan, false, &[lan, wan]);
        trial.set(&Interface { mac: MAC, forwards4: true, forwards6: true, ..Interface::default() });
        let (stop, beaten) = (AtomicBool::new(false), AtomicU64::new(ringway::time::monotonic_ns()));
        control.heartbeat(true).unwrap();
        thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let (kept, kept6, changing) =
                    (frame([10, 1, 2, 3]), frame6(0x2001_0db8_0001_0002 << 64 | 5), frame([10, 9, 0, 1]));
                let mut looks = 0_u32;
                while !stop.load(Relaxed) || looks < 1000 {
                    // Tables run out of trust while the other thread stands still.
                    let beat = beaten.load(Relaxed);
                    let stale =
                        |verdict| verdict == 2 && ringway::time::monotonic_ns() - beat > 2_500_000_000;
                    let (verdict, left) = trial.run_only(&kept);
                    assert!(
                        stale(verdict) || verdict == 4 && left[..12] == [&[6; 6][..], &[7; 6]].concat(),
                        "{verdict} {left:02x?}"
                    );
                    let (verdict, left) = trial.run_only(&kept6);
                    assert!(
                        stale(verdict) || verdict == 4 && left[6..12] == [201; 6],
                        "{verdict} {left:02x?}"
                    );
                    let (verdict, left) = trial.run_only(&changing);
                    let number = left[6];
                    assert!(
                        verdict != 4 || left[..12] == [[number & 0xfe; 6], [number; 6]].concat(),
                        "{left:02x?}"
                    );
                    looks += 1;
                }
            });
            for round in 0..ROUNDS {
                let number = 1 + (round % 200) as u16;
                // Neighbours of the address that is looked up, longer and shorter prefixes, so that its forms are made anew.
                let beside: Vec<(Prefix4, _)> = (0..16)
                    .map(|i| {
                        (
                            format!("10.1.2.{}/32", 64 + (round * 7 + i * 3) % 64).parse().unwrap(),
                            (round % 3 > 0).then(|| n(number)),
                        )
                    })
                    .chain([(
                        format!("10.1.{}.0/24", round % 256).parse().unwrap(),
                        (round % 2 > 0).then(|| n(number)),
                    )])
                    .chain([("10.9.0.0/16".parse().unwrap(), Some(n(250)))])
                    .collect();
                control.routes4(&beside).unwrap();
                let beside: Vec<(Prefix6, _)> = (0..8)
                    .map(|i| {
                        (
                            format!("2001:db8:1:2:{:x}::/80", 1 + (round * 5 + i) % 200).parse().unwrap(),
                            (round % 3 > 0).then(|| n(201)),
                        )
                    })
                    .collect();
                control.routes6(&beside).unwrap();
                control.adjacency(
                    n(250),
                    &entry(if round % 5 == 0 { lan } else { wan }, (round % 250) as u8, Family::V4),
                );
                if round % 50 == 0 {
                    control.settle().unwrap();
                    let now = ringway::time::monotonic_ns();
                    control.heartbeat(true).unwrap();
                    beaten.store(now, Relaxed); // behind it: never newer than the beat
                }
                assert!(!looking.is_finished(), "a packet took a wrong way");
            }
            stop.store(true, Relaxed);
        });
        control.settle().unwrap();
        let (four, six) = control.usage();
        assert_eq!((four.waiting, six.waiting), (0, 0));
    });
}

/// An entry that is written all the time is seen as it was at one moment, or the packet is the host's.
#[test]
fn an_entry_is_never_seen_half() {
    in_namespace(|[lan, wan, _]| {
        let made = Made::new(&Spec::default());
        let mut control = made.get().take_control().unwrap();
        control.routes4(&[("10.9.0.0/16".parse().unwrap(), Some(n(250)))]).unwrap();
        control.adjacency(n(250), &entry(wan, 1, Family::V4));
        control.heartbeat(true).unwrap();
        let trial = Trial::new(&control, Path::Xdp, lan, false, &[lan, wan]);
        trial.set(&Interface { mac: MAC, forwards4: true, ..Interface::default() });
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut seen = std::collections::BTreeSet::new();
                for turn in 0..5_000_000 {
                    // on a busy machine both threads may share a processor for long
                    if turn >= 50_000 && seen.len() > 50 {
                        break;
                    }
                    let (verdict, left) = trial.run_only(&frame([10, 9, 0, 1]));
                    let number = left[6];
                    let whole = left[..12] == [[number & 0xfe; 6], [number; 6]].concat();
                    assert!(whole || verdict == 2, "{verdict} {left:02x?}");
                    seen.insert((verdict == 4).then_some(number));
                }
                stop.store(true, Relaxed);
                seen
            });
            for round in 0_u32.. {
                for number in 0..250 {
                    control.adjacency(
                        n(250),
                        &entry(if number % 5 == 0 { lan } else { wan }, number, Family::V4),
                    );
                }
                if round % 1000 == 0 {
                    control.heartbeat(true).unwrap();
                }
                if stop.load(Relaxed) || looking.is_finished() {
                    break;
                }
            }
            let seen = looking.join().unwrap();
            assert!(seen.len() > 50, "{seen:?}");
        });
    });
}

/// What programs may still look at is kept until they have been waited for, however much it is.
#[test]
fn nothing_is_used_again_before_programs_left() {
    in_namespace(|_| {
        let made = Made::new(&Spec::default());
        let mut control = made.get().take_control().unwrap();
        control.routes4(&[("10.1.2.0/25".parse().unwrap(), Some(n(7)))]).unwrap();
        control.routes6(&[("2001:db8::/32".parse().unwrap(), Some(n(7)))]).unwrap();
        for round in 0..5000_u32 {
            let next_hop = (round % 2 > 0).then(|| n(8));
            let host = format!("10.1.{}.{}/32", round % 256, 2 * (round / 256));
            control.routes4(&[(host.parse().unwrap(), Some(n(8)))]).unwrap();
            control.routes6(&[("2001:db8::7:0/112".parse().unwrap(), next_hop)]).unwrap();
        }
        let (four, six) = control.usage();
        assert!(four.waiting > 4900 && six.waiting >= 5000, "{} {}", four.waiting, six.waiting);
        control.settle().unwrap();
        let (four, six) = control.usage();
        assert_eq!((four.waiting, six.waiting), (0, 0));
    });
}

/// The verifier takes programs for tables of the smallest and the largest sizes, and with each cut.
#[test]
fn programs_load_for_tables_of_all_sizes() {
    in_namespace(|[lan, wan, _]| {
        let sizes = [(32, 1), (1 << 25, 1 << 12)].map(|(words, groups)| Spec {
            limits4: Limits { words },
            limits6: Limits { words },
            groups,
            ..Spec::default()
        });
        for spec in sizes {
            let made = Made::new(&spec);
            let mut control = made.get().take_control().unwrap();
            control.adjacency(n(9), &entry(wan, 9, Family::V4));
            control.routes4(&[("0.0.0.0/0".parse().unwrap(), Some(n(9)))]).unwrap();
            control.adjacency(n(1), &Adjacency::plain(Verdict::Local));
            control.routes6(&[("::/0".parse().unwrap(), Some(n(1)))]).unwrap();
            control.heartbeat(true).unwrap();
            for software in [false, true] {
                let mut trial = Trial::new(&control, Path::Xdp, lan, software, &[lan, wan]);
                trial.set(&Interface { mac: MAC, forwards4: true, forwards6: true, ..Interface::default() });
                control.heartbeat(true).unwrap(); // loading takes its time
                assert_eq!(trial.run(&frame([1, 2, 3, 4])).0, Outcome::Forwarded);
                assert_eq!(trial.run(&frame6(0x2001 << 112)).0, Outcome::Local);
            }
            for cut in [Cut::Received, Cut::Checked, Cut::Found, Cut::Written] {
                let trial = {
                    let of = Identity { index: lan, cut, ..Identity::default() };
                    Trial::of(&control, Path::Xdp, of, (&[lan, wan], &[]))
                };
                trial.set(&Interface { mac: MAC, forwards4: true, ..Interface::default() });
                control.heartbeat(true).unwrap();
                assert_eq!(trial.run_only(&frame([1, 2, 3, 4])).0, 1, "{cut:?}");
            }
        }
    });
}
