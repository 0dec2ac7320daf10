//! Distributions from which values are drawn.

/// The shape of a distribution. Fractions are in millionths, so that a file says exactly what is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Always the value `lo` of the distribution.
    Const,
    /// Each whole number of `lo..=hi` alike.
    Uniform,
    /// Exponential.
    Exp {
        /// Its mean.
        mean: u64,
    },
    /// Normal.
    Normal {
        /// Its mean.
        mean: u64,
        /// Its standard deviation.
        deviation: u64,
    },
    /// Log-normal: the logarithm is normal.
    Lognormal {
        /// Half of the values are below it.
        median: u64,
        /// Standard deviation of the natural logarithm, in millionths.
        sigma: u64,
    },
    /// Pareto.
    Pareto {
        /// The least value.
        scale: u64,
        /// The shape, in millionths.
        shape: u64,
    },
    /// Zipf: value `lo + k - 1` has weight `1 / k^exponent`, for k from 1 to `hi - lo + 1`, at most [`MAX_RANKS`].
    Zipf {
        /// The exponent, in millionths.
        exponent: u64,
    },
    /// Ranges with weights, from a table of measurements.
    Table(Vec<Row>),
}

/// Most ranks of a Zipf distribution.
pub const MAX_RANKS: u64 = 65_536;

/// A range of a table: each whole number of `lo..=hi` alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Its share is this number over the sum of all rows.
    pub weight: u32,
    /// Least value.
    pub lo: u64,
    /// Greatest value.
    pub hi: u64,
}

/// A distribution: a shape, with values outside `lo..=hi` moved to the nearer end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dist {
    /// The shape.
    pub shape: Shape,
    /// Least value.
    pub lo: u64,
    /// Greatest value.
    pub hi: u64,
}

impl Dist {
    /// About the mean of what is drawn, for estimates.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let (lo, hi) = (self.lo as f64, self.hi as f64);
        let mean = match &self.shape {
            Shape::Const => lo,
            Shape::Uniform => (lo + hi) / 2.0,
            Shape::Exp { mean } | Shape::Normal { mean, .. } => *mean as f64,
            Shape::Lognormal { median, sigma } => {
                let sigma = *sigma as f64 / 1e6;
                *median as f64 * (sigma * sigma / 2.0).exp()
            }
            Shape::Pareto { scale, shape } => {
                let shape = *shape as f64 / 1e6;
                if shape > 1.0 { *scale as f64 * shape / (shape - 1.0) } else { hi }
            }
            Shape::Zipf { exponent } => {
                let weights = (1..=self.hi.saturating_sub(self.lo).min(MAX_RANKS) + 1)
                    .map(|rank| (rank as f64).powf(-(*exponent as f64) / 1e6));
                let sums =
                    weights.enumerate().fold((0.0, 0.0), |(all, sum), (i, w)| (all + w, sum + w * i as f64));
                lo + sums.1 / sums.0
            }
            Shape::Table(rows) => {
                let all: f64 = rows.iter().map(|row| f64::from(row.weight)).sum();
                let sum: f64 = rows
                    .iter()
                    .map(|row| f64::from(row.weight) * (row.lo as f64 + row.hi as f64) / 2.0)
                    .sum();
                sum / all.max(1.0)
            }
        };
        mean.clamp(lo, hi)
    }
}
