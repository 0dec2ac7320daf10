//! The kernel's messages about links, addresses, neighbours, routes, next-hop objects and rules, from bytes to a data plane. Step by step
//! they bring what a look at all of it would bring, and the sums of routes do not drift.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::{Input, one_line};
use ringway_fwd::control::event::{Mode, Route};
use ringway_fwd::control::{Changes, Event, Family, Pulse, Resolver, State};
use ringway_fwd::fuzz::events;
use ringway_fwd::router::reference::Reference;

/// Types of messages that are understood: `RTM_NEW*` of links, addresses, routes, neighbours, rules, settings, next hops.
const KINDS: [u16; 7] = [16, 20, 24, 28, 32, 80, 104];

/// A datagram of messages, each with a header that fits it.
fn datagram(input: &mut Input<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=input.below(4) {
        let kind = KINDS[input.below(7) as usize] + u16::from(input.u8() & 1);
        let (flags, body) = (input.u16(), input.short());
        bytes.extend((16 + body.len() as u32).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    if input.u8() & 7 == 0 {
        events(input.rest(), input.rest().len().is_multiple_of(2));
        return;
    }
    let mut state = State::default();
    let mut plane = Reference::new(Vec::new());
    let mut resolver = Resolver::new(&mut plane);
    while !input.is_empty() {
        let (dump, bytes) = (input.u8() & 1 == 0, datagram(&mut input));
        let mut changes = Changes::default();
        for event in events(&bytes, dump) {
            state.apply(event, &mut changes, &mut Pulse::none());
        }
        resolver.update(&state, changes, &mut plane).expect("there is room for all of this");
        let mark = resolver.mark();
        resolver.release(mark);
    }
    assert_eq!(
        (resolver.audit(&state, &mut Pulse::none()), resolver.pending(), resolver.unplaced()),
        (0, 0, 0)
    );
    state.unsupported().iter().for_each(|what| one_line(what));

    let mut again = State::default();
    for (table, net, path) in state.all_routes() {
        let route = Route { table, net, path: path.clone(), dead: Vec::new() };
        again.apply(Event::Route(route, Mode::Append), &mut Changes::default(), &mut Pulse::none());
    }
    for family in [Family::V4, Family::V6] {
        assert_eq!(state.route_digest(family), again.route_digest(family));
    }
});
