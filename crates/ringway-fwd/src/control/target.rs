//! What a prefix leads to, by the kernel's rules: a pure function of the state.

use std::net::IpAddr;
use std::sync::Arc;

use super::adjacency::{Adjacency, Verdict};
use super::changes::{LOCAL, MAIN};
use super::event::{Family, Hop, Kind, Object, Path, Via};
use super::state::State;
use super::tables::Ip;
use ringway_fib::Prefix;

/// `ARPHRD_ETHER`.
const ETHERNET: u16 = 1;

/// What tells next hops apart: the data plane has one number for each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// Always there.
    Fixed(Verdict),
    /// A gateway or a link.
    Hop(Way),
    /// Several, with hops that can't be used.
    Group(Arc<(Family, u32, Vec<Hop>)>),
    /// A next-hop object, whatever it leads to: family and MTU of the route, number.
    Object(Family, u32, u32),
}

/// Through an interface to a gateway, or to the destination itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Way {
    pub(super) family: Family,
    pub(super) dev: u32,
    pub(super) gateway: Option<IpAddr>,
    /// MTU of the route, 0 without.
    pub(super) mtu: u32,
}

/// What the entry of a target holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Plain(Adjacency),
    /// The members that can be used, with weights.
    Group(Vec<(Way, u32)>),
}

impl State {
    /// What a prefix leads to; `None` if there is to be no route of its own.
    pub(super) fn target<A: Ip>(&self, prefix: Prefix<A>) -> Option<Target> {
        let host = prefix.len() == A::BITS;
        match self.route_target(prefix) {
            // A host on a link is its own gateway.
            Some(Target::Hop(way)) if host && way.gateway.is_none() => {
                Some(Target::Hop(Way { gateway: Some(prefix.addr().ip()), ..way }))
            }
            None if host => self.neighbour_target(prefix.addr()),
            explicit => explicit,
        }
    }

    /// By the routes of this prefix: table local before main, then by the kernel's order.
    fn route_target<A: Ip>(&self, prefix: Prefix<A>) -> Option<Target> {
        let tables = if self.hidden(prefix) { &[LOCAL][..] } else { &[LOCAL, MAIN] };
        for table in tables {
            // by type of service or source: not looked at by the fast path
            if self.paths(*table, prefix).any(|path| path.tos != 0 || path.from.is_some()) {
                return Some(Target::Fixed(Verdict::Host));
            }
            if let Some(target) = self.paths(*table, prefix).find_map(|path| self.path_target(path)) {
                let on_link = path_is_on_link(prefix) && !matches!(target, Target::Fixed(_));
                return Some(if on_link { Target::Fixed(Verdict::Host) } else { target });
            }
        }
        None
    }

    /// IPv6 looks into table main only where table local has no route at all (`fib6_rule_lookup` of net/ipv6/fib6_rules.c). IPv4 keeps both in one
    /// (`fib_trie_table` of net/ipv4/fib_trie.c), so the longest prefix wins.
    fn hidden<A: Ip>(&self, prefix: Prefix<A>) -> bool {
        let Some(local) = A::tables(&self.routes).get(&LOCAL) else { return false };
        let covers = |len| Prefix::new(prefix.addr(), len).is_ok_and(|p| !local.get(p).is_empty());
        A::FAMILY == Family::V6 && (0..prefix.len()).any(|len| local.has_length(len) && covers(len))
    }

    /// `None` when none of its hops can be used now.
    fn path_target(&self, path: &Path) -> Option<Target> {
        let fixed = match path.kind {
            Kind::Unicast => None,
            Kind::Local(_) => Some(Verdict::Local),
            Kind::Blackhole => Some(Verdict::Blackhole),
            Kind::Unreachable | Kind::Throw => Some(Verdict::Unreachable),
            Kind::Prohibit => Some(Verdict::Prohibit),
            Kind::Other(_) => Some(Verdict::Host),
        };
        let (family, mtu) = (path.family, path.mtu);
        match (fixed, &path.via) {
            (Some(verdict), _) => Some(Target::Fixed(verdict)),
            (None, Via::Object(id)) => Some(Target::Object(family, mtu, *id)),
            (None, Via::Hops(hops)) if hops.is_empty() || hops.iter().any(|hop| hop.encap != 0) => {
                Some(Target::Fixed(Verdict::Host))
            }
            (None, Via::Hops(hops)) => match &hops[..] {
                [hop] => self.heard(family, hop.dev).then(|| Target::Hop(way(family, mtu, hop))),
                hops => {
                    let any = hops.iter().any(|hop| self.heard(family, hop.dev));
                    any.then(|| Target::Group(Arc::new((family, mtu, hops.to_vec()))))
                }
            },
        }
    }

    /// A neighbour on a link that the routes lead to gets a route of its own: its adjacency is ready, that of the link never.
    fn neighbour_target<A: Ip>(&self, addr: A) -> Option<Target> {
        let ip = addr.ip();
        let mut known = self.neighbours.range((ip, 0)..=(ip, u32::MAX)).map(|((_, dev), _)| *dev).peekable();
        known.peek()?;
        let tables = A::tables(&self.routes);
        let has = |table: u32, len| tables.get(&table).is_some_and(|t| t.has_length(len));
        let lengths = (0..A::BITS).rev().filter(|len| has(LOCAL, *len) || has(MAIN, *len));
        let cover = lengths.filter_map(|len| self.route_target(Prefix::new(addr, len).ok()?)).next()?;
        match cover {
            Target::Hop(way) if way.gateway.is_none() && known.any(|dev| dev == way.dev) => {
                Some(Target::Hop(Way { gateway: Some(ip), ..way }))
            }
            _ => None,
        }
    }

    /// What the entry of a target holds.
    pub(super) fn content(&self, target: &Target) -> Content {
        match target {
            Target::Fixed(verdict) => Content::Plain(Adjacency::plain(*verdict)),
            Target::Hop(way) => Content::Plain(self.entry(way)),
            Target::Group(group) => {
                let (family, mtu, hops) = &**group;
                let usable = hops.iter().filter(|hop| self.usable(*family, hop.dev));
                let members: Vec<_> =
                    usable.map(|hop| (way(*family, *mtu, hop), hop.weight.into())).collect();
                match members.is_empty() {
                    false => Content::Group(members),
                    true => Content::Plain(Adjacency::plain(Verdict::Unreachable)),
                }
            }
            Target::Object(family, mtu, id) => self.object(*family, *mtu, *id),
        }
    }

    fn object(&self, family: Family, mtu: u32, id: u32) -> Content {
        let host = || Content::Plain(Adjacency::plain(Verdict::Host));
        match self.objects.get(&id) {
            Some(Object::Blackhole) => Content::Plain(Adjacency::plain(Verdict::Blackhole)),
            Some(Object::Hop(hop)) if hop.encap == 0 => Content::Plain(self.entry(&way(family, mtu, hop))),
            Some(Object::Group(members)) => {
                let hop = |(id, weight): &(u32, u16)| match self.objects.get(id) {
                    Some(Object::Hop(hop)) if hop.encap == 0 => {
                        Some((way(family, mtu, hop), (*weight).into()))
                    }
                    _ => None,
                };
                match members.iter().map(hop).collect::<Option<Vec<_>>>() {
                    Some(members) => Content::Group(members),
                    None => self.single(family, mtu, members).unwrap_or_else(host),
                }
            }
            _ => host(),
        }
    }

    /// A group may hold a single blackhole.
    fn single(&self, family: Family, mtu: u32, members: &[(u32, u16)]) -> Option<Content> {
        let [(id, _)] = members else { return None };
        matches!(self.objects.get(id), Some(Object::Blackhole)).then(|| self.object(family, mtu, *id))
    }

    fn entry(&self, way: &Way) -> Adjacency {
        let Some(link) = self.links.get(&way.dev) else { return Adjacency::plain(Verdict::Host) };
        let (ETHERNET, false, Some(from)) = (link.hardware, link.loopback, link.address) else {
            return Adjacency::plain(Verdict::Host);
        };
        let mtu = if way.mtu == 0 { link.mtu } else { way.mtu };
        let entry = Adjacency::incomplete(way.dev, mtu, way.gateway);
        let neighbour = way.gateway.and_then(|gateway| self.neighbours.get(&(gateway, way.dev)));
        match neighbour {
            Some(to) if link.up => entry.ready(*to, from, way.family),
            _ => entry,
        }
    }
}

fn way(family: Family, mtu: u32, hop: &Hop) -> Way {
    Way { family, dev: hop.dev, gateway: hop.gateway, mtu }
}

/// Link-local and multicast prefixes are never forwarded by next hop: the host has to look.
fn path_is_on_link<A: Ip>(prefix: Prefix<A>) -> bool {
    let (ip, len) = (prefix.addr().ip(), prefix.len());
    match ip {
        IpAddr::V4(ip) => len >= 4 && ip.is_multicast(),
        IpAddr::V6(ip) => len >= 10 && ip.is_unicast_link_local() || len >= 8 && ip.is_multicast(),
    }
}
