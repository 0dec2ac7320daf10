//! What a message makes of the routes of one prefix, as the kernel does it for each family.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::event::{Family, Hop, Kind, Mode, Net, Path, Via};
use super::paths::{PathId, Paths};
use super::tables::{Ip, Routes, Tables, order};
use ringway_fib::Prefix;

/// `RTPROT_RA`: from router advertisements; such routes are no part of a multipath route.
const RTPROT_RA: u8 = 9;

/// Where in the slot the routes of the same order are.
fn peers(paths: &Paths, old: &[PathId], path: &Path) -> std::ops::Range<usize> {
    let (all, at) = (|id: &PathId| order(paths.get(*id)), order(path));
    old.partition_point(|id| all(id) < at)..old.partition_point(|id| all(id) <= at)
}

impl Ip for u32 {
    const FAMILY: Family = Family::V4;

    fn ip(self) -> IpAddr {
        Ipv4Addr::from(self).into()
    }

    fn of_ip(ip: IpAddr) -> Option<Self> {
        if let IpAddr::V4(ip) = ip { Some(ip.into()) } else { None }
    }

    fn net(prefix: Prefix<Self>) -> Net {
        Net::V4(prefix)
    }

    fn tables(routes: &Routes) -> &Tables<Self> {
        &routes.v4
    }

    fn tables_mut(routes: &mut Routes) -> &mut Tables<Self> {
        &mut routes.v4
    }

    /// As `fib_table_insert` of net/ipv4/fib_trie.c does.
    fn added(paths: &Paths, old: &[PathId], id: PathId, mode: Mode) -> (Vec<PathId>, Option<&'static str>) {
        let mut new = old.to_vec();
        if old.contains(&id) {
            return (new, None);
        }
        let peers = peers(paths, old, paths.get(id));
        let inconsistency = match mode {
            Mode::New if !peers.is_empty() => Some("a new route was there in another form"),
            Mode::Replace if peers.is_empty() => Some("the route that was replaced was not there"),
            _ => None,
        };
        let place = match mode {
            Mode::New => peers,
            Mode::First => peers.start..peers.start,
            Mode::Append => peers.end..peers.end,
            Mode::Replace => peers.start..peers.end.min(peers.start + 1),
        };
        new.splice(place, [id]);
        (new, inconsistency)
    }

    fn removed(paths: &mut Paths, old: &[PathId], path: &Path) -> Option<Vec<PathId>> {
        let id = paths.find(path).filter(|id| old.contains(id))?;
        Some(old.iter().copied().filter(|other| *other != id).collect())
    }
}

impl Ip for u128 {
    const FAMILY: Family = Family::V6;

    fn ip(self) -> IpAddr {
        Ipv6Addr::from(self).into()
    }

    fn of_ip(ip: IpAddr) -> Option<Self> {
        if let IpAddr::V6(ip) = ip { Some(ip.into()) } else { None }
    }

    fn net(prefix: Prefix<Self>) -> Net {
        Net::V6(prefix)
    }

    fn tables(routes: &Routes) -> &Tables<Self> {
        &routes.v6
    }

    fn tables_mut(routes: &mut Routes) -> &mut Tables<Self> {
        &mut routes.v6
    }

    /// As `fib6_add_rt2node` of net/ipv6/ip6_fib.c does. Routes with gateways join into one, which the kernel reports as a whole.
    fn added(paths: &Paths, old: &[PathId], id: PathId, mode: Mode) -> (Vec<PathId>, Option<&'static str>) {
        let mut new = old.to_vec();
        if old.contains(&id) {
            return (new, None);
        }
        let (peers, joins) = (peers(paths, old, paths.get(id)), joins(paths.get(id)));
        let alike = peers.clone().find(|at| self::joins(paths.get(old[*at])) == joins);
        let place = match alike {
            Some(at) if joins || mode == Mode::Replace => at..at + 1,
            None if mode == Mode::Replace => peers.start..peers.end.min(peers.start + 1),
            _ => peers.end..peers.end,
        };
        new.splice(place, [id]);
        (new, None)
    }

    /// A message may name all hops of a route or some.
    fn removed(paths: &mut Paths, old: &[PathId], path: &Path) -> Option<Vec<PathId>> {
        if let Some(id) = paths.find(path).filter(|id| old.contains(id)) {
            return Some(old.iter().copied().filter(|other| *other != id).collect());
        }
        let peers = peers(paths, old, path);
        let (at, rest) = peers.clone().find_map(|at| Some((at, without(paths.get(old[at]), path)?)))?;
        let mut new = old.to_vec();
        match rest {
            Some(rest) => new[at] = paths.take(rest),
            None => drop(new.remove(at)),
        }
        Some(new)
    }
}

/// Whether the kernel makes one route of this one and others that do (`rt6_qualify_for_ecmp`).
fn joins(path: &Path) -> bool {
    let gateways = |hops: &[Hop]| hops.iter().any(|hop| hop.gateway.is_some());
    path.protocol != RTPROT_RA
        && path.kind == Kind::Unicast
        && matches!(&path.via, Via::Hops(hops) if gateways(hops))
}

/// The path without those hops of another; `None` if it does not have them, `Some(None)` if that were all.
fn without(path: &Path, less: &Path) -> Option<Option<Path>> {
    let (Via::Hops(hops), Via::Hops(gone)) = (&path.via, &less.via) else { return None };
    let same = |a: &Hop, b: &Hop| (a.dev, a.gateway) == (b.dev, b.gateway);
    if path.kind != less.kind || gone.is_empty() || !gone.iter().all(|g| hops.iter().any(|h| same(g, h))) {
        return None;
    }
    Some(fewer(path, |hop| !gone.iter().any(|g| same(g, hop))))
}

/// The path with the hops that pass; `None` if there are none.
pub(super) fn fewer(path: &Path, keep: impl Fn(&Hop) -> bool) -> Option<Path> {
    let Via::Hops(hops) = &path.via else { return None };
    let mut left: Vec<_> = hops.iter().filter(|hop| keep(hop)).cloned().collect();
    if let [hop] = &mut left[..] {
        hop.weight = 1;
    }
    (!left.is_empty()).then(|| Path { via: Via::Hops(left), ..path.clone() })
}
