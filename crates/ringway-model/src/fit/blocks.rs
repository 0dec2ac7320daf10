//! What all points of a round have in common, taken out.
//!
//! On a machine that others share, a round of a sweep is slower than another as a whole. Each round measures all points, so the
//! common part can be told from that of the points: it is the median, over the points, of value over the point's median.

use super::median;

/// Values by round and point: `rounds[r][p]`, `None` where nothing was measured. Returns a factor for each round by which its values are to be
/// divided; the median of the factors is 1.
///
/// ```
/// use ringway_model::fit::blocks::factors;
/// let rounds = [vec![Some(100.0), Some(200.0)], vec![Some(150.0), Some(300.0)], vec![Some(100.0), Some(200.0)]];
/// assert_eq!(factors(&rounds), [1.0, 1.5, 1.0]);
/// ```
#[must_use]
pub fn factors(rounds: &[Vec<Option<f64>>]) -> Vec<f64> {
    let points = rounds.iter().map(Vec::len).max().unwrap_or(0);
    let at = |r: &Vec<Option<f64>>, p: usize| r.get(p).copied().flatten().filter(|v| *v > 0.0);
    let medians: Vec<Option<f64>> =
        (0..points).map(|p| median(rounds.iter().filter_map(|r| at(r, p)).collect())).collect();
    let factor = |r: &Vec<Option<f64>>| {
        median((0..points).filter_map(|p| Some(at(r, p)? / medians[p]?)).collect()).unwrap_or(1.0)
    };
    let factors: Vec<f64> = rounds.iter().map(factor).collect();
    let common = median(factors.clone()).unwrap_or(1.0);
    factors.iter().map(|f| f / common).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_wild_points_are_borne() {
        let row = |factor: f64| (1..=9).map(|p| Some(factor * f64::from(p))).collect::<Vec<_>>();
        let mut rounds = [row(1.0), row(1.2), row(0.9), row(1.0), row(2.0)];
        rounds[1][3] = None;
        rounds[0][0] = Some(500.0);
        let found = factors(&rounds);
        for (f, truth) in found.iter().zip([1.0, 1.2, 0.9, 1.0, 2.0]) {
            assert!((f - truth).abs() < 1e-9, "{found:?}");
        }
        assert_eq!(factors(&[]), Vec::<f64>::new());
        assert_eq!(factors(&[vec![None]]), [1.0]);
    }
}
