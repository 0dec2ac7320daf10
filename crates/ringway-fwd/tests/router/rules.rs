//! Each rule of `docs/router.md` by an example, the same of both routers.

use ringway_fwd::control::event::Neighbour;
use ringway_fwd::control::{Changes, Event, Pulse};
use ringway_fwd::router::generate::Links;
use ringway_fwd::router::{BudgetLimits, Decision, DropReason, Heartbeat, HostReason, Interface, Rate, Rpf};

use crate::{LINKS, Pair};

const UDP: u8 = 17;

/// A frame for lan with a UDP packet of 8 bytes of payload between two addresses, TTL 64.
fn frame(source: &str, destination: &str) -> Vec<u8> {
    let (mut frame, payload) = (Links::mac(LINKS.lan).to_vec(), [0x12, 0x34, 0, 80, 0, 8, 0, 0]);
    frame.extend([6, 0, 0, 0, 0, 99]);
    if let (Ok(source), Ok(destination)) = (source.parse(), destination.parse()) {
        let (source, destination): (std::net::Ipv4Addr, std::net::Ipv4Addr) = (source, destination);
        frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, UDP, 0, 0]);
        frame.extend(source.octets());
        frame.extend(destination.octets());
    } else {
        let [source, destination] = [source, destination].map(|a| a.parse::<std::net::Ipv6Addr>().unwrap());
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, UDP, 64]);
        frame.extend(source.octets());
        frame.extend(destination.octets());
    }
    frame.extend(payload);
    sum(frame)
}

/// With the right checksum.
fn sum(mut frame: Vec<u8>) -> Vec<u8> {
    let end = 14 + frame.get(14).map_or(0, |b| usize::from(b & 15) * 4);
    if (34..=frame.len()).contains(&end) && frame[14] >> 4 == 4 {
        frame[24..26].fill(0);
        let sum = ringway_wire::checksum::of(&frame[14..end]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    frame
}

/// A byte changed, and the checksum right.
fn with(mut frame: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    frame[at] = byte;
    sum(frame)
}

fn good4() -> Vec<u8> {
    frame("10.0.0.2", "20.0.0.1")
}

fn good6() -> Vec<u8> {
    frame("fd00::2", "2001:db8:20::1")
}

fn one(pair: &mut Pair, frame: &[u8]) -> Decision {
    pair.same(0, &[frame.to_vec()])[0]
}

/// Both routers say this of each frame.
fn all(pair: &mut Pair, name: &str, frames: &[Vec<u8>]) {
    for (i, frame) in frames.iter().enumerate() {
        assert_eq!(one(pair, frame).name(), name, "frame {i}");
    }
    pair.counted();
}

#[test]
fn forwarded_as_rule_21_says() {
    let pair = &mut Pair::new();
    let Decision::Forward(to) = one(pair, &good4()) else { panic!("{}", one(pair, &good4())) };
    assert_eq!((to.egress, to.len), (1, 42));
    let mut padded = good4();
    padded.resize(60, 0xaa);
    let Decision::Forward(to) = pair.engine.one(0, &mut padded, 1) else { panic!() };
    let out = &padded[..to.len as usize];
    assert_eq!(out[..14], [6, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 3, 8, 0]);
    let mut wanted = with(good4(), 22, 63);
    wanted[..14].copy_from_slice(&out[..14]);
    assert_eq!(out, wanted);
    let mut six = good6();
    assert!(matches!(pair.engine.one(0, &mut six, 1), Decision::Forward(_)));
    assert_eq!((six[21], &six[12..14]), (63, &[0x86, 0xdd][..]));
    let n = to.next_hop;
    assert_eq!(pair.engine.next_hops().get(n), (2, 56));
}

#[test]
fn link_and_interface() {
    let pair = &mut Pair::new();
    all(pair, "link_multicast", &[with(good4(), 0, 3), with(good6(), 0, 1), with(vec![255; 14], 12, 8)]);
    all(pair, "other_station", &[with(good4(), 5, 77), with(good6(), 0, 4)]);
    all(
        pair,
        "not_ip",
        &[
            with(good4(), 13, 6),
            with(good6(), 12, 0x81),
            good4()[..12].iter().copied().chain([8, 6]).collect(),
        ],
    );
    all(pair, "malformed", &[vec![], good4()[..13].to_vec()]);
    for (v4, name4, name6) in [(true, "forwarded", "not_forwarding"), (false, "not_forwarding", "forwarded")]
    {
        let interface = Interface { forwards4: v4, forwards6: !v4, ..pair.interfaces.get(0) };
        pair.interfaces.set(0, &interface);
        pair.reference.interfaces[0] = interface;
        all(pair, name4, &[good4()]);
        all(pair, name6, &[good6()]);
    }
}

#[test]
fn headers_that_cannot_be() {
    let pair = &mut Pair::new();
    let cut = |frame: Vec<u8>, by: usize| frame[..frame.len() - by].to_vec();
    let four =
        [(14, 0x44), (14, 0x55), (14, 0x4f), (16, 1), (17, 19)].map(|(at, byte)| with(good4(), at, byte));
    all(pair, "malformed", &four);
    all(pair, "malformed", &[cut(good4(), 1), cut(good4(), 9), good4()[..14].to_vec()]);
    all(
        pair,
        "malformed",
        &[with(good6(), 14, 0x45), with(good6(), 19, 9), cut(good6(), 1), good6()[..53].to_vec()],
    );
    let mut wrong = good4();
    wrong[24] ^= 1;
    all(pair, "bad_checksum", &[wrong]);
    // what is no header of IPv4 has no checksum
    let mut both = good4();
    (both[24], both[14]) = (both[24] ^ 1, 0x44);
    all(pair, "malformed", &[both]);
}

#[test]
fn martians_and_what_is_local() {
    let pair = &mut Pair::new();
    let from = |s: &&str| frame(s, if s.contains(':') { "2001:db8:20::1" } else { "20.0.0.1" });
    let to = |d: &&str| frame(if d.contains(':') { "fd00::2" } else { "10.0.0.2" }, d);
    let list = |texts: &[&str], f: &dyn Fn(&&str) -> Vec<u8>| texts.iter().map(f).collect::<Vec<_>>();
    let sources = [
        "0.0.0.0",
        "0.255.255.255",
        "127.0.0.1",
        "224.0.0.1",
        "239.9.9.9",
        "255.255.255.255",
        "::",
        "::1",
        "ff05::1",
    ];
    all(pair, "martian_source", &list(&sources, &from));
    all(pair, "martian_destination", &list(&["0.0.0.0", "0.1.1.1", "127.9.9.9", "::", "::1"], &to));
    let local = [
        "224.0.0.1",
        "239.255.255.255",
        "255.255.255.255",
        "169.254.0.1",
        "ff02::1",
        "ff3e::1",
        "fe80::1",
        "febf::1",
        "10.0.0.1",
        "fd01::1",
    ];
    all(pair, "local", &list(&local, &to));
    all(pair, "local", &list(&["fe80::1"], &from));
    all(pair, "forwarded", &list(&["169.254.1.1", "240.0.0.1", "255.255.255.254", "fec0::1", "::2"], &from));
}

#[test]
fn options_go_to_the_host() {
    let pair = &mut Pair::new();
    for kind in [131, 137, 7, 68, 148, 1] {
        let mut options = good4();
        options.splice(34..34, [kind, 4, 0, 0]);
        all(pair, "options", &[with(with(options, 14, 0x46), 17, 32)]);
    }
    all(pair, "options", &[with(good6(), 20, 0), with(good6(), 19, 0)]);
    all(pair, "forwarded", &[with(good6(), 20, 43), with(good6(), 20, 60), with(good6(), 20, 59)]);
}

#[test]
fn where_routes_lead() {
    let pair = &mut Pair::new();
    let to = |d: &&str| frame(if d.contains(':') { "fd00::2" } else { "10.0.0.2" }, d);
    for (name, four, six) in [
        ("unreachable", "40.0.0.1", "2001:db8:40::1"),
        ("unreachable", "31.0.0.1", "2001:db8:31::1"),
        ("unreachable", "32.0.0.1", "2001:db8:32::1"),
        ("blackhole", "30.0.0.1", "2001:db8:30::1"),
        ("kernel_route", "24.0.0.1", "2001:db8:24::1"),
        ("kernel_route", "26.0.0.1", "2001:db8:26::1"),
        ("kernel_route", "28.0.0.1", "2001:db8:24::1"),
        ("unresolved", "23.0.0.1", "2001:db8:23::1"),
        ("unresolved", "10.1.0.77", "fd01::77"),
        ("forwarded", "20.1.0.1", "2001:db8:21::9"),
    ] {
        all(pair, name, &[to(&four), to(&six)]);
    }
}

#[test]
fn ttl_before_what_the_route_needs_and_behind_what_it_refuses() {
    let pair = &mut Pair::new();
    for ttl in [0, 1] {
        all(pair, "ttl", &[with(good4(), 22, ttl), with(good6(), 21, ttl)]);
        all(pair, "ttl", &["23.0.0.1", "24.0.0.1", "26.0.0.1"].map(|d| with(frame("10.0.0.2", d), 22, ttl)));
        all(pair, "blackhole", &[with(frame("10.0.0.2", "30.0.0.1"), 22, ttl)]);
        all(pair, "unreachable", &[with(frame("10.0.0.2", "31.0.0.1"), 22, ttl)]);
        all(pair, "local", &[with(frame("10.0.0.2", "10.1.0.1"), 22, ttl)]);
    }
    all(pair, "forwarded", &[with(good4(), 22, 2), with(good6(), 21, 2)]);
}

/// Two routers that send a packet to each other: each round takes one from its TTL, the checksum stays right, and it ends.
#[test]
fn a_loop_ends() {
    let pair = &mut Pair::new();
    for (mut frame, ttl) in [(frame("10.0.0.2", "20.1.2.3"), 22), (frame("fd00::2", "2001:db8:20:1::1"), 21)]
    {
        for left in (1..64).rev() {
            all(pair, "forwarded", std::slice::from_ref(&frame));
            let decision = pair.engine.one(0, &mut frame, 1);
            pair.expected[0].count(decision);
            assert_eq!(frame[ttl], left);
            frame[..6].copy_from_slice(&Links::mac(LINKS.lan));
        }
        all(pair, "ttl", &[frame]);
    }
}

#[test]
fn too_big_for_the_next_hop() {
    let pair = &mut Pair::new();
    let sized = |destination: &str, len: usize| {
        let mut long = frame("10.0.0.2", destination);
        long.resize(14 + len, 0);
        long[16..18].copy_from_slice(&(len as u16).to_be_bytes());
        sum(long)
    };
    for (destination, mtu) in [("20.0.0.1", 1280), ("25.0.0.1", 600), ("20.1.2.3", 1500)] {
        all(pair, "forwarded", &[sized(destination, mtu)]);
        all(pair, "too_big", &[sized(destination, mtu + 1)]);
    }
    let mut six = frame("fd00::2", "2001:db8:25::1");
    six.resize(14 + 1301, 0);
    six[18..20].copy_from_slice(&1261u16.to_be_bytes());
    all(pair, "too_big", &[six.clone()]);
    six[18..20].copy_from_slice(&1260u16.to_be_bytes());
    all(pair, "forwarded", &[six]);
}

#[test]
fn reverse_path_filters() {
    let pair = &mut Pair::new();
    // source, what loose and strict say of it on lan
    let cases = [
        ("10.0.0.3", "forwarded", "forwarded"),
        ("20.1.2.3", "forwarded", "forwarded"),
        ("10.0.0.88", "forwarded", "forwarded"), // no neighbour, but on the link
        ("20.0.0.9", "forwarded", "reverse_path"),
        ("22.0.0.9", "forwarded", "forwarded"), // one member of the group is there
        ("21.0.0.9", "forwarded", "reverse_path"),
        ("26.0.0.9", "forwarded", "kernel_route"), // only the kernel knows
        ("30.0.0.9", "reverse_path", "reverse_path"),
        ("31.0.0.9", "reverse_path", "reverse_path"),
        ("40.0.0.9", "reverse_path", "reverse_path"),
        ("10.0.0.1", "reverse_path", "reverse_path"), // our own address
    ];
    for (source, loose, strict) in cases {
        for (filter, name) in [(Rpf::Off, "forwarded"), (Rpf::Loose, loose), (Rpf::Strict, strict)] {
            pair.filter(filter, Rpf::Off);
            all(pair, name, &[frame(source, "20.0.0.1")]);
            all(pair, "forwarded", &[frame("2001:db8:30::9", "2001:db8:20::1")]);
        }
    }
    pair.filter(Rpf::Off, Rpf::Strict);
    all(pair, "forwarded", &[frame("2001:db8:22::9", "2001:db8:20::1"), frame("40.0.0.9", "20.0.0.1")]);
    all(
        pair,
        "reverse_path",
        &[frame("2001:db8:20::9", "2001:db8:20::1"), frame("fd01::2", "2001:db8:30::1")],
    );
    // rules 12 and 13 come before, 15 and 16 behind
    all(pair, "local", &[frame("fd01::2", "fd00::1")]);
    all(pair, "unreachable", &[frame("fd01::2", "2001:db8:40::1")]);
}

#[test]
fn flows_of_a_group_take_all_members_and_keep_to_one() {
    let pair = &mut Pair::new();
    let mut egress = [0; 2];
    for port in 0..200u16 {
        let mut flow = frame("10.0.0.2", "22.1.1.1");
        flow[34..36].copy_from_slice(&port.to_be_bytes());
        let Decision::Forward(to) = one(pair, &flow) else { panic!("port {port}") };
        egress[usize::from(to.egress)] += 1;
        // fragments have no ports, so all of them go one way
        let fragment = |first: bool| with(flow.clone(), 20, if first { 0x20 } else { 0x01 });
        let [a, b] = [true, false].map(|first| one(pair, &fragment(first)));
        assert_eq!(a, b);
        assert_eq!(a, one(pair, &with(frame("10.0.0.2", "22.1.1.1"), 20, 0x20)), "whatever their ports");
    }
    assert!(egress.iter().all(|n| *n > 60), "{egress:?}");
}

#[test]
fn tables_change_under_the_engine() {
    let pair = &mut Pair::new();
    let to = frame("10.0.0.2", "23.0.0.1");
    all(pair, "unresolved", std::slice::from_ref(&to));
    let mut changes = Changes::default();
    let found = Neighbour { dev: LINKS.wan, addr: "10.1.0.99".parse().unwrap(), link: [6; 6] };
    assert_eq!(pair.state.apply(Event::Neighbour(found), &mut changes, &mut Pulse::none()), None);
    pair.resolver.update(&pair.state, changes, &mut pair.planes).unwrap();
    pair.reference = pair.planes.reference.clone();
    all(pair, "forwarded", &[to]);
}

#[test]
fn nothing_is_forwarded_on_tables_that_are_not_to_be_trusted() {
    let pair = &mut Pair::new();
    let late = 1 + Heartbeat::GOOD_FOR_NS;
    assert!(matches!(pair.engine.one(0, &mut good4(), late), Decision::Forward(_)));
    for mut frame in [good4(), good6(), vec![], vec![255; 14]] {
        let before = frame.clone();
        assert_eq!(pair.engine.one(0, &mut frame, late + 1), Decision::Host(HostReason::NotReady));
        assert_eq!(frame, before);
        pair.reference.ready = false;
        assert_eq!(pair.reference.decide(0, &frame).0, Decision::Host(HostReason::NotReady));
    }
}

#[test]
fn what_goes_to_the_host_has_a_budget_for_each_interface() {
    let rate = |burst| Rate { per_second: 10, burst };
    let pair = &mut Pair::with(BudgetLimits { plain: rate(3), costly: rate(2) });
    let (ttl, arp) = (with(good4(), 22, 1), with(good4(), 13, 6));
    let mut count = |position, frame: &Vec<u8>, now_ns| {
        let mut frame = frame.clone();
        frame[..6].copy_from_slice(&pair.interfaces.get(position).mac);
        let decisions: Vec<_> =
            (0..5).map(|_| pair.engine.one(position, &mut frame.clone(), now_ns)).collect();
        decisions.iter().filter(|d| **d == Decision::Drop(DropReason::Budget)).count()
    };
    assert_eq!([count(0, &ttl, 1), count(0, &arp, 1), count(0, &good4(), 1)], [3, 2, 0]);
    assert_eq!([count(1, &ttl, 1), count(0, &ttl, 1)], [3, 5]);
    assert_eq!(count(0, &ttl, 100_000_001), 4, "one more after a tenth of a second");
    assert_eq!(pair.engine.counts().get(0).drops(DropReason::Budget), 3 + 2 + 5 + 4);
}

#[test]
fn headers_behind_the_first_part_of_a_frame_are_malformed_but_its_length_counts() {
    let pair = &mut Pair::new();
    let mut long = good4();
    long[16..18].copy_from_slice(&1200u16.to_be_bytes());
    let long = sum(long);
    for (part, name) in [(34, "forwarded"), (38, "forwarded"), (33, "malformed"), (13, "malformed")] {
        pair.engine.begin(0, 1);
        pair.engine.push(&long[..part], 1214);
        pair.engine.decide();
        assert_eq!(pair.engine.decision(0).name(), name, "{part} bytes");
    }
    pair.engine.begin(0, 1);
    pair.engine.push(&long[..34], 1213);
    pair.engine.decide();
    assert_eq!(pair.engine.decision(0), Decision::Drop(DropReason::Malformed));
}

#[test]
fn frames_that_found_no_room_are_the_egress_interface_s() {
    let pair = &Pair::new();
    pair.engine.no_room(1, 2);
    assert_eq!([0, 1].map(|i| pair.engine.counts().get(i).device_full), [0, 2]);
}
