//! Routes by table and prefix, and their rolling digest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use super::attributes::hash;
use super::event::{Family, Mode, Net, Path};
use super::paths::{PathId, Paths};
use super::pulse::{PIECE, Pulse, pulsing};
use ringway_fib::{Address, Prefix};

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
    pub(super) v4: Tables<u32>,
    pub(super) v6: Tables<u128>,
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
pub(super) fn order(path: &Path) -> impl Ord + use<> {
    (path.from, Reverse(path.tos), path.metric)
}
