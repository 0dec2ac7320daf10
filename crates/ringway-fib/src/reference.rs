//! The slow and obvious match that every answer is compared with.

use std::collections::HashMap;

use super::prefix::mask;
use super::{Address, NextHop, Prefix};

/// A hash table for each prefix length, searched from the longest to the shortest.
///
/// ```
/// use ringway_fib::{NextHop, Reference};
/// let mut r = Reference::<u32>::new();
/// r.insert("10.0.0.0/8".parse()?, NextHop::new(7).unwrap());
/// assert_eq!(r.lookup(0x0a01_0203u32), NextHop::new(7));
/// # Ok::<(), ringway_fib::FibError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Reference<A> {
    lengths: Vec<HashMap<A, NextHop>>,
}

impl<A: Address> Default for Reference<A> {
    fn default() -> Self {
        Self { lengths: vec![HashMap::new(); usize::from(A::BITS) + 1] }
    }
}

impl<A: Address> Reference<A> {
    /// Without routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a route, or changes its next hop; returns the next hop before.
    pub fn insert(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Option<NextHop> {
        self.lengths[usize::from(prefix.len())].insert(prefix.addr(), next_hop)
    }

    /// Removes a route; returns its next hop.
    pub fn withdraw(&mut self, prefix: Prefix<A>) -> Option<NextHop> {
        self.lengths[usize::from(prefix.len())].remove(&prefix.addr())
    }

    /// The next hop of a route.
    pub fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.lengths[usize::from(prefix.len())].get(&prefix.addr()).copied()
    }

    /// The next hop of the longest prefix that covers the address.
    pub fn lookup(&self, addr: A) -> Option<NextHop> {
        self.matches(addr).next()
    }

    /// The next hop of the longest prefix but one: what an address leads to without the route that it leads to.
    pub fn second(&self, addr: A) -> Option<NextHop> {
        self.matches(addr).nth(1)
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.lengths.iter().map(HashMap::len).sum()
    }

    /// The next hops of all prefixes that cover the address, the longest first.
    fn matches(&self, addr: A) -> impl Iterator<Item = NextHop> {
        let routes = (0..=A::BITS).zip(&self.lengths).rev().filter(|(_, routes)| !routes.is_empty());
        routes.filter_map(move |(len, routes)| routes.get(&A::of_key(addr.key() & mask(len))).copied())
    }

    /// Whether there is no route.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<A: Address> Extend<(Prefix<A>, NextHop)> for Reference<A> {
    fn extend<I: IntoIterator<Item = (Prefix<A>, NextHop)>>(&mut self, routes: I) {
        for (prefix, next_hop) in routes {
            self.insert(prefix, next_hop);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins() {
        let mut r = Reference::<u32>::new();
        for (n, text) in (1..).zip(["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32"]) {
            r.insert(text.parse().unwrap(), NextHop::new(n).unwrap());
        }
        let found = |addr| r.lookup(addr).map(NextHop::get);
        assert_eq!(
            [0x0b00_0000, 0x0a00_0000, 0x0a01_0203, 0x0a01_0204].map(found),
            [Some(1), Some(2), Some(4), Some(3)]
        );
        assert_eq!(r.len(), 4);
        r.withdraw("0.0.0.0/0".parse().unwrap());
        assert_eq!(r.lookup(0x0b00_0000), None);
    }
}
