//! Super-frames, which only programs at traffic control get: forwarded whole, counted as what they stand for.

use super::rules::{Bed, v4, v6};
use super::{Path, in_namespace};
use crate::kernel::Outcome::{self, *};
use crate::kernel::{Kind, Spec};

/// Bytes of `struct __sk_buff`, and where `gso_segs` and `gso_size` are (linux/bpf.h).
const SK_BUFF: usize = 192;
const GSO_SEGS: usize = 164;
const GSO_SIZE: usize = 176;

/// A context that tells of segments.
pub(super) fn gso(segments: u32, size: u32) -> Vec<u8> {
    let mut context = vec![0; SK_BUFF];
    for (at, value) in [(GSO_SEGS, segments), (GSO_SIZE, size)] {
        context[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    context
}

/// A packet of TCP with that many bytes of payload; the length in its header is right, or 0.
pub(super) fn tcp4(payload: u16, said: bool) -> Vec<u8> {
    v4("10.1.0.9", "10.0.0.1", |ip| {
        ip.resize(40 + usize::from(payload), 0x77);
        let len = if said { 40 + payload } else { 0 };
        ip[2..4].copy_from_slice(&len.to_be_bytes());
        (ip[9], ip[32]) = (6, 0x50);
    })
}

/// What became of a super-frame, by how many frames it was counted.
fn run(bed: &mut Bed, frame: &[u8], segments: u32, size: u32) -> (Outcome, usize) {
    bed.control.heartbeat(true).unwrap();
    let (verdict, left) = bed.trial.run_with(frame, &mut gso(segments, size));
    let found = bed.trial.all_counted();
    assert!(found.iter().all(|outcome| *outcome == found[0]), "{found:?}");
    assert_eq!(verdict, bed.trial.verdict(found[0].kind()), "{:?}", found[0]);
    assert_eq!(left.len(), frame.len(), "whole");
    assert_eq!(left == frame, found[0].kind() != Kind::Forwarded);
    (found[0], found.len())
}

#[test]
fn segments_are_what_has_to_fit() {
    in_namespace(|links| {
        let mut bed = Bed::new(Path::Tc, links, &Spec::default());
        // 40 bytes of headers, an MTU of 1500
        assert_eq!(run(&mut bed, &tcp4(2920, true), 2, 1460), (Forwarded, 2));
        assert_eq!(run(&mut bed, &tcp4(2920, true), 2, 1461), (TooBig, 2));
        assert_eq!(run(&mut bed, &tcp4(2920, true), 0, 1460), (Forwarded, 2), "a guest did not say how many");
        assert_eq!(
            run(&mut bed, &tcp4(2920, false), 2, 1460),
            (Forwarded, 2),
            "longer than its header can say"
        );
        assert_eq!(bed.trial.sent(), 6);
        let (packets, bytes) = bed.control.counters(super::rules::wan());
        assert_eq!((packets, bytes), (6, 6 * 1500));
        assert_eq!(run(&mut bed, &tcp4(2920, false), 0, 0), (Malformed, 1), "no super-frame");
        let udp = |payload: u16| {
            v4("10.1.0.9", "10.0.0.1", |ip| {
                ip.resize(28 + usize::from(payload), 0x77);
                ip[2..4].copy_from_slice(&(28 + payload).to_be_bytes());
                ip[9] = 17;
            })
        };
        assert_eq!(run(&mut bed, &udp(2600), 2, 1300), (Forwarded, 2));
        assert_eq!(run(&mut bed, &udp(2900), 2, 1450), (KernelRoute, 2), "it may be a tunnel's");
        assert_eq!(run(&mut bed, &udp(2946), 2, 1473), (TooBig, 2));
        let other = v4("10.1.0.9", "10.0.0.1", |ip| {
            ip.resize(3000, 0);
            ip[2..4].copy_from_slice(&3000_u16.to_be_bytes());
            ip[9] = 132;
        });
        assert_eq!(run(&mut bed, &other, 2, 1400), (KernelRoute, 2));
        assert_eq!(run(&mut bed, &[&tcp4(2920, true)[..], &[0; 3]].concat(), 2, 1460), (KernelRoute, 2));
    });
}

#[test]
fn those_of_ipv6_are_no_others() {
    in_namespace(|links| {
        let mut bed = Bed::new(Path::Tc, links, &Spec::default());
        let tcp = |said: bool| {
            v6("2001:db8:1::9", "2001:db8::1", |ip| {
                ip.resize(60 + 2880, 0x77);
                let len: u16 = if said { 20 + 2880 } else { 0 };
                ip[4..6].copy_from_slice(&len.to_be_bytes());
                (ip[6], ip[52]) = (6, 0x50);
            })
        };
        assert_eq!(run(&mut bed, &tcp(true), 2, 1440), (Forwarded, 2));
        assert_eq!(run(&mut bed, &tcp(true), 2, 1441), (TooBig, 2));
        assert_eq!(run(&mut bed, &tcp(false), 2, 1440), (Forwarded, 2));
        assert_eq!(run(&mut bed, &tcp(false), 0, 0), (Options, 1));
    });
}
