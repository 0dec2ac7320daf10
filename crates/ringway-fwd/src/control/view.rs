//! The entries of the data plane, for programs that show them.

use std::net::IpAddr;
use std::ops::Bound;

use super::adjacency::Adjacency;
use super::event::{Family, Net};
use super::family::FamilyState;
use super::resolve::Resolver;
use ringway_fib::{Address, NextHop, Prefix};

impl Resolver {
    /// Prefixes of a family and the next hops they lead to, in order: all, or those behind one.
    ///
    /// ```
    /// # use ringway_fwd::control::{Family, Limits, Resolver, Tables};
    /// # use ringway_fib::{Fib4, Fib6};
    /// # let mut tables = Tables::new(Fib4::new(Default::default())?, Fib6::new(Default::default())?, Limits::default());
    /// let resolver = Resolver::new(&mut tables);
    /// assert_eq!(resolver.prefixes(Family::V4, None).count(), 0);
    /// # Ok::<(), ringway_fwd::control::ControlError>(())
    /// ```
    pub fn prefixes(
        &self,
        family: Family,
        behind: Option<Net>,
    ) -> Box<dyn Iterator<Item = (Net, NextHop)> + '_> {
        fn range<A: Address>(
            half: &FamilyState<A>,
            behind: Option<Prefix<A>>,
        ) -> impl Iterator<Item = (Prefix<A>, NextHop)> {
            let from = behind.map_or(Bound::Unbounded, Bound::Excluded);
            let all = half.routes.range((from, Bound::Unbounded));
            all.filter_map(|(p, n)| Some((*p, NextHop::new(*n)?)))
        }
        match (family, behind) {
            (Family::V4, Some(Net::V4(p))) => {
                Box::new(range(&self.v4, Some(p)).map(|(p, n)| (Net::V4(p), n)))
            }
            (Family::V4, _) => Box::new(range(&self.v4, None).map(|(p, n)| (Net::V4(p), n))),
            (Family::V6, Some(Net::V6(p))) => {
                Box::new(range(&self.v6, Some(p)).map(|(p, n)| (Net::V6(p), n)))
            }
            (Family::V6, _) => Box::new(range(&self.v6, None).map(|(p, n)| (Net::V6(p), n))),
        }
    }

    /// The next hop that a prefix leads to.
    pub fn prefix(&self, net: Net) -> Option<NextHop> {
        let number = match net {
            Net::V4(prefix) => self.v4.routes.get(&prefix),
            Net::V6(prefix) => self.v6.routes.get(&prefix),
        };
        NextHop::new(*number?)
    }

    /// The longest prefix of an address and the next hop it leads to.
    pub fn find(&self, addr: IpAddr) -> Option<(Net, NextHop)> {
        fn longest<A: Address>(
            addr: A,
            get: impl Fn(Prefix<A>) -> Option<u16>,
        ) -> Option<(Prefix<A>, NextHop)> {
            let prefixes = (0..=A::BITS).rev().filter_map(|len| Prefix::new(addr, len).ok());
            prefixes.filter_map(|p| Some((p, NextHop::new(get(p)?)?))).next()
        }
        match addr {
            IpAddr::V4(addr) => {
                let found = longest(u32::from(addr), |p| self.v4.routes.get(&p).copied());
                found.map(|(p, n)| (Net::V4(p), n))
            }
            IpAddr::V6(addr) => {
                let found = longest(u128::from(addr), |p| self.v6.routes.get(&p).copied());
                found.map(|(p, n)| (Net::V6(p), n))
            }
        }
    }

    /// The entry of a next hop that is in use.
    pub fn entry(&self, next_hop: NextHop) -> Option<&Adjacency> {
        self.numbers.entry(next_hop.get())
    }

    /// Members of a group with their weights; none for other next hops.
    pub fn group(&self, next_hop: NextHop) -> impl Iterator<Item = (NextHop, u32)> {
        let members = self.numbers.members(next_hop.get()).unwrap_or_default().iter();
        members.filter_map(|(n, weight)| Some((NextHop::new(*n)?, *weight)))
    }

    /// The member of a group that flows of a hash get (see [`flow_hash`](super::flow_hash)); a next hop that is no group itself.
    pub fn member(&self, next_hop: NextHop, hash: u32) -> Option<NextHop> {
        match self.numbers.buckets(next_hop.get()) {
            Some(buckets) => NextHop::new(buckets[(hash >> 24) as usize]),
            None => Some(next_hop),
        }
    }

    /// All next hops in use, by number.
    pub fn in_use(&self) -> Vec<NextHop> {
        self.numbers.used().into_iter().filter_map(NextHop::new).collect()
    }
}
