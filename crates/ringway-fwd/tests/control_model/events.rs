//! Random changes.

use std::net::IpAddr;

use proptest::prelude::*;
use ringway_fib::{Prefix4, Prefix6};
use ringway_fwd::control::event::{Address, Link, Mode, Neighbour, Object, Path, Route};
use ringway_fwd::control::{Event, Family, Hop, Kind, MAIN, Net, Via};

pub(crate) fn ip(family: Family, n: u8) -> IpAddr {
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

pub(crate) fn event() -> impl Strategy<Value = Event> {
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
