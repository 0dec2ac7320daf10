//! Members by tc beside programs of others: tcx, filters of clsact, XDP. Needs root; says so and passes without.
//!
//! Objective: programs that were there first come first; what can't be so is refused by name. Nothing of others is removed, and nothing of
//! Ringway stays.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "members/routed.rs"]
mod routed;
#[path = "../../ringway/tests/support/mod.rs"]
mod support;

use std::net::UdpSocket;

use ringway::ErrorKind;
use ringway::switch::{NicOptions, NicPath, Switch, SwitchSpec};
use ringway_lab::Lab;
use ringway_router::follow::{Engine, Options};
use ringway_router::kernel::{Path, Router, Spec};

use routed::Routed;
use support::containers::{Containers, address};
use support::foreign::{DROP, Foreign, Hook, NEXT, PASS, XDP_PASS, count};
use support::members::{add_by, assert_closed, inside};
use support::switch::Temporary;
use support::tcp::transfer;
use support::{assert_clear, eventually, output};

/// Filters and queueing disciplines of an interface.
fn at_tc(lab: &Lab, interface: &str) -> [String; 2] {
    let list = |what: &[&str]| output(lab, "tc", &[what, &["show", "dev", interface]].concat());
    [list(&["qdisc"]), output(lab, "tc", &["filter", "show", "dev", interface, "ingress"])]
}

/// Adds a filter that passes all.
fn add_filter(lab: &Lab, interface: &str, side: &str) {
    lab.exec(
        "tc",
        &["filter", "add", "dev", interface, side, "bpf", "bytecode", "1,6 0 0 0,", "flowid", "1:1"],
    )
    .unwrap();
}

/// Adds a member as on any kernel, or as on those without tcx.
fn add_one(net: &Containers, switch: &Switch, by_clsact: bool) -> ringway::Result<u32> {
    let options = NicOptions { path: NicPath::Tc, ..NicOptions::default() };
    inside(&net.middle, || match by_clsact {
        true => switch.add_nic_by_clsact("n1", &options),
        false => switch.add_nic_with("n1", &options),
    })
}

/// Two hosts, of which the first one's near end is no member yet.
fn half_joined() -> Option<Containers> {
    let net = Containers::beside(2, 1500, Temporary::new(&SwitchSpec::default())?)?;
    add_by(&net.middle, net.switch.name(), "n2", NicPath::Tc).unwrap();
    Some(net)
}

#[test]
fn programs_at_tcx_come_first_where_they_were_first() {
    let Some(net) = half_joined() else { return };
    let [a, b] = &net.hosts[..] else { unreachable!() };
    for verdict in [NEXT, PASS, DROP] {
        let first = Foreign::attach(&net.middle, "n1", Hook::Ingress, verdict);
        add_one(&net, &net.switch, false).unwrap();
        let behind = Foreign::attach(&net.middle, "n1", Hook::Ingress, DROP);
        assert_eq!((first.place(&net.middle), behind.place(&net.middle)), (Some(0), Some(2)));
        let before = net.number("n1");
        if verdict == NEXT {
            transfer(a, b, address(2).into(), 1 << 18);
            assert!(net.number("n1") > before);
        } else {
            let socket = inside(a, || UdpSocket::bind("10.0.0.1:0").unwrap());
            socket.set_broadcast(true).unwrap();
            (0..10).for_each(|_| _ = socket.send_to(b"?", "10.0.0.255:9").unwrap());
            assert_eq!(net.number("n1"), before, "{verdict}: they were not for the switch");
        }
        net.switch.reload().unwrap();
        assert_eq!((first.place(&net.middle), behind.place(&net.middle)), (Some(0), Some(2)));
        inside(&net.middle, || net.switch.del_port("n1", false)).unwrap();
        assert_eq!((first.place(&net.middle), behind.place(&net.middle)), (Some(0), Some(1)));
        assert_eq!(count(&net.middle, "n1", Hook::Ingress), 2, "nothing of Ringway");
    }
    assert_closed(&net.switch);
}

#[test]
fn filters_of_others_are_not_gone_around() {
    let Some(net) = half_joined() else { return };
    let middle = &net.middle;
    middle.exec("tc", &["qdisc", "add", "dev", "n1", "clsact"]).unwrap();
    add_filter(middle, "n1", "ingress");
    add_filter(middle, "n1", "egress");
    let before = at_tc(middle, "n1");
    assert!(before[1].contains("bytecode"), "{before:?}");
    let on = format!("{}:n1", net.switch.name());
    for by_clsact in [false, true] {
        let e = add_one(&net, &net.switch, by_clsact).unwrap_err();
        assert_clear(&e, ErrorKind::Busy, &on, "tc filter show dev n1 ingress");
        assert_eq!(at_tc(middle, "n1"), before);
    }
    middle.exec("tc", &["filter", "del", "dev", "n1", "ingress"]).unwrap();
    let before = at_tc(middle, "n1");
    for by_clsact in [false, true] {
        add_one(&net, &net.switch, by_clsact).unwrap();
        transfer(&net.hosts[0], &net.hosts[1], address(2).into(), 1 << 18);
        inside(middle, || net.switch.del_port("n1", false)).unwrap();
        assert_eq!(at_tc(middle, "n1"), before);
    }
    assert_closed(&net.switch);
}

#[test]
fn an_xdp_program_of_others_sees_frames_first() {
    let Some(net) = half_joined() else { return };
    let theirs = Foreign::attach(&net.middle, "n1", Hook::Xdp, XDP_PASS);
    let on = format!("{}:n1", net.switch.name());
    let e = add_by(&net.middle, net.switch.name(), "n1", NicPath::Xdp).unwrap_err();
    assert_clear(&e, ErrorKind::Busy, &on, "");
    add_one(&net, &net.switch, false).unwrap();
    transfer(&net.hosts[0], &net.hosts[1], address(2).into(), 1 << 18);
    transfer(&net.hosts[1], &net.hosts[0], address(1).into(), 1 << 18);
    inside(&net.middle, || net.switch.del_port("n1", false)).unwrap();
    assert!(theirs.place(&net.middle).is_some());
    assert_eq!(count(&net.middle, "n1", Hook::Ingress), 0);
    assert_closed(&net.switch);
}

#[test]
fn a_bridge_keeps_its_ports() {
    let Some(net) = half_joined() else { return };
    net.middle.ip("link add br0 type bridge").unwrap();
    net.middle.ip("link set n1 master br0").unwrap();
    let on = format!("{}:n1", net.switch.name());
    for path in [NicPath::Auto, NicPath::Tc, NicPath::Xdp] {
        let e = add_by(&net.middle, net.switch.name(), "n1", path).unwrap_err();
        assert_clear(&e, ErrorKind::Busy, &on, "`ip link set n1 nomaster`");
        assert!(e.to_string().contains("part of br0"), "{e}");
    }
    net.middle.ip("link set n1 nomaster").unwrap();
    add_by(&net.middle, net.switch.name(), "n1", NicPath::Auto).unwrap();
    transfer(&net.hosts[0], &net.hosts[1], address(2).into(), 1 << 18);
}

/// Ports that take all frames before a member by tc sees them; others are beside it.
#[test]
fn ports_leave_members_their_frames() {
    let Some(net) = half_joined() else { return };
    for by_clsact in [false, true] {
        add_one(&net, &net.switch, by_clsact).unwrap();
        for port in ["ebpf:n1", "xdp:n1"] {
            let e = inside(&net.middle, || ringway::Port::open(port)).unwrap_err();
            assert_clear(&e, ErrorKind::Busy, port, "ringway switch port del");
        }
        let copies = inside(&net.middle, || ringway::OpenOptions::new().copy(true).open("ebpf:n1")).unwrap();
        transfer(&net.hosts[0], &net.hosts[1], address(2).into(), 1 << 18);
        drop(copies);
        drop(inside(&net.middle, || ringway::Port::open("packet:n1")).unwrap());
        inside(&net.middle, || net.switch.del_port("n1", false)).unwrap();
        drop(inside(&net.middle, || ringway::Port::open("ebpf:n1")).unwrap());
    }
}

#[test]
fn the_name_of_a_member_that_is_gone_has_a_cure() {
    let Some(net) = Containers::new(2, 1500) else { return };
    net.middle.ip("link del n2").unwrap();
    eventually("the switch sees that", || match net.switch.find_port("n2").unwrap().gone {
        true => Ok(()),
        false => Err("it is there".into()),
    });
    net.middle.veth("n2", "f2").unwrap();
    let on = format!("{}:n2", net.switch.name());
    let e = add_by(&net.middle, net.switch.name(), "n2", NicPath::Tc).unwrap_err();
    assert_clear(&e, ErrorKind::Busy, &on, &format!("`ringway switch port del {on}`"));
    assert!(e.to_string().contains("whose interface was deleted"), "{e}");
    inside(&net.middle, || net.switch.del_port("n2", false)).unwrap();
    add_by(&net.middle, net.switch.name(), "n2", NicPath::Tc).unwrap();
}

/// The child of the next tests.
#[test]
fn follows() {
    routed::follow();
}

#[test]
fn a_router_leaves_programs_of_others_where_they_are() {
    let Some(net) = Routed::new() else { return };
    let first = Foreign::attach(&net.middle, "n1", Hook::Ingress, NEXT);
    let theirs = Foreign::attach(&net.middle, "n2", Hook::Xdp, XDP_PASS);
    let process = net.process();
    assert_eq!(first.place(&net.middle), Some(0));
    // A first flow may end before the process hears of the neighbours.
    eventually("the fast path forwards", || {
        let move_some = || transfer(&net.hosts[0], &net.hosts[1], routed::FAR.into(), 1 << 20);
        if net.forwards(move_some) { Ok(()) } else { Err("the kernel forwards all".into()) }
    });
    drop(process);
    Router::open(&net.name).and_then(Router::delete).unwrap();
    assert!(first.place(&net.middle).is_some() && theirs.place(&net.middle).is_some());
    assert_eq!(["n1", "n2"].map(|name| count(&net.middle, name, Hook::Ingress)), [1, 0]);
}

/// A program behind the router's and filters see nothing of what it forwards, so the kernel forwards while there are such.
#[test]
fn a_router_goes_around_nothing() {
    let Some(net) = Routed::new() else { return };
    let process = net.process();
    let move_some = || transfer(&net.hosts[0], &net.hosts[1], routed::FAR.into(), 1 << 18);
    let until = |wanted: bool| {
        eventually("the fast path heeds what others do", || match net.forwards(move_some) == wanted {
            true => Ok(()),
            false => Err(format!("it forwards: {}", !wanted)),
        });
    };
    until(true);
    let behind = Foreign::attach(&net.middle, "n1", Hook::Ingress, PASS);
    until(false);
    assert_eq!(behind.place(&net.middle), Some(1));
    drop(behind);
    until(true);
    drop(process);
    Router::open(&net.name).and_then(Router::delete).unwrap();
    net.middle.exec("tc", &["qdisc", "add", "dev", "n2", "clsact"]).unwrap();
    add_filter(&net.middle, "n2", "ingress");
    let before = at_tc(&net.middle, "n2");
    let options =
        Options { nics: vec!["n1".into(), "n2".into()], path: Some(Path::Tc), ..Options::default() };
    let made = inside(&net.middle, || Engine::create(&net.name, &Spec::default(), &options).map(drop));
    let e = made.unwrap_err();
    assert_clear(&e, ErrorKind::Unsupported, &net.name, "--bypass tc");
    assert!(e.to_string().contains("ingress of n2"), "{e}");
    assert_eq!(at_tc(&net.middle, "n2"), before);
    assert_eq!(["n1", "n2"].map(|name| count(&net.middle, name, Hook::Ingress)), [0, 0]);
}
