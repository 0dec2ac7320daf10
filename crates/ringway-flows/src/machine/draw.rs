//! Draws from the distributions of a bundle.

use crate::code::{self, MAX_RANKS, Row};
use crate::content::draws::{BadShape, Dist, Shape};
use crate::content::random::SplitMix64;

const MILLION: f64 = 1e6;

/// A distribution of the bundle, ready to draw from.
#[derive(Debug)]
pub(crate) enum Draw {
    /// Its values are those drawn.
    Plain(Dist),
    /// Ranks from 1, which stand for the values from `lo` on.
    Ranked(Dist, u64),
    /// Rows of a table by their weights, then a value of the row.
    Rows(Dist, Vec<Row>),
}

impl Draw {
    pub(crate) fn new(of: &code::Dist) -> Result<Self, BadShape> {
        let whole = |n: &u64| *n as f64;
        let parts = |millionths: &u64| *millionths as f64 / MILLION;
        let shape = match &of.shape {
            code::Shape::Const => Shape::Const(of.lo),
            code::Shape::Uniform => Shape::Uniform(of.lo, of.hi),
            code::Shape::Exp { mean } => Shape::Exp { mean: whole(mean) },
            code::Shape::Normal { mean, deviation } => {
                Shape::Normal { mean: whole(mean), deviation: whole(deviation) }
            }
            code::Shape::Lognormal { median, sigma } => {
                Shape::LogNormal { median: whole(median), sigma: parts(sigma) }
            }
            code::Shape::Pareto { scale, shape } => {
                Shape::Pareto { least: whole(scale), shape: parts(shape) }
            }
            code::Shape::Zipf { exponent } => {
                let ranks = (of.hi - of.lo).saturating_add(1).min(MAX_RANKS);
                let shape = Shape::Zipf { ranks, exponent: parts(exponent) };
                return Ok(Self::Ranked(Dist::new(&shape, 1, ranks)?, of.lo));
            }
            code::Shape::Table(rows) => {
                let shape = Shape::Table((0..).zip(rows).map(|(row, of)| (row, of.weight)).collect());
                return Ok(Self::Rows(Dist::new(&shape, 0, rows.len() as u64)?, rows.clone()));
            }
        };
        Dist::new(&shape, of.lo, of.hi).map(Self::Plain)
    }

    /// The next value. Both ends of a flow have equal generators, and draw the same.
    #[inline]
    pub(crate) fn next(&self, random: &mut SplitMix64) -> u64 {
        match self {
            Self::Plain(dist) => dist.draw(random),
            Self::Ranked(dist, lo) => lo + (dist.draw(random) - 1),
            Self::Rows(dist, rows) => {
                let row = rows.get(dist.draw(random) as usize);
                row.map_or(0, |row| row.lo + random.below((row.hi - row.lo).saturating_add(1)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(dist: code::Dist) -> Vec<u64> {
        let (draw, mut random) = (Draw::new(&dist).unwrap(), SplitMix64(7));
        (0..2000).map(|_| draw.next(&mut random)).collect()
    }

    #[test]
    fn ranks_stand_for_values_from_the_least_on() {
        let all = values(code::Dist { shape: code::Shape::Zipf { exponent: 1_000_000 }, lo: 10, hi: 13 });
        let share = |value| all.iter().filter(|&&v| v == value).count();
        assert_eq!((10..14).map(share).sum::<usize>(), 2000);
        assert!(share(10) > 3 * share(13), "{} {}", share(10), share(13));
    }

    #[test]
    fn rows_have_their_weights_and_all_their_values() {
        let rows = vec![Row { weight: 3, lo: 1, hi: 2 }, Row { weight: 1, lo: 100, hi: 100 }];
        let all = values(code::Dist { shape: code::Shape::Table(rows), lo: 1, hi: 100 });
        let share = |value| all.iter().filter(|&&v| v == value).count() as i32;
        assert_eq!(share(1) + share(2) + share(100), 2000);
        assert!((share(100) - 500).abs() < 100 && (share(1) - share(2)).abs() < 150);
    }
}
