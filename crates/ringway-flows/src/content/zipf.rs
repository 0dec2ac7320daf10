//! Zipf's law: rank k of n has a share in proportion to 1 / k^s.

use super::math::{exp, exp_minus_1_over, ln, ln_1_plus_over};
use super::random::SplitMix64;

/// Draws ranks 1 to n, by rejection-inversion (Hörmann, Derflinger: Rejection-inversion to generate variates from monotone
/// discrete distributions, 1996). It needs no table, and 1.1 draws on average.
///
/// ```
/// use ringway_flows::content::{random::SplitMix64, zipf::Zipf};
///
/// let zipf = Zipf::new(1_000_000, 1.1).unwrap();
/// let mut random = SplitMix64(42);
/// let first = (0..1000).filter(|_| zipf.draw(&mut random) == 1).count();
/// assert!((90..170).contains(&first));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    n: u64,
    exponent: f64,
    /// The integral of the density below 1.5, less the share of rank 1.
    first: f64,
    /// The integral up to n + 1/2.
    last: f64,
    /// A rank that is at most this much above its point is taken without a look.
    sure: f64,
}

impl Zipf {
    /// Most ranks: floats tell this many apart.
    pub const MAX_RANKS: u64 = 1 << 40;

    /// Ranks 1 to `n` with exponent s. `None` unless 1 <= n <= [`MAX_RANKS`](Self::MAX_RANKS) and 0 < s <= 20.
    pub fn new(n: u64, exponent: f64) -> Option<Self> {
        if n == 0 || n > Self::MAX_RANKS || !(exponent > 0.0 && exponent <= 20.0) {
            return None;
        }
        let mut zipf = Self { n, exponent, first: 0.0, last: 0.0, sure: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(n as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        Some(zipf)
    }

    /// A rank.
    #[inline]
    pub fn draw(&self, random: &mut SplitMix64) -> u64 {
        loop {
            let u = self.last + random.unit() * (self.first - self.last);
            let x = self.inverse(u);
            let rank = ((x + 0.5) as u64).clamp(1, self.n);
            let k = rank as f64;
            if k - x <= self.sure || u >= self.integral(k + 0.5) - self.density(k) {
                return rank;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        exp(-self.exponent * ln(x))
    }

    /// The integral of the density from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let ln = ln(x);
        ln * exp_minus_1_over((1.0 - self.exponent) * ln)
    }

    /// Where the integral is `u`.
    fn inverse(&self, u: f64) -> f64 {
        let t = u * (1.0 - self.exponent);
        // Rounding may bring t to the pole of the logarithm, where x has no bound.
        if t <= -1.0 { self.n as f64 } else { exp(ln_1_plus_over(t) * u) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of drawn ranks against the law, over standard deviations from its mean.
    fn deviation(n: u64, s: f64, draws: u32) -> f64 {
        let zipf = Zipf::new(n, s).unwrap();
        let mut random = SplitMix64(7);
        let mut seen = vec![0u32; n as usize];
        (0..draws).for_each(|_| seen[zipf.draw(&mut random) as usize - 1] += 1);
        let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-s)).collect();
        let total: f64 = weights.iter().sum();
        let (mut chi, mut cells, mut rest, mut rest_seen) = (0.0, 0.0, 0.0, 0.0);
        for (weight, &n) in weights.iter().zip(&seen) {
            // Cells with few draws are put together.
            rest += weight / total * f64::from(draws);
            rest_seen += f64::from(n);
            if rest >= 10.0 {
                chi += (rest_seen - rest).powi(2) / rest;
                (rest, rest_seen, cells) = (0.0, 0.0, cells + 1.0);
            }
        }
        (chi - (cells - 1.0)) / (2.0f64 * (cells - 1.0)).sqrt()
    }

    #[test]
    fn shares_follow_the_law() {
        for (n, s) in
            [(2, 1.0), (10, 0.5), (100, 1.0), (100, 1.000_001), (1000, 1.2), (1000, 2.5), (300, 0.01)]
        {
            let deviation = deviation(n, s, 100_000);
            assert!(deviation.abs() < 4.0, "{n} ranks, exponent {s}: {deviation}");
        }
    }

    #[test]
    fn extremes() {
        let mut random = SplitMix64(1);
        for (n, s) in [(1, 1.0), (Zipf::MAX_RANKS, 1e-9), (Zipf::MAX_RANKS, 1.0), (Zipf::MAX_RANKS, 20.0)] {
            let zipf = Zipf::new(n, s).unwrap();
            assert!((0..1000).all(|_| (1..=n).contains(&zipf.draw(&mut random))));
        }
        for (n, s) in [(0, 1.0), (Zipf::MAX_RANKS + 1, 1.0), (5, 0.0), (5, -1.0), (5, f64::NAN), (5, 20.1)] {
            assert_eq!(Zipf::new(n, s), None, "{n} {s}");
        }
    }
}
