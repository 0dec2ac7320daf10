//! Work on many routes goes in pieces, with a sign of life after each.

use std::cell::Cell;
use std::collections::BTreeMap;

use ringway_fib::{FibError, NextHop, Prefix4, Prefix6};
use ringway_fwd::control::event::{Hop, Link, Mode, Neighbour, Path, Route};
use ringway_fwd::control::{
    Adjacency, Buckets, Changes, Event, Family, Kind, Limits, MAIN, Net, PIECE, Plane, Pulse, Resolver,
    State, Via,
};

const ROUTES: u32 = 5 * PIECE as u32 + 7;

/// Counts signs of life and what is written between two of them.
#[derive(Default)]
struct Counting {
    v4: BTreeMap<Prefix4, NextHop>,
    pushed: Vec<Vec<(Prefix4, Option<NextHop>)>>,
    since: usize,
    most: usize,
    pulses: usize,
}

impl Plane for Counting {
    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn adjacency(&mut self, _: NextHop, _: &Adjacency) {}

    fn buckets(&mut self, _: u32, _: &Buckets) {}

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
        for (prefix, next_hop) in changes {
            match next_hop {
                Some(next_hop) => drop(self.v4.insert(*prefix, *next_hop)),
                None => assert!(self.v4.remove(prefix).is_some()),
            }
        }
        self.since += changes.len();
        self.most = self.most.max(self.since);
        self.pushed.push(changes.to_vec());
        Ok(())
    }

    fn routes6(&mut self, _: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
        Ok(())
    }

    fn pulse(&mut self, unplaced: usize) {
        assert_eq!(unplaced, 0);
        (self.since, self.pulses) = (0, self.pulses + 1);
    }
}

/// A /24 through interface 1 from `first` on.
fn route(first: u32, n: u32) -> Route {
    let gateway = Some([192, 0, 2, 1].into());
    let via = Via::Hops(vec![Hop { dev: 1, gateway, weight: 1, onlink: false, encap: 0 }]);
    let (family, kind, source, from) = (Family::V4, Kind::Unicast, None, None);
    let path =
        Path { family, kind, protocol: 3, scope: 0, tos: 0, metric: 0, source, from, mtu: 0, other: 0, via };
    let net = Net::V4(Prefix4::new(first + (n << 8), 24).unwrap());
    Route { table: MAIN, net, path, dead: vec![] }
}

fn link(up: bool) -> Event {
    let (index, name, address) = (1, "a1".to_owned(), Some([2, 0, 0, 0, 0, 1]));
    let (hardware, running, loopback, mtu, master) = (1, up, false, 1500, 0);
    Event::Link(Link { index, name, hardware, up, carrier: up, running, loopback, mtu, address, master })
}

fn apply(state: &mut State, event: Event, changes: &mut Changes) -> usize {
    let beats = Cell::new(0);
    assert_eq!(state.apply(event, changes, &mut Pulse::new(&mut || beats.set(beats.get() + 1))), None);
    beats.get()
}

/// An interface with all routes goes and comes back; each is looked at and written in pieces.
#[test]
fn a_link_with_many_routes_flaps_in_pieces() {
    const FIRST: u32 = 0x1000_0000;
    let (mut state, mut changes, mut plane) = (State::default(), Changes::default(), Counting::default());
    let mut resolver = Resolver::new(&mut plane);
    apply(&mut state, link(true), &mut changes);
    let to = Neighbour { dev: 1, addr: [192, 0, 2, 1].into(), link: [2, 0, 0, 0, 0, 9] };
    apply(&mut state, Event::Neighbour(to), &mut changes);
    let pieces = (ROUTES as usize).div_ceil(PIECE);
    for _ in 0..2 {
        for n in 0..ROUTES {
            apply(&mut state, Event::Route(route(FIRST, n), Mode::New), &mut changes);
        }
        for up in [true, false] {
            // that routes are gone the kernel does not say
            let looked = apply(&mut state, link(up), &mut changes);
            assert!(looked >= if up { 0 } else { 2 * (pieces - 1) }, "{looked}");
            plane.pulses = 0;
            resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
            assert_eq!(plane.v4.len(), if up { ROUTES as usize } else { 0 });
            assert!(plane.pulses >= 3 * pieces, "collected, resolved and written: {}", plane.pulses);
            assert!(plane.most <= PIECE, "{}", plane.most);
        }
        apply(&mut state, link(true), &mut changes);
    }
    let audited = Cell::new(0);
    let wrong = resolver.audit(&state, &mut Pulse::new(&mut || audited.set(audited.get() + 1)));
    assert_eq!(wrong, 0);
}

/// Where more change than at once can, no packet finds neither the old route nor the new one.
#[test]
fn of_many_changes_routes_come_before_others_go() {
    let (mut state, mut changes, mut plane) = (State::default(), Changes::default(), Counting::default());
    let mut resolver = Resolver::new(&mut plane);
    apply(&mut state, link(true), &mut changes);
    let [old, new] = [0x1000_0000, 0x4000_0000].map(|first| move |n| route(first, n));
    (0..ROUTES).for_each(|n| _ = apply(&mut state, Event::Route(old(n), Mode::New), &mut changes));
    resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
    plane.pushed.clear();
    for n in 0..ROUTES {
        apply(&mut state, Event::RouteGone(old(n)), &mut changes);
        apply(&mut state, Event::Route(new(n), Mode::New), &mut changes);
    }
    resolver.update(&state, changes, &mut plane).unwrap();
    assert!(plane.pushed.len() > 10 && plane.pushed.iter().all(|piece| piece.len() <= PIECE));
    assert!(plane.pushed.concat().is_sorted_by_key(|(_, next_hop)| next_hop.is_none()));
    assert_eq!((plane.v4.len(), resolver.audit(&state, &mut Pulse::none())), (ROUTES as usize, 0));
}
