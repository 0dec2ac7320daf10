//! Each rule of `docs/router.md`, by frames made by hand.

use std::time::{Duration, Instant};

use ringway_fib::NextHop;
use ringway_fwd::control::{Adjacency, Family, Plane, Verdict};
use ringway_wire::checksum;

use super::trial::Trial;
use super::{Made, both_ways, in_namespace};
use crate::kernel::Outcome::{self, *};
use crate::kernel::{BudgetLimits, Control, Interface, Kind, Path, Rate, Rpf, Spec};

pub(super) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const FAR: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// Numbers of next hops.
const LAN: u16 = 300;
const WAN: u16 = 301;
const AWAY: u16 = 302;
const UNKNOWN: u16 = 303;
const SMALL: u16 = 304;
const GROUP: u16 = 305;
const EMPTY: u16 = 306;
const MIXED: u16 = 307;
const LAN6: u16 = 308;
const WAN6: u16 = 309;
const GROUP6: u16 = 310;
const NEVER: u16 = 311;
const BIG: u16 = 312;

/// The next hop of most.
pub(super) fn wan() -> NextHop {
    n(WAN)
}

fn n(number: u16) -> NextHop {
    NextHop::new(number).unwrap()
}

/// Routes of all kinds. The first interface is where frames come in, the third no member.
fn fill(control: &mut Control, [lan, wan, away]: [u32; 3]) {
    let verdicts =
        [Verdict::Local, Verdict::Host, Verdict::Blackhole, Verdict::Unreachable, Verdict::Prohibit];
    for (number, verdict) in (1..).zip(verdicts) {
        control.adjacency(n(number), &Adjacency::plain(verdict));
    }
    let ready = |dev, mtu, family| Adjacency::incomplete(dev, mtu, None).ready(FAR, MAC, family);
    for (number, entry) in [
        (LAN, ready(lan, 1500, Family::V4)),
        (WAN, ready(wan, 1500, Family::V4)),
        (AWAY, ready(away, 1500, Family::V4)),
        (UNKNOWN, Adjacency::incomplete(wan, 1500, None)),
        (SMALL, ready(wan, 100, Family::V4)),
        (GROUP, Adjacency::group(7)),
        (EMPTY, Adjacency::group(8)),
        (MIXED, Adjacency::group(9)),
        (LAN6, ready(lan, 1500, Family::V6)),
        (WAN6, ready(wan, 1500, Family::V6)),
        (GROUP6, Adjacency::group(10)),
        (BIG, ready(wan, 9000, Family::V4)),
    ] {
        control.adjacency(n(number), &entry);
    }
    control.buckets(7, &std::array::from_fn(|i| if i % 3 == 0 { LAN } else { WAN }));
    control.buckets(9, &std::array::from_fn(|i| if i % 2 == 0 { WAN } else { 2 }));
    control.buckets(10, &std::array::from_fn(|i| if i == 255 { LAN6 } else { WAN6 }));
    let to4 = [
        ("10.0.0.0/8", WAN),
        ("10.1.0.0/16", LAN),
        ("10.2.0.0/16", 1),
        ("10.3.0.0/16", 2),
        ("10.4.0.0/16", 3),
        ("10.5.0.0/16", 4),
        ("10.6.0.0/16", 5),
        ("10.7.0.0/16", AWAY),
        ("10.8.0.0/16", UNKNOWN),
        ("10.9.0.0/16", SMALL),
        ("10.10.0.0/16", GROUP),
        ("10.11.0.0/16", EMPTY),
        ("10.12.0.0/16", MIXED),
        ("10.13.0.0/16", NEVER),
        ("10.14.0.0/16", BIG),
        ("10.20.30.128/25", LAN),
    ];
    let to4 = to4.map(|(prefix, number)| (prefix.parse().unwrap(), Some(n(number))));
    control.routes4(&to4).unwrap();
    let to6 = [
        ("2001:db8::/32", WAN6),
        ("2001:db8:1::/48", LAN6),
        ("2001:db8:1:2:3:4:5:6/128", 1),
        ("2001:db8:2::/48", GROUP6),
        ("2001:db8:3::/48", 3),
    ];
    let to6 = to6.map(|(prefix, number)| (prefix.parse().unwrap(), Some(n(number))));
    control.routes6(&to6).unwrap();
    control.heartbeat(true).unwrap();
}

/// A frame with a UDP datagram of IPv4; `change` may change its packet before the checksum is made.
pub(super) fn v4(from: &str, to: &str, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 48, 0, 1, 0, 0, 64, 17, 0, 0];
    for addr in [from, to] {
        ip.extend(addr.parse::<std::net::Ipv4Addr>().unwrap().octets());
    }
    ip.extend([0x12, 0x34, 0, 80, 0, 28, 0, 0]);
    ip.resize(48, 0xab);
    change(&mut ip);
    let head = usize::from(ip[0] & 15) * 4;
    if (20..=ip.len()).contains(&head) && ip[10..12] == [0, 0] {
        let sum = checksum::of(&ip[..head]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    [&MAC[..], &FAR, &[8, 0], &ip].concat()
}

pub(super) fn v6(from: &str, to: &str, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut ip = vec![0x60, 0, 0, 0, 0, 28, 17, 64];
    for addr in [from, to] {
        ip.extend(addr.parse::<std::net::Ipv6Addr>().unwrap().octets());
    }
    ip.extend([0x12, 0x34, 0, 80, 0, 28, 0, 1]);
    ip.resize(68, 0xab);
    change(&mut ip);
    [&MAC[..], &FAR, &[0x86, 0xdd], &ip].concat()
}

pub(super) fn to(addr: &str) -> Vec<u8> {
    v4("10.1.0.9", addr, |_| ())
}

/// A fresh trial whose budgets are full.
pub(super) struct Bed {
    pub(super) trial: Trial,
    pub(super) control: Control,
    lan: Interface,
    pub(super) router: Made,
    /// Whether there is a heartbeat before each frame.
    beats: bool,
}

impl Bed {
    pub(super) fn new(path: Path, links: [u32; 3], spec: &Spec) -> Self {
        let router = Made::new(spec);
        let mut control = router.get().take_control().unwrap();
        fill(&mut control, links);
        let trial = Trial::new(&control, path, links[0], false, &links[..2]);
        let lan = Interface { mac: MAC, forwards4: true, forwards6: true, ..Interface::default() };
        trial.set(&lan);
        Self { trial, control, lan, router, beats: true }
    }

    /// What becomes of a frame while tables are trusted, however long the machine stood still before.
    fn run(&mut self, frame: &[u8]) -> (Outcome, u32, Vec<u8>) {
        if self.beats {
            self.control.heartbeat(true).unwrap();
        }
        self.trial.run(frame)
    }

    /// What becomes of a frame that does not leave: it must be as it was.
    fn stays(&mut self, frame: &[u8]) -> Outcome {
        let (outcome, verdict, left) = self.run(frame);
        assert!(
            outcome.kind() != Kind::Forwarded && verdict == self.trial.verdict(outcome.kind()),
            "{outcome:?}"
        );
        assert_eq!(left, frame, "{outcome:?}");
        outcome
    }

    fn leaves(&mut self, frame: &[u8]) -> Vec<u8> {
        let (outcome, verdict, left) = self.run(frame);
        assert_eq!((outcome, verdict), (Forwarded, self.trial.verdict(Kind::Forwarded)));
        left
    }
}

/// Frames that do not leave, by what becomes of them.
fn cases4() -> Vec<(Outcome, Vec<u8>)> {
    let link = |frame: Vec<u8>, at: usize, bytes: &[u8]| {
        let mut frame = frame;
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        frame
    };
    let from = |addr| v4(addr, "10.0.0.1", |_| ());
    let changed = |change: fn(&mut Vec<u8>)| v4("10.1.0.9", "10.0.0.1", change);
    vec![
        (LinkMulticast, link(to("10.0.0.1"), 0, &[255; 6])),
        (LinkMulticast, link(to("10.0.0.1"), 0, &[1, 0, 0x5e, 0, 0, 1])),
        (OtherStation, link(to("10.0.0.1"), 0, &[2, 0, 0, 0, 0, 2])),
        (NotIp, link(to("10.0.0.1"), 12, &[8, 6])),
        (NotIp, link(to("10.0.0.1"), 12, &[0x81, 0])),
        (Malformed, to("10.0.0.1")[..33].to_vec()),
        (Malformed, to("10.0.0.1")[..61].to_vec()),
        (Malformed, changed(|ip| ip[0] = 0x44)),
        (Malformed, changed(|ip| ip[0] = 0x65)),
        (Malformed, changed(|ip| ip[3] = 19)),
        (Malformed, changed(|ip| ip[3] = 49)),
        (Malformed, changed(|ip| (ip[0], ip[3]) = (0x46, 23))),
        (BadChecksum, changed(|ip| ip[10] = 1)),
        (BadChecksum, changed(|ip| (ip[0], ip[10]) = (0x46, 1))),
        (MartianSource, from("0.1.2.3")),
        (MartianSource, from("127.0.0.1")),
        (MartianSource, from("224.0.0.1")),
        (MartianSource, from("239.255.255.255")),
        (MartianSource, from("255.255.255.255")),
        (MartianDestination, to("0.0.0.1")),
        (MartianDestination, to("127.0.0.1")),
        (Local, to("224.0.0.5")),
        (Local, to("255.255.255.255")),
        (Local, to("169.254.3.4")),
        (Options, changed(|ip| ip[0] = 0x46)),
        (Options, changed(|ip| ip[0] = 0x4c)),
        (MartianSource, v4("127.0.0.1", "10.0.0.1", |ip| ip[0] = 0x46)),
        (Unreachable, to("11.0.0.1")),
        (Unreachable, to("240.0.0.1")),
        (Unreachable, to("10.11.0.1")),
        (Local, to("10.2.0.1")),
        (Blackhole, to("10.4.0.1")),
        (Unreachable, to("10.5.0.1")),
        (Unreachable, to("10.6.0.1")),
        (Ttl, changed(|ip| ip[8] = 1)),
        (Ttl, changed(|ip| ip[8] = 0)),
        (Local, v4("10.1.0.9", "10.2.0.1", |ip| ip[8] = 1)),
        (Blackhole, v4("10.1.0.9", "10.4.0.1", |ip| ip[8] = 1)),
        (KernelRoute, to("10.3.0.1")),
        (KernelRoute, to("10.7.0.1")),
        (KernelRoute, to("10.13.0.1")),
        (Unresolved, to("10.8.0.1")),
        (
            TooBig,
            v4("10.1.0.9", "10.9.0.1", |ip| {
                ip.resize(101, 0);
                ip[3] = 101;
            }),
        ),
    ]
}

fn cases6() -> Vec<(Outcome, Vec<u8>)> {
    let to = |addr| v6("2001:db8:1::9", addr, |_| ());
    let from = |addr| v6(addr, "2001:db8::1", |_| ());
    let changed = |change: fn(&mut Vec<u8>)| v6("2001:db8:1::9", "2001:db8::1", change);
    vec![
        (Malformed, to("2001:db8::1")[..53].to_vec()),
        (Malformed, to("2001:db8::1")[..81].to_vec()),
        (Malformed, changed(|ip| ip[0] = 0x40)),
        (MartianSource, from("::")),
        (MartianSource, from("::1")),
        (MartianSource, from("ff02::1")),
        (MartianDestination, to("::")),
        (MartianDestination, to("::1")),
        (Local, to("ff0e::1")),
        (Local, to("fe80::1")),
        (Local, to("febf::1")),
        (Local, from("fe80::1")),
        (Unreachable, to("fec0::1")),
        (Options, changed(|ip| ip[6] = 0)),
        (Options, changed(|ip| ip[5] = 0)),
        (Unreachable, to("2002::1")),
        (Unreachable, to("::2")),
        (Local, to("2001:db8:1:2:3:4:5:6")),
        (Blackhole, to("2001:db8:3::1")),
        (Ttl, changed(|ip| ip[7] = 1)),
    ]
}

#[test]
fn what_stays_is_told_by_name() {
    both_ways(|path, links| {
        let mut bed = Bed::new(path, links, &Spec::default());
        for (i, (wanted, frame)) in cases4().into_iter().chain(cases6()).enumerate() {
            if !bed.trial.takes(&frame) {
                continue;
            }
            assert_eq!(bed.stays(&frame), wanted, "case {i}: {frame:02x?}");
        }
    });
}

#[test]
fn what_leaves_is_rewritten_and_cut() {
    both_ways(|path, links| {
        let mut bed = Bed::new(path, links, &Spec::default());
        for addr in ["10.0.0.1", "10.1.2.3", "10.20.30.129", "10.20.30.1", "10.10.0.1"] {
            let wanted = v4("10.1.0.9", addr, |ip| ip[8] = 63);
            let wanted = [&FAR[..], &MAC, &wanted[12..]].concat();
            assert_eq!(bed.leaves(&to(addr)), wanted, "{addr}");
            let padded = [&to(addr)[..], &[0xcd; 9]].concat();
            assert_eq!(bed.leaves(&padded), wanted, "{addr}");
        }
        for addr in ["2001:db8::1", "2001:db8:1:2:3:4:5:7", "2001:db8:2::77"] {
            let wanted = v6("2001:db8:1::9", addr, |ip| ip[7] = 63);
            let wanted = [&FAR[..], &MAC, &wanted[12..]].concat();
            assert_eq!(bed.leaves(&v6("2001:db8:1::9", addr, |_| ())), wanted, "{addr}");
        }
        let (packets, bytes) = bed.control.counters(n(WAN));
        assert!(packets >= 4 && bytes == packets * 48, "{packets} {bytes}");
        assert_eq!(bed.control.counters(n(GROUP)), (0, 0));
        bed.control.reset_counters_for(n(WAN));
        assert_eq!(bed.control.counters(n(WAN)), (0, 0), "the number is another next hop's now");
        bed.leaves(&to("10.0.0.1"));
        assert_eq!(bed.control.counters(n(WAN)), (1, 48));
    });
}

/// All 65,536 sums of a header leave right.
#[test]
fn sums_are_updated_as_if_made_anew() {
    both_ways(|path, links| {
        let mut bed = Bed::new(path, links, &Spec::default());
        for id in (0..=u16::MAX).step_by(7).chain([u16::MAX - 1]) {
            let left =
                bed.leaves(&v4("10.1.0.9", "10.0.0.1", |ip| ip[4..6].copy_from_slice(&id.to_be_bytes())));
            assert_eq!(checksum::of(&left[14..34]), 0, "{id}");
        }
    });
}

#[test]
fn a_member_forwards_what_it_may() {
    both_ways(|path, links| {
        let mut bed = Bed::new(path, links, &Spec::default());
        let (four, six) = (to("10.0.0.1"), v6("2001:db8:1::9", "2001:db8::1", |_| ()));
        bed.trial.set(&Interface { forwards4: false, ..bed.lan });
        assert_eq!(bed.stays(&four), NotForwarding);
        bed.leaves(&six);
        bed.trial.set(&Interface { forwards6: false, ..bed.lan });
        assert_eq!(bed.stays(&six), NotForwarding);
        bed.leaves(&four);
    });
}

#[test]
fn sources_are_filtered_where_that_is_asked_for() {
    both_ways(|path, links| {
        let mut bed = Bed::new(path, links, &Spec::default());
        let from = |addr| v4(addr, "10.0.0.1", |_| ());
        let passes = |bed: &mut Bed, addr| match bed.run(&from(addr)).0 {
            Forwarded => None,
            other => Some(other),
        };
        let (bad, unknown) = (Some(ReversePath), Some(KernelRoute));
        // source, loose, strict
        for (addr, loose, strict) in [
            ("10.1.0.9", None, None),
            ("10.0.0.9", None, bad),
            ("11.0.0.9", bad, bad),
            ("10.2.0.9", bad, bad),
            ("10.3.0.9", None, unknown),
            ("10.4.0.9", bad, bad),
            ("10.5.0.9", bad, bad),
            ("10.10.0.9", None, None),
            ("10.11.0.9", None, bad),
            ("10.12.0.9", None, unknown),
            ("10.13.0.9", None, unknown),
        ] {
            for (rpf4, wanted) in [(Rpf::Off, None), (Rpf::Loose, loose), (Rpf::Strict, strict)] {
                bed.trial.set(&Interface { rpf4, ..bed.lan });
                assert_eq!(passes(&mut bed, addr), wanted, "{addr} {rpf4:?}");
            }
        }
        // Rule 13 is before it, 17 behind it.
        assert_eq!(bed.stays(&v4("11.0.0.9", "10.2.0.1", |_| ())), Local);
        assert_eq!(bed.stays(&v4("11.0.0.9", "10.0.0.1", |ip| ip[8] = 1)), ReversePath);
        bed.trial.set(&Interface { rpf6: Rpf::Strict, ..bed.lan });
        for (from, wanted) in
            [("2001:db8:1::9", None), ("2001:db8::9", bad), ("2001:db8:2::9", None), ("2002::9", bad)]
        {
            let outcome = bed.run(&v6(from, "2001:db8::1", |_| ())).0;
            assert_eq!((outcome != Forwarded).then_some(outcome), wanted, "{from}");
        }
    });
}

#[test]
fn flows_are_spread_over_a_group_and_each_keeps_its_way() {
    both_ways(|path, links| {
        let mut bed = Bed::new(path, links, &Spec::default());
        let before = [LAN, WAN].map(|number| bed.control.counters(n(number)).0);
        for port in 0..300_u16 {
            let frame = v4("10.1.0.9", "10.10.0.1", |ip| ip[20..22].copy_from_slice(&port.to_be_bytes()));
            bed.leaves(&frame);
            bed.leaves(&frame);
        }
        let [lan, wan] =
            [(LAN, 0), (WAN, 1)].map(|(number, i)| bed.control.counters(n(number)).0 - before[i]);
        assert!(lan % 2 == 0 && wan % 2 == 0 && lan + wan == 600, "{lan} {wan}");
        assert!((150..250).contains(&lan), "a third of them: {lan}");
        // Fragments of a flow go one way, whatever lies where ports would.
        let mut ways = std::collections::BTreeSet::new();
        for port in 0..50_u16 {
            bed.leaves(&v4("10.1.0.9", "10.10.0.1", |ip| {
                ip[6] = 0x20;
                ip[20..22].copy_from_slice(&port.to_be_bytes());
            }));
            ways.insert(bed.control.counters(n(LAN)).0 - before[0] - lan);
        }
        assert!(ways.len() == 1 || ways.len() == 50, "{ways:?}");
    });
}

#[test]
fn unfinished_checksums_are_finished_where_a_driver_leaves_them() {
    in_namespace(|links| {
        let bed = Bed::new(Path::Xdp, links, &Spec::default());
        let mut software = Trial::new(&bed.control, Path::Xdp, links[0], true, &links[..2]);
        bed.control.heartbeat(true).unwrap();
        software.set(&bed.lan);
        for (protocol, field, padding) in [(17, 26, 0), (6, 36, 0), (17, 26, 1), (6, 36, 33)] {
            let unfinished = v4("10.1.0.9", "10.0.0.1", |ip| {
                ip.resize(48 + padding, 0x5a);
                (ip[3], ip[9]) = (48 + padding as u8, protocol);
                let length = ip.len() as u16 - 20;
                let pseudo = [&ip[12..20], &[0, protocol], &length.to_be_bytes()].concat();
                let sum = !checksum::of(&pseudo);
                ip[field..field + 2].copy_from_slice(&sum.to_be_bytes());
            });
            let (outcome, _, left) = software.run(&unfinished);
            assert_eq!(outcome, Forwarded);
            let (ip, length) = (&left[14..], left.len() as u16 - 34);
            let all = [&ip[12..20], &[0, protocol], &length.to_be_bytes(), &ip[20..]].concat();
            assert_eq!(checksum::of(&all), 0, "protocol {protocol}");
            let finished = [&MAC[..], &FAR, &left[12..]].concat();
            let (_, _, again) = software.run(&finished);
            assert_eq!(again[14 + field..16 + field], left[14 + field..16 + field], "spoilt");
        }
        for (protocol, field) in [(17_u8, 46), (6, 56)] {
            let pseudo = |ip: &[u8]| {
                let length = (ip.len() as u32 - 40).to_be_bytes();
                [&ip[8..40], &length, &[0, 0, 0, protocol]].concat()
            };
            let unfinished = v6("2001:db8:1::9", "2001:db8::1", |ip| {
                ip[6] = protocol;
                let sum = !checksum::of(&pseudo(ip));
                ip[field..field + 2].copy_from_slice(&sum.to_be_bytes());
            });
            let (_, _, left) = software.run(&unfinished);
            let ip = &left[14..];
            assert_eq!(checksum::of(&[&pseudo(ip)[..], &ip[40..]].concat()), 0, "protocol {protocol}");
            let (_, _, again) = software.run(&[&MAC[..], &FAR, &left[12..]].concat());
            assert_eq!(again[14 + field..16 + field], left[14 + field..16 + field], "spoilt");
        }
    });
}

/// What is longer than a page comes in several pieces.
#[test]
fn frames_in_pieces_are_routed_as_others_are() {
    in_namespace(|links| {
        let mut bed = Bed::new(Path::Xdp, links, &Spec::default());
        let long = |len: u16| {
            v4("10.1.0.9", "10.14.0.1", |ip| {
                ip.resize(len.into(), 0x77);
                ip[2..4].copy_from_slice(&len.to_be_bytes());
            })
        };
        for (len, padding) in [(6000, 0), (6000, 100), (4000, 3000), (60, 5000), (9000, 1)] {
            let frame = [long(len), vec![0xcd; padding]].concat();
            let left = bed.leaves(&frame);
            assert_eq!(left.len(), 14 + usize::from(len), "{len} and {padding}");
            assert_eq!(
                (&left[..6], left[22], &left[34..]),
                (&FAR[..], 63, &frame[34..14 + usize::from(len)])
            );
        }
        assert_eq!(bed.stays(&long(9001)), TooBig);
        assert_eq!(bed.stays(&long(6000)[..5000]), Malformed);
        // A sum over all pieces is not made.
        let mut software = Trial::new(&bed.control, Path::Xdp, links[0], true, &links[..2]);
        bed.control.heartbeat(true).unwrap();
        software.set(&bed.lan);
        let mut frame = long(6000);
        let pseudo = [&frame[26..34], &[0, 17], &5980_u16.to_be_bytes()[..]].concat();
        assert_eq!(software.run(&frame).0, Forwarded);
        frame[40..42].copy_from_slice(&(!checksum::of(&pseudo)).to_be_bytes());
        assert_eq!(software.run(&frame).0, KernelRoute);
    });
}

#[test]
fn nobody_to_look_after_tables_leaves_all_to_the_kernel() {
    in_namespace(|links| {
        let mut bed = Bed::new(Path::Xdp, links, &Spec::default());
        let frame = to("10.0.0.1");
        bed.leaves(&frame);
        bed.beats = false;
        bed.control.heartbeat(false).unwrap();
        assert_eq!(bed.stays(&frame), NotReady);
        let start = Instant::now();
        bed.control.heartbeat(true).unwrap();
        while bed.trial.run(&frame).0 == Forwarded {
            assert!(start.elapsed() < Duration::from_secs(60), "it is trusted for ever");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(start.elapsed() > Duration::from_millis(2900), "{:?}", start.elapsed());
        assert_eq!(bed.stays(&frame), NotReady);
        assert!(!bed.router.get().health().ready, "no tables were published");
    });
}

#[test]
fn the_host_gets_what_its_budget_allows() {
    both_ways(|path, links| {
        let budget = Rate { per_second: 1000, burst: 50 };
        let budgets = BudgetLimits { plain: budget, costly: Rate { per_second: 10, burst: 5 } };
        let mut bed = Bed::new(path, links, &Spec { budgets, ..Spec::default() });
        let mut through = |frame: &[u8], frames: u32| {
            let start = Instant::now();
            let passed = (0..frames).filter(|_| bed.stays(frame) != Budget).count() as f64;
            (passed, start.elapsed().as_secs_f64() + 0.01) // steps of the clock
        };
        let (passed, took) = through(&to("10.2.0.1"), 2000);
        assert!(passed >= 50.0 && passed <= 50.0 + took * 1000.0, "{passed} in {took} s");
        let (passed, took) = through(&to("11.0.0.1"), 2000);
        assert!(passed >= 5.0 && passed <= 5.0 + took * 10.0, "{passed} in {took} s");
        // The kernel's own traffic is not limited.
        assert_eq!(through(&to("10.3.0.1"), 2000).0, 2000.0);
    });
}
