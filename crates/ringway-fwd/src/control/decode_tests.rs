//! Messages as another library writes them, read by ours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{Emitable, NLM_F_CREATE};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkLayerType, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    MplsLabel, RouteAddress, RouteAttribute, RouteLwEnCapType, RouteLwTunnelEncap, RouteMessage, RouteMetric,
    RouteMplsIpTunnel, RouteNextHop, RouteNextHopFlags, RouteProtocol, RouteType, RouteVia,
};
use proptest::prelude::*;

use ringway_fib::Prefix;

use super::*;
use crate::control::event::{Hop, Kind, Net, Path, Route, Via};

fn bytes(message: &impl Emitable) -> Vec<u8> {
    let mut bytes = vec![0; message.buffer_len()];
    message.emit(&mut bytes);
    bytes
}

fn read(kind: u16, flags: u16, message: &impl Emitable) -> Option<Event> {
    decode(kind, flags, &bytes(message), false).unwrap()
}

fn route_of(kind: u16, flags: u16, message: &RouteMessage) -> Route {
    match read(kind, flags, message) {
        Some(Event::Route(route, _) | Event::RouteGone(route)) => route,
        other => panic!("{other:?}"),
    }
}

fn message(family: AddressFamily, len: u8, attributes: Vec<RouteAttribute>) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family;
    message.header.destination_prefix_length = len;
    message.header.kind = RouteType::Unicast;
    message.header.protocol = RouteProtocol::Static;
    message.header.table = 254;
    message.attributes = attributes;
    message
}

const V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 0);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

#[test]
fn a_route_with_all_that_counts() {
    let m = message(
        AddressFamily::Inet,
        24,
        vec![
            RouteAttribute::Destination(RouteAddress::Inet(V4)),
            RouteAttribute::Gateway(RouteAddress::Inet(GATEWAY)),
            RouteAttribute::Oif(7),
            RouteAttribute::Priority(20),
            RouteAttribute::Table(1000),
            RouteAttribute::PrefSource(RouteAddress::Inet(Ipv4Addr::LOCALHOST)),
            RouteAttribute::Metrics(vec![RouteMetric::Mtu(1400)]),
        ],
    );
    let route = route_of(24, 0, &m);
    assert_eq!((route.table, route.net), (1000, Net::V4("192.0.2.0/24".parse().unwrap())));
    let Path { kind, protocol, metric, source, mtu, via, .. } = route.path;
    assert_eq!((kind, protocol, metric, mtu), (Kind::Unicast, 4, 20, 1400));
    assert_eq!(source, Some(Ipv4Addr::LOCALHOST.into()));
    let hop = Hop { dev: 7, gateway: Some(GATEWAY.into()), weight: 1, onlink: false, encap: 0 };
    assert_eq!(via, Via::Hops(vec![hop]));
}

#[test]
fn how_a_route_came() {
    let m = message(AddressFamily::Inet, 0, vec![RouteAttribute::Oif(7)]);
    let mode = |flags| match read(24, flags, &m) {
        Some(Event::Route(_, mode)) => mode,
        other => panic!("{other:?}"),
    };
    assert_eq!(mode(NLM_F_EXCL | NLM_F_CREATE), Mode::New);
    assert_eq!(mode(NLM_F_REPLACE), Mode::Replace);
    assert_eq!(mode(NLM_F_APPEND | NLM_F_CREATE), Mode::Append);
    assert_eq!(mode(NLM_F_CREATE), Mode::First);
    assert!(matches!(read(25, 0, &m), Some(Event::RouteGone(_))));
    assert!(matches!(decode(24, NLM_F_EXCL, &bytes(&m), true).unwrap(), Some(Event::Route(_, Mode::Append))));
}

#[test]
fn several_hops_and_what_they_are_through() {
    let mut hop = RouteNextHop::default();
    (hop.interface_index, hop.hops, hop.flags) = (3, 4, RouteNextHopFlags::Onlink | RouteNextHopFlags::Dead);
    hop.attributes = vec![RouteAttribute::Via(RouteVia::Inet6("fe80::1".parse().unwrap()))];
    let mut second = RouteNextHop::default();
    second.interface_index = 2;
    second.attributes = vec![RouteAttribute::EncapType(RouteLwEnCapType::Ip)];
    let m = message(AddressFamily::Inet, 0, vec![RouteAttribute::MultiPath(vec![hop, second])]);
    let route = route_of(24, 0, &m);
    let via: IpAddr = "fe80::1".parse().unwrap();
    let first = Hop { dev: 3, gateway: Some(via), weight: 5, onlink: true, encap: 0 };
    let Via::Hops(hops) = route.path.via else { panic!() };
    assert_eq!((&hops[0], route.dead), (&first, vec![3]));
    assert!(hops[1].encap != 0 && (hops[1].dev, hops[1].gateway) == (2, None));
}

#[test]
fn what_packets_are_wrapped_into_tells_routes_apart() {
    let label = |label| {
        let label = MplsLabel { label, traffic_class: 0, bottom_of_stack: true, ttl: 0 };
        let to = RouteMplsIpTunnel::Destination(vec![label]);
        RouteAttribute::Encap(vec![RouteLwTunnelEncap::Mpls(to)])
    };
    let kind = || RouteAttribute::EncapType(RouteLwEnCapType::Mpls);
    let encap = |attributes: Vec<RouteAttribute>| {
        let oif = RouteAttribute::Oif(7);
        match route_of(24, 0, &message(AddressFamily::Inet, 0, [vec![oif], attributes].concat())).path.via {
            Via::Hops(hops) => hops[0].encap,
            Via::Object(_) => panic!(),
        }
    };
    assert_eq!(encap(vec![]), 0);
    assert_eq!(encap(vec![RouteAttribute::EncapType(RouteLwEnCapType::None)]), 0);
    let one = encap(vec![label(1), kind()]);
    assert_eq!(one, encap(vec![kind(), label(1)]));
    assert!(one != 0 && one != encap(vec![label(2), kind()]));
}

#[test]
fn hops_beside_an_object_are_the_objects() {
    let m = message(AddressFamily::Inet, 0, vec![RouteAttribute::NhId(9), RouteAttribute::Oif(7)]);
    assert_eq!(route_of(24, 0, &m).path.via, Via::Object(9));
}

#[test]
fn links_addresses_and_neighbours() {
    let mut m = LinkMessage::default();
    (m.header.index, m.header.link_layer_type) = (7, LinkLayerType::Ether);
    m.header.flags = LinkFlags::Up | LinkFlags::Running;
    m.attributes = vec![
        LinkAttribute::IfName("a0".into()),
        LinkAttribute::Mtu(9000),
        LinkAttribute::Address(vec![2, 0, 0, 0, 0, 1]),
    ];
    let Some(Event::Link(link)) = read(16, 0, &m) else { panic!() };
    assert_eq!((link.index, &*link.name, link.mtu, link.hardware), (7, "a0", 9000, 1));
    assert_eq!(
        (link.up, link.carrier, link.running, link.address),
        (true, false, true, Some([2, 0, 0, 0, 0, 1]))
    );
    assert_eq!(read(17, 0, &m), Some(Event::LinkGone(7)));
    m.header.interface_family = AddressFamily::Bridge;
    assert_eq!(read(17, 0, &m), None, "it left a bridge, and lives on");

    let mut m = AddressMessage::default();
    (m.header.family, m.header.prefix_len, m.header.index) = (AddressFamily::Inet, 31, 7);
    m.attributes = vec![AddressAttribute::Address(V4.into()), AddressAttribute::Local(GATEWAY.into())];
    let address = Address { dev: 7, addr: GATEWAY.into(), len: 31 };
    assert_eq!(read(20, 0, &m), Some(Event::Address(address)), "the other end's is beside it");
    assert_eq!(read(21, 0, &m), Some(Event::AddressGone(address)));

    let mut m = NeighbourMessage::default();
    (m.header.family, m.header.ifindex, m.header.state) = (AddressFamily::Inet, 7, NeighbourState::Stale);
    m.attributes = vec![
        NeighbourAttribute::Destination(NeighbourAddress::Inet(GATEWAY)),
        NeighbourAttribute::LinkLayerAddress(vec![2, 0, 0, 0, 0, 9]),
    ];
    let neighbour = Neighbour { dev: 7, addr: GATEWAY.into(), link: [2, 0, 0, 0, 0, 9] };
    assert_eq!(read(28, 0, &m), Some(Event::Neighbour(neighbour)));
    let gone = Some(Event::NeighbourGone(7, GATEWAY.into()));
    assert_eq!(read(29, 0, &m), gone);
    m.header.state = NeighbourState::Failed;
    assert_eq!(read(28, 0, &m), gone);
}

#[test]
fn what_is_wrong_is_said() {
    let short = message(AddressFamily::Inet, 33, vec![]);
    assert_eq!(decode(24, 0, &bytes(&short), false), Err("has a prefix that is too long"));
    assert_eq!(decode(24, 0, &[2], false), Err(SHORT));
    let other = message(AddressFamily::Inet6, 0, vec![RouteAttribute::Gateway(RouteAddress::Inet(V4))]);
    assert_eq!(decode(24, 0, &bytes(&other), false), Err("has an address of the wrong length"));
    assert_eq!(decode(26, 0, &[], false), Ok(None), "a request");
}

proptest! {
    #[test]
    fn routes_of_ipv6_are_sets(order in Just(vec![1u32, 2, 3]).prop_shuffle(), len in 0..=128u8, to: u128, metric: u32) {
        let hop = |dev: &u32| {
            let mut hop = RouteNextHop::default();
            hop.interface_index = *dev;
            hop.attributes = vec![RouteAttribute::Gateway(RouteAddress::Inet6(Ipv6Addr::LOCALHOST))];
            hop
        };
        let m = message(AddressFamily::Inet6, len, vec![
            RouteAttribute::Destination(RouteAddress::Inet6(to.into())),
            RouteAttribute::Priority(metric),
            RouteAttribute::MultiPath(order.iter().map(hop).collect()),
        ]);
        let route = route_of(24, 0, &m);
        prop_assert_eq!(route.net, Net::V6(Prefix::new(to, len).unwrap()));
        prop_assert_eq!(route.path.metric, metric);
        let Via::Hops(hops) = route.path.via else { panic!() };
        prop_assert_eq!(hops.iter().map(|hop| hop.dev).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
