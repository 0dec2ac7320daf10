//! Which flow of a mix starts.

use crate::content::random::SplitMix64;

/// How the flows of a mix take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// Evenly spread: after as many starts as the weights add up to, each flow has its weight exactly.
    Smooth,
    /// Drawn from a seed.
    Drawn(u64),
}

/// Chooses flows by weight.
///
/// ```
/// use ringway_flows::schedule::mix::{Mix, Turns};
///
/// let mut mix = Mix::new(&[3, 1], Turns::Smooth).unwrap();
/// assert_eq!([0; 8].map(|_| mix.pick()), [0, 0, 1, 0, 0, 0, 1, 0]);
/// assert!(Mix::new(&[0, 0], Turns::Smooth).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Mix {
    weights: Vec<Weight>,
    total: u64,
    random: Option<SplitMix64>,
}

#[derive(Clone, Copy, Debug)]
struct Weight {
    weight: u32,
    /// How far the flow is behind its share.
    behind: i64,
}

impl Mix {
    /// Flows with these weights. `None` when no weight is above 0.
    pub fn new(weights: &[u32], turns: Turns) -> Option<Self> {
        let random = match turns {
            Turns::Smooth => None,
            Turns::Drawn(seed) => Some(SplitMix64(seed)),
        };
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let weights = weights.iter().map(|&weight| Weight { weight, behind: 0 }).collect();
        (total > 0).then_some(Self { weights, total, random })
    }

    /// The number of the flow that starts next.
    #[inline]
    pub fn pick(&mut self) -> usize {
        match &mut self.random {
            Some(random) => {
                let mut at = random.below(self.total);
                let before = |weight: &Weight| {
                    let inside = at < u64::from(weight.weight);
                    at = at.wrapping_sub(u64::from(weight.weight));
                    inside
                };
                self.weights.iter().position(before).unwrap_or(0)
            }
            None => self.smooth(),
        }
    }

    /// Each flow falls behind by its weight, and the one that is furthest behind starts.
    #[inline]
    fn smooth(&mut self) -> usize {
        let mut most = 0;
        for at in 0..self.weights.len() {
            let this = &mut self.weights[at];
            this.behind += i64::from(this.weight);
            if this.behind > self.weights[most].behind {
                most = at;
            }
        }
        self.weights[most].behind -= self.total as i64;
        most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn smooth_turns_are_exact_and_never_far_off(weights in proptest::collection::vec(0u32..30, 1..8)) {
            let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
            prop_assume!(total > 0);
            let mut mix = Mix::new(&weights, Turns::Smooth).unwrap();
            let mut seen = vec![0u64; weights.len()];
            for turn in 1..=3 * total {
                seen[mix.pick()] += 1;
                for (&n, &weight) in seen.iter().zip(&weights) {
                    let share = turn as f64 * f64::from(weight) / total as f64;
                    prop_assert!((n as f64 - share).abs() < weights.len() as f64);
                    prop_assert!(turn % total != 0 || n == turn / total * u64::from(weight));
                    prop_assert!(weight > 0 || n == 0);
                }
            }
        }
    }

    #[test]
    fn drawn_turns_have_their_shares() {
        let mut mix = Mix::new(&[30, 0, 55, 15], Turns::Drawn(4)).unwrap();
        let mut seen = [0u32; 4];
        (0..100_000).for_each(|_| seen[mix.pick()] += 1);
        assert!(seen.iter().zip([30_000, 0, 55_000, 15_000]).all(|(n, e)| n.abs_diff(e) < 700), "{seen:?}");
        assert_eq!(seen[1], 0);
        let mut largest = Mix::new(&[u32::MAX; 4], Turns::Smooth).unwrap();
        assert_eq!([0; 4].map(|_| largest.pick()), [0, 1, 2, 3]);
    }
}
