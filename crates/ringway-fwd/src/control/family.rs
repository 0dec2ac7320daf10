//! What the resolver knows of the routes of one family.

use std::collections::{BTreeMap, BTreeSet};

use ringway_fib::{Address, Prefix};

/// Routes of one family.
#[derive(Debug)]
pub(super) struct FamilyState<A> {
    /// The number that each prefix leads to.
    pub(super) routes: BTreeMap<Prefix<A>, u16>,
    /// Prefixes that do not lead to where they should.
    pub(super) pending: BTreeSet<Prefix<A>>,
    /// How many of them the tables had no room for.
    pub(super) unplaced: usize,
}

impl<A: Address> Default for FamilyState<A> {
    fn default() -> Self {
        Self { routes: BTreeMap::new(), pending: BTreeSet::new(), unplaced: 0 }
    }
}
