//! More routes than tables have room for.

use ringway_fib::{Limits, Prefix4};
use ringway_fwd::control::event::{Mode, Path, Route};
use ringway_fwd::control::{Changes, Event, Family, Kind, MAIN, Net, Pulse, Resolver, State, Via};

use super::trial::Trial;
use super::{Made, in_namespace};
use crate::kernel::{self, Interface, Outcome, Spec};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A blackhole for one host; each of them takes a node of its own.
fn hole(n: u32) -> Route {
    let (kind, via) = (Kind::Blackhole, Via::Hops(vec![]));
    let (family, source, from) = (Family::V4, None, None);
    let path =
        Path { family, kind, protocol: 3, scope: 0, tos: 0, metric: 0, source, from, mtu: 0, other: 0, via };
    let host = Prefix4::new(0x4000_0000 + (n << 12), 32).unwrap();
    Route { table: MAIN, net: Net::V4(host), path, dead: vec![] }
}

/// A packet without ports to the host of a hole.
fn frame(n: u32) -> Vec<u8> {
    let to = (0x4000_0000 + (n << 12)).to_be_bytes();
    let mut ip = [&[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0, 0, 10, 0, 0, 9][..], &to].concat();
    let sum = ringway_wire::checksum::of(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&MAC[..], &[0; 6], &[8, 0], &ip].concat()
}

/// While a route has no place, packets to it would take another way: the process says so by its heartbeat, and all are the host's.
/// Routes that leave make room for routes that wait.
#[test]
fn routes_without_room_are_the_hosts_until_there_is_some() {
    in_namespace(|[lan, wan, _]| {
        let made = Made::new(&Spec { limits4: Limits { words: 2048 }, ..Spec::default() });
        let mut control = made.get().take_control().unwrap();
        let mut resolver = Resolver::new(&mut control);
        let (mut state, mut changes) = (State::default(), Changes::default());
        for n in 0..1000 {
            state.apply(Event::Route(hole(n), Mode::New), &mut changes, &mut Pulse::none());
        }
        let full = resolver.update(&state, std::mem::take(&mut changes), &mut control).unwrap_err();
        assert!(full.to_string().contains("table full"), "{full}");
        let placed = resolver.routes();
        assert!(placed > 0 && placed + resolver.unplaced() == 1000, "{placed}");
        control.heartbeat(resolver.unplaced() == 0).unwrap();
        let mut trial = Trial::new(&control, kernel::Path::Xdp, lan, false, &[lan, wan]);
        trial.set(&Interface { mac: MAC, forwards4: true, ..Interface::default() });
        let mut outcomes = || [0, 999].map(|n| trial.run(&frame(n)).0);
        assert_eq!(outcomes(), [Outcome::NotReady; 2]);

        for n in 0..990 {
            state.apply(Event::RouteGone(hole(n)), &mut changes, &mut Pulse::none());
        }
        control.settle().unwrap();
        resolver.update(&state, changes, &mut control).unwrap();
        assert_eq!(
            (resolver.unplaced(), resolver.pending(), resolver.audit(&state, &mut Pulse::none())),
            (0, 0, 0)
        );
        control.heartbeat(resolver.unplaced() == 0).unwrap();
        assert_eq!(outcomes(), [Outcome::Unreachable, Outcome::Blackhole]);
    });
}
