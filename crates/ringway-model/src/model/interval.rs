//! Values with 95 % intervals.

use serde::{Deserialize, Serialize};

use crate::fit::median;

/// Half the width of a 95 % interval of a normal value, in standard deviations.
const Z: f64 = 1.96;

/// A value and the ends of its 95 % interval.
///
/// ```
/// use ringway_model::model::Interval;
/// let share = Interval::share(9450, 18_900);
/// assert_eq!(share.value, 0.5);
/// assert!((share.half() - 0.007).abs() < 0.0002);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// A value without error.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// The share of `hits` among `n` samples: p +- 1.96 sqrt(p (1 - p) / n). 0 to 1 without samples.
    #[must_use]
    pub fn share(hits: u64, n: u64) -> Self {
        if n == 0 {
            return Self { value: 0.0, low: 0.0, high: 1.0 };
        }
        let p = hits as f64 / n as f64;
        let half = Z * (p * (1.0 - p) / n as f64).sqrt();
        Self { value: p, low: (p - half).max(0.0), high: (p + half).min(1.0) }
    }

    /// The median of repeated measurements, and the order statistics around it that hold the true median in 95 of 100 cases.
    /// With fewer than six values these are the extremes. `None` without values.
    ///
    /// ```
    /// use ringway_model::model::Interval;
    /// let m = Interval::median(&[5.0, 1.0, 2.0, 100.0, 3.0]).unwrap();
    /// assert_eq!((m.low, m.value, m.high), (1.0, 3.0, 100.0));
    /// ```
    #[must_use]
    pub fn median(values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let value = median(sorted.clone())?;
        // Ranks of a binomial distribution with p = 1/2, by its normal approximation.
        let half = Z * (n as f64).sqrt() / 2.0;
        let low = (n as f64 / 2.0 - half).floor().max(0.0) as usize;
        let high = ((n as f64 / 2.0 + half).ceil() as usize).min(n - 1);
        Some(Self { value, low: sorted[low.min(n - 1)], high: sorted[high] })
    }

    /// The value and its ends times a positive factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The difference of two independent values: the halves add as squares.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let value = self.value - other.value;
        let below = (self.value - self.low).hypot(other.high - other.value);
        let above = (self.high - self.value).hypot(other.value - other.low);
        Self { value, low: value - below, high: value + above }
    }

    /// The sum of two independent values.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let value = self.value + other.value;
        let below = (self.value - self.low).hypot(other.value - other.low);
        let above = (self.high - self.value).hypot(other.high - other.value);
        Self { value, low: value - below, high: value + above }
    }

    /// Half the width.
    #[must_use]
    pub fn half(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether both intervals have a value in common: a difference between them is not significant.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_the_error_of_the_binomial_distribution() {
        let one = Interval::share(189, 18_900);
        assert!((one.half() - 0.0014).abs() < 0.0001, "{one:?}");
        assert_eq!(Interval::share(0, 0).high, 1.0);
        assert_eq!(Interval::share(7, 7).high, 1.0);
    }

    #[test]
    fn medians_hold_their_ends() {
        assert_eq!(Interval::median(&[]), None);
        assert_eq!(Interval::median(&[f64::NAN]), None);
        assert_eq!(Interval::median(&[4.0, 2.0]).unwrap().value, 3.0);
        let many: Vec<f64> = (0..=100).map(f64::from).collect();
        let m = Interval::median(&many).unwrap();
        assert_eq!((m.low, m.value, m.high), (40.0, 50.0, 61.0));
    }

    #[test]
    fn differences_add_errors_as_squares() {
        let a = Interval { value: 10.0, low: 7.0, high: 13.0 };
        let b = Interval { value: 4.0, low: 0.0, high: 8.0 };
        let d = a.minus(b);
        assert_eq!((d.value, d.low, d.high), (6.0, 1.0, 11.0));
        assert_eq!(a.plus(b).half(), 5.0);
        assert!(a.overlaps(b) && !a.overlaps(Interval::exact(14.0)));
        assert_eq!(a.times(2.0).high, 26.0);
    }
}
