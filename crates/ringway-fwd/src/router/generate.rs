//! Made-up tables and frames that reach every rule, the same for the same seed: for tests of this and other fast paths.

use std::net::IpAddr;

use super::Interface;
use crate::control::Pulse;
use crate::control::event::{Family, Hop, Kind, Link, Mode, Neighbour, Net, Path, Route, Via};
use crate::control::{Changes, Event, LOCAL, MAIN, State};
use ringway_fib::generate::Random;

/// The interfaces of [`state`]: numbers of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Links {
    /// A member, of MTU 1500.
    pub lan: u32,
    /// A member, of MTU 1280.
    pub wan: u32,
    /// No member of the router.
    pub other: u32,
}

impl Links {
    /// The link address of an interface.
    pub fn mac(index: u32) -> [u8; 6] {
        let [_, a, b, c] = index.to_be_bytes();
        [2, 0, 0, a, b, c]
    }

    /// The members, forwarding both families, without reverse path filter.
    pub fn members(self) -> [Interface; 2] {
        [self.lan, self.wan].map(|index| Interface {
            index,
            mac: Self::mac(index),
            forwards4: true,
            forwards6: true,
            ..Interface::default()
        })
    }
}

/// Routes of [`state`], one a line, in table main: prefix, kind, MTU, hops as `GATEWAY@LINK`. A link without gateway is the prefix's own.
pub const ROUTES: &str = "\
10.0.0.0/24 lan
10.1.0.0/24 wan
10.2.0.0/24 other
20.0.0.0/8 10.1.0.2@wan
20.1.0.0/16 10.1.0.3@wan
20.1.2.0/24 10.0.0.2@lan
20.1.2.128/25 blackhole
21.0.0.0/8 10.1.0.2@wan 10.1.0.3@wan
22.0.0.0/8 10.0.0.2@lan 10.1.0.2@wan
23.0.0.0/8 10.1.0.99@wan
24.0.0.0/8 10.2.0.2@other
25.0.0.0/8 mtu 600 10.1.0.2@wan
26.0.0.0/8 encap 10.1.0.2@wan
27.0.0.0/8 10.2.0.2@other 10.1.0.2@wan
28.0.0.0/8 10.2.0.99@other
30.0.0.0/8 blackhole
31.0.0.0/8 unreachable
32.0.0.0/8 prohibit
64.0.0.0/2 10.1.0.2@wan
128.0.0.0/2 10.0.0.2@lan
192.0.0.0/3 10.1.0.3@wan 10.0.0.2@lan
fd00::/64 lan
fd01::/64 wan
fd02::/64 other
2001:db8:20::/48 fd01::2@wan
2001:db8:20:1::/64 fd00::2@lan
2001:db8:21::/48 fd01::2@wan fd01::3@wan
2001:db8:22::/48 fd00::2@lan fd01::2@wan
2001:db8:23::/48 fd01::99@wan
2001:db8:24::/48 fd02::2@other
2001:db8:25::/48 mtu 1300 fd00::2@lan
2001:db8:26::/48 encap fd01::2@wan
2001:db8:30::/48 blackhole
2001:db8:31::/48 unreachable
2001:db8:32::/48 prohibit
2400::/6 fd00::2@lan
fc00::/8 fd01::2@wan";

/// Addresses of the host.
const LOCALS: &str = "\
10.0.0.1/32 10.1.0.1/32 10.2.0.1/32 fd00::1/128 fd01::1/128 fd02::1/128";

/// Neighbours of [`state`] whose link addresses are known, as `ADDRESS@LINK`.
pub const NEIGHBOURS: &str = "\
10.0.0.2@lan 10.0.0.3@lan 10.1.0.2@wan 10.1.0.3@wan 10.2.0.2@other fd00::2@lan fd01::2@wan \
fd01::3@wan fd02::2@other fd00::3@lan";

/// Addresses of packets, beside the addresses of frames.
const ADDRESSES4: &str = "\
10.0.0.1 10.0.0.2 10.0.0.77 10.1.0.2 10.1.0.200 10.2.0.2 20.0.0.1 20.1.0.1 20.1.2.3 20.1.2.200 \
21.9.9.9 22.1.2.3 22.200.3.4 23.0.0.1 24.0.0.1 25.0.0.1 26.0.0.1 27.1.1.1 28.0.0.1 30.0.0.1 31.0.0.1 \
32.0.0.1 40.0.0.1 100.1.1.1 150.1.1.1 0.1.2.3 127.0.0.1 224.0.0.5 239.1.1.1 255.255.255.255 \
169.254.1.1 240.0.0.1 192.0.2.7 203.0.113.9 10.0.0.255";
const ADDRESSES6: &str = "\
fd00::1 fd00::2 fd00::77 fd01::2 fd01::200 fd02::2 2001:db8:20::1 2001:db8:20:1::1 2001:db8:21::9 \
2001:db8:22::1 2001:db8:22::9:1 2001:db8:23::1 2001:db8:24::1 2001:db8:25::1 2001:db8:26::1 \
2001:db8:30::1 2001:db8:31::1 2001:db8:32::1 2001:db8:40::1 2600::1 fc11::1 :: ::1 ff02::1 ff0e::5 \
fe80::2 ::ffff:10.0.0.2";

/// Tables with everything that rules tell apart: neighbours known and not, groups, routes of all kinds, out of members and of others.
///
/// ```
/// use ringway_fwd::router::generate::{Links, state};
/// let state = state(Links { lan: 2, wan: 3, other: 4 });
/// assert!(state.routes() > 30);
/// ```
pub fn state(links: Links) -> State {
    let (mut state, mut changes) = (State::default(), Changes::default());
    let dev = |name: &str| match name {
        "lan" => links.lan,
        "wan" => links.wan,
        _ => links.other,
    };
    let mut apply = |event| _ = state.apply(event, &mut changes, &mut Pulse::none());
    for name in ["lan", "wan", "other"] {
        let mtu = if name == "wan" { 1280 } else { 1500 };
        apply(Event::Link(link(dev(name), name, mtu)));
    }
    for (i, text) in (1..).zip(NEIGHBOURS.split(' ')) {
        let hop = hop(text, dev);
        let Some(addr) = hop.gateway else { continue };
        apply(Event::Neighbour(Neighbour { dev: hop.dev, addr, link: [6, 0, 0, 0, 0, i] }));
    }
    for prefix in LOCALS.split(' ') {
        apply(Event::Route(route(LOCAL, prefix, &["local", "lan"], dev), Mode::New));
    }
    for line in ROUTES.lines() {
        let words: Vec<_> = line.split(' ').collect();
        apply(Event::Route(route(MAIN, words[0], &words[1..], dev), Mode::New));
    }
    state
}

fn link(index: u32, name: &str, mtu: u32) -> Link {
    Link {
        index,
        name: name.to_owned(),
        hardware: 1,
        up: true,
        carrier: true,
        running: true,
        loopback: false,
        mtu,
        master: 0,
        address: Some(Links::mac(index)),
    }
}

/// `GATEWAY@LINK` or `LINK`.
fn hop(text: &str, dev: impl Fn(&str) -> u32) -> Hop {
    let (gateway, link) = text.split_once('@').map_or((None, text), |(gateway, link)| (Some(gateway), link));
    let gateway = gateway.and_then(|gateway| gateway.parse::<IpAddr>().ok());
    Hop { dev: dev(link), gateway, weight: 1, onlink: false, encap: 0 }
}

fn route(table: u32, prefix: &str, words: &[&str], dev: impl Fn(&str) -> u32) -> Route {
    let net = prefix.parse().map(Net::V4).or_else(|_| prefix.parse().map(Net::V6));
    let Ok(net) = net else { unreachable!("{prefix} is a constant of this file") };
    let (mut kind, mut mtu, mut encap, mut hops) = (Kind::Unicast, 0, 0, Vec::new());
    for word in words {
        match *word {
            "blackhole" => kind = Kind::Blackhole,
            "unreachable" => kind = Kind::Unreachable,
            "prohibit" => kind = Kind::Prohibit,
            "local" => kind = Kind::Local(2),
            "encap" => encap = 1,
            "mtu" => {}
            number if number.parse::<u32>().is_ok() => mtu = number.parse().unwrap_or(0),
            _ => hops.push(Hop { encap, ..hop(word, &dev) }),
        }
    }
    let (family, via) = (net.family(), Via::Hops(hops));
    let path = Path {
        family,
        kind,
        protocol: 4,
        scope: 0,
        tos: 0,
        metric: if family == Family::V6 { 1024 } else { 0 },
        source: None,
        from: None,
        mtu,
        other: 0,
        via,
    };
    Route { table, net, path, dead: Vec::new() }
}

/// Frames without end: those given and others made up, changed in ways that rules look at.
///
/// ```
/// use ringway_fwd::router::generate::Frames;
/// let mac = [2, 0, 0, 0, 0, 2];
/// let mut frames = Frames::new(1, mac, Vec::new());
/// let first = frames.next_frame().to_vec();
/// assert_eq!(Frames::new(1, mac, Vec::new()).next_frame(), first);
/// ```
#[derive(Debug)]
pub struct Frames {
    random: Random,
    mac: [u8; 6],
    given: Vec<Vec<u8>>,
    frame: Vec<u8>,
}

impl Frames {
    /// From a seed, mostly to a link address, half of them from the frames given.
    pub fn new(seed: u64, mac: [u8; 6], given: Vec<Vec<u8>>) -> Self {
        Self { random: Random::new(seed), mac, given, frame: Vec::new() }
    }

    /// The next frame, of any length from 0.
    pub fn next_frame(&mut self) -> &[u8] {
        match self.given.len() {
            n if n > 0 && self.one_in(2) => self.frame.clone_from(&self.given[self.random.below(n)]),
            _ => self.make_up(),
        }
        self.address_link();
        for _ in 0..self.random.below(4) {
            self.change();
        }
        if !self.one_in(8) {
            self.finish_checksum();
        }
        if self.one_in(12) {
            let len = self.random.below(self.frame.len() + 40);
            self.frame.resize(len, 0);
        }
        &self.frame
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    fn byte(&mut self) -> u8 {
        self.random.next_u64() as u8
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.below(all.len())]
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(to) = self.frame.get_mut(at..at + bytes.len()) {
            to.copy_from_slice(bytes);
        }
    }

    /// A frame that would be forwarded, with a payload of random bytes.
    fn make_up(&mut self) {
        let (v6, long) = (self.one_in(2), self.one_in(10));
        let payload = self.random.below(if long { 1600 } else { 80 });
        let head = if v6 { 40 } else { 20 };
        self.frame = (0..14 + head + payload).map(|_| self.random.next_u64() as u8).collect();
        let (ttl, protocol) = (64, self.one_of(&[6, 17, 17, 1, 132, 33, 58]));
        if v6 {
            self.put(12, &[0x86, 0xdd, 0x60]);
            self.put(18, &(payload as u16).to_be_bytes());
            self.put(20, &[protocol, ttl]);
        } else {
            self.put(12, &[0x08, 0x00, 0x45]);
            self.put(16, &((20 + payload) as u16).to_be_bytes());
            self.put(20, &[0x40, 0, ttl, protocol]);
        }
        self.address(false);
        self.address(true);
    }

    fn is_v6(&self) -> bool {
        self.frame.get(12..14) == Some(&[0x86, 0xdd])
    }

    /// Gives it one of the addresses above as source or destination.
    fn address(&mut self, destination: bool) {
        let (all, at) = match (self.is_v6(), destination) {
            (true, true) => (ADDRESSES6, 38),
            (true, false) => (ADDRESSES6, 22),
            (false, true) => (ADDRESSES4, 30),
            (false, false) => (ADDRESSES4, 26),
        };
        let which = self.random.below(all.split(' ').count());
        match all.split(' ').nth(which).and_then(|text| text.parse().ok()) {
            Some(IpAddr::V4(addr)) => self.put(at, &addr.octets()),
            Some(IpAddr::V6(addr)) => self.put(at, &addr.octets()),
            None => {}
        }
    }

    fn address_link(&mut self) {
        match self.random.below(40) {
            0 => self.put(0, &[255; 6]),
            1 => self.put(0, &[1, 0, 0x5e, 0, 0, 5]),
            2 => self.put(0, &[2, 9, 9, 9, 9, 9]),
            3 => {}
            _ => self.put(0, &self.mac.clone()),
        }
    }

    /// One change; offsets count from behind the link header, for IPv4 and IPv6.
    fn change(&mut self) {
        let (v6, byte) = (self.is_v6(), self.byte());
        match self.random.below(16) {
            0..=2 => self.address(true),
            3 | 4 => self.address(false),
            5 => {
                let ttl = self.one_of(&[0, 1, 2, 255]);
                self.put(if v6 { 21 } else { 22 }, &[ttl]);
            }
            6 => {
                let protocol = self.one_of(&[0, 6, 17, 33, 43, 44, 58, 59, 60, 132, byte]);
                self.put(if v6 { 20 } else { 23 }, &[protocol]);
            }
            7 => {
                let length = self.one_of(&[0, 1, 19, 20, 21, 40, 46, 1500, self.frame.len() as u16]);
                self.put(if v6 { 18 } else { 16 }, &length.to_be_bytes());
            }
            8 => {
                let first = self.one_of(&[0x45, 0x46, 0x4f, 0x44, 0x40, 0x60, 0x65, 0x05, byte]);
                self.put(14, &[first]);
            }
            9 => {
                let fragment = self.one_of(&[[0x20, 0], [0, 1], [0x20, 99], [0x40, 0], [0x80, 0]]);
                self.put(20, if v6 { &[44] } else { &fragment });
            }
            10 => {
                let kind =
                    self.one_of(&[[0x08, 0], [0x86, 0xdd], [0x08, 0x06], [0x81, 0], [0, 46], [0x88, 0x47]]);
                self.put(12, &kind);
            }
            11 if !v6 => self.add_options(),
            12 => {
                let port = self.one_of(&[[0, 0], [0, 80], [0xff, 0xff]]);
                self.put(if v6 { 54 } else { 34 }, &port);
            }
            _ if self.frame.is_empty() => {}
            _ => {
                let at = self.random.below(self.frame.len().min(60));
                self.frame[at] ^= 1 << (byte & 7);
            }
        }
    }

    /// Options of IPv4: strict and loose source route, record route, timestamp, router alert, and what is none.
    fn add_options(&mut self) {
        let room = 4 * (1 + self.random.below(4));
        if self.frame.len() < 34 || self.frame[14] != 0x45 {
            return;
        }
        let kind = self.one_of(&[137, 131, 7, 68, 148, 1, 0, 99]);
        let mut options = vec![0; room];
        options[..3].copy_from_slice(&[kind, room as u8, 4]);
        self.frame.splice(34..34, options);
        self.frame[14] = 0x45 + room as u8 / 4;
        let length = u16::from_be_bytes([self.frame[16], self.frame[17]]).wrapping_add(room as u16);
        self.put(16, &length.to_be_bytes());
    }

    /// The right checksum of an IPv4 header, as far as there is one.
    fn finish_checksum(&mut self) {
        let head = self.frame.get(14).map_or(0, |b| usize::from(b & 15) * 4);
        if self.is_v6() || head < 20 || self.frame.len() < 14 + head {
            return;
        }
        self.put(24, &[0, 0]);
        let sum = ringway_wire::checksum::of(&self.frame[14..14 + head]);
        self.put(24, &sum.to_be_bytes());
    }
}
