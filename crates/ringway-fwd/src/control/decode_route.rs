//! Messages about routes and next-hop objects.

use std::net::{IpAddr, Ipv6Addr};

use ringway_fib::Prefix;

use super::attributes::{Decoded, SHORT, attributes, family, hash, ip, u8_at, u16_at, u32_at};
use super::event::{Event, Family, Hop, Kind, Mode, Net, Object, Path, Route, Via};

const RTN_UNICAST: u8 = 1;
/// `RTM_F_CLONED`: an entry of a cache, not a route.
const CLONED: u32 = 0x200;
/// `RTNH_F_DEAD`, `RTNH_F_ONLINK`.
const DEAD: u32 = 1;
const ONLINK: u32 = 4;
/// `RTM_NEWROUTE` and `RTM_DELROUTE`.
pub(super) fn route(body: &[u8], gone: bool, mode: Mode) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let flags = u32_at(body, 8)?;
    if flags & CLONED != 0 {
        return Ok(None);
    }
    let mut message = RouteMessage::new(family, flags, body)?;
    for attribute in attributes(body, 12)? {
        let (kind, value) = attribute?;
        message.attribute(kind, value)?;
    }
    let route = message.finish(u8_at(body, 1)?, u8_at(body, 2)?)?;
    Ok(Some(if gone { Event::RouteGone(route) } else { Event::Route(route, mode) }))
}

/// A message about a route, as far as it was read.
struct RouteMessage {
    table: u32,
    to: Option<IpAddr>,
    from: Option<IpAddr>,
    object: Option<u32>,
    /// The hop that the attributes of the message itself describe.
    first: One,
    hops: Vec<(Hop, bool)>,
    path: Path,
}

impl RouteMessage {
    /// With the words of the header.
    fn new(family: Family, flags: u32, body: &[u8]) -> Result<Self, &'static str> {
        let path = Path {
            family,
            kind: route_kind(u8_at(body, 7)?),
            protocol: u8_at(body, 5)?,
            scope: u8_at(body, 6)?,
            tos: u8_at(body, 3)?,
            metric: 0,
            source: None,
            from: None,
            mtu: 0,
            other: 0,
            via: Via::Hops(Vec::new()),
        };
        let (table, first) = (u32::from(u8_at(body, 4)?), One::new(flags));
        Ok(Self { table, to: None, from: None, object: None, first, hops: Vec::new(), path })
    }

    /// `RTA_DST` and the others.
    fn attribute(&mut self, kind: u16, value: &[u8]) -> Result<(), &'static str> {
        let family = self.path.family;
        match kind {
            1 => self.to = Some(ip(family, value)?),
            2 => self.from = Some(ip(family, value)?),
            6 => self.path.metric = u32_at(value, 0)?,
            7 => self.path.source = Some(ip(family, value)?),
            8 => {
                self.path.mtu = mtu(value)?;
                self.path.other ^= hash(value);
            }
            9 => self.hops = several(family, value)?,
            11 => self.path.other ^= hash(value).rotate_left(1),
            15 => self.table = u32_at(value, 0)?,
            30 => self.object = Some(u32_at(value, 0)?),
            _ => self.first.attribute(family, kind, value)?,
        }
        Ok(())
    }

    /// The route, with the lengths of its prefix and of its source.
    fn finish(self, to_len: u8, from_len: u8) -> Result<Route, &'static str> {
        let Self { table, to, from, object, first, mut hops, mut path } = self;
        if hops.is_empty() {
            hops.extend(first.hop());
        }
        let dead = hops.iter().filter(|(_, dead)| *dead).map(|(hop, _)| hop.dev).collect();
        path.via = via(&path, object, hops.into_iter().map(|(hop, _)| hop).collect());
        if let (Family::V6, len @ 1..) = (path.family, from_len) {
            let from = from.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
            let IpAddr::V6(from) = from else { return Err("has a source of the other family") };
            path.from = Some(Prefix::new(from.into(), len).map_err(|_| "has a prefix that is too long")?);
        }
        Ok(Route { table, net: net(path.family, to, to_len)?, path, dead })
    }
}

/// What an object or the hops of a message say, in the one form in which they are compared.
fn via(path: &Path, object: Option<u32>, mut hops: Vec<Hop>) -> Via {
    match (path.kind, object) {
        (_, Some(id)) => return Via::Object(id), // hops beside it are the object's, for programs that do not know objects
        (Kind::Unicast | Kind::Local(_) | Kind::Other(_), None) => {}
        (_, None) => hops.clear(), // IPv6 has them on the loopback interface
    }
    if path.family == Family::V6 {
        hops.sort(); // a set: the kernel begins with any of them
    }
    if let [hop] = &mut hops[..] {
        hop.weight = 1; // the kernel forgets it
    }
    Via::Hops(hops)
}

/// The attributes of a route, of one hop of several, or of an object, that make a hop.
struct One {
    dev: Option<u32>,
    gateway: Option<IpAddr>,
    encap: u64,
    flags: u32,
    weight: u16,
}

impl One {
    fn new(flags: u32) -> Self {
        Self { dev: None, gateway: None, encap: 0, flags, weight: 1 }
    }

    /// `RTA_OIF`, `RTA_GATEWAY`, `RTA_VIA`, `RTA_ENCAP_TYPE`, `RTA_ENCAP`.
    fn attribute(&mut self, family: Family, kind: u16, value: &[u8]) -> Result<(), &'static str> {
        match kind {
            4 => self.dev = Some(u32_at(value, 0)?),
            5 => self.gateway = Some(ip(family, value)?),
            18 => {
                let of = u16_at(value, 0)?;
                let other = u8::try_from(of)
                    .ok()
                    .and_then(super::attributes::family)
                    .ok_or("has a gateway of no family")?;
                self.gateway = Some(ip(other, value.get(2..).unwrap_or_default())?);
            }
            21 | 22 => self.wrap(kind == 21, value),
            _ => {}
        }
        Ok(())
    }

    /// What packets are wrapped into: its type or the rest, in any order.
    fn wrap(&mut self, kind: bool, value: &[u8]) {
        if !kind || value.iter().any(|b| *b != 0) {
            self.encap ^= hash(value).rotate_left(kind.into());
        }
    }

    /// The hop, and whether the kernel calls it dead.
    fn hop(self) -> Option<(Hop, bool)> {
        let Self { dev, gateway, encap, flags, weight } = self;
        Some((Hop { dev: dev?, gateway, weight, onlink: flags & ONLINK != 0, encap }, flags & DEAD != 0))
    }
}

/// The hops of `RTA_MULTIPATH`: `struct rtnexthop` and attributes, one after the other.
fn several(family: Family, mut bytes: &[u8]) -> Result<Vec<(Hop, bool)>, &'static str> {
    let mut hops = Vec::new();
    while !bytes.is_empty() {
        let len = usize::from(u16_at(bytes, 0)?);
        let mut one = One::new(u8_at(bytes, 2)?.into());
        one.weight = u16::from(u8_at(bytes, 3)?) + 1;
        one.dev = Some(u32_at(bytes, 4)?);
        for attribute in attributes(bytes.get(..len).ok_or(SHORT)?, 8)? {
            let (kind, value) = attribute?;
            one.attribute(family, kind, value)?;
        }
        hops.extend(one.hop());
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(hops)
}

/// `RTM_NEWNEXTHOP` and `RTM_DELNEXTHOP`.
pub(super) fn next_hop(body: &[u8], gone: bool) -> Decoded {
    let family = family(u8_at(body, 0)?).unwrap_or(Family::V4); // groups have none, and no gateway either
    let mut one = One::new(u32_at(body, 4)?);
    let (mut id, mut group, mut kind) = (None, None, None);
    for attribute in attributes(body, 8)? {
        match attribute? {
            (1, value) => id = Some(u32_at(value, 0)?),
            (2, value) => group = Some(members(value)?),
            (4, _) => kind = Some(Object::Blackhole),
            (5, value) => one.dev = Some(u32_at(value, 0)?),
            (6, value) => one.gateway = Some(ip(family, value)?),
            (kind @ (7 | 8), value) => one.wrap(kind == 7, value),
            (11, _) => kind = Some(Object::Other),
            _ => {}
        }
    }
    let id = id.ok_or("has a next hop without number")?;
    if gone {
        return Ok(Some(Event::ObjectGone(id)));
    }
    let object = kind.or(group.map(Object::Group)).or_else(|| Some(Object::Hop(one.hop()?.0)));
    Ok(Some(Event::Object(id, object.unwrap_or(Object::Other))))
}

/// Members of a group: `struct nexthop_grp`, whose weights are one more than told.
fn members(bytes: &[u8]) -> Result<Vec<(u32, u16)>, &'static str> {
    let member =
        |m: &[u8]| Ok((u32_at(m, 0)?, u16::from_le_bytes([u8_at(m, 4)?, u8_at(m, 5)?]).saturating_add(1)));
    bytes.chunks(8).map(member).collect()
}

fn route_kind(kind: u8) -> Kind {
    match kind {
        RTN_UNICAST => Kind::Unicast,
        2..=5 => Kind::Local(kind),
        6 => Kind::Blackhole,
        7 => Kind::Unreachable,
        8 => Kind::Prohibit,
        9 => Kind::Throw,
        _ => Kind::Other(kind),
    }
}

/// `RTAX_MTU` of the metrics, 0 without.
fn mtu(metrics: &[u8]) -> Result<u32, &'static str> {
    for attribute in attributes(metrics, 0)? {
        if let (2, value) = attribute? {
            return u32_at(value, 0);
        }
    }
    Ok(0)
}

fn net(family: Family, addr: Option<IpAddr>, len: u8) -> Result<Net, &'static str> {
    let long = |_| "has a prefix that is too long";
    match (family, addr) {
        (Family::V4, Some(IpAddr::V4(a))) => Prefix::new(a.into(), len).map(Net::V4).map_err(long),
        (Family::V4, None) => Prefix::new(0, len).map(Net::V4).map_err(long),
        (Family::V6, Some(IpAddr::V6(a))) => Prefix::new(a.into(), len).map(Net::V6).map_err(long),
        (Family::V6, None) => Prefix::new(0, len).map(Net::V6).map_err(long),
        _ => Err("has a prefix of the other family"),
    }
}
