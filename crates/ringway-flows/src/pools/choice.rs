//! Which of n things comes next.

use crate::content::random::SplitMix64;
use crate::content::zipf::Zipf;

/// How the next one is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// One after the other, and again from the first.
    Sequential,
    /// Each with the same share.
    Random,
    /// Number k in proportion to 1 / (k + 1)^exponent: few have most of the flows.
    Zipf(f64),
}

/// Chooses numbers below a bound.
///
/// ```
/// use ringway_flows::content::random::SplitMix64;
/// use ringway_flows::pools::choice::{Choice, Order};
///
/// let mut random = SplitMix64(42);
/// let mut choice = Choice::new(Order::Sequential, 3).unwrap();
/// assert_eq!([0; 4].map(|_| choice.next(&mut random)), [0, 1, 2, 0]);
/// assert_eq!(Choice::new(Order::Random, 0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    kind: Kind,
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Sequential { next: u32 },
    Random,
    Zipf(Zipf),
}

impl Choice {
    /// Chooses numbers below `count`. `None` for a count of 0, and for an exponent that [`Zipf::new`] refuses.
    pub fn new(order: Order, count: u32) -> Option<Self> {
        let kind = match order {
            Order::Sequential => Kind::Sequential { next: 0 },
            Order::Random => Kind::Random,
            Order::Zipf(exponent) => Kind::Zipf(Zipf::new(u64::from(count), exponent)?),
        };
        (count > 0).then_some(Self { kind, count })
    }

    /// The next number. Only random orders draw.
    #[inline]
    pub fn next(&mut self, random: &mut SplitMix64) -> u32 {
        match &mut self.kind {
            Kind::Sequential { next } => {
                let this = *next;
                *next = if this + 1 == self.count { 0 } else { this + 1 };
                this
            }
            Kind::Random => random.below(u64::from(self.count)) as u32,
            Kind::Zipf(zipf) => (zipf.draw(random) - 1) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_their_shares() {
        let shares = |order| {
            let mut choice = Choice::new(order, 4).unwrap();
            let (mut random, mut seen) = (SplitMix64(3), [0u32; 4]);
            (0..10_000).for_each(|_| seen[choice.next(&mut random) as usize] += 1);
            seen
        };
        assert_eq!(shares(Order::Sequential), [2500; 4]);
        assert!(shares(Order::Random).iter().all(|n| n.abs_diff(2500) < 200));
        let expected = [4800, 2400, 1600, 1200];
        assert!(shares(Order::Zipf(1.0)).iter().zip(expected).all(|(n, e)| n.abs_diff(e) < 200));
    }

    #[test]
    fn bounds() {
        let mut last = Choice::new(Order::Sequential, u32::MAX).unwrap();
        last.kind = Kind::Sequential { next: u32::MAX - 1 };
        assert_eq!([0; 2].map(|_| last.next(&mut SplitMix64(0))), [u32::MAX - 1, 0]);
        for order in [Order::Sequential, Order::Random, Order::Zipf(1.0)] {
            assert_eq!(Choice::new(order, 0), None);
            assert_eq!(Choice::new(order, 1).unwrap().next(&mut SplitMix64(0)), 0);
        }
        assert_eq!(Choice::new(Order::Zipf(-1.0), 5), None);
    }
}
