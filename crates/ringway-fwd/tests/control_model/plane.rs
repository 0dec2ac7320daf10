//! A data plane of hash tables.

use std::collections::BTreeMap;

use ringway_fib::{FibError, NextHop, Prefix4, Prefix6};
use ringway_fwd::control::{Adjacency, Buckets, Limits, Net, Plane, Verdict};

/// It knows when a route leads to an entry that was never written.
#[derive(Default)]
pub(crate) struct Slow {
    pub(crate) entries: BTreeMap<u16, Adjacency>,
    pub(crate) groups: BTreeMap<u32, Buckets>,
    pub(crate) v4: BTreeMap<Prefix4, NextHop>,
    pub(crate) v6: BTreeMap<Prefix6, NextHop>,
    /// Refuses routes of more prefixes than these.
    pub(crate) room: Option<usize>,
    pub(crate) limits: Limits,
}

impl Plane for Slow {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency) {
        self.entries.insert(next_hop.get(), *entry);
    }

    fn buckets(&mut self, group: u32, buckets: &Buckets) {
        assert!(
            buckets.iter().all(|n| *n == 0 || self.entries.contains_key(n)),
            "members come before groups"
        );
        self.groups.insert(group, *buckets);
    }

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
        let mut new = self.v4.clone();
        for (prefix, next_hop) in changes {
            match next_hop {
                Some(n) => {
                    let entry = self.entries.get(&n.get()).expect("entries come before routes");
                    let group = entry.verdict() == Verdict::Group;
                    assert!(!group || self.groups.contains_key(&entry.group_number()));
                    new.insert(*prefix, *n);
                }
                None => assert!(new.remove(prefix).is_some()),
            }
        }
        if self.room.is_some_and(|room| new.len() > room) {
            return Err("x".parse::<NextHop>().unwrap_err());
        }
        self.v4 = new;
        Ok(())
    }

    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
        for (prefix, next_hop) in changes {
            match next_hop {
                Some(n) => drop(self.v6.insert(*prefix, *n)),
                None => assert!(self.v6.remove(prefix).is_some()),
            }
        }
        Ok(())
    }
}

impl Slow {
    /// What a next hop means, without numbers: an entry, or members with their buckets.
    fn meaning(&self, next_hop: NextHop) -> Vec<(String, usize)> {
        let entry = &self.entries[&next_hop.get()];
        if entry.verdict() != Verdict::Group {
            return vec![(format!("{entry:?}"), 1)];
        }
        let mut members = BTreeMap::new();
        for n in self.groups[&entry.group_number()] {
            *members.entry(format!("{:?}", self.entries.get(&n))).or_insert(0) += 1;
        }
        members.into_iter().collect()
    }

    pub(crate) fn meanings(&self) -> Vec<(Net, Vec<(String, usize)>)> {
        let v4 = self.v4.iter().map(|(prefix, n)| (Net::V4(*prefix), self.meaning(*n)));
        let v6 = self.v6.iter().map(|(prefix, n)| (Net::V6(*prefix), self.meaning(*n)));
        v4.chain(v6).collect()
    }
}
