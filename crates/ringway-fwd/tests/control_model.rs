//! Random changes, without a kernel: the state beside a slow and obvious one, and what is brought to the data plane step by step
//! beside what a fresh start would bring.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::net::IpAddr;

use proptest::prelude::*;
use ringway_fwd::control::event::{Address, Link, Mode, Neighbour, Object, Path, Route, Setting};
use ringway_fwd::control::{
    Adjacency, Buckets, Changes, Event, Family, Hop, Kind, Limits, MAIN, Net, Plane, Resolver, State,
    Verdict, Via,
};
use ringway_fwd::fib::{FibError, NextHop, Prefix4, Prefix6};

/// A data plane of hash tables, which knows when a route leads to an entry that was never written.
#[derive(Default)]
struct Slow {
    entries: BTreeMap<u16, Adjacency>,
    groups: BTreeMap<u32, Buckets>,
    v4: BTreeMap<Prefix4, NextHop>,
    v6: BTreeMap<Prefix6, NextHop>,
    /// Refuses routes of more prefixes than these.
    room: Option<usize>,
    limits: Limits,
}

impl Plane for Slow {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency) {
        self.entries.insert(next_hop.get(), *entry);
    }

    fn buckets(&mut self, group: u32, buckets: &Buckets) {
        assert!(
            buckets.iter().all(|n| *n == 0 || self.entries.contains_key(n)),
            "members come before groups"
        );
        self.groups.insert(group, *buckets);
    }

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
        let mut new = self.v4.clone();
        for (prefix, next_hop) in changes {
            match next_hop {
                Some(n) => {
                    let entry = self.entries.get(&n.get()).expect("entries come before routes");
                    let group = entry.verdict() == Verdict::Group;
                    assert!(!group || self.groups.contains_key(&entry.group_number()));
                    new.insert(*prefix, *n);
                }
                None => assert!(new.remove(prefix).is_some()),
            }
        }
        if self.room.is_some_and(|room| new.len() > room) {
            return Err("x".parse::<NextHop>().unwrap_err());
        }
        self.v4 = new;
        Ok(())
    }

    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
        for (prefix, next_hop) in changes {
            match next_hop {
                Some(n) => drop(self.v6.insert(*prefix, *n)),
                None => assert!(self.v6.remove(prefix).is_some()),
            }
        }
        Ok(())
    }
}

impl Slow {
    /// What a next hop means, without numbers: an entry, or members with their buckets.
    fn meaning(&self, next_hop: NextHop) -> Vec<(String, usize)> {
        let entry = &self.entries[&next_hop.get()];
        if entry.verdict() != Verdict::Group {
            return vec![(format!("{entry:?}"), 1)];
        }
        let mut members = BTreeMap::new();
        for n in self.groups[&entry.group_number()] {
            *members.entry(format!("{:?}", self.entries.get(&n))).or_insert(0) += 1;
        }
        members.into_iter().collect()
    }

    fn meanings(&self) -> Vec<(Net, Vec<(String, usize)>)> {
        let v4 = self.v4.iter().map(|(prefix, n)| (Net::V4(*prefix), self.meaning(*n)));
        let v6 = self.v6.iter().map(|(prefix, n)| (Net::V6(*prefix), self.meaning(*n)));
        v4.chain(v6).collect()
    }
}

/// The kernel's rules once more: a list of routes, searched from one end to the other.
#[derive(Default)]
struct Obvious {
    routes: Vec<Route>,
    up: BTreeMap<u32, bool>,
    dead: Vec<(Family, u32)>,
    addresses: Vec<Address>,
    objects: BTreeMap<u32, Object>,
}

fn hops(path: &Path) -> &[Hop] {
    match &path.via {
        Via::Hops(hops) => hops,
        Via::Object(_) => &[],
    }
}

fn joins(path: &Path) -> bool {
    path.kind == Kind::Unicast && hops(path).iter().any(|hop| hop.gateway.is_some())
}

impl Obvious {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Link(link) => {
                let was = self.up.insert(link.index, link.up).unwrap_or(false);
                if was && !link.up {
                    self.lose(link.index, |p| p.scope == 254);
                }
                if !link.up {
                    self.drop_objects(link.index);
                }
                if !was && link.up {
                    self.dead.retain(|(_, dev)| *dev != link.index);
                }
            }
            Event::LinkGone(dev) => {
                self.up.remove(dev);
                self.drop_objects(*dev);
                self.routes.retain(|r| {
                    let through = hops(&r.path).iter().filter(|h| h.dev == *dev).count();
                    through == 0 || r.path.family == Family::V6 && through < hops(&r.path).len()
                });
                for route in &mut self.routes {
                    shrink(&mut route.path, |hop| hop.dev != *dev);
                }
                self.dead.retain(|(_, of)| of != dev);
                self.addresses.retain(|a| a.dev != *dev);
            }
            Event::Address(address) => {
                if !self.addresses.contains(address) {
                    self.addresses.push(*address);
                }
                if self.up.get(&address.dev) == Some(&true) {
                    self.dead.retain(|key| *key != (Family::V4, address.dev));
                }
            }
            Event::AddressGone(address) if self.addresses.contains(address) => {
                self.addresses.retain(|a| a != address);
                if !self.addresses.iter().any(|a| a.addr == address.addr) {
                    self.routes.retain(|r| r.table != MAIN || r.path.source != Some(address.addr));
                }
                if !self.addresses.iter().any(|a| a.dev == address.dev) {
                    self.lose_v4(address.dev, |_| false);
                }
            }
            Event::Route(route, mode) => self.add(route, *mode),
            Event::RouteGone(route) => self.remove(route),
            Event::Object(id, object) => drop(self.objects.insert(*id, object.clone())),
            Event::ObjectGone(id) => self.drop_object(*id),
            _ => {}
        }
    }

    fn lose(&mut self, dev: u32, stays: impl Fn(&Path) -> bool) {
        self.lose_v4(dev, stays);
        self.dead.push((Family::V6, dev));
        let dead = self.dead.clone();
        let lost = |p: &Path| {
            let through = |of: &Hop| of.dev == dev;
            hops(p).iter().any(through) && hops(p).iter().all(|h| dead.contains(&(Family::V6, h.dev)))
        };
        self.routes.retain(|r| r.path.family == Family::V4 || !lost(&r.path));
    }

    fn lose_v4(&mut self, dev: u32, stays: impl Fn(&Path) -> bool) {
        self.dead.push((Family::V4, dev));
        let dead = self.dead.clone();
        let lost = |p: &Path| {
            let through = |of: &Hop| of.dev == dev;
            hops(p).iter().any(through)
                && !stays(p)
                && hops(p).iter().all(|h| dead.contains(&(Family::V4, h.dev)))
        };
        self.routes.retain(|r| r.path.family == Family::V6 || !lost(&r.path));
    }

    fn drop_objects(&mut self, dev: u32) {
        let through = |o: &Object| matches!(o, Object::Hop(hop) if hop.dev == dev);
        let ids: Vec<_> = self.objects.iter().filter(|(_, o)| through(o)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.drop_object(id));
    }

    fn drop_object(&mut self, id: u32) {
        self.objects.remove(&id);
        self.routes.retain(|r| r.path.via != Via::Object(id));
        let mut empty = Vec::new();
        for (of, object) in &mut self.objects {
            if let Object::Group(members) = object {
                members.retain(|(member, _)| *member != id);
                empty.extend(members.is_empty().then_some(*of));
            }
        }
        empty.into_iter().for_each(|id| self.drop_object(id));
    }

    fn note_dead(&mut self, path: &Path) {
        if hops(path).len() > 1 {
            self.dead
                .retain(|(family, dev)| *family != path.family || !hops(path).iter().any(|h| h.dev == *dev));
        }
    }

    fn add(&mut self, route: &Route, mode: Mode) {
        self.note_dead(&route.path);
        if self.routes.iter().any(|r| (r.table, r.net, &r.path) == (route.table, route.net, &route.path)) {
            return;
        }
        let peer = |r: &Route| {
            let key = |r: &Route| (r.table, r.net, r.path.metric, r.path.tos, r.path.from);
            key(r) == key(route)
        };
        let peers: Vec<_> = (0..self.routes.len()).filter(|i| peer(&self.routes[*i])).collect();
        let (first, last) = (peers.first().copied(), peers.last().copied());
        let place = match (route.path.family, mode) {
            (Family::V4, Mode::New) => {
                self.routes.retain(|r| !peer(r));
                None
            }
            (Family::V4, Mode::First) => first,
            (Family::V4, Mode::Append) => last.map(|i| i + 1),
            (Family::V4, Mode::Replace) => first.inspect(|i| drop(self.routes.remove(*i))),
            (Family::V6, mode) => {
                let alike =
                    peers.iter().copied().find(|i| joins(&self.routes[*i].path) == joins(&route.path));
                let instead = match mode {
                    Mode::Replace => alike.or(first),
                    _ => alike.filter(|_| joins(&route.path)),
                };
                instead.inspect(|i| drop(self.routes.remove(*i))).or(last.map(|i| i + 1))
            }
        };
        self.routes.insert(place.unwrap_or(self.routes.len()), route.clone());
    }

    fn remove(&mut self, route: &Route) {
        let same = |r: &Route| (r.table, r.net, &r.path) == (route.table, route.net, &route.path);
        if let Some(i) = self.routes.iter().position(same) {
            self.routes.remove(i);
            return;
        }
        if let Net::V4(_) = route.net {
            return;
        }
        let has =
            |r: &Route, hop: &Hop| hops(&r.path).iter().any(|h| (h.dev, h.gateway) == (hop.dev, hop.gateway));
        let of = |r: &Route| {
            (r.table, r.net, r.path.metric, r.path.kind)
                == (route.table, route.net, route.path.metric, route.path.kind)
                && !hops(&route.path).is_empty()
                && matches!(r.path.via, Via::Hops(_))
                && hops(&route.path).iter().all(|hop| has(r, hop))
        };
        if let Some(i) = self.routes.iter().position(of) {
            let gone = hops(&route.path).to_vec();
            shrink(&mut self.routes[i].path, |h| {
                !gone.iter().any(|g| (g.dev, g.gateway) == (h.dev, h.gateway))
            });
            if hops(&self.routes[i].path).is_empty() {
                self.routes.remove(i);
            }
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> =
            self.routes.iter().map(|r| format!("{} {:?} {:?}", r.table, r.net, r.path)).collect();
        lines.sort();
        lines
    }
}

fn shrink(path: &mut Path, keep: impl Fn(&Hop) -> bool) {
    if let Via::Hops(hops) = &mut path.via {
        hops.retain(keep);
        if let [hop] = &mut hops[..] {
            hop.weight = 1;
        }
    }
}

fn lines(state: &State) -> Vec<String> {
    let mut lines: Vec<_> =
        state.all_routes().map(|(t, net, path)| format!("{t} {net:?} {path:?}")).collect();
    lines.sort();
    lines
}

fn ip(family: Family, n: u8) -> IpAddr {
    match family {
        Family::V4 => IpAddr::from([10, 0, 0, n]),
        Family::V6 => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, n.into()]),
    }
}

fn family() -> impl Strategy<Value = Family> + Clone {
    prop_oneof![Just(Family::V4), Just(Family::V6)]
}

fn net(family: Family) -> BoxedStrategy<Net> {
    // nested prefixes, and hosts that are neighbours
    match family {
        Family::V4 => (0..8u8, prop::sample::select(vec![0u8, 8, 24, 29, 31, 32]))
            .prop_map(|(n, len)| Net::V4(Prefix4::new(0x0a00_0000 + u32::from(n), len).unwrap()))
            .boxed(),
        Family::V6 => (0..8u8, prop::sample::select(vec![0u8, 16, 64, 125, 127, 128]))
            .prop_map(|(n, len)| Net::V6(Prefix6::new((0xfd00 << 112) + u128::from(n), len).unwrap()))
            .boxed(),
    }
}

fn hop(family: Family) -> impl Strategy<Value = Hop> {
    (1..4u32, prop::option::weighted(0.8, 0..8u8), 1..4u16).prop_map(move |(dev, gateway, weight)| Hop {
        dev,
        gateway: gateway.map(|n| ip(family, n)),
        weight,
        onlink: false,
        encap: 0,
    })
}

/// In the one form in which the kernel's messages are read.
fn via(family: Family) -> impl Strategy<Value = Via> {
    let hops = prop::collection::vec(hop(family), 1..4).prop_map(move |mut hops| {
        if family == Family::V6 {
            hops.sort();
            hops.dedup_by_key(|h| (h.dev, h.gateway));
            if hops.len() > 1 {
                hops.retain(|h| h.gateway.is_some());
            }
            if hops.is_empty() {
                hops.push(Hop { dev: 1, gateway: None, weight: 1, onlink: false, encap: 0 });
            }
        }
        if let [hop] = &mut hops[..] {
            hop.weight = 1;
        }
        Via::Hops(hops)
    });
    prop_oneof![4 => hops, 1 => (1..6u32).prop_map(Via::Object)]
}

fn path(family: Family) -> impl Strategy<Value = Path> {
    let kind = prop_oneof![8 => Just(Kind::Unicast), 1 => Just(Kind::Local(2)), 1 => Just(Kind::Blackhole), 1 => Just(Kind::Throw)];
    let tos = prop_oneof![9 => Just(0), 1 => Just(16)];
    let source = prop::option::weighted(0.2, 0..3u8);
    (kind, tos, 0..3u32, source, prop::sample::select(vec![0, 1300]), via(family)).prop_map(
        move |(kind, tos, metric, source, mtu, via)| Path {
            family,
            kind,
            protocol: 3,
            scope: if let Kind::Local(_) = kind { 254 } else { 0 },
            tos: if family == Family::V4 { tos } else { 0 },
            metric,
            source: source.filter(|_| family == Family::V4).map(|n| ip(family, n)),
            from: None,
            mtu,
            other: 0,
            via: if let Kind::Unicast | Kind::Local(_) = kind { via } else { Via::Hops(vec![]) },
        },
    )
}

fn route() -> impl Strategy<Value = Route> {
    family().prop_flat_map(|family| {
        let table = prop::sample::select(vec![MAIN, MAIN, MAIN, 255, 100]);
        (table, net(family), path(family)).prop_map(|(table, net, path)| Route {
            table,
            net,
            path,
            dead: vec![],
        })
    })
}

fn link() -> impl Strategy<Value = Link> {
    (1..4u32, any::<bool>(), prop::bool::weighted(0.9), 0..3u8).prop_map(|(index, up, ethernet, n)| Link {
        index,
        name: format!("a{index}"),
        hardware: if ethernet { 1 } else { 65534 },
        up,
        carrier: up,
        running: up,
        loopback: false,
        mtu: 1500,
        address: Some([2, 0, 0, 0, index as u8, n]),
        master: 0,
    })
}

fn object() -> impl Strategy<Value = (u32, Object)> {
    let single = (
        1..4u32,
        prop_oneof![
            4 => family().prop_flat_map(hop).prop_map(|hop| Object::Hop(Hop { weight: 1, ..hop })),
            1 => Just(Object::Blackhole),
        ],
    );
    let group = (
        4..6u32,
        prop::collection::btree_map(1..4u32, 1..9u16, 1..4)
            .prop_map(|m| Object::Group(m.into_iter().collect())),
    );
    prop_oneof![single, group]
}

fn event() -> impl Strategy<Value = Event> {
    let mode = prop::sample::select(vec![Mode::New, Mode::First, Mode::Append, Mode::Replace]);
    let neighbour = (family(), 1..4u32, 0..8u8, 0..3u8);
    let address = (1..4u32, 0..3u8).prop_map(|(dev, n)| Address { dev, addr: ip(Family::V4, n), len: 24 });
    prop_oneof![
        12 => (route(), mode).prop_map(|(route, mode)| Event::Route(route, mode)),
        4 => route().prop_map(Event::RouteGone),
        6 => link().prop_map(Event::Link),
        1 => (1..4u32).prop_map(Event::LinkGone),
        5 => neighbour.clone().prop_map(|(family, dev, n, link)| {
            Event::Neighbour(Neighbour { dev, addr: ip(family, n), link: [2, 9, 9, 9, 9, link] })
        }),
        2 => neighbour.prop_map(|(family, dev, n, _)| Event::NeighbourGone(dev, ip(family, n))),
        2 => address.clone().prop_map(Event::Address),
        2 => address.prop_map(Event::AddressGone),
        4 => object().prop_map(|(id, object)| Event::Object(id, object)),
        1 => (1..6u32).prop_map(Event::ObjectGone),
    ]
}

/// A removal of a route that is there: random ones seldom hit.
fn removal(state: &State, nth: usize) -> Option<Event> {
    let nth = nth.checked_rem(state.routes())?;
    let (table, net, path) = state.all_routes().nth(nth)?;
    Some(Event::RouteGone(Route { table, net, path: path.clone(), dead: vec![] }))
}

fn fresh(state: &State) -> Vec<(Net, Vec<(String, usize)>)> {
    let mut plane = Slow::default();
    let mut resolver = Resolver::new(&mut plane);
    resolver.update(state, Changes::everything(), &mut plane).unwrap();
    plane.meanings()
}

/// What the resolver says that it told is what the data plane was told.
fn views_are_the_planes(resolver: &Resolver, plane: &Slow) {
    let all: Vec<_> = [Family::V4, Family::V6].iter().flat_map(|f| resolver.prefixes(*f, None)).collect();
    let v4 = plane.v4.iter().map(|(prefix, n)| (Net::V4(*prefix), *n));
    let told: Vec<_> = v4.chain(plane.v6.iter().map(|(prefix, n)| (Net::V6(*prefix), *n))).collect();
    assert_eq!(all, told);
    for (i, (net, next_hop)) in all.iter().enumerate() {
        let family = net.family();
        let rest: Vec<_> = all[i + 1..].iter().filter(|(n, _)| n.family() == family).copied().collect();
        assert_eq!(resolver.prefixes(family, Some(*net)).collect::<Vec<_>>(), rest);
        let host = match net {
            Net::V4(p) => (p.len() == 32).then(|| IpAddr::V4(p.addr().into())),
            Net::V6(p) => (p.len() == 128).then(|| IpAddr::V6(p.addr().into())),
        };
        if let Some(host) = host {
            assert_eq!(resolver.find(host), Some((*net, *next_hop)));
        }
        assert_eq!(resolver.entry(*next_hop), plane.entries.get(&next_hop.get()));
        if let Some(buckets) = plane.groups.get(&resolver.entry(*next_hop).unwrap().group_number())
            && resolver.entry(*next_hop).unwrap().verdict() == Verdict::Group
        {
            assert_eq!(resolver.member(*next_hop, 7 << 24), NextHop::new(buckets[7]));
            let members: Vec<_> = resolver.group(*next_hop).map(|(n, _)| n.get()).collect();
            assert!(buckets.iter().all(|b| members.contains(b)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn step_by_step_is_as_good_as_from_scratch(
        events in prop::collection::vec((event(), any::<bool>(), 0..40usize), 1..60),
        release in any::<bool>(),
    ) {
        let (mut state, mut obvious) = (State::default(), Obvious::default());
        let mut plane = Slow::default();
        let mut resolver = Resolver::new(&mut plane);
        let mut changes = Changes::default();
        for (event, update, nth) in events {
            let event = match (&event, removal(&state, nth)) {
                (Event::RouteGone(_), Some(removal)) => removal,
                _ => event,
            };
            obvious.apply(&event);
            state.apply(event.clone(), &mut changes);
            prop_assert_eq!(lines(&state), obvious.lines(), "after {:?}", event);
            if update {
                resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
                prop_assert_eq!(plane.meanings(), fresh(&state), "after {:?}", event);
                prop_assert_eq!((resolver.audit(&state), resolver.pending()), (0, 0));
                views_are_the_planes(&resolver, &plane);
                if release {
                    let mark = resolver.mark();
                    resolver.release(mark);
                }
            }
        }
        // the digest has not drifted: it is that of a state that was told just what is there
        let mut again = State::default();
        for (table, net, path) in state.all_routes() {
            let route = Route { table, net, path: path.clone(), dead: vec![] };
            again.apply(Event::Route(route, Mode::Append), &mut changes);
        }
        for family in [Family::V4, Family::V6] {
            prop_assert_eq!(state.route_digest(family), again.route_digest(family));
        }
    }

    #[test]
    fn with_little_room_what_fits_is_right(
        events in prop::collection::vec(event(), 1..60),
        next_hops in 6..16u16,
        groups in 0..4u32,
        room in 2..8usize,
    ) {
        let mut state = State::default();
        let mut plane = Slow { room: Some(room), limits: Limits { next_hops, groups }, ..Slow::default() };
        let mut resolver = Resolver::new(&mut plane);
        for event in events {
            let mut changes = Changes::default();
            state.apply(event, &mut changes);
            let done = resolver.update(&state, changes, &mut plane);
            prop_assert_eq!(done.is_err(), resolver.pending() > 0, "{:?}", done);
            let wrong = resolver.audit(&state);
            prop_assert!(wrong <= resolver.pending(), "{wrong} wrong, {} known", resolver.pending());
            let mark = resolver.mark();
            resolver.release(mark);
            prop_assert!(resolver.next_hops() <= usize::from(next_hops));
        }
        // once there is room again, all comes right
        plane.room = None;
        let gone: Vec<_> = state.all_routes().map(|(t, n, p)| (t, n, p.clone())).collect();
        let mut changes = Changes::default();
        for (table, net, path) in gone.into_iter().skip(1) {
            state.apply(Event::RouteGone(Route { table, net, path, dead: vec![] }), &mut changes);
        }
        let neighbours: Vec<_> = state.neighbours().collect();
        for n in neighbours {
            state.apply(Event::NeighbourGone(n.dev, n.addr), &mut changes);
        }
        for _ in 0..3 {
            let _ = resolver.update(&state, std::mem::take(&mut changes), &mut plane);
            let mark = resolver.mark();
            resolver.release(mark);
        }
        if groups > 1 && next_hops >= 13 {
            // the new beside the old, which is made before that is broken
            resolver.update(&state, changes, &mut plane).unwrap();
            prop_assert_eq!((resolver.pending(), plane.meanings()), (0, fresh(&state)));
        }
    }
}

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
    Route { table: MAIN, net: Net::V4(Prefix4::new(0x4000_0000 + (n << 8), 24).unwrap()), path, dead: vec![] }
}

#[test]
fn more_next_hops_than_numbers() {
    let (mut state, mut changes) = (State::default(), Changes::default());
    let mut plane = Slow::default();
    let mut resolver = Resolver::new(&mut plane);
    let fits = 65_535 - 5; // some are always there
    for n in 0..fits {
        state.apply(Event::Route(nth_route(n), Mode::New), &mut changes);
    }
    resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
    let before = plane.v4.clone();
    state.apply(Event::Route(nth_route(fits), Mode::New), &mut changes);
    let mut moved = nth_route(7);
    moved.path.via = nth_route(fits + 1).path.via;
    state.apply(Event::Route(moved, Mode::Replace), &mut changes);
    let full = resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap_err().to_string();
    assert!(full.contains("65535") && full.contains("next hops"), "{full}");
    assert_eq!(resolver.pending(), 2);
    let Net::V4(new) = nth_route(fits).net else { unreachable!() };
    let host = plane.v4.remove(&new).unwrap();
    assert_eq!(plane.entries[&host.get()].verdict(), Verdict::Host);
    assert_eq!(plane.v4, before, "what was there is as it was");
    plane.v4.insert(new, host);
    // two others leave, and readers leave them
    for n in [1, 2] {
        state.apply(Event::RouteGone(nth_route(n)), &mut changes);
    }
    assert!(
        resolver.update(&state, std::mem::take(&mut changes), &mut plane).is_err(),
        "readers may still look"
    );
    let mark = resolver.mark();
    resolver.release(mark);
    resolver.update(&state, Changes::default(), &mut plane).unwrap();
    assert_eq!((resolver.pending(), resolver.audit(&state)), (0, 0));
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
        state.apply(event, &mut changes);
    }
    let hop = |dev| Hop { dev, gateway: Some(ip(Family::V4, 9)), weight: 1, onlink: false, encap: 0 };
    let mut route = nth_route(0);
    (route.path.via, route.dead) = (Via::Hops(vec![hop(1), hop(2)]), vec![2]);
    state.apply(Event::Route(route.clone(), Mode::New), &mut changes);
    let mut plane = Slow::default();
    let mut resolver = Resolver::new(&mut plane);
    resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
    assert_eq!(plane.meanings()[0].1.len(), 1, "only that with a carrier");
    state.apply(link(2, true), &mut changes);
    resolver.update(&state, changes, &mut plane).unwrap();
    assert_eq!(plane.meanings()[0].1.len(), 2);
}
