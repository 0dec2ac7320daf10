//! Multipath groups: buckets, who gets them, and which one a flow falls into.

use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;

use ringway_fib::{Cells, FibError, Foreign, NextHop};

/// Buckets of a group.
pub const BUCKETS: usize = 256;

/// The next hop of each bucket, 0 in a group without members.
pub type Buckets = [u16; BUCKETS];

/// Shares buckets out by weight. Members that stay keep their buckets as far as their share allows. A member that leaves or comes moves no
/// flow but its own, as in the kernel's resilient groups when all buckets are idle
/// (Documentation/networking/nexthop-group-resilient.rst). Each member gets a bucket at least; there are at most [`BUCKETS`] of them.
pub(super) fn assign(old: &Buckets, members: &[(u16, u32)]) -> Buckets {
    let mut room = shares(members);
    let mut new = [0; BUCKETS];
    for (to, was) in new.iter_mut().zip(old) {
        let held = members.iter().zip(&mut room).find(|((id, _), room)| id == was && **room > 0);
        if let Some((_, room)) = held {
            (*to, *room) = (*was, *room - 1);
        }
    }
    let mut next = 0;
    for to in new.iter_mut().filter(|to| **to == 0) {
        // one after the other, so that members are spread over the buckets
        let Some(i) = (0..members.len()).map(|i| (next + i) % members.len()).find(|i| room[*i] > 0) else {
            break;
        };
        (*to, room[i], next) = (members[i].0, room[i] - 1, i + 1);
    }
    new
}

/// How many buckets each member gets: rounded down, and the rest to the largest remainders.
fn shares(members: &[(u16, u32)]) -> Vec<usize> {
    let total: u64 = members.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let exact = |weight: u32| u64::from(weight) * BUCKETS as u64;
    let mut shares: Vec<_> = members.iter().map(|(_, w)| ((exact(*w) / total) as usize).max(1)).collect();
    let mut order: Vec<_> = (0..members.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(exact(members[*i].1) % total));
    let mut rest = order.iter().cycle();
    while shares.iter().sum::<usize>() < BUCKETS {
        let Some(i) = rest.next() else { break };
        shares[*i] += 1;
    }
    while shares.iter().sum::<usize>() > BUCKETS {
        let Some(largest) = shares.iter_mut().max() else { break };
        *largest -= 1;
    }
    shares
}

/// A hash of a flow, the same in both directions: of addresses, protocol and ports (0 where there are none, and for all fragments).
///
/// ```
/// use ringway_fwd::control::flow_hash;
/// let there = flow_hash((0x0a00_0001, 5000), (0x0a00_0002, 80), 6);
/// assert_eq!(there, flow_hash((0x0a00_0002, 80), (0x0a00_0001, 5000), 6));
/// ```
#[inline]
pub fn flow_hash(source: (u128, u16), destination: (u128, u16), protocol: u8) -> u32 {
    let (low, high) = if source <= destination { (source, destination) } else { (destination, source) };
    let mut hash = mix(u64::from(protocol), u64::from(low.1) << 16 | u64::from(high.1));
    for word in [low.0 as u64, (low.0 >> 64) as u64, high.0 as u64, (high.0 >> 64) as u64] {
        hash = mix(hash, word);
    }
    (hash >> 32) as u32
}

/// Each bit of either reaches all of the upper half: two rounds of xor, shift and an odd multiplier (the golden ratio's).
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let x = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 29)
}

/// The buckets of all groups, one writer and any number of readers: 512 bytes for each group, a 16-bit next hop for each bucket.
#[derive(Debug)]
pub struct Groups {
    buckets: Cells<AtomicU16>,
}

impl Groups {
    /// So many empty groups.
    pub fn new(groups: u32) -> Self {
        Self { buckets: Cells::new(groups as usize * BUCKETS) }
    }

    /// So many groups in memory that others may read too, as they are there.
    ///
    /// # Errors
    /// [`FibError::Memory`] when it has less than 512 bytes for each, or does not start on 2 bytes.
    pub fn in_memory(place: Foreign, groups: u32) -> Result<Self, FibError> {
        let count = groups as usize * BUCKETS;
        let buckets = Cells::foreign(&place, count);
        Ok(Self {
            buckets: buckets.ok_or(FibError::Memory { what: "too small or not aligned", need: 2 * count })?,
        })
    }

    /// The next hop for a flow, by the upper 8 bits of its hash; `None` in an empty group.
    #[inline]
    pub fn pick(&self, group: u32, hash: u32) -> Option<NextHop> {
        let at = group as usize * BUCKETS + (hash >> 24) as usize;
        NextHop::new(self.buckets.get(at)?.load(Relaxed)) // a value on its own, good at any time
    }

    /// Writes the buckets that differ. Groups beyond the last one are left out.
    pub fn store(&self, group: u32, buckets: &Buckets) {
        let of = self.buckets.iter().skip(group as usize * BUCKETS);
        for (to, new) in of.zip(buckets) {
            if to.load(Relaxed) != *new {
                to.store(*new, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn count(buckets: &Buckets, id: u16) -> usize {
        buckets.iter().filter(|b| **b == id).count()
    }

    fn moved(a: &Buckets, b: &Buckets) -> usize {
        a.iter().zip(b).filter(|(a, b)| a != b).count()
    }

    #[test]
    fn weights_become_buckets() {
        let b = assign(&[0; BUCKETS], &[(5, 1), (6, 3)]);
        assert_eq!((count(&b, 5), count(&b, 6)), (64, 192));
        let b = assign(&[0; BUCKETS], &[(5, 1), (6, 1), (7, 1)]);
        assert_eq!((count(&b, 5), count(&b, 6), count(&b, 7)), (86, 85, 85));
        let b = assign(&[0; BUCKETS], &[(5, 1), (6, 65535)]);
        assert_eq!((count(&b, 5), count(&b, 6)), (1, 255));
        assert_eq!(assign(&b, &[]), [0; BUCKETS]);
    }

    #[test]
    fn only_flows_of_the_member_that_leaves_or_comes_move() {
        let four = assign(&[0; BUCKETS], &[(1, 1), (2, 1), (3, 1), (4, 1)]);
        let three = assign(&four, &[(1, 1), (2, 1), (4, 1)]);
        assert_eq!(moved(&four, &three), 64);
        let again = assign(&three, &[(1, 1), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(moved(&three, &again), 64);
    }

    proptest! {
        #[test]
        fn shares_are_kept_and_as_few_as_can_be_move(
            steps in prop::collection::vec(prop::collection::btree_map(1..40u16, 1..500u32, 1..30), 1..6),
        ) {
            let mut buckets = [0; BUCKETS];
            for members in steps {
                let members: Vec<_> = members.into_iter().collect();
                let new = assign(&buckets, &members);
                let shares = shares(&members);
                let mut keep = 0;
                for ((id, _), share) in members.iter().zip(&shares) {
                    prop_assert!(*share > 0);
                    prop_assert_eq!(count(&new, *id), *share);
                    keep += (*share).min(count(&buckets, *id));
                }
                prop_assert_eq!(BUCKETS - moved(&buckets, &new), keep);
                buckets = new;
            }
        }

        #[test]
        fn both_directions_hash_alike(a: (u128, u16), b: (u128, u16), protocol: u8) {
            prop_assert_eq!(flow_hash(a, b, protocol), flow_hash(b, a, protocol));
        }
    }

    #[test]
    fn flows_spread_evenly() {
        let mut seen = [0u32; BUCKETS];
        for i in 0..BUCKETS as u128 * 100 {
            let h = flow_hash((0x0a00_0000 + i / 50, 1024 + (i % 50) as u16), (0xc000_0201, 443), 6);
            seen[(h >> 24) as usize] += 1;
        }
        // 100 expected in each; six standard deviations
        assert!(seen.iter().all(|n| (40..160).contains(n)), "{seen:?}");
    }
}
