//! Two states beside each other: digests, and what differs.

use std::collections::HashSet;
use std::net::IpAddr;

use super::attributes::hash;
use super::changes::{Changes, LOCAL, MAIN};
use super::event::{Family, Link};
use super::pulse::{PIECE, Pulse, pulsing};
use super::state::State;
use super::tables::Ip;

impl State {
    /// A number of the routes that is the same for equal tables, in whatever order their events came.
    pub fn route_digest(&self, family: Family) -> u64 {
        self.routes.digest(family)
    }

    /// The same of all but routes. It leaves out what the kernel reports late or not at all: carriers, and addresses of IPv6, which the kernel
    /// examines again without a word.
    pub fn other_digest(&self) -> u64 {
        self.other_digest_but(&HashSet::new())
    }

    /// The same without some neighbours.
    pub(super) fn other_digest_but(&self, without: &HashSet<(IpAddr, u32)>) -> u64 {
        let Self { links, addresses, neighbours, objects, rules, .. } = self;
        let neighbours: Vec<_> = neighbours.iter().filter(|(key, _)| !without.contains(key)).collect();
        let link = |l: &Link| hash((l.index, &l.name, l.hardware, l.up, l.mtu, l.address, l.master));
        let links: Vec<_> = links.values().map(link).collect();
        let addresses: Vec<_> = addresses.iter().filter(|a| a.addr.is_ipv4()).collect();
        hash((links, addresses, neighbours, objects, rules))
    }

    /// What may differ for the data plane between another state and this one.
    pub(super) fn differences(&self, other: &Self, pulse: &mut Pulse<'_>) -> Changes {
        let mut changes = Changes { hops: true, ..Changes::default() };
        let neighbours = |a: &Self, b: &Self, changes: &mut Changes| {
            let new = a.neighbours.iter().filter(|(key, link)| b.neighbours.get(key) != Some(link));
            changes.neighbours.extend(new.map(|(key, _)| *key));
        };
        neighbours(self, other, &mut changes);
        neighbours(other, self, &mut changes);
        let carriers =
            |state: &Self| -> Vec<_> { state.links.values().map(|l| (l.index, l.carrier)).collect() };
        changes.all =
            self.settings != other.settings || self.dead != other.dead || carriers(self) != carriers(other);
        self.differing::<u32>(other, &mut changes, pulse);
        self.differing::<u128>(other, &mut changes, pulse);
        changes
    }

    fn differing<A: Ip>(&self, other: &Self, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        for table in [MAIN, LOCAL] {
            let (a, b) = (A::tables(&self.routes).get(&table), A::tables(&other.routes).get(&table));
            let hashes = |state: &Self, ids: &[u32]| -> Vec<u64> {
                ids.iter().map(|id| state.routes.paths.hash(*id)).collect()
            };
            for (prefix, ids) in pulsing(a.into_iter().flat_map(|t| t.iter()), PIECE, pulse) {
                let theirs = b.map_or(&[][..], |t| t.get(prefix));
                if ids.len() != theirs.len() || hashes(self, ids) != hashes(other, theirs) {
                    changes.route(table, A::net(prefix));
                }
            }
            let theirs = pulsing(b.into_iter().flat_map(|t| t.iter()), PIECE, pulse);
            let gone = theirs.map(|(prefix, _)| prefix);
            let gone = gone.filter(|prefix| a.is_none_or(|t| t.get(*prefix).is_empty()));
            gone.for_each(|prefix| changes.route(table, A::net(prefix)));
        }
    }
}
