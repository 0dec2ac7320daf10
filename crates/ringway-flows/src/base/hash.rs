//! Keyed hashes of a few 64-bit words: a quick one for tables, and SipHash-1-3 for numbers that a peer sees.
//!
//! | type | for | construction | cost |
//! | --- | --- | --- | --- |
//! | [`TableKey`] | places in a table, which no peer sees | multiply and fold, as in wyhash | a multiplication for each two words, and one more |
//! | [`PeerKey`] | initial sequence numbers, seeds that both ends agree on | SipHash-1-3 | about twice as much |
//!
//! A peer that chooses its addresses and ports needs the key to make tuples collide. It sees initial sequence numbers,
//! so these come from a function that does not give its key away (RFC 6528). Multiply and fold is no such function. Hence
//! the key of a table must not be the key of anything else: derive each from a [`PeerKey`].

/// A key for places in tables.
///
/// ```
/// use ringway_flows::base::hash::{PeerKey, TableKey};
///
/// let key = TableKey::from(PeerKey::new(42, 1));
/// assert_eq!(key.hash([1, 2]), key.hash([1, 2]));
/// assert_ne!(key.hash([1, 2]), key.hash([2, 1]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TableKey([u64; 4]);

impl TableKey {
    /// The hash of up to six words.
    #[inline]
    pub const fn hash<const N: usize>(&self, words: [u64; N]) -> u64 {
        const { assert!(N <= 6) };
        let [start, other, last, end] = self.0;
        let (mut state, mut at) = (start, 0);
        while at < N {
            let second = if at + 1 < N { words[at + 1] } else { 0 };
            // A peer that knows neither `state` nor `other` can't make a factor zero, which would lose the other one.
            state = fold(state ^ words[at], other ^ second);
            at += 2;
        }
        fold(state ^ last, end ^ N as u64)
    }
}

impl From<PeerKey> for TableKey {
    fn from(key: PeerKey) -> Self {
        Self([0, 1, 2, 3].map(|part| key.hash([part])))
    }
}

/// Both halves of the product of 128 bits, so that each bit of the factors counts.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// A key for numbers that peers see, and for seeds.
///
/// ```
/// use ringway_flows::base::hash::PeerKey;
///
/// let isn = PeerKey::new(42, 7).hash([0xc612_0001_c613_0001, 40_000 << 16 | 80]) as u32;
/// assert_ne!(isn, PeerKey::new(43, 7).hash([0xc612_0001_c613_0001, 40_000 << 16 | 80]) as u32);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PeerKey(u64, u64);

impl PeerKey {
    /// The key for one purpose from a seed. The same seed gives unrelated keys for other purposes.
    pub const fn new(seed: u64, purpose: u64) -> Self {
        // Constants of SHA-512 (FIPS 180-4 section 5.3.5), so that no seed is a key of zeros.
        let [low, high] = [0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b];
        let first = siphash::<1, 3, 1>(seed, low, [purpose]);
        Self(first, siphash::<1, 3, 1>(seed ^ high, first, [purpose]))
    }

    /// SipHash-1-3 of the words in little-endian order (Aumasson, Bernstein: SipHash, 2012).
    #[inline]
    pub const fn hash<const N: usize>(&self, words: [u64; N]) -> u64 {
        siphash::<1, 3, N>(self.0, self.1, words)
    }
}

/// SipHash with `C` rounds a word and `D` rounds at the end.
#[inline]
const fn siphash<const C: usize, const D: usize, const N: usize>(k0: u64, k1: u64, words: [u64; N]) -> u64 {
    // "somepseudorandomlygeneratedbytes", from the paper.
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut at = 0;
    while at < N {
        v[3] ^= words[at];
        v = rounds::<C>(v);
        v[0] ^= words[at];
        at += 1;
    }
    let length = (N as u64 * 8) << 56;
    v[3] ^= length;
    v = rounds::<C>(v);
    v[0] ^= length;
    v[2] ^= 0xff;
    v = rounds::<D>(v);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

#[inline]
const fn rounds<const N: usize>([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    let mut round = 0;
    while round < N {
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32).wrapping_add(d);
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        c = c.rotate_left(32);
        round += 1;
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hasher};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn vectors_of_siphash_2_4() {
        let (k0, k1) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        // Entries 8 and 16 of the reference implementation's table.
        assert_eq!(siphash::<2, 4, 1>(k0, k1, [k0]), 0x93f5_f579_9a93_2462);
        assert_eq!(siphash::<2, 4, 2>(k0, k1, [k0, k1]), 0x3f2a_cc7f_57c2_9bdb);
    }

    proptest! {
        #[test]
        fn siphash_1_3_is_the_standard_librarys(words: [u64; 6]) {
            let mut hasher = DefaultHasher::new();
            words.iter().for_each(|word| hasher.write(&word.to_le_bytes()));
            prop_assert_eq!(siphash::<1, 3, 6>(0, 0, words), hasher.finish());
        }
    }

    /// From a second implementation, in Python.
    #[test]
    fn golden_values() {
        assert_eq!(PeerKey::new(42, 1).hash([1, 2, 3]), 0x5d26_f6e6_0f34_3b1e);
        assert_eq!(TableKey::from(PeerKey::new(42, 1)).hash([1, 2, 3]), 0x0ff0_b626_8c38_8ee3);
    }

    /// Flips each bit of the words: each bit of the hash must change in 40 to 60 % of the cases.
    fn avalanche<const N: usize>(hash: impl Fn([u64; N]) -> u64) {
        const CASES: u64 = 400;
        for (word, bit) in (0..N).flat_map(|word| (0..64).map(move |bit| (word, bit))) {
            let mut changed = [0u64; 64];
            for case in 0..CASES {
                // Small numbers, as addresses and ports are.
                let mut words = [case * 3; N];
                let before = hash(words);
                words[word] ^= 1 << bit;
                let flipped = before ^ hash(words);
                changed.iter_mut().enumerate().for_each(|(at, n)| *n += flipped >> at & 1);
            }
            let [least, most] = [changed.iter().min().unwrap(), changed.iter().max().unwrap()];
            assert!(*least > CASES / 3 && *most < CASES * 2 / 3, "word {word} bit {bit}: {least} to {most}");
        }
    }

    #[test]
    fn each_bit_counts() {
        let key = PeerKey::new(7, 0);
        avalanche::<1>(|words| TableKey::from(key).hash(words));
        avalanche::<2>(|words| TableKey::from(key).hash(words));
        avalanche::<5>(|words| TableKey::from(key).hash(words));
        avalanche::<2>(|words| key.hash(words));
    }

    #[test]
    fn neighbouring_tuples_spread_evenly() {
        let key = TableKey::from(PeerKey::new(1, 0));
        for shift in [0, 26, 52] {
            let mut buckets = vec![0u32; 4096];
            for client in 0..256u64 {
                for port in 0..256u64 {
                    let hash = key.hash([(0xc612_0000 + client) << 32 | 0xc613_0001, port << 16 | 80]);
                    buckets[(hash >> shift) as usize % 4096] += 1;
                }
            }
            // Chi-square with 4095 degrees of freedom: mean 4095, standard deviation 90.5.
            let chi: f64 = buckets.iter().map(|&n| (f64::from(n) - 16.0).powi(2) / 16.0).sum();
            assert!((3600.0..4600.0).contains(&chi), "{chi}");
        }
    }

    #[test]
    fn other_purposes_and_seeds_give_other_keys() {
        let hash = |seed, purpose| TableKey::from(PeerKey::new(seed, purpose)).hash([5]);
        let mut hashes: Vec<u64> = (0..100).flat_map(|n| [hash(n, 0), hash(0, n + 1)]).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 200);
    }
}
