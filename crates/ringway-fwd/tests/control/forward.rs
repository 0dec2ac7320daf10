//! What the data plane does with packets: as the kernel would, and without interruption.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_fib::NextHop;
use ringway_fwd::control::{Adjacency, Family, Kind, LOCAL, MAIN, Net, Options, Pulse, Verdict, Via};
use serde_json::Value;

use crate::{ALONE, Bed};

/// All next hops that flows to an address may get.
fn found(bed: &Bed, addr: IpAddr) -> BTreeMap<u16, Adjacency> {
    let all = (0..256u32).filter_map(|i| match addr {
        IpAddr::V4(addr) => bed.tables.find4(addr.into(), i << 24),
        IpAddr::V6(addr) => bed.tables.find6(addr.into(), i << 24),
    });
    all.map(|(n, entry): (NextHop, _)| (n.get(), entry)).collect()
}

pub(crate) fn one(bed: &Bed, addr: &str) -> Adjacency {
    let all = found(bed, addr.parse().unwrap());
    assert_eq!(all.len(), 1, "{addr}: {all:?}");
    *all.values().next().unwrap()
}

/// Addresses in all prefixes of the tables that packets are looked up in.
fn addresses(bed: &Bed) -> BTreeSet<IpAddr> {
    let hosts = bed.follower.state().neighbours().map(|n| n.addr);
    let looked = bed.follower.state().all_routes().filter(|(table, ..)| [MAIN, LOCAL].contains(table));
    let addr = |net| match net {
        Net::V4(p) => IpAddr::V4((p.addr() | u32::from(p.len() < 31)).into()),
        Net::V6(p) => IpAddr::V6((p.addr() | u128::from(p.len() < 127)).into()),
    };
    looked.map(|(_, net, _)| addr(net)).chain(hosts).collect()
}

/// Whether the data plane leaves an address to the kernel. It is on a link only, or a route there is by type of service or source, is of a
/// kind of its own, or wraps packets.
fn for_the_kernel(bed: &Bed, addr: IpAddr) -> bool {
    let on_link = match addr {
        IpAddr::V4(addr) => addr.is_multicast(),
        IpAddr::V6(addr) => addr.is_multicast() || addr.is_unicast_link_local(),
    };
    let covers = |net: Net| match (net, addr) {
        (Net::V4(p), IpAddr::V4(addr)) => p.covers(addr.into()).then_some(p.len()),
        (Net::V6(p), IpAddr::V6(addr)) => p.covers(addr.into()).then_some(p.len()),
        _ => None,
    };
    let state = bed.follower.state();
    let routes = state.all_routes().filter(|(table, ..)| [MAIN, LOCAL].contains(table));
    let covering: Vec<_> = routes.filter_map(|(_, net, path)| Some((covers(net)?, path))).collect();
    let longest = covering.iter().map(|(len, _)| *len).max();
    on_link
        || covering.iter().filter(|(len, _)| Some(*len) == longest).any(|(_, path)| {
            let wraps = matches!(&path.via, Via::Hops(hops) if hops.iter().any(|hop| hop.encap != 0));
            path.tos != 0 || path.from.is_some() || matches!(path.kind, Kind::Other(_)) || wraps
        })
}

/// Each address leads where `ip route get` says.
pub(crate) fn as_the_kernel(bed: &Bed) {
    for addr in addresses(bed) {
        let entries = found(bed, addr);
        let output = bed.lab.run(&["-j", "route", "get", &addr.to_string()]);
        let verdicts: BTreeSet<_> = entries.values().map(|e| e.verdict() as u8).collect();
        let only = |verdict: Verdict| {
            assert!(verdicts.iter().eq(&[verdict as u8]), "{addr}: {entries:?}, {output:?}")
        };
        let answer = match &output {
            Ok(answer) => answer,
            Err(e) => {
                match () {
                    () if e.contains("Invalid argument") => only(Verdict::Blackhole),
                    () if e.contains("Permission denied") => only(Verdict::Prohibit),
                    () if entries.is_empty() => assert!(e.contains("unreachable"), "{addr}: {e}"),
                    () => only(Verdict::Unreachable),
                }
                continue;
            }
        };
        let answer = &serde_json::from_str::<Value>(answer).unwrap()[0];
        if !answer["type"].is_null() {
            only(Verdict::Local);
            continue;
        }
        let link =
            bed.follower.state().interfaces().find(|l| l.name == answer["dev"].as_str().unwrap()).unwrap();
        let via = answer["gateway"].as_str().or(answer["via"]["host"].as_str()).map(|g| g.parse().unwrap());
        let leads = |e: &Adjacency| match e.verdict() {
            Verdict::Host => for_the_kernel(bed, addr),
            Verdict::Ready | Verdict::Incomplete => {
                e.egress() == link.index && e.gateway().filter(|g| *g != addr) == via
            }
            _ => false,
        };
        assert!(entries.values().any(leads), "{addr}: {entries:?}, {answer}");
    }
}

#[test]
fn tables_and_prefixes_in_each_other() {
    if let Some(mut bed) = Bed::new(ALONE) {
        bed.steps(
            "route add local 60.0.0.0/8 dev lo table local
            route add 60.1.0.0/16 via 10.0.0.2
            route add local 60.1.2.0/24 dev lo table local
            route add 60.1.2.0/24 via 10.0.0.2
            route add 60.1.2.128/25 via 10.1.0.2
            route add throw 60.2.0.0/16
            route add 2001:db8:1::/48 via fd00::2
            route add 2001:db8:2::/48 via fd00::2
            route add local 2001:db8::/32 dev lo table local
            route add 2001:db8:3::/48 via fd00::2
            route add 2001:db9::/48 via fd00::2
            neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev a0
            neigh add fd00::7 lladdr 02:00:00:00:00:07 dev a0
            route add 10.0.0.7/32 via 10.1.0.2
            route add fd00::/80 via fd01::2",
        );
        bed.steps(
            "route del local 2001:db8::/32 dev lo table local
            route del 10.0.0.7/32",
        );
    }
}

#[test]
fn neighbours_complete_next_hops() {
    let Some(mut bed) = Bed::new(ALONE) else { return };
    bed.lab.ip("route add 192.0.2.0/24 via 10.0.0.2\nroute add 2001:db8::/32 via fd00::2");
    bed.settle();
    let verdicts =
        |bed: &Bed| ["192.0.2.1", "10.0.0.2", "2001:db8::1", "fd00::2"].map(|a| one(bed, a).verdict());
    assert_eq!(verdicts(&bed), [Verdict::Incomplete; 4]);
    bed.lab.ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a0\nneigh add fd00::2 lladdr 02:00:00:00:00:03 dev a0");
    bed.settle();
    assert_eq!(verdicts(&bed), [Verdict::Ready; 4]);
    let own = bed.follower.state().interfaces().find(|l| l.name == "a0").unwrap().address.unwrap();
    let header = |to: u8, kind: [u8; 2]| [&[2, 0, 0, 0, 0, to][..], &own, &kind].concat();
    assert_eq!(one(&bed, "192.0.2.1").header()[..], header(2, [8, 0]));
    assert_eq!(one(&bed, "2001:db8::1").header()[..], header(3, [0x86, 0xdd]));
    let routes = bed.resolver.routes();
    bed.lab.ip("neigh change 10.0.0.2 lladdr 02:00:00:00:00:07 dev a0\nlink set a0 mtu 1400");
    bed.settle();
    assert_eq!(one(&bed, "192.0.2.1").header()[..], header(7, [8, 0]));
    assert_eq!((one(&bed, "10.0.0.2").mtu(), one(&bed, "2001:db8::1").mtu()), (1400, 1400));
    assert_eq!(bed.resolver.routes(), routes);
    bed.lab.ip("neigh del 10.0.0.2 dev a0\nneigh change fd00::2 dev a0 nud failed");
    bed.settle();
    assert_eq!(verdicts(&bed), [Verdict::Incomplete; 4]);
    assert_eq!(bed.resolver.routes(), routes - 2, "no routes for neighbours any more");
}

#[test]
fn neighbours_in_use_are_examined() {
    let Some(mut bed) = Bed::new(ALONE) else { return };
    bed.lab.ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a0 nud stale");
    bed.settle();
    let a0 = bed.follower.state().interfaces().find(|l| l.name == "a0").unwrap().index;
    let stale = |bed: &Bed| bed.lab.run(&["neigh", "show", "10.0.0.2"]).unwrap().contains("STALE");
    assert!(stale(&bed));
    bed.follower.examine(a0, "10.0.0.2".parse().unwrap()).unwrap();
    assert!(!stale(&bed));
    let unknown = bed.follower.examine(a0, "10.0.0.3".parse().unwrap()).unwrap_err().to_string();
    assert!(unknown.starts_with("having a neighbour examined: "), "{unknown}");
    bed.equal();
}

/// The kernel would make them neighbours like all others, ask them, and lose them when they do not answer.
#[test]
fn neighbours_with_a_fixed_address_are_left_alone() {
    let Some(mut bed) = Bed::new(ALONE) else { return };
    bed.lab.ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a0 nud permanent
        neigh add fd00::2 lladdr 02:00:00:00:00:03 dev a0 nud permanent
        neigh add 10.0.0.3 lladdr 02:00:00:00:00:04 dev a0 nud noarp");
    bed.settle();
    let a0 = bed.follower.state().interfaces().find(|l| l.name == "a0").unwrap().index;
    let state = |bed: &Bed, addr: &str| bed.lab.run(&["neigh", "show", addr, "nud", "all"]).unwrap();
    for (addr, word) in [("10.0.0.2", "PERMANENT"), ("fd00::2", "PERMANENT"), ("10.0.0.3", "NOARP")] {
        bed.follower.examine(a0, addr.parse().unwrap()).unwrap();
        let state = state(&bed, addr);
        assert!(state.contains(word), "{addr}: {state}");
    }
    bed.equal();
}

/// The gateway of each bucket.
fn buckets(bed: &Bed, addr: u32) -> Vec<Option<IpAddr>> {
    (0..256u32).map(|i| bed.tables.find4(addr, i << 24).unwrap().1.gateway()).collect()
}

fn count(buckets: &[Option<IpAddr>], gateway: &str) -> usize {
    buckets.iter().filter(|b| **b == Some(gateway.parse().unwrap())).count()
}

#[test]
fn flows_stay_when_members_leave_and_come() {
    let Some(mut bed) = Bed::new(ALONE) else { return };
    bed.lab.ip("route add 192.0.2.0/24 nexthop via 10.0.0.2 weight 2 nexthop via 10.0.0.3 nexthop via 10.1.0.4
        nexthop add id 1 via 10.0.0.2 dev a0\nnexthop add id 2 via 10.0.0.3 dev a0\nnexthop add id 3 via 10.1.0.4 dev b0
        nexthop add id 9 group 1,2/2,1/3,1\nroute add 192.0.3.0/24 nhid 9");
    bed.settle();
    for (addr, commands) in [
        (
            0xc000_0201,
            [
                "route replace 192.0.2.0/24 nexthop via 10.0.0.2 weight 2 nexthop via 10.1.0.4",
                "route replace 192.0.2.0/24 nexthop via 10.0.0.2 weight 2 nexthop via 10.0.0.3 nexthop via 10.1.0.4",
            ],
        ),
        (0xc000_0301, ["nexthop replace id 9 group 1,2/3,1", "nexthop replace id 9 group 1,2/2,1/3,1"]),
        (
            0xc000_0301,
            [
                "nexthop del id 2",
                "nexthop add id 2 via 10.0.0.3 dev a0\nnexthop replace id 9 group 1,2/2,1/3,1",
            ],
        ),
        (0xc000_0201, ["link set b0 down", "link set b0 up"]),
    ] {
        let full = buckets(&bed, addr);
        assert_eq!(
            ["10.0.0.2", "10.0.0.3", "10.1.0.4"].map(|g| count(&full, g)),
            [128, 64, 64],
            "{commands:?}"
        );
        bed.lab.ip(commands[0]);
        bed.settle();
        let less = buckets(&bed, addr);
        let gone = if commands[0].starts_with("link") { "10.1.0.4" } else { "10.0.0.3" };
        assert_eq!(count(&less, gone), 0, "{}", commands[0]);
        let moved = full.iter().zip(&less).filter(|(a, b)| a != b).count();
        // the rest take over by weight: 2 to 1, of 256
        assert_eq!(moved, 64, "{}", commands[0]);
        bed.lab.ip(commands[1]);
        bed.settle();
        let again = buckets(&bed, addr);
        let counts = ["10.0.0.2", "10.0.0.3", "10.1.0.4"].map(|g| count(&again, g));
        assert_eq!(counts, [128, 64, 64], "{}", commands[1]);
    }
}

/// Ends a reader when it is dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Flows of a route that is never touched find their next hop at all times, whatever else is lost, flaps and is read again.
#[test]
fn forwarding_is_not_interrupted() {
    let Some(mut bed) = Bed::new(Options { buffer: 4096, ..ALONE }) else { return };
    bed.lab.ip("route add 192.0.2.0/24 nexthop via 10.0.0.2 nexthop via 10.0.0.3\nroute add 192.0.3.0/24 via 10.0.0.2
        neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a0\nneigh add 10.0.0.3 lladdr 02:00:00:00:00:03 dev a0");
    bed.settle();
    let (adjacencies, groups) = (bed.tables.adjacencies.clone(), bed.tables.groups.clone());
    let mut reader = bed.tables.fib4.reader().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when something here fails, or the scope would wait for the reader for ever.
        let stop = Stop(&done);
        let looks = scope.spawn(|| {
            let mut looks = 0u64;
            while looks == 0 || !done.load(Ordering::Relaxed) {
                let view = reader.view();
                for i in 0..200u32 {
                    let next_hop = view.lookup(0xc000_0200 + i * 2).unwrap();
                    let mut entry = adjacencies.load(next_hop);
                    if entry.verdict() == Verdict::Group {
                        entry = adjacencies.load(groups.pick(entry.group_number(), i << 24).unwrap());
                    }
                    assert_eq!(entry.verdict(), Verdict::Ready, "address {i}: {entry:?}");
                }
                looks += 1;
            }
            looks
        });
        for round in 0..5 {
            let routes = |verb| crate::faults::routes(verb, round * 100, 1500);
            for burst in [routes("add"), "link set b0 down\nlink set b0 up".into(), routes("del")] {
                bed.lab.ip(&burst);
                bed.turn();
            }
            bed.follower.sync(&mut Pulse::none()).unwrap();
            bed.turn();
        }
        drop(stop);
        assert!(looks.join().unwrap() > 0);
    });
    bed.equal();
    assert!(bed.health().overruns > 0 && bed.health().syncs > 5, "{:?}", bed.health());
}

#[test]
fn what_the_data_plane_leaves_out_is_said() {
    let Some(mut bed) = Bed::new(ALONE) else { return };
    assert_eq!(bed.follower.state().unsupported(), Vec::<String>::new());
    bed.lab.ip("rule add from 10.9.0.0/16 lookup 100 priority 500");
    bed.settle();
    let said = bed.follower.state().unsupported();
    assert_eq!(said, ["V4: rule at priority 500 for table 100"]);
    bed.lab.ip("rule del priority 500\nrule del priority 32766\nroute add 192.0.2.0/24 dev a0 table 253");
    bed.settle();
    let said = bed.follower.state().unsupported();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("missing") && said[1].contains("253"), "{said:?}");
}

#[test]
fn settings_are_followed() {
    let Some(mut bed) = Bed::new(ALONE) else { return };
    let index = |bed: &Bed, name| bed.follower.state().interfaces().find(|l| l.name == name).unwrap().index;
    let a0 = index(&bed, "a0");
    let set = |key: &str| assert!(Command::new("sysctl").args(["-qw", key]).status().unwrap().success());
    set("net.ipv4.conf.a0.forwarding=1");
    bed.settle();
    assert!(bed.follower.state().forwards(Family::V4, a0) && !bed.follower.state().forwards(Family::V6, a0));
    bed.lab.ip("route add 192.0.2.0/24 via 10.0.0.2 metric 1\nroute add 192.0.2.0/24 via 10.1.0.2 metric 2");
    bed.lab.ip("link set a1 down");
    bed.settle();
    assert_eq!(one(&bed, "192.0.2.1").egress(), a0, "a link without carrier is used all the same");
    // The kernel tells of a carrier when it comes to it.
    let leads = |bed: &mut Bed, to| {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while one(bed, "192.0.2.1").egress() != to && std::time::Instant::now() < end {
            bed.settle();
        }
        assert_eq!(one(bed, "192.0.2.1").egress(), to);
    };
    set("net.ipv4.conf.a0.ignore_routes_with_linkdown=1");
    let b0 = index(&bed, "b0");
    leads(&mut bed, b0);
    bed.lab.ip("link set a1 up");
    leads(&mut bed, a0);
}
