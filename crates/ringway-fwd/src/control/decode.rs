//! From bytes of the kernel to events (linux/rtnetlink.h, linux/nexthop.h, linux/fib_rules.h, linux/netconf.h). Any bytes will do.
//!
//! Only what the mirror needs is read, so an attribute that a newer kernel adds does no harm.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{NLM_F_APPEND, NLM_F_EXCL, NLM_F_REPLACE, NlasIterator};

use super::event::{
    Address, Event, Family, Hop, Kind, Link, Mode, Neighbour, Net, Object, Path, Route, Rule, Setting, Via,
};
use ringway_fib::Prefix;

/// `RTM_NEW*`; `RTM_DEL*` is one more, `RTM_GET*` two.
pub(super) mod kind {
    pub(crate) const LINK: u16 = 16;
    pub(crate) const ADDRESS: u16 = 20;
    pub(crate) const ROUTE: u16 = 24;
    pub(crate) const NEIGHBOUR: u16 = 28;
    pub(crate) const RULE: u16 = 32;
    pub(crate) const NETCONF: u16 = 80;
    pub(crate) const NEXTHOP: u16 = 104;
}

/// `AF_INET`, `AF_INET6`.
pub(super) const INET: u8 = 2;
pub(super) const INET6: u8 = 10;

const ARPHRD_ETHER: u16 = 1;
const RTN_UNICAST: u8 = 1;
const FR_ACT_TO_TBL: u8 = 1;
/// `RTM_F_CLONED`: an entry of a cache, not a route.
const CLONED: u32 = 0x200;
/// `RTNH_F_DEAD`, `RTNH_F_ONLINK`.
const DEAD: u32 = 1;
const ONLINK: u32 = 4;
/// `NTF_PROXY`.
const PROXY: u8 = 0x08;
/// Neighbour states in which the link address may be used, but for `NUD_NOARP`, which the kernel sets without a message:
/// `NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT`.
const VALID: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

/// An event, `None` for what is of no concern here, or what is wrong with the message.
pub(super) type Decoded = Result<Option<Event>, &'static str>;

/// What a message says: its type, its flags, what is behind its header. `dump`: it is part of an answer.
pub(super) fn decode(message: u16, flags: u16, body: &[u8], dump: bool) -> Decoded {
    let (object, gone) = (message & !3, message & 3 == 1);
    if message & 3 > 1 {
        return Ok(None);
    }
    match object {
        kind::LINK => link(body, gone),
        kind::ADDRESS => address(body, gone),
        kind::ROUTE => route(body, gone, mode(flags, dump)),
        kind::NEIGHBOUR => neighbour(body, gone),
        kind::RULE => rule(body, gone),
        kind::NETCONF if !gone => setting(body),
        kind::NEXTHOP => next_hop(body, gone),
        _ => Ok(None),
    }
}

fn mode(flags: u16, dump: bool) -> Mode {
    match () {
        () if dump || flags & NLM_F_APPEND != 0 => Mode::Append,
        () if flags & NLM_F_REPLACE != 0 => Mode::Replace,
        () if flags & NLM_F_EXCL != 0 => Mode::New,
        () => Mode::First,
    }
}

fn link(body: &[u8], gone: bool) -> Decoded {
    let (family, hardware) = (u8_at(body, 0)?, u16_at(body, 2)?);
    let (index, flags) = (u32_at(body, 4)?, u32_at(body, 8)?);
    if family != 0 {
        return Ok(None); // a bridge tells of its ports, which stay links
    }
    if gone {
        return Ok(Some(Event::LinkGone(index)));
    }
    let (up, loopback, running, carrier) = (0x1, 0x8, 0x40, 0x10000);
    let mut link = Link {
        index,
        name: String::new(),
        hardware,
        up: flags & up != 0,
        carrier: flags & carrier != 0,
        running: flags & (running | carrier) != 0,
        loopback: flags & loopback != 0,
        mtu: 0,
        address: None,
        master: 0,
    };
    for attribute in attributes(body, 16)? {
        match attribute? {
            (1, value) if hardware == ARPHRD_ETHER => link.address = value.try_into().ok(),
            (3, value) => {
                link.name = String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into()
            }
            (4, value) => link.mtu = u32_at(value, 0)?,
            (10, value) => link.master = u32_at(value, 0)?,
            _ => {}
        }
    }
    Ok(Some(Event::Link(link)))
}

fn address(body: &[u8], gone: bool) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let (len, dev) = (u8_at(body, 1)?, u32_at(body, 4)?);
    let (mut peer, mut local) = (None, None);
    for attribute in attributes(body, 8)? {
        match attribute? {
            (1, value) => peer = Some(ip(family, value)?),
            (2, value) => local = Some(ip(family, value)?),
            _ => {}
        }
    }
    let addr = local.or(peer).ok_or("has an address without address")?;
    let address = Address { dev, addr, len };
    Ok(Some(if gone { Event::AddressGone(address) } else { Event::Address(address) }))
}

fn neighbour(body: &[u8], gone: bool) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let (dev, state) = (u32_at(body, 4)?, u16_at(body, 8)?);
    if u8_at(body, 10)? & PROXY != 0 {
        return Ok(None); // an address that this host answers for
    }
    let (mut addr, mut link) = (None, None);
    for attribute in attributes(body, 12)? {
        match attribute? {
            (1, value) => addr = Some(ip(family, value)?),
            (2, value) => link = value.try_into().ok(),
            _ => {}
        }
    }
    let Some(addr) = addr else { return Ok(None) };
    Ok(Some(match link {
        Some(link) if !gone && state & VALID != 0 => Event::Neighbour(Neighbour { dev, addr, link }),
        _ => Event::NeighbourGone(dev, addr),
    }))
}

fn route(body: &[u8], gone: bool, mode: Mode) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let byte = |at| u8_at(body, at);
    let flags = u32_at(body, 8)?;
    if flags & CLONED != 0 {
        return Ok(None);
    }
    let mut table = u32::from(byte(4)?);
    let (mut to, mut from, mut object) = (None, None, None);
    let (mut first, mut hops) = (One::new(flags), Vec::new());
    let mut path = Path {
        family,
        kind: route_kind(byte(7)?),
        protocol: byte(5)?,
        scope: byte(6)?,
        tos: byte(3)?,
        metric: 0,
        source: None,
        from: None,
        mtu: 0,
        other: 0,
        via: Via::Hops(Vec::new()),
    };
    for attribute in attributes(body, 12)? {
        let (kind, value) = attribute?;
        match kind {
            1 => to = Some(ip(family, value)?),
            2 => from = Some(ip(family, value)?),
            6 => path.metric = u32_at(value, 0)?,
            7 => path.source = Some(ip(family, value)?),
            8 => {
                path.mtu = mtu(value)?;
                path.other ^= hash(value);
            }
            9 => hops = several(family, value)?,
            11 => path.other ^= hash(value).rotate_left(1),
            15 => table = u32_at(value, 0)?,
            30 => object = Some(u32_at(value, 0)?),
            _ => first.attribute(family, kind, value)?,
        }
    }
    if hops.is_empty() {
        hops.extend(first.hop());
    }
    let dead = hops.iter().filter(|(_, dead)| *dead).map(|(hop, _)| hop.dev).collect();
    path.via = via(&path, object, hops.into_iter().map(|(hop, _)| hop).collect());
    if let (Family::V6, len @ 1..) = (family, byte(2)?) {
        let from = from.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
        let IpAddr::V6(from) = from else { return Err("has a source of the other family") };
        path.from = Some(Prefix::new(from.into(), len).map_err(|_| "has a prefix that is too long")?);
    }
    let route = Route { table, net: net(family, to, byte(1)?)?, path, dead };
    Ok(Some(if gone { Event::RouteGone(route) } else { Event::Route(route, mode) }))
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
                let other =
                    u8::try_from(of).ok().and_then(self::family).ok_or("has a gateway of no family")?;
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

fn next_hop(body: &[u8], gone: bool) -> Decoded {
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

fn rule(body: &[u8], gone: bool) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let (mut table, mut priority) = (u32::from(u8_at(body, 4)?), 0);
    let head = body.get(1..4).ok_or(SHORT)?;
    let invert = u32_at(body, 8)? & 2 != 0;
    let mut plain = head == [0; 3] && !invert && u8_at(body, 7)? == FR_ACT_TO_TBL;
    for attribute in attributes(body, 12)? {
        match attribute? {
            (6, value) => priority = u32_at(value, 0)?,
            (14, value) => plain &= u32_at(value, 0)? == u32::MAX, // suppresses no prefix length
            (15, value) => table = u32_at(value, 0)?,
            (18 | 21, _) => {} // padding; who made it
            _ => plain = false,
        }
    }
    let rule = Rule { family, priority, table, plain, other: hash(body.get(12..).ok_or(SHORT)?) };
    Ok(Some(if gone { Event::RuleGone(rule) } else { Event::Rule(rule) }))
}

fn setting(body: &[u8]) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let mut setting = Setting { family, dev: 0, forwarding: None, ignore_linkdown: None, reverse_path: None };
    for attribute in attributes(body, 4)? {
        match attribute? {
            (1, value) => setting.dev = u32_at(value, 0)?.cast_signed(),
            (2, value) => setting.forwarding = Some(u32_at(value, 0)? != 0),
            (3, value) => setting.reverse_path = u8::try_from(u32_at(value, 0)?).ok(),
            (6, value) => setting.ignore_linkdown = Some(u32_at(value, 0)? != 0),
            _ => {}
        }
    }
    Ok(Some(Event::Setting(setting)))
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

fn family(number: u8) -> Option<Family> {
    match number {
        INET => Some(Family::V4),
        INET6 => Some(Family::V6),
        _ => None,
    }
}

fn ip(family: Family, bytes: &[u8]) -> Result<IpAddr, &'static str> {
    let wrong = "has an address of the wrong length";
    match family {
        Family::V4 => <[u8; 4]>::try_from(bytes).map(|a| Ipv4Addr::from(a).into()).map_err(|_| wrong),
        Family::V6 => <[u8; 16]>::try_from(bytes).map(|a| Ipv6Addr::from(a).into()).map_err(|_| wrong),
    }
}

/// Equal in this process for equal values.
pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

const SHORT: &str = "is cut short";

type Attribute<'a> = Result<(u16, &'a [u8]), &'static str>;

/// The attributes behind `header` bytes: number and value.
fn attributes(body: &[u8], header: usize) -> Result<impl Iterator<Item = Attribute<'_>>, &'static str> {
    let attributes = NlasIterator::new(body.get(header..).ok_or(SHORT)?);
    Ok(attributes.map(|attribute| {
        let attribute = attribute.map_err(|_| SHORT)?;
        let (kind, end) = (attribute.kind(), usize::from(attribute.length()));
        Ok((kind, attribute.into_inner().get(4..end).ok_or(SHORT)?))
    }))
}

fn u8_at(bytes: &[u8], at: usize) -> Result<u8, &'static str> {
    bytes.get(at).copied().ok_or(SHORT)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, &'static str> {
    let word = bytes.get(at..at + 2).and_then(|b| b.try_into().ok());
    word.map(u16::from_ne_bytes).ok_or(SHORT)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, &'static str> {
    let word = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    word.map(u32::from_ne_bytes).ok_or(SHORT)
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
