//! The longest pieces of work on many routes, between two signs of life, with routes that are made up:
//! `cargo run --release --example control_pieces 4000000`.

use std::time::{Duration, Instant};

use ringway_fib::{Fib4, Fib6, FibError, NextHop, Prefix4, Prefix6};
use ringway_fwd::control::event::{Hop, Link, Mode, Neighbour, Path, Route};
use ringway_fwd::control::{
    Adjacency, Buckets, Changes, Event, Family, Kind, Limits, MAIN, Net, Plane, Pulse, Resolver, State,
    Tables, Via,
};

/// What was done, and in which pieces.
struct Pieces {
    begun: Instant,
    last: Instant,
    longest: Duration,
    count: u32,
}

impl Pieces {
    fn begin() -> Self {
        Self { begun: Instant::now(), last: Instant::now(), longest: Duration::ZERO, count: 0 }
    }

    fn alive(&mut self) {
        self.longest = self.longest.max(self.last.elapsed());
        (self.last, self.count) = (Instant::now(), self.count + 1);
    }

    fn end(mut self, what: &str) {
        self.alive();
        let [all, longest] = [self.begun.elapsed(), self.longest].map(|time| time.as_secs_f64() * 1e3);
        println!("{what:30} {all:8.1} ms in {:5} pieces, the longest {longest:6.1} ms", self.count);
    }
}

struct Timed(Tables, Pieces);

impl Plane for Timed {
    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency) {
        self.0.adjacency(next_hop, entry);
    }

    fn buckets(&mut self, group: u32, buckets: &Buckets) {
        self.0.buckets(group, buckets);
    }

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
        self.0.routes4(changes)
    }

    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
        self.0.routes6(changes)
    }

    fn pulse(&mut self, _: usize) {
        self.1.alive();
    }
}

/// A /24, with one of 200 gateways on interface 1.
fn route(n: u32) -> Route {
    let gateway = Some([192, 168, 0, (n.wrapping_mul(0x9e37_79b9) >> 16) as u8 % 200].into());
    let via = Via::Hops(vec![Hop { dev: 1, gateway, weight: 1, onlink: false, encap: 0 }]);
    let (family, kind, source, from) = (Family::V4, Kind::Unicast, None, None);
    let path =
        Path { family, kind, protocol: 3, scope: 0, tos: 0, metric: 0, source, from, mtu: 0, other: 0, via };
    let net = Prefix4::new(0x0100_0000 + (n << 8), 24).map(Net::V4);
    Route { table: MAIN, net: net.unwrap_or_else(|e| panic!("{e}")), path, dead: vec![] }
}

fn link(up: bool) -> Event {
    let (index, name, address) = (1, "a1".to_owned(), Some([2, 0, 0, 0, 0, 1]));
    let (hardware, running, loopback, mtu, master) = (1, up, false, 1500, 0);
    Event::Link(Link { index, name, hardware, up, carrier: up, running, loopback, mtu, address, master })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let routes: u32 = std::env::args().nth(1).map_or(Ok(1_000_000), |n| n.parse())?;
    let (mut state, mut changes) = (State::default(), Changes::default());
    state.apply(link(true), &mut changes, &mut Pulse::none());
    for n in 0..200 {
        let (addr, link) = ([192, 168, 0, n].into(), [2, 0, 0, 0, 1, n]);
        state.apply(Event::Neighbour(Neighbour { dev: 1, addr, link }), &mut changes, &mut Pulse::none());
    }
    let fib4 = Fib4::new(ringway_fib::Limits::for_routes(2 * routes as usize))?;
    let tables = Tables::new(fib4, Fib6::new(ringway_fib::Limits::default())?, Limits::default());
    let mut plane = Timed(tables, Pieces::begin());
    let mut resolver = Resolver::new(&mut plane);
    for round in ["first", "second"] {
        (0..routes).for_each(|n| {
            _ = state.apply(Event::Route(route(n), Mode::New), &mut changes, &mut Pulse::none())
        });
        for (what, changes) in
            [("changes", std::mem::take(&mut changes)), ("all, though nothing did", Changes::everything())]
        {
            plane.1 = Pieces::begin();
            resolver.update(&state, changes, &mut plane)?;
            std::mem::replace(&mut plane.1, Pieces::begin()).end(&format!("{round}: {what}"));
        }
        let mut pieces = Pieces::begin();
        assert_eq!(resolver.audit(&state, &mut Pulse::new(&mut || pieces.alive())), 0);
        pieces.end(&format!("{round}: audited"));
        let mut pieces = Pieces::begin();
        state.apply(link(false), &mut changes, &mut Pulse::new(&mut || pieces.alive()));
        pieces.end(&format!("{round}: the link goes"));
        plane.1 = Pieces::begin();
        resolver.update(&state, std::mem::take(&mut changes), &mut plane)?;
        std::mem::replace(&mut plane.1, Pieces::begin()).end(&format!("{round}: its routes go"));
        state.apply(link(true), &mut changes, &mut Pulse::none());
    }
    Ok(())
}
