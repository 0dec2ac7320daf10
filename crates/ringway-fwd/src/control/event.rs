//! What the kernel tells: links, addresses, neighbours, routes, next-hop objects, rules, settings.

use std::net::IpAddr;

use ringway_fib::{Prefix4, Prefix6};

/// Address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The family of an address.
    pub const fn of(addr: IpAddr) -> Self {
        match addr {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }
}

/// A prefix of either family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Net {
    /// IPv4.
    V4(Prefix4),
    /// IPv6.
    V6(Prefix6),
}

impl Net {
    /// Its family.
    pub const fn family(&self) -> Family {
        match self {
            Self::V4(_) => Family::V4,
            Self::V6(_) => Family::V6,
        }
    }
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Kind of hardware (`ARPHRD_*`): 1 is Ethernet.
    pub hardware: u16,
    /// `IFF_UP`: somebody set it up.
    pub up: bool,
    /// `IFF_LOWER_UP`: it has a carrier.
    pub carrier: bool,
    /// `IFF_RUNNING` or `IFF_LOWER_UP`. Without both, the kernel removes next-hop objects.
    pub running: bool,
    /// `IFF_LOOPBACK`.
    pub loopback: bool,
    /// Longest packet in bytes, without link header.
    pub mtu: u32,
    /// Link address, where it has six bytes.
    pub address: Option<[u8; 6]>,
    /// The interface that it is a port of (a bridge, a bond, a VRF); 0 without.
    pub master: u32,
}

/// An address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The interface.
    pub dev: u32,
    /// The address.
    pub addr: IpAddr,
    /// Bits of its prefix.
    pub len: u8,
}

/// A neighbour that can be sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Neighbour {
    /// The interface behind which it is.
    pub dev: u32,
    /// Its address.
    pub addr: IpAddr,
    /// Its link address.
    pub link: [u8; 6],
}

/// What becomes of a packet that a route matches (`RTN_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Forwarded to a next hop.
    Unicast,
    /// For this host: local, broadcast, anycast and multicast addresses.
    Local(u8),
    /// Dropped in silence.
    Blackhole,
    /// Refused: host unreachable.
    Unreachable,
    /// Refused: administratively prohibited.
    Prohibit,
    /// The lookup ends in this table, as if there were no route.
    Throw,
    /// A kind that we do not know.
    Other(u8),
}

/// One way of a route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The interface.
    pub dev: u32,
    /// The gateway, `None` when the destination itself is on the link. It may be of the other family.
    pub gateway: Option<IpAddr>,
    /// Share of the traffic, at least 1. It is 1 when there is no other hop.
    pub weight: u16,
    /// The gateway is taken to be on the link, whatever the routes say.
    pub onlink: bool,
    /// Hash of what packets are wrapped into on the way (`RTA_ENCAP`), 0 if into nothing.
    pub encap: u64,
}

/// Where a route leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// To next hops of its own; none for blackholes and the like.
    Hops(Vec<Hop>),
    /// To a next-hop object, by its number.
    Object(u32),
}

/// All of a route but its table and prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    /// Family of the packets.
    pub family: Family,
    /// What becomes of them.
    pub kind: Kind,
    /// Who made the route (`RTPROT_*`).
    pub protocol: u8,
    /// `RT_SCOPE_*`.
    pub scope: u8,
    /// Type of service that a packet must have; 0 is any.
    pub tos: u8,
    /// The lowest metric wins.
    pub metric: u32,
    /// Source address of what this host sends.
    pub source: Option<IpAddr>,
    /// Packets must come from here.
    pub from: Option<Prefix6>,
    /// MTU of the route, 0 for that of the interface.
    pub mtu: u32,
    /// Hash of attributes that only tell one route from another.
    pub other: u64,
    /// Where it leads.
    pub via: Via,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Route {
    /// Number of its table.
    pub table: u32,
    /// Its prefix.
    pub net: Net,
    /// The rest.
    pub path: Path,
    /// Interfaces of hops that the kernel calls dead.
    pub dead: Vec<u32>,
}

/// How a route came into its table (flags of the message).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// There was none of the same prefix, TOS and metric.
    New,
    /// Before the routes of the same prefix, TOS and metric.
    First,
    /// Behind them, as in a dump.
    Append,
    /// Instead of the first of them.
    Replace,
}

/// A next-hop object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Object {
    /// Drops.
    Blackhole,
    /// A next hop.
    Hop(Hop),
    /// Members by number, with weights.
    Group(Vec<(u32, u16)>),
    /// For forwarding tables of bridges: not for routes.
    Other,
}

/// A rule of policy routing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// Family of the packets.
    pub family: Family,
    /// Order of evaluation.
    pub priority: u32,
    /// Table that it leads to, 0 if to none.
    pub table: u32,
    /// Whether all it does is to look into the table, for every packet.
    pub plain: bool,
    /// Hash of all of it.
    pub other: u64,
}

/// Settings of an interface, or of all (`dev` -1) or future ones (-2). `None` is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Family of the packets.
    pub family: Family,
    /// Interface, -1 for all, -2 for future ones.
    pub dev: i32,
    /// Whether packets received there may be forwarded.
    pub forwarding: Option<bool>,
    /// Whether routes count as absent while their interface has no carrier.
    pub ignore_linkdown: Option<bool>,
    /// Reverse path filter (`rp_filter`): 0 is off, 1 strict, 2 loose. IPv6 has none.
    pub reverse_path: Option<u8>,
}

/// A change in the kernel, or an entry of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// An interface is there, or changed.
    Link(Link),
    /// It is gone.
    LinkGone(u32),
    /// An address is there.
    Address(Address),
    /// It is gone.
    AddressGone(Address),
    /// A neighbour can be sent to.
    Neighbour(Neighbour),
    /// It can't any more: interface and address.
    NeighbourGone(u32, IpAddr),
    /// A route is there. A route of IPv6 with several hops comes with all of them.
    Route(Route, Mode),
    /// A route is gone, or some hops of one of IPv6.
    RouteGone(Route),
    /// A next-hop object is there, or changed.
    Object(u32, Object),
    /// It is gone.
    ObjectGone(u32),
    /// A rule is there.
    Rule(Rule),
    /// It is gone.
    RuleGone(Rule),
    /// Settings.
    Setting(Setting),
}
