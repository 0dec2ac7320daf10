//! The rules beside the kernel's own router: the same tables and frames, what comes out, and why it differs.
//!
//! Objective: packets that the fast path forwards the kernel forwards too, byte for byte. Packets that the fast path drops the kernel does not
//! forward. `docs/router.md` lists the differences. What goes to the host is the kernel's, whatever it does.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ringway_fwd::control::{Changes, Follower, Pulse, Resolver};
use ringway_fwd::router::generate::{Frames, NEIGHBOURS, ROUTES};
use ringway_fwd::router::reference::Reference;
use ringway_fwd::router::{Decision, DropReason, Interface, Rpf};
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_lab::{AnyError, Lab};
use ringway_wire::pcapfile::Reader;

use crate::bed::SYSCTLS;

const FRAMES: usize = 20_000;

/// Frames that outputs may still belong to.
const RECENT: usize = 256;

/// R with r0 and r1, which are compared, and r2; the other ends are in namespaces whose kernels are silent.
struct Beside {
    hosts: [Lab; 2],
    r: Lab,
}

impl Beside {
    fn new() -> Option<Self> {
        if !ringway_lab::is_root() {
            eprintln!("SKIP: a comparison with the kernel's router needs root");
            return None;
        }
        let (hosts, r) = ([Lab::new().unwrap(), Lab::new().unwrap()], Lab::new().unwrap());
        r.exec("sysctl", &[&["-qew"], &SYSCTLS[..]].concat()).unwrap();
        for (link, host, far, mtu) in [(0, 0, "a0", 1500), (1, 1, "b0", 1280), (2, 1, "b2", 1500)] {
            let peer = format!("type veth peer name {far} netns {}", hosts[host].name());
            hosts[host].ip("link set lo up").unwrap();
            for command in [
                format!("link add r{link} address 02:00:00:00:00:0{link} {peer}"),
                format!("link set r{link} mtu {mtu}"),
                format!("addr add 10.{link}.0.1/24 dev r{link}"),
                format!("addr add fd0{link}::1/64 dev r{link} nodad"),
                format!("link set r{link} up"),
            ] {
                r.ip(&command).unwrap();
            }
            hosts[host].ip(&format!("link set {far} up")).unwrap();
        }
        r.exec("sysctl", &["-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]).unwrap();
        r.ip("route add 0.0.0.0/8 via 10.1.0.2").unwrap();
        neighbours().chain(ROUTES.lines().filter_map(route)).for_each(|command| r.ip(&command).unwrap());
        Some(Self { hosts, r })
    }

    /// The slow router with R's tables, as the kernel tells them.
    fn reference(&self, rpf4: Rpf) -> Reference {
        let made = self.r.run(|| {
            let follower = Follower::open(Default::default(), &mut Pulse::none()).unwrap();
            let index = |name| follower.state().interfaces().find(|l| l.name == name).unwrap();
            let members = ["r0", "r1"].map(|name| Interface {
                index: index(name).index,
                mac: index(name).address.unwrap(),
                forwards4: true,
                forwards6: true,
                rpf4,
                ..Interface::default()
            });
            let mut reference = Reference::new(members.to_vec());
            let mut resolver = Resolver::new(&mut reference);
            resolver.update(follower.state(), Changes::everything(), &mut reference).unwrap();
            Ok::<_, AnyError>(reference)
        });
        made.unwrap()
    }
}

fn interface(link: &str) -> &'static str {
    match link {
        "lan" => "r0",
        "wan" => "r1",
        _ => "r2",
    }
}

fn neighbours() -> impl Iterator<Item = String> {
    (1..).zip(NEIGHBOURS.split(' ')).map(|(i, text)| {
        let (addr, link) = text.split_once('@').unwrap();
        format!("neigh add {addr} lladdr 06:00:00:00:00:{i:02x} dev {} nud permanent", interface(link))
    })
}

/// A line of the made-up routes for `ip`, without the routes that addresses bring along, and without encapsulation, for which R has no device.
fn route(line: &str) -> Option<String> {
    let (prefix, rest) = line.split_once(' ').unwrap();
    if ["blackhole", "unreachable", "prohibit"].contains(&rest) {
        return Some(format!("route add {rest} {prefix}"));
    }
    let via = |word: &str| {
        let (gateway, link) = word.split_once('@')?;
        Some(format!("via {gateway} dev {}", interface(link)))
    };
    let hops: Vec<_> = rest.split(' ').filter_map(via).collect();
    let mtu = rest
        .strip_prefix("mtu ")
        .map_or(String::new(), |rest| format!(" mtu {}", rest.split(' ').next().unwrap()));
    match &hops[..] {
        [] => None,
        _ if rest.starts_with("encap") => None,
        [hop] => Some(format!("route add {prefix} {hop}{mtu}")),
        hops => Some(format!("route add {prefix} nexthop {}", hops.join(" nexthop "))),
    }
}

/// A frame that was injected, and what the rules make of it.
struct Injected {
    frame: Vec<u8>,
    decision: Decision,
    out: Option<Vec<u8>>,
}

/// What came out of R's kernel.
struct Outputs {
    receivers: [RawReceiver; 3],
    /// By egress, r2 included; not explained yet.
    frames: Vec<(usize, Vec<u8>)>,
}

impl Outputs {
    fn collect(&mut self, wait: Duration) {
        for (egress, receiver) in self.receivers.iter_mut().enumerate() {
            while let Some(frame) = receiver.next(wait).unwrap() {
                self.frames.push((egress, frame));
            }
        }
    }

    /// Takes the output that is wanted, if it came.
    fn take(&mut self, wanted: impl Fn(usize, &[u8]) -> bool) -> bool {
        let found = self.frames.iter().position(|(egress, frame)| wanted(*egress, frame));
        found.map(|at| self.frames.swap_remove(at)).is_some()
    }
}

/// Differences and other outcomes by name.
type Tally = BTreeMap<String, usize>;

fn addresses(frame: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v4 = |at: usize| Some(Ipv4Addr::from(*frame.get(at..)?.first_chunk::<4>()?).into());
    let v6 = |at: usize| Some(Ipv6Addr::from(*frame.get(at..)?.first_chunk::<16>()?).into());
    match frame.get(12..14)? {
        [0x08, 0x00] => Some((v4(26)?, v4(30)?)),
        [0x86, 0xdd] => Some((v6(22)?, v6(38)?)),
        _ => None,
    }
}

/// The packet without what a router changes: TTL and checksum.
fn kept(frame: &[u8]) -> Vec<u8> {
    let mut packet = frame[14.min(frame.len())..].to_vec();
    let changed: &[usize] = if frame.get(12..14) == Some(&[8, 0]) { &[8, 10, 11] } else { &[7] };
    changed.iter().for_each(|at| _ = packet.get_mut(*at).map(|byte| *byte = 0));
    packet
}

/// R's own frames: ARP, ICMP and answers from its addresses, and what it tells routers.
fn is_own(frame: &[u8]) -> bool {
    let Some((source, destination)) = addresses(frame) else { return true };
    is_ours(source)
        || destination.is_multicast()
        || matches!(source, IpAddr::V6(a) if a.is_unicast_link_local())
}

fn is_ours(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(addr) => matches!(addr.octets(), [10, 0..=2, 0, 1]),
        IpAddr::V6(addr) => matches!(addr.segments(), [0xfd00..=0xfd02, 0, 0, 0, 0, 0, 0, 1]),
    }
}

/// Why the kernel may not forward what the fast path would: in the words of docs/router.md, or `None` if it should.
fn why_not(injected: &Injected) -> Option<&'static str> {
    let (source, destination) = addresses(&injected.frame)?;
    let mixed = match destination {
        IpAddr::V4(to) => matches!(to.octets()[0], 22 | 27 | 192..),
        IpAddr::V6(to) => to.segments()[2] == 0x22,
    };
    match source {
        IpAddr::V4(_) if is_ours(source) => Some("source is the host's own"),
        IpAddr::V4(source) if matches!(source.octets(), [10, 0..=2, 0, 255]) => {
            Some("source is a broadcast address")
        }
        _ if mixed && injected.frame.len() > 1280 => Some("too big for another next hop of the group"),
        _ => None,
    }
}

/// Why the kernel may forward what the fast path drops.
fn why_all_the_same(out: &[u8], decision: Decision) -> Option<&'static str> {
    let Decision::Drop(why) = decision else { return None };
    let zero = |addr: IpAddr| matches!(addr, IpAddr::V4(addr) if addr.octets()[0] == 0 && addr != Ipv4Addr::UNSPECIFIED);
    let (source, destination) = addresses(out)?;
    match why {
        DropReason::MartianSource if zero(source) => Some("forwarded all the same: source in 0.0.0.0/8"),
        DropReason::MartianSource if source == Ipv6Addr::UNSPECIFIED => {
            Some("forwarded all the same: source is ::")
        }
        DropReason::MartianDestination if zero(destination) => {
            Some("forwarded all the same: destination in 0.0.0.0/8")
        }
        _ => None,
    }
}

/// The same packet, by another member of the group.
fn is_other_member(out: &[u8], frame: &[u8]) -> bool {
    out[14..] == frame[14.min(frame.len())..]
}

/// Injects frames one by one; what differs, by name.
fn compare(beside: &Beside, rpf4: Rpf, mut frames: impl FnMut() -> Vec<u8>) -> Tally {
    let reference = beside.reference(rpf4);
    let sender = RawSender::open(&beside.hosts[0], "a0").unwrap();
    let receivers = [(0, "a0"), (1, "b0"), (1, "b2")]
        .map(|(host, link)| RawReceiver::open(&beside.hosts[host], link).unwrap());
    let mut outputs = Outputs { receivers, frames: Vec::new() };
    let (mut recent, mut tally) = (VecDeque::new(), Tally::new());
    let mut note = |what: String| *tally.entry(what).or_insert(0) += 1;
    let mut bad = 0;
    for _ in 0..FRAMES {
        let frame = frames();
        let (decision, out) = reference.decide(0, &frame);
        let injected = Injected { frame, decision, out };
        sender.send(&injected.frame).unwrap();
        outputs.collect(Duration::ZERO);
        let what = forwarded(&injected, &mut outputs);
        bad += usize::from(what.starts_with("UNEXPLAINED"));
        assert!(bad < 20, "{what}");
        note(what);
        recent.push_front(injected);
        recent.truncate(RECENT);
        for (_, out) in outputs.frames.drain(..) {
            note(stray(&out, &recent));
        }
    }
    outputs.collect(Duration::from_millis(500));
    outputs.frames.drain(..).for_each(|(_, out)| note(stray(&out, &recent)));
    tally
}

/// Whether the kernel forwarded what the fast path would have.
fn forwarded(injected: &Injected, outputs: &mut Outputs) -> String {
    let (Decision::Forward(to), Some(out)) = (injected.decision, &injected.out) else {
        return injected.decision.to_string();
    };
    let may_not = why_not(injected);
    // the kernel forwards while the frame is sent, unless it is busy
    let waits = if may_not.is_some() { &[0, 1][..] } else { &[0, 1, 20, 500, 5000] };
    for wait in waits {
        outputs.collect(Duration::from_millis(*wait));
        if outputs.take(|egress, frame| egress == usize::from(to.egress) && frame == *out) {
            return may_not.map_or("the same".into(), |why| format!("the same, though {why}"));
        }
        if outputs.take(|_, frame| is_other_member(out, frame)) {
            return "the same, by another next hop".into();
        }
    }
    if let Some(why) = may_not {
        return format!("not forwarded: {why}");
    }
    let hex: String = injected.frame.iter().map(|b| format!("{b:02x}")).collect();
    format!("UNEXPLAINED: not forwarded: {hex}")
}

/// An output that no decision asked for.
fn stray(out: &[u8], recent: &VecDeque<Injected>) -> String {
    let same = |i: &&Injected| addresses(&i.frame) == addresses(out) && i.frame.len() >= out.len();
    let of = recent.iter().filter(same).find(|i| kept(&i.frame).starts_with(&kept(out)));
    if let Some(found) = of {
        return match found.decision {
            Decision::Host(why) => format!("by the kernel, of host {}", why.name()),
            _ if is_own(out) => "the kernel's own".into(),
            decision => match why_all_the_same(out, decision) {
                Some(why) => why.into(),
                None => format!("UNEXPLAINED: kernel forwards, {decision}: {out:02x?}"),
            },
        };
    }
    // fragments, and options that the kernel fills in
    let is_changed =
        out[12..14] == [8, 0] && (out[14] > 0x45 || u16::from_be_bytes([out[20], out[21]]) & 0x3fff != 0);
    let why = |i: &Injected| match i.decision {
        Decision::Host(why) => Some(format!("of host {}", why.name())),
        decision => why_all_the_same(out, decision).or(why_not(i)).map(str::to_owned),
    };
    let mut same = recent.iter().filter(|i| is_changed && addresses(&i.frame) == addresses(out));
    match same.find_map(why) {
        Some(why) => format!("changed by the kernel, {why}"),
        None if is_own(out) => "the kernel's own".into(),
        None => format!("UNEXPLAINED: kernel sends {out:02x?}"),
    }
}

/// Frames for r0 that its link carries: captures and made-up ones, changed.
fn source(seed: u64) -> impl FnMut() -> Vec<u8> {
    let data = std::env::var_os("RINGWAY_DATA").map(|root| std::path::PathBuf::from(root).join("pcap"));
    if data.is_none() {
        eprintln!("SKIPPED: captures; RINGWAY_DATA names no folder with pcap/ in it");
    }
    let folders = data.map(|root| [root.join("real"), root.join("hostile")]);
    let mut captures = Vec::new();
    for file in folders.iter().flatten().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let mut reader = Reader::open(file.unwrap().path()).unwrap();
        while let Some(Ok(record)) = reader.next() {
            captures.push(record.data.to_vec());
        }
    }
    let mut frames = Frames::new(seed, [2, 0, 0, 0, 0, 0], captures);
    move || {
        loop {
            let frame = frames.next_frame();
            if (14..=1514).contains(&frame.len()) {
                return frame.to_vec();
            }
        }
    }
}

fn check(tally: &Tally) {
    tally.iter().for_each(|(what, n)| println!("{n:6} {what}"));
    let unexplained: Vec<_> = tally.keys().filter(|what| what.starts_with("UNEXPLAINED")).collect();
    assert!(
        unexplained.is_empty(),
        "{} kinds: {:#?}",
        unexplained.len(),
        &unexplained[..unexplained.len().min(9)]
    );
    assert!(tally["the same"] > FRAMES / 20, "{tally:?}");
}

#[test]
fn as_the_kernel_forwards() {
    let Some(beside) = Beside::new() else { return };
    check(&compare(&beside, Rpf::Off, source(1)));
}

#[test]
fn as_the_kernel_filters_sources() {
    let Some(beside) = Beside::new() else { return };
    for (value, rpf4) in [("1", Rpf::Strict), ("2", Rpf::Loose)] {
        beside.r.exec("sysctl", &["-qw", &format!("net.ipv4.conf.r0.rp_filter={value}")]).unwrap();
        check(&compare(&beside, rpf4, source(2)));
    }
}
