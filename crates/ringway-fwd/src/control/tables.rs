//! Routes by table and prefix, their rolling digest, and what a message makes of the routes of one prefix.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::attributes::hash;
use super::event::{Family, Kind, Mode, Net, Path, Via};
use super::paths::{PathId, Paths};
use super::pulse::{PIECE, Pulse, pulsing};
use ringway_fib::{Address, Prefix};

/// `RTPROT_RA`: from router advertisements; such routes are no part of a multipath route.
const RTPROT_RA: u8 = 9;

/// What differs between the families.
pub(super) trait Ip: Address {
    const FAMILY: Family;
    fn ip(self) -> IpAddr;
    /// `None` for the other family.
    fn of_ip(ip: IpAddr) -> Option<Self>;
    fn net(prefix: Prefix<Self>) -> Net;
    fn tables(routes: &Routes) -> &Tables<Self>;
    fn tables_mut(routes: &mut Routes) -> &mut Tables<Self>;
    /// What is left of a prefix when a route comes or goes, and whether that is inconsistent.
    fn added(paths: &Paths, old: &[PathId], id: PathId, mode: Mode) -> (Vec<PathId>, Option<&'static str>);
    /// `None` when there was no such route.
    fn removed(paths: &mut Paths, old: &[PathId], path: &Path) -> Option<Vec<PathId>>;
}

/// Tables of one family, by number.
pub(super) type Tables<A> = BTreeMap<u32, Table<A>>;

/// One table.
#[derive(Debug)]
pub(super) struct Table<A> {
    slots: BTreeMap<Prefix<A>, Slot>,
    /// Prefixes of each length.
    lengths: [u32; 129],
}

/// The paths of a prefix, best first.
#[derive(Debug)]
enum Slot {
    One(PathId),
    Many(Box<[PathId]>),
}

impl Slot {
    fn paths(&self) -> &[PathId] {
        match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::Many(ids) => ids,
        }
    }
}

impl<A> Default for Table<A> {
    fn default() -> Self {
        Self { slots: BTreeMap::new(), lengths: [0; 129] }
    }
}

impl<A: Ip> Table<A> {
    /// The paths of a prefix, best first.
    pub(super) fn get(&self, prefix: Prefix<A>) -> &[PathId] {
        self.slots.get(&prefix).map_or(&[], Slot::paths)
    }

    /// All prefixes and their paths, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Prefix<A>, &[PathId])> {
        self.slots.iter().map(|(prefix, slot)| (*prefix, slot.paths()))
    }

    /// The prefixes within one, itself included.
    pub(super) fn within(&self, prefix: Prefix<A>) -> impl Iterator<Item = Prefix<A>> {
        let later = self.slots.range(prefix..).map(|(p, _)| *p);
        later.take_while(move |p| prefix.covers(p.addr()))
    }

    /// Whether there are prefixes of this length.
    pub(super) fn has_length(&self, len: u8) -> bool {
        self.lengths[usize::from(len)] > 0
    }

    fn set(&mut self, prefix: Prefix<A>, paths: &[PathId]) {
        let count = &mut self.lengths[usize::from(prefix.len())];
        let slot = match paths {
            [] => {
                *count -= u32::from(self.slots.remove(&prefix).is_some());
                return;
            }
            [id] => Slot::One(*id),
            _ => Slot::Many(paths.into()),
        };
        *count += u32::from(self.slots.insert(prefix, slot).is_none());
    }
}

/// All routes.
#[derive(Debug, Default)]
pub(super) struct Routes {
    pub(super) paths: Paths,
    v4: Tables<u32>,
    v6: Tables<u128>,
    /// Sum of [`item`] over all routes of each family: the same in any order.
    digest: [u64; 2],
    count: usize,
}

/// A route as a number: its share of the digest.
pub(super) fn item(table: u32, net: Net, path: u64) -> u64 {
    hash((table, net, path))
}

impl Routes {
    pub(super) fn digest(&self, family: Family) -> u64 {
        self.digest[family as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get<A: Ip>(&self, table: u32, prefix: Prefix<A>) -> &[PathId] {
        A::tables(self).get(&table).map_or(&[], |t| t.get(prefix))
    }

    /// Gives a prefix other paths.
    pub(super) fn set<A: Ip>(&mut self, table: u32, prefix: Prefix<A>, new: &[PathId]) {
        let old = self.get(table, prefix).to_vec();
        let digest = &mut self.digest[A::FAMILY as usize];
        for &id in new {
            self.paths.keep(id);
            *digest = digest.wrapping_add(item(table, A::net(prefix), self.paths.hash(id)));
        }
        for &id in &old {
            *digest = digest.wrapping_sub(item(table, A::net(prefix), self.paths.hash(id)));
            self.paths.give(id);
        }
        self.count = self.count + new.len() - old.len();
        let tables = A::tables_mut(self);
        let of = tables.entry(table).or_default();
        of.set(prefix, new);
        if of.slots.is_empty() {
            tables.remove(&table);
        }
    }

    /// Replaces paths, or removes them, wherever routes have them; returns tables and prefixes that changed.
    pub(super) fn rewrite<A: Ip>(
        &mut self,
        to: &HashMap<PathId, Option<PathId>>,
        pulse: &mut Pulse<'_>,
    ) -> Vec<(u32, Prefix<A>)> {
        let touched = |(table, prefix, ids): (u32, Prefix<A>, &[PathId])| {
            ids.iter().any(|id| to.contains_key(id)).then(|| {
                let left = ids.iter().filter_map(|id| to.get(id).copied().unwrap_or(Some(*id)));
                (table, prefix, left.collect::<Vec<_>>())
            })
        };
        let slots = A::tables(self).iter().flat_map(|(n, t)| t.iter().map(|(p, ids)| (*n, p, ids)));
        let all: Vec<_> = pulsing(slots, PIECE, pulse).filter_map(touched).collect();
        pulsing(all, PIECE, pulse)
            .map(|(table, prefix, mut ids)| {
                ids.sort_by_key(|id| order(self.paths.get(*id)));
                ids.dedup();
                self.set(table, prefix, &ids);
                (table, prefix)
            })
            .collect()
    }
}

/// Which of two routes of one prefix comes first.
fn order(path: &Path) -> impl Ord + use<> {
    (path.from, Reverse(path.tos), path.metric)
}

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
    let gateways = |hops: &[super::Hop]| hops.iter().any(|hop| hop.gateway.is_some());
    path.protocol != RTPROT_RA
        && path.kind == Kind::Unicast
        && matches!(&path.via, Via::Hops(hops) if gateways(hops))
}

/// The path without those hops of another; `None` if it does not have them, `Some(None)` if that were all.
fn without(path: &Path, less: &Path) -> Option<Option<Path>> {
    let (Via::Hops(hops), Via::Hops(gone)) = (&path.via, &less.via) else { return None };
    let same = |a: &super::Hop, b: &super::Hop| (a.dev, a.gateway) == (b.dev, b.gateway);
    if path.kind != less.kind || gone.is_empty() || !gone.iter().all(|g| hops.iter().any(|h| same(g, h))) {
        return None;
    }
    Some(fewer(path, |hop| !gone.iter().any(|g| same(g, hop))))
}

/// The path with the hops that pass; `None` if there are none.
pub(super) fn fewer(path: &Path, keep: impl Fn(&super::Hop) -> bool) -> Option<Path> {
    let Via::Hops(hops) = &path.via else { return None };
    let mut left: Vec<_> = hops.iter().filter(|hop| keep(hop)).cloned().collect();
    if let [hop] = &mut left[..] {
        hop.weight = 1;
    }
    (!left.is_empty()).then(|| Path { via: Via::Hops(left), ..path.clone() })
}
