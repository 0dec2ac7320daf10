//! Links of switches and routers by tc whose settings change under traffic. Needs root; says so and passes without.
//!
//! Objective: from one moment to the next an end of a link may leave segmentation, merging and checksums to others, or do them itself. Streams
//! go on and no byte changes. So they do with any MTU that fits, and frames that do not fit are counted.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "members/routed.rs"]
mod routed;
#[path = "../../ringway/tests/support/mod.rs"]
mod support;

use std::net::{Ipv4Addr, UdpSocket};

use ringway::DropReason;
use ringway::switch::{NicPath, PortConf, SwitchSpec, VlanMode};
use ringway_lab::Lab;

use routed::{FAR, Routed};
use support::containers::{Containers, address};
use support::members::{add_by, assert_closed, inside, stats};
use support::streams::Streams;
use support::switch::Temporary;
use support::{LIMIT, eventually};

/// What `ethtool -K` calls them.
const OFFLOADS: [&str; 6] = ["tso", "gso", "gro", "tx", "rx", "sg"];

const STREAMS: usize = 2;

/// What each stream has to bring after a change.
const ON: u64 = 1 << 18;

/// The ends of both links: far, near, near, far.
fn ends<'a>(hosts: [&'a Lab; 2], middle: &'a Lab) -> [(&'a Lab, &'static str); 4] {
    [(hosts[0], "eth0"), (middle, "n1"), (middle, "n2"), (hosts[1], "eth0")]
}

/// Turns each of `offloads` off and on at each end, while bytes go both ways.
fn change_offloads(hosts: [&Lab; 2], middle: &Lab, to: [Ipv4Addr; 2], offloads: &[&str]) {
    let there = Streams::start(hosts[0], hosts[1], to[1], STREAMS);
    let back = Streams::start(hosts[1], hosts[0], to[0], STREAMS);
    for (lab, interface) in ends(hosts, middle) {
        for offload in offloads {
            for state in ["off", "on"] {
                lab.exec("ethtool", &["-K", interface, offload, state]).unwrap();
                there.flow(ON);
                back.flow(ON);
            }
        }
    }
    // All off, from one end to the other, and on again.
    for state in ["off", "on"] {
        for (lab, interface) in ends(hosts, middle) {
            let all: Vec<&str> = offloads.iter().flat_map(|offload| [*offload, state]).collect();
            lab.exec("ethtool", &[&["-K", interface], &all[..]].concat()).unwrap();
            there.flow(ON);
            back.flow(ON);
        }
    }
    there.end();
    back.end();
}

/// Has both links take smaller frames, larger ones, and then the first size. New streams agree upon what fits.
fn change_mtus(hosts: [&Lab; 2], middle: &Lab, to: Ipv4Addr) {
    for mtu in [1280, 9000, 600, 1500] {
        let set = |ends: &[(&Lab, &str)]| {
            ends.iter().for_each(|(lab, end)| lab.ip(&format!("link set {end} mtu {mtu}")).unwrap());
        };
        let before = Streams::start(hosts[0], hosts[1], to, STREAMS);
        before.flow(ON);
        // The sender's link first: what it sends fits the other one as long as that is larger.
        let ends = ends(hosts, middle);
        let larger = mtu > 1500;
        set(&ends[if larger { 2..4 } else { 0..2 }]);
        before.flow(ON);
        before.end();
        set(&ends[if larger { 0..2 } else { 2..4 }]);
        let after = Streams::start(hosts[0], hosts[1], to, STREAMS);
        after.flow(ON);
        after.end();
    }
}

fn addresses() -> [Ipv4Addr; 2] {
    [address(1), address(2)]
}

fn pair(net: &Containers) -> [&Lab; 2] {
    [&net.hosts[0], &net.hosts[1]]
}

#[test]
fn a_switch_goes_on_with_any_offloads_and_mtu() {
    let Some(net) = Containers::new(2, 1500) else { return };
    change_offloads(pair(&net), &net.middle, addresses(), &OFFLOADS);
    change_mtus(pair(&net), &net.middle, address(2));
    assert_closed(&net.switch);
}

#[test]
fn crossings_go_on_with_any_offloads_and_mtu() {
    let Some(net) = Containers::new(2, 1500) else { return };
    let conf = PortConf { vlan: VlanMode::Access(7), ..PortConf::default() };
    ["n1", "n2"].iter().for_each(|name| net.switch.set_conf(name, &conf).unwrap());
    change_offloads(pair(&net), &net.middle, addresses(), &OFFLOADS);
    change_mtus(pair(&net), &net.middle, address(2));
    assert_closed(&net.switch);
}

/// A veth by XDP needs NAPI at its far end, which GRO stands for there; the kernel keeps its other offloads as XDP can bear them.
#[test]
fn a_switch_of_both_ways_goes_on_with_any_offloads() {
    let Some(net) =
        Temporary::new(&SwitchSpec::default()).and_then(|switch| Containers::beside(2, 1500, switch))
    else {
        return;
    };
    net.hosts[0].run_napi("eth0").unwrap();
    add_by(&net.middle, net.switch.name(), "n1", NicPath::Xdp).unwrap();
    add_by(&net.middle, net.switch.name(), "n2", NicPath::Tc).unwrap();
    change_offloads(pair(&net), &net.middle, addresses(), &["gso", "tx", "rx"]);
    assert_closed(&net.switch);
}

/// The child of the next test.
#[test]
fn follows() {
    routed::follow();
}

#[test]
fn a_router_goes_on_with_any_offloads_and_mtu() {
    let Some(net) = Routed::new() else { return };
    let process = net.process();
    let (hosts, near) = (net.hosts.each_ref(), Ipv4Addr::new(10, 0, 1, 2));
    assert!(net.forwards(|| {
        change_offloads(hosts, &net.middle, [near, FAR], &OFFLOADS);
        change_mtus(hosts, &net.middle, FAR);
    }));
    drop(process);
}

/// Datagrams that a far end does not take any more.
#[test]
fn frames_that_no_longer_fit_are_counted() {
    const COUNT: u64 = 50;
    for access in [None, Some(7)] {
        let Some(net) = Containers::new(2, 1500) else { return };
        let conf =
            PortConf { vlan: access.map_or(VlanMode::Transparent, VlanMode::Access), ..PortConf::default() };
        ["n1", "n2"].iter().for_each(|name| net.switch.set_conf(name, &conf).unwrap());
        let [a, b] = pair(&net);
        let [from, to] = [(a, "10.0.0.1:7"), (b, "10.0.0.2:7")]
            .map(|(lab, at)| inside(lab, || UdpSocket::bind(at).unwrap()));
        to.set_read_timeout(Some(LIMIT)).unwrap();
        let send = |len: usize| from.send_to(&vec![len as u8; len], "10.0.0.2:7").unwrap();
        let mut buf = [0; 2000];
        send(1400);
        assert_eq!(to.recv(&mut buf).unwrap(), 1400);
        b.ip("link set eth0 mtu 600").unwrap();
        let counted = || stats(&net.switch, "n2").counters.rx.drops(DropReason::DeviceFull);
        let before = counted();
        (0..COUNT).for_each(|_| _ = send(1400));
        eventually("they are counted", || match counted() - before {
            COUNT => Ok(()),
            n => Err(format!("{n} of {COUNT}, VLAN {access:?}")),
        });
        assert_closed(&net.switch);
        send(500);
        assert_eq!(to.recv(&mut buf).unwrap(), 500, "what fits passes");
        b.ip("link set eth0 mtu 1500").unwrap();
        send(1400);
        assert_eq!(to.recv(&mut buf).unwrap(), 1400);
        assert_closed(&net.switch);
        // An interface that is gone can't be asked any more.
        let last = counted();
        net.middle.ip("link del n2").unwrap();
        eventually("the switch sees that", || match net.switch.find_port("n2").unwrap().gone {
            true => Ok(()),
            false => Err("it is there".into()),
        });
        assert_eq!(counted(), last);
        assert_closed(&net.switch);
    }
}
