//! The network under the flows: frames to and from emulated hosts, for one port.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`hosts`] | numbers of all emulated addresses, their pools, hardware addresses and VLANs |
//! | [`received`] | what frames hold |
//! | `parse` | received frames, with every check: `link` of Ethernet, `segment` of TCP and UDP; `quick` for most of them, and for most frames that leave |
//! | [`refused`] | why frames go no further, with counters |
//! | `build` | frames with TCP and UDP; `words` has headers in registers |
//! | `raw` | packets of attacks, from templates |
//! | [`neighbours`] | hardware addresses of the far side |
//! | `control` | answers to neighbours and questions for them: `arp`, `ndp`, `icmp` |
//!
//! Frames and times are arguments. Nothing allocates for each frame.

use std::sync::Arc;

use ringway_wire::MacAddr;

mod arp;
mod build;
mod control;
pub(crate) mod hosts;
mod icmp;
mod link;
mod ndp;
pub(crate) mod neighbours;
mod parse;
mod quick;
mod raw;
pub(crate) mod received;
pub(crate) mod refused;
mod segment;
#[cfg(test)]
mod tests;
mod words;

use std::net::{Ipv4Addr, Ipv6Addr};

use hosts::{Host, HostId, Hosts};
use neighbours::Neighbours;
use quick::Plain;
pub(crate) use quick::{Quick, QuickWay};
use refused::Refusals;

/// Routers that lead to all hosts of the far side. A family without one has its far hosts on the link.
///
/// ```
/// use ringway_flows::shard::Gateway;
///
/// let gateway = Gateway { v4: Some([198, 18, 0, 254].into()), ..Gateway::default() };
/// assert!(!gateway.is_none() && Gateway::default().is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gateway {
    /// The IPv4 router.
    pub v4: Option<Ipv4Addr>,
    /// The IPv6 router.
    pub v6: Option<Ipv6Addr>,
}

impl Gateway {
    /// Whether there is no router: each host of the far side is a neighbour.
    #[inline]
    pub const fn is_none(&self) -> bool {
        self.v4.is_none() && self.v6.is_none()
    }
}

/// Which hosts a port stands for, and which it talks to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sides<'a> {
    /// Pools whose hosts are behind this port: indexes into the pools.
    pub(crate) near: &'a [u32],
    /// Pools whose hosts are elsewhere: indexes into the pools. A pool may be on both sides.
    pub(crate) far: &'a [u32],
}

/// The network of one port.
#[derive(Debug)]
pub(crate) struct Net {
    hosts: Arc<Hosts>,
    /// By pool.
    sides: Box<[Side]>,
    /// The port's own hardware address.
    mac: [u8; 6],
    /// The same, as a number.
    own: u64,
    /// Hosts whose frames go the quick way.
    plain: Plain,
    gateway: Gateway,
    /// A pool is on both sides.
    is_shared: bool,
    neighbours: Neighbours,
    /// A hardware address came to be known.
    has_news: bool,
    refusals: Refusals,
}

/// On which sides a pool is.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    near: bool,
    far: bool,
}

/// From where to where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The host that sends.
    pub(crate) from: HostId,
    /// The host that receives.
    pub(crate) to: HostId,
    /// The hardware address that leads there: from [`Net::resolve`], or the sender's of an arrival.
    pub(crate) mac: [u8; 6],
}

/// Ports of a segment or datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    /// The sender's.
    pub(crate) source: u16,
    /// The receiver's.
    pub(crate) target: u16,
}

impl Net {
    /// The network of a port with hardware address `mac`.
    pub(crate) fn new(hosts: Arc<Hosts>, sides: Sides<'_>, mac: [u8; 6], gateway: Gateway) -> Self {
        let pools = sides.near.iter().chain(sides.far).max().map_or(0, |&last| last as usize + 1);
        let side = |pool| Side { near: sides.near.contains(&pool), far: sides.far.contains(&pool) };
        let neighbours = Neighbours::new(hosts.len());
        let plain = Plain::new(&hosts, |pool| side(pool).near, |pool| side(pool).far);
        let is_shared = sides.near.iter().any(|pool| sides.far.contains(pool));
        let sides = (0..).take(pools).map(side).collect();
        Self {
            hosts,
            sides,
            mac,
            own: MacAddr(mac).to_u64(),
            plain,
            gateway,
            is_shared,
            neighbours,
            has_news: false,
            refusals: Refusals::default(),
        }
    }

    /// Reaches all hosts of the far side through routers.
    pub(crate) fn set_gateway(&mut self, gateway: Gateway) {
        self.gateway = gateway;
    }

    /// The emulated hosts.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// How many frames were refused, by reason.
    pub(crate) const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Whether a host is on this side.
    #[inline]
    pub(crate) fn is_near(&self, host: HostId) -> bool {
        self.side(&self.hosts.host(host)).near
    }

    #[inline]
    fn side(&self, host: &Host<'_>) -> Side {
        self.sides.get(host.pool() as usize).copied().unwrap_or_default()
    }

    /// A host of this side, from a search for it.
    #[inline]
    fn near<'h>(&self, found: Option<Host<'h>>) -> Option<Host<'h>> {
        found.filter(|host| self.side(host).near)
    }

    /// A host of the far side, from a search for it.
    #[inline]
    fn far<'h>(&self, found: Option<Host<'h>>) -> Option<Host<'h>> {
        found.filter(|host| self.side(host).far)
    }
}
