//! Distributions of sizes, times and numbers. Results are integers between two bounds, the same on any machine.

use std::fmt;

use super::math::{exp, ln, normal_quantile};
use super::random::SplitMix64;
use super::zipf::Zipf;

/// What a distribution looks like. Values are bytes, nanoseconds or plain numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Always this value.
    Const(u64),
    /// Each value from the first to the last, both included, with the same share.
    Uniform(u64, u64),
    /// Times between independent events.
    Exp {
        /// Mean, above 0.
        mean: f64,
    },
    /// The bell curve.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation, not below 0.
        deviation: f64,
    },
    /// Values whose logarithms have a normal distribution: sizes of pages and files.
    LogNormal {
        /// Half of the values are below, above 0.
        median: f64,
        /// Standard deviation of the natural logarithm, not below 0.
        sigma: f64,
    },
    /// A long tail: the share of values above x is (least / x)^shape.
    Pareto {
        /// Least value, above 0.
        least: f64,
        /// Exponent of the tail, above 0.
        shape: f64,
    },
    /// Rank 1 to `ranks`, where rank k has a share in proportion to 1 / k^exponent.
    Zipf {
        /// Number of ranks, at least 1.
        ranks: u64,
        /// Exponent, above 0 and at most 20.
        exponent: f64,
    },
    /// Values with weights, as measured.
    Table(Vec<(u64, u32)>),
}

/// A shape that has no distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadShape(&'static str);

impl fmt::Display for BadShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadShape {}

/// A distribution that is ready to draw from.
///
/// A draw takes one number of the generator, or for [`Shape::Zipf`] sometimes more. Two ends with equal generators get
/// equal values, and have equal generators afterwards.
///
/// ```
/// use ringway_flows::content::{draws::{Dist, Shape}, random::SplitMix64};
///
/// let pages = Dist::new(&Shape::LogNormal { median: 8192.0, sigma: 1.2 }, 200, 2 << 20)?;
/// let mut random = SplitMix64(42);
/// assert!((200..=2 << 20).contains(&pages.draw(&mut random)));
/// assert!(Dist::new(&Shape::Exp { mean: 0.0 }, 0, 100).is_err());
/// # Ok::<(), ringway_flows::content::draws::BadShape>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dist {
    kind: Kind,
    lo: u64,
    hi: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    Const(u64),
    Uniform {
        from: u64,
        width: u64,
    },
    Exp {
        mean: f64,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    LogNormal {
        median: f64,
        sigma: f64,
    },
    Pareto {
        least: f64,
        power: f64,
    },
    Zipf(Zipf),
    /// Values, and the sums of the weights up to each.
    Table(Box<[(u64, u64)]>),
}

impl Dist {
    /// The distribution of `shape`. Values outside `lo..=hi` are moved to the nearer bound.
    ///
    /// # Errors
    /// When the bounds are in the wrong order, or the parameters out of the range that [`Shape`] gives.
    pub fn new(shape: &Shape, lo: u64, hi: u64) -> Result<Self, BadShape> {
        let check = |right: bool, what| if right { Ok(()) } else { Err(BadShape(what)) };
        check(lo <= hi, "the lower bound is above the upper one")?;
        let kind = match *shape {
            Shape::Const(value) => Kind::Const(value),
            Shape::Uniform(from, to) => {
                check(from <= to, "the first value of uniform is above the last")?;
                Kind::Uniform { from, width: to - from }
            }
            Shape::Exp { mean } => {
                check(is_positive(mean), "the mean of exp is not a positive number")?;
                Kind::Exp { mean }
            }
            Shape::Normal { mean, deviation } => {
                check(mean.is_finite(), "the mean of normal is not a number")?;
                check(is_spread(deviation), "the deviation of normal is not 0 or a positive number")?;
                Kind::Normal { mean, deviation }
            }
            Shape::LogNormal { median, sigma } => {
                check(is_positive(median), "the median of lognormal is not a positive number")?;
                check(is_spread(sigma), "the sigma of lognormal is not 0 or a positive number")?;
                Kind::LogNormal { median, sigma }
            }
            Shape::Pareto { least, shape } => {
                check(is_positive(least), "the least value of pareto is not a positive number")?;
                check(is_positive(shape), "the shape of pareto is not a positive number")?;
                Kind::Pareto { least, power: 1.0 / shape }
            }
            Shape::Zipf { ranks, exponent } => Kind::Zipf(
                Zipf::new(ranks, exponent)
                    .ok_or(BadShape("zipf takes 1 to 2^40 ranks, and an exponent above 0 and up to 20"))?,
            ),
            Shape::Table(ref table) => {
                let mut sum = 0;
                let sums: Box<[_]> = table
                    .iter()
                    .filter(|(_, weight)| *weight > 0)
                    .map(|&(value, weight)| {
                        sum += u64::from(weight);
                        (value, sum)
                    })
                    .collect();
                check(!sums.is_empty(), "the table has no value with a weight above 0")?;
                Kind::Table(sums)
            }
        };
        Ok(Self { kind, lo, hi })
    }

    /// A value.
    #[inline]
    pub fn draw(&self, random: &mut SplitMix64) -> u64 {
        let value = match &self.kind {
            Kind::Const(value) => {
                random.draw();
                *value
            }
            Kind::Uniform { from, width } => match width.checked_add(1) {
                Some(n) => from + random.below(n),
                None => random.draw(),
            },
            Kind::Exp { mean } => nearest(-ln(random.unit()) * mean),
            Kind::Normal { mean, deviation } => nearest(mean + deviation * normal_quantile(random.unit())),
            Kind::LogNormal { median, sigma } => {
                nearest(median * exp(sigma * normal_quantile(random.unit())))
            }
            Kind::Pareto { least, power } => nearest(least * exp(-ln(random.unit()) * power)),
            Kind::Zipf(zipf) => zipf.draw(random),
            Kind::Table(sums) => {
                let total = sums.last().map_or(0, |&(_, sum)| sum);
                let at = random.below(total);
                sums[sums.partition_point(|&(_, sum)| sum <= at)].0
            }
        };
        value.clamp(self.lo, self.hi)
    }

    /// The bounds of all values.
    pub fn bounds(&self) -> (u64, u64) {
        (self.lo, self.hi)
    }
}

fn is_positive(x: f64) -> bool {
    x.is_finite() && x > 0.0
}

fn is_spread(x: f64) -> bool {
    x.is_finite() && x >= 0.0
}

/// The nearest integer; 0 below 0, and the largest one above all.
#[inline]
fn nearest(x: f64) -> u64 {
    (x + 0.5) as u64
}

#[cfg(test)]
mod tests;
