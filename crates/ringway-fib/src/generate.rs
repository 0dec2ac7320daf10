//! Made-up tables that look like the Internet's, for machines without real ones.
//!
//! The shares of lengths follow the published reports on the global tables (BGP reports of APNIC's Geoff Huston, 2024).
//! 60 % of IPv4 routes are /24, and 46 % of IPv6 routes are /48. Longer prefixes lie in a limited number of blocks, as allocations do, and next hops
//! follow Zipf's law. Prefixes longer than /24 and /48, which real tables do not hold, are one in 500.

use super::{Address, NextHop, Prefix};

/// Length and share in 10,000, IPv4.
const LENGTHS_4: [(u8, u32); 18] = [
    (8, 1),
    (10, 1),
    (11, 1),
    (12, 3),
    (13, 6),
    (14, 12),
    (15, 20),
    (16, 140),
    (17, 80),
    (18, 140),
    (19, 250),
    (20, 440),
    (21, 510),
    (22, 1160),
    (23, 1020),
    (24, 6196),
    (28, 10),
    (32, 10),
];

/// Length and share in 10,000, IPv6.
const LENGTHS_6: [(u8, u32); 16] = [
    (20, 5),
    (24, 10),
    (28, 40),
    (29, 300),
    (30, 60),
    (32, 1240),
    (33, 170),
    (34, 130),
    (36, 560),
    (40, 1050),
    (42, 260),
    (44, 1180),
    (46, 300),
    (47, 250),
    (48, 4425),
    (64, 20),
];

/// Next hops of a table.
const NEXT_HOPS: usize = 255;

/// Numbers that look random and are the same for the same seed (SplitMix64, Steele and others, OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 128 bits.
    pub fn next_u128(&mut self) -> u128 {
        u128::from(self.next_u64()) << 64 | u128::from(self.next_u64())
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_u64()) * end as u128) >> 64) as usize
    }
}

/// Zipf's law with exponent 1: rank k (from 0) has a weight of 1 / (k + 1).
#[derive(Debug, Clone)]
pub struct Zipf(Vec<f64>);

impl Zipf {
    /// Over so many ranks, at least one.
    pub fn new(ranks: usize) -> Self {
        let sums = (1..=ranks).scan(0.0, |sum, k| {
            *sum += 1.0 / k as f64;
            Some(*sum)
        });
        Self(sums.collect())
    }

    /// A rank.
    pub fn draw(&self, random: &mut Random) -> usize {
        let total = self.0.last().copied().unwrap_or(1.0);
        let at = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * total;
        self.0.partition_point(|sum| *sum <= at).min(self.0.len().saturating_sub(1))
    }
}

/// A table of about `count` routes, the same for the same seed; of each prefix there is one.
///
/// ```
/// use ringway_fib::generate;
/// let routes = generate::table::<u32>(10_000, 1);
/// assert!(routes.len() > 9_000);
/// ```
pub fn table<A: Address>(count: usize, seed: u64) -> Vec<(Prefix<A>, NextHop)> {
    let mut random = Random::new(seed);
    let next_hops = Zipf::new(NEXT_HOPS);
    let v4 = A::BITS == 32;
    // Where longer prefixes lie: one block for so many routes.
    let blocks: Vec<u128> =
        (0..(count / if v4 { 45 } else { 12 }).max(1)).map(|_| block(v4, &mut random)).collect();
    let lengths: &[(u8, u32)] = if v4 { &LENGTHS_4 } else { &LENGTHS_6 };
    let mut routes: Vec<_> = (0..count)
        .filter_map(|_| {
            let len = length(lengths, &mut random);
            let block_len = if v4 { 16 } else { 32 };
            let bits = match len > block_len {
                true => blocks[random.below(blocks.len())] | random.next_u128() >> block_len,
                false => block(v4, &mut random),
            };
            let next_hop = NextHop::new(next_hops.draw(&mut random) as u16 + 1)?;
            Some((Prefix::new(A::of_key(bits), len).ok()?, next_hop))
        })
        .collect();
    routes.sort_unstable_by_key(|r| r.0);
    routes.dedup_by_key(|r| r.0);
    routes
}

/// The first bits of an allocation: unicast addresses.
fn block(v4: bool, random: &mut Random) -> u128 {
    if v4 {
        return (((1 + random.below(223)) << 8 | random.below(256)) as u128) << 112;
    }
    let registries = [0x2001, 0x2400, 0x2600, 0x2800, 0x2a00, 0x2c0f];
    let registry = registries[random.below(registries.len())] + random.below(16);
    (registry << 16 | random.below(1 << 16)) as u128 * (1 << 96)
}

fn length(lengths: &[(u8, u32)], random: &mut Random) -> u8 {
    let mut rest = random.below(lengths.iter().map(|l| l.1 as usize).sum()) as u32;
    for &(len, share) in lengths {
        if rest < share {
            return len;
        }
        rest -= share;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_repeat_and_look_as_meant() {
        let routes = table::<u32>(20_000, 7);
        assert_eq!(routes, table::<u32>(20_000, 7));
        assert_ne!(routes, table::<u32>(20_000, 8));
        let share = |len| routes.iter().filter(|r| r.0.len() == len).count() as f64 / routes.len() as f64;
        assert!((0.55..0.68).contains(&share(24)), "{}", share(24));
        assert!(routes.iter().any(|r| r.0.len() > 24));
        assert!(routes.is_sorted_by_key(|r| r.0));
        let v6 = table::<u128>(20_000, 7);
        assert!(v6.len() > 18_000 && v6.iter().all(|r| r.0.addr() >> 125 == 1));
    }

    #[test]
    fn zipf_prefers_low_ranks() {
        let (zipf, mut random) = (Zipf::new(100), Random::new(3));
        let draws: Vec<usize> = (0..10_000).map(|_| zipf.draw(&mut random)).collect();
        let first = draws.iter().filter(|&&r| r == 0).count();
        assert!((1700..2200).contains(&first), "{first}"); // 1 / 5.19
        assert!(draws.iter().all(|&r| r < 100));
    }
}
