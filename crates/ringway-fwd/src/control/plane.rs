//! The data plane, as the control plane writes it; one in memory of this process.

use std::sync::Arc;

use super::adjacency::{Adjacencies, Adjacency, Verdict};
use super::group::{Buckets, Groups};
use ringway_fib::{Fib4, Fib6, FibError, NextHop, Prefix4, Prefix6};

/// How much the data plane has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Next hops, groups included. 65,535 at most.
    pub next_hops: u16,
    /// Multipath groups.
    pub groups: u32,
}

impl Default for Limits {
    /// 65,535 and 4,096.
    fn default() -> Self {
        Self { next_hops: u16::MAX, groups: 4096 }
    }
}

/// The data plane, as the control plane writes it.
///
/// Calls come in the order in which things may be used: entries and buckets, then the routes that lead to them.
pub trait Plane {
    /// How much it has room for.
    fn limits(&self) -> Limits;

    /// The number of a next hop comes into use, before its first entry: what was counted for it so far is of another one. For a data plane
    /// that counts by number.
    fn reset_counters_for(&mut self, next_hop: NextHop) {
        let _ = next_hop;
    }

    /// Writes the entry of a next hop.
    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency);

    /// Writes the buckets of a group.
    fn buckets(&mut self, group: u32, buckets: &Buckets);

    /// Changes IPv4 routes, `None` for a withdrawal: all of them or none.
    ///
    /// # Errors
    /// [`FibError`] when they do not fit; then nothing has changed.
    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError>;

    /// The same for IPv6.
    ///
    /// # Errors
    /// As [`routes4`](Self::routes4).
    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError>;

    /// Long work goes on: called after each piece of it ([`PIECE`](super::PIECE)). A data plane that trusts its tables only as long as somebody looks
    /// after them can give its sign of life here.
    ///
    /// `unplaced` is how much of what was tried so far has no room. What had no room before may not have been tried yet. So tables that were not
    /// whole are not whole before [`Resolver::update`](super::Resolver::update) has ended.
    fn pulse(&mut self, unplaced: usize) {
        let _ = unplaced;
    }
}

/// A data plane in memory of this process.
#[derive(Debug)]
pub struct Tables {
    /// IPv4 routes.
    pub fib4: Fib4,
    /// IPv6 routes.
    pub fib6: Fib6,
    /// Next hops.
    pub adjacencies: Arc<Adjacencies>,
    /// Buckets of groups.
    pub groups: Arc<Groups>,
    limits: Limits,
}

impl Tables {
    /// Around two tables of routes.
    pub fn new(fib4: Fib4, fib6: Fib6, limits: Limits) -> Self {
        Self { fib4, fib6, adjacencies: Arc::default(), groups: Arc::new(Groups::new(limits.groups)), limits }
    }

    /// The next hop of an address and a flow, members of groups instead of the group; `None` without a route.
    pub fn find4(&self, addr: u32, hash: u32) -> Option<(NextHop, Adjacency)> {
        self.member(self.fib4.lookup(addr)?, hash)
    }

    /// The same for IPv6.
    pub fn find6(&self, addr: u128, hash: u32) -> Option<(NextHop, Adjacency)> {
        self.member(self.fib6.lookup(addr)?, hash)
    }

    fn member(&self, next_hop: NextHop, hash: u32) -> Option<(NextHop, Adjacency)> {
        let entry = self.adjacencies.load(next_hop);
        if entry.verdict() != Verdict::Group {
            return Some((next_hop, entry));
        }
        let member = self.groups.pick(entry.group_number(), hash)?;
        Some((member, self.adjacencies.load(member)))
    }
}

impl Plane for Tables {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency) {
        self.adjacencies.store(next_hop, entry);
    }

    fn buckets(&mut self, group: u32, buckets: &Buckets) {
        self.groups.store(group, buckets);
    }

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
        self.fib4.apply(changes.iter().copied())
    }

    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
        self.fib6.apply(changes.iter().copied())
    }
}
