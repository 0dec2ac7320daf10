//! Numbers that look random, and are the same for the same seed on any machine.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). Its whole state is one word, so
/// each end of a flow has a generator of its own in 8 bytes.
///
/// ```
/// use ringway_flows::content::random::SplitMix64;
///
/// let mut client = SplitMix64(42);
/// let mut server = client;
/// assert_eq!(client.draw(), server.draw());
/// assert!(client.below(6) < 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next number; each of 64 bits is as good as the others.
    #[inline]
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`, or 0 when `n` is 0. Each has its share to within `n` / 2^64.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.draw() as u128 * n as u128) >> 64) as u64
    }

    /// A number between 0 and 1, never one of the two.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        unit(self.draw())
    }
}

/// An odd multiple of 2^-53 below 1, which a float holds exactly.
const fn unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    ((bits >> 12) * 2 + 1) as f64 * STEP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors() {
        // As listed for seed 1234567 with Vigna's splitmix64.c.
        let mut random = SplitMix64(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| random.draw()), expected);
    }

    #[test]
    fn bounds() {
        let mut random = SplitMix64(1);
        let mut seen = [0; 6];
        (0..60_000).for_each(|_| seen[random.below(6) as usize] += 1);
        assert!(seen.iter().all(|n| (9_500..10_500).contains(n)), "{seen:?}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        let units: Vec<f64> = (0..10_000).map(|_| random.unit()).collect();
        assert!(units.iter().all(|&u| 0.0 < u && u < 1.0));
        let mean = units.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn unit_is_exact_at_both_ends() {
        assert_eq!((unit(0), unit(u64::MAX)), (0.5f64.powi(53), 1.0 - 0.5f64.powi(53)));
    }
}
