//! Lines through points.

use super::median;

/// y = base + slope x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Where it begins.
    pub base: f64,
    /// How it rises.
    pub slope: f64,
}

impl Line {
    /// Its height there.
    #[must_use]
    pub fn at(self, x: f64) -> f64 {
        self.base + self.slope * x
    }
}

/// Points on each side beyond which [`robust`] looks at pairs of the sorted points only.
const ALL_PAIRS: usize = 64;

/// The line of the smallest sum of squared relative errors; `None` without two places.
#[must_use]
pub fn weighted(points: &[(f64, f64)]) -> Option<Line> {
    let sound = |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite() && y != 0.0;
    let sums = points.iter().filter(sound).fold([0.0; 5], |[w, wx, wy, wxx, wxy], &(x, y)| {
        let weight = 1.0 / (y * y);
        [w + weight, wx + weight * x, wy + weight * y, wxx + weight * x * x, wxy + weight * x * y]
    });
    let [w, wx, wy, wxx, wxy] = sums;
    let spread = w * wxx - wx * wx;
    // Of one place the spread is what rounding leaves.
    if spread <= 1e-12 * w * wxx {
        return None;
    }
    let slope = (w * wxy - wx * wy) / spread;
    Some(Line { base: (wy - slope * wx) / w, slope })
}

/// The constant of the smallest sum of squared relative errors; 0 without points.
#[must_use]
pub fn flat(points: &[(f64, f64)]) -> f64 {
    let (above, below) = points
        .iter()
        .filter(|p| p.1 != 0.0)
        .fold((0.0, 0.0), |(a, b), p| (a + 1.0 / p.1, b + 1.0 / (p.1 * p.1)));
    if below > 0.0 { above / below } else { 0.0 }
}

/// The slope of the best line from the origin.
#[must_use]
pub fn through_zero(points: &[(f64, f64)]) -> f64 {
    let ratios: Vec<(f64, f64)> = points.iter().filter(|p| p.1 != 0.0).map(|&(x, y)| (0.0, x / y)).collect();
    let (sum, squares) = ratios.iter().fold((0.0, 0.0), |(s, q), r| (s + r.1, q + r.1 * r.1));
    if squares > 0.0 { sum / squares } else { 0.0 }
}

/// A line that a third of wild points does not move: the median of the slopes between points (Theil and Sen), and the median of what is
/// left. Of many points each is paired with the one half of all points further on, so the time is that of sorting.
#[must_use]
pub fn robust(points: &[(f64, f64)]) -> Option<Line> {
    let mut sorted: Vec<(f64, f64)> =
        points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let slope = |a: &(f64, f64), b: &(f64, f64)| (b.0 > a.0).then(|| (b.1 - a.1) / (b.0 - a.0));
    let n = sorted.len();
    let slopes: Vec<f64> = if n <= ALL_PAIRS {
        (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .filter_map(|(i, j)| slope(&sorted[i], &sorted[j]))
            .collect()
    } else {
        let half = n / 2;
        (0..n - half).filter_map(|i| slope(&sorted[i], &sorted[i + half])).collect()
    };
    let slope = median(slopes)?;
    let base = median(sorted.iter().map(|p| p.1 - slope * p.0).collect())?;
    Some(Line { base, slope })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_place_has_no_line() {
        assert_eq!(weighted(&[(1e6, 2.0), (1e6, 3.0)]), None);
        assert_eq!(robust(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!((flat(&[]), through_zero(&[])), (0.0, 0.0));
        assert_eq!(flat(&[(0.0, 5.0), (9.0, 5.0)]), 5.0);
        assert_eq!(through_zero(&[(1.0, 2.0), (10.0, 20.0)]), 2.0);
    }

    #[test]
    fn wild_points_do_not_move_a_robust_line() {
        for n in [12, 1000] {
            let points: Vec<_> = (0..n)
                .map(|k| (f64::from(k), 100.0 + 2.0 * f64::from(k) + if k % 5 == 0 { 5000.0 } else { 0.0 }))
                .collect();
            let line = robust(&points).unwrap();
            assert!((line.slope - 2.0).abs() < 0.01 && (line.base - 100.0).abs() < 5.0, "{n}: {line:?}");
        }
    }

    proptest! {
        #[test]
        fn lines_are_found(base in 1.0..1e4f64, slope in 0.0..10.0f64) {
            let points: Vec<_> = [64.0, 128.0, 512.0, 1518.0].map(|x| (x, base + slope * x)).into();
            for line in [weighted(&points).unwrap(), robust(&points).unwrap()] {
                prop_assert!((line.at(1024.0) / (base + slope * 1024.0) - 1.0).abs() < 1e-6);
            }
        }
    }
}
