//! Changes without a kernel: the state beside a slow and obvious one, and what is brought to the data plane step by step beside
//! what a fresh start would bring.
#![allow(clippy::unwrap_used, reason = "a test")]

mod cases;
mod events;
mod long;
mod obvious;
mod plane;

use std::net::IpAddr;

use events::event;
use obvious::Obvious;
use plane::Slow;
use proptest::prelude::*;
use ringway_fib::NextHop;
use ringway_fwd::control::event::{Mode, Route};
use ringway_fwd::control::{Changes, Event, Family, Limits, Net, Pulse, Resolver, State, Verdict};

fn lines(state: &State) -> Vec<String> {
    let mut lines: Vec<_> =
        state.all_routes().map(|(t, net, path)| format!("{t} {net:?} {path:?}")).collect();
    lines.sort();
    lines
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

/// The resolver says of the data plane what the data plane has.
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
            state.apply(event.clone(), &mut changes, &mut Pulse::none());
            prop_assert_eq!(lines(&state), obvious.lines(), "after {:?}", event);
            if update {
                resolver.update(&state, std::mem::take(&mut changes), &mut plane).unwrap();
                prop_assert_eq!(plane.meanings(), fresh(&state), "after {:?}", event);
                prop_assert_eq!((resolver.audit(&state, &mut Pulse::none()), resolver.pending()), (0, 0));
                views_are_the_planes(&resolver, &plane);
                if release {
                    let mark = resolver.mark();
                    resolver.release(mark);
                }
            }
        }
        // the digest has not drifted: a state with just these entries has the same
        let mut again = State::default();
        for (table, net, path) in state.all_routes() {
            let route = Route { table, net, path: path.clone(), dead: vec![] };
            again.apply(Event::Route(route, Mode::Append), &mut changes, &mut Pulse::none());
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
            state.apply(event, &mut changes, &mut Pulse::none());
            let done = resolver.update(&state, changes, &mut plane);
            prop_assert_eq!(done.is_err(), resolver.pending() > 0, "{:?}", done);
            let wrong = resolver.audit(&state, &mut Pulse::none());
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
            state.apply(Event::RouteGone(Route { table, net, path, dead: vec![] }), &mut changes, &mut Pulse::none());
        }
        let neighbours: Vec<_> = state.neighbours().collect();
        for n in neighbours {
            state.apply(Event::NeighbourGone(n.dev, n.addr), &mut changes, &mut Pulse::none());
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
