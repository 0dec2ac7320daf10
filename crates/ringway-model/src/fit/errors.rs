//! Predicted against measured.

use serde::Serialize;

use super::median;

/// A prediction and what was measured there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compared {
    /// Predicted.
    pub predicted: f64,
    /// Measured.
    pub measured: f64,
}

impl Compared {
    /// predicted / measured - 1; infinite when nothing was measured.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.measured == 0.0 { f64::INFINITY } else { self.predicted / self.measured - 1.0 }
    }
}

/// The errors of many predictions, as parts of what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// Predictions.
    pub points: usize,
    /// The median of the absolute errors.
    pub median: f64,
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub worst: f64,
}

impl Errors {
    /// The errors; `None` without predictions.
    #[must_use]
    pub fn of(all: &[Compared]) -> Option<Self> {
        let errors: Vec<f64> = all.iter().map(|c| c.relative().abs()).collect();
        let points = errors.len();
        let mean = errors.iter().sum::<f64>() / points as f64;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        Some(Self { points, median: median(errors)?, mean, worst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_parts_of_what_was_measured() {
        let of = |predicted, measured| Compared { predicted, measured };
        let errors = Errors::of(&[of(110.0, 100.0), of(95.0, 100.0), of(100.0, 100.0)]).unwrap();
        assert_eq!(errors.points, 3);
        assert!((errors.median - 0.05).abs() < 1e-9 && (errors.worst - 0.1).abs() < 1e-9, "{errors:?}");
        assert!((errors.mean - 0.05).abs() < 1e-9);
        assert_eq!(Errors::of(&[]), None);
        assert_eq!(of(1.0, 0.0).relative(), f64::INFINITY);
    }
}
