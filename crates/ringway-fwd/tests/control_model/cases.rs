//! Full tables, and what else random changes seldom hit.

use ringway_fib::{Fib4, Fib6, Prefix4};
use ringway_fwd::control::event::{Link, Mode, Neighbour, Path, Route, Setting};
use ringway_fwd::control::{
    Changes, Event, Family, Hop, Kind, Limits, MAIN, Net, Pulse, Resolver, State, Tables, Verdict, Via,
};

use crate::events::ip;
use crate::plane::Slow;

/// A unicast route of IPv4 by a gateway of its own.
fn nth_route(n: u32) -> Route {
    let hop = Hop {
        dev: 1,
        gateway: Some((0x0a00_0000 + n).to_be_bytes().into()),
        weight: 1,
        onlink: false,
        encap: 0,
    };
    let (kind, via) = (Kind::Unicast, Via::Hops(vec![hop]));
    let (family, source, from) = (Family::V4, None, None);
    let path =
        Path { family, kind, protocol: 3, scope: 0, tos: 0, metric: 0, source, from, mtu: 0, other: 0, via };
    Route { table: MAIN, net: Net::V4(prefix(n)), path, dead: vec![] }
}

fn prefix(n: u32) -> Prefix4 {
    Prefix4::new(0x4000_0000 + (n << 8), 24).unwrap()
}

#[test]
fn more_next_hops_than_numbers() {
    let (mut state, mut changes) = (State::default(), Changes::default());
    let mut plane = Slow::default();
    let mut resolver = Resolver::new(&mut plane);
    let fits = 65_535 - 5; // some are always there
    for n in 0..fits {
        state.apply(Event::Route(nth_route(n), Mode::New), &mut changes, &mut Pulse::none());
    }
    resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
    let before = plane.v4.clone();
    state.apply(Event::Route(nth_route(fits), Mode::New), &mut changes, &mut Pulse::none());
    let mut moved = nth_route(7);
    moved.path.via = nth_route(fits + 1).path.via;
    state.apply(Event::Route(moved, Mode::Replace), &mut changes, &mut Pulse::none());
    let full = resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap_err().to_string();
    assert!(full.contains("65535") && full.contains("next hops"), "{full}");
    assert_eq!(resolver.pending(), 2);
    let new = prefix(fits);
    let host = plane.v4.remove(&new).unwrap();
    assert_eq!(plane.entries[&host.get()].verdict(), Verdict::Host);
    assert_eq!(plane.v4, before, "what was there is as it was");
    plane.v4.insert(new, host);
    // two others leave, and readers leave them
    for n in [1, 2] {
        state.apply(Event::RouteGone(nth_route(n)), &mut changes, &mut Pulse::none());
    }
    assert!(
        resolver.update(&state, std::mem::take(&mut changes), &mut plane).is_err(),
        "readers may still look"
    );
    let mark = resolver.mark();
    resolver.release(mark);
    resolver.update(&state, Changes::default(), &mut plane).unwrap();
    assert_eq!((resolver.pending(), resolver.audit(&state, &mut Pulse::none())), (0, 0));
}

/// Routes that a full table has no room for are unplaced, and placed when others leave; what was there is as it was.
#[test]
fn more_routes_than_a_table_has_room_for() {
    let (mut state, mut changes) = (State::default(), Changes::default());
    let fib4 = Fib4::new(ringway_fib::Limits { words: 1024 }).unwrap();
    let mut tables = Tables::new(fib4, Fib6::new(Default::default()).unwrap(), Limits::default());
    let mut resolver = Resolver::new(&mut tables);
    let apart = |n: u32| nth_route(2 * n); // neighbours with one next hop would take no more room than one route
    let found = |tables: &Tables, n: u32| tables.fib4.get(prefix(2 * n)).is_some();
    state.apply(Event::Route(apart(0), Mode::New), &mut changes, &mut Pulse::none());
    resolver.update(&state, std::mem::take(&mut changes), &mut tables).unwrap();
    assert_eq!(resolver.unplaced(), 0);
    for n in 1..3000 {
        state.apply(Event::Route(apart(n), Mode::New), &mut changes, &mut Pulse::none());
    }
    let full = resolver.update(&state, std::mem::take(&mut changes), &mut tables).unwrap_err().to_string();
    assert!(full.contains("table full"), "{full}");
    let missing = (0..3000).filter(|n| !found(&tables, *n)).count();
    assert!(missing > 0 && found(&tables, 0));
    assert_eq!(
        (resolver.unplaced(), resolver.pending(), tables.fib4.len()),
        (missing, missing, 3000 - missing)
    );
    for n in 10..3000 {
        state.apply(Event::RouteGone(apart(n)), &mut changes, &mut Pulse::none());
    }
    resolver.update(&state, changes, &mut tables).unwrap();
    assert_eq!(
        (resolver.unplaced(), resolver.pending(), resolver.audit(&state, &mut Pulse::none())),
        (0, 0, 0)
    );
    assert!((0..10).all(|n| found(&tables, n)) && tables.fib4.len() == 10);
}

/// A kernel that leaves routes without carrier out calls such hops dead, and says nothing when the carrier comes back.
#[test]
fn a_hop_without_carrier_is_used_again_when_it_comes_back() {
    let (mut state, mut changes) = (State::default(), Changes::default());
    let link = |index: u32, carrier| {
        let (name, address) = (format!("a{index}"), Some([2, 0, 0, 0, 0, index as u8]));
        let (hardware, up, running, loopback, mtu) = (1, true, true, false, 1500);
        Event::Link(Link { index, name, hardware, up, carrier, running, loopback, mtu, address, master: 0 })
    };
    let setting = |dev| {
        let (forwarding, ignore_linkdown, reverse_path) = (None, Some(true), None);
        Event::Setting(Setting { family: Family::V4, dev, forwarding, ignore_linkdown, reverse_path })
    };
    for event in [link(1, true), link(2, false), setting(1), setting(2)] {
        state.apply(event, &mut changes, &mut Pulse::none());
    }
    let hop = |dev| Hop { dev, gateway: Some(ip(Family::V4, 9)), weight: 1, onlink: false, encap: 0 };
    let mut route = nth_route(0);
    (route.path.via, route.dead) = (Via::Hops(vec![hop(1), hop(2)]), vec![2]);
    state.apply(Event::Route(route.clone(), Mode::New), &mut changes, &mut Pulse::none());
    let mut plane = Slow::default();
    let mut resolver = Resolver::new(&mut plane);
    resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
    assert_eq!(plane.meanings()[0].1.len(), 1, "only that with a carrier");
    state.apply(link(2, true), &mut changes, &mut Pulse::none());
    resolver.update(&state, changes, &mut plane).unwrap();
    assert_eq!(plane.meanings()[0].1.len(), 2);
}

/// A route of a single host without a gateway, as point-to-point links have them: the host is the neighbour.
#[test]
fn a_host_on_a_link_is_reached_by_its_neighbour_entry() {
    let (mut state, mut changes) = (State::default(), Changes::default());
    let mut plane = Slow::default();
    let mut resolver = Resolver::new(&mut plane);
    let (name, address) = ("e1".to_owned(), Some([2, 0, 0, 0, 0, 1]));
    let (hardware, up, carrier, running, loopback, mtu) = (1, true, true, true, false, 1500);
    let link = Link { index: 1, name, hardware, up, carrier, running, loopback, mtu, address, master: 0 };
    state.apply(Event::Link(link), &mut changes, &mut Pulse::none());
    let host = Prefix4::new(0x0a00_0009, 32).unwrap();
    let mut route = nth_route(0);
    route.net = Net::V4(host);
    route.path.via = Via::Hops(vec![Hop { dev: 1, gateway: None, weight: 1, onlink: false, encap: 0 }]);
    state.apply(Event::Route(route, Mode::New), &mut changes, &mut Pulse::none());
    resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
    let verdict = |plane: &Slow| plane.entries[&plane.v4[&host].get()].verdict();
    assert_eq!(verdict(&plane), Verdict::Incomplete);
    let addr = [10, 0, 0, 9].into();
    let neighbour = Neighbour { dev: 1, addr, link: [2, 0, 0, 0, 0, 9] };
    state.apply(Event::Neighbour(neighbour), &mut changes, &mut Pulse::none());
    resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
    assert_eq!(verdict(&plane), Verdict::Ready);
    state.apply(Event::NeighbourGone(1, addr), &mut changes, &mut Pulse::none());
    resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
    assert_eq!(verdict(&plane), Verdict::Incomplete);
}
