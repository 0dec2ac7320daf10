//! What all points of a round have in common, taken out.
//!
//! On a machine that others share, a round of a sweep is slower than another as a whole. Each round measures all points, so the
//! common part stands apart from the points: it is the median, over the points, of value over the point's median.

use std::collections::HashMap;

use super::median;

/// Values by round, each with the number of its point. Returns a factor for each round by which its values are to be divided; the median of
/// the factors is 1, and so is that of a round without values. The time is that of sorting.
///
/// ```
/// use ringway_model::fit::blocks::factors;
/// let rounds = [vec![(0, 100.0), (1, 200.0)], vec![(0, 150.0), (1, 300.0)], vec![(0, 100.0), (1, 200.0)]];
/// assert_eq!(factors(&rounds), [1.0, 1.5, 1.0]);
/// ```
#[must_use]
pub fn factors(rounds: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let mut points: HashMap<usize, Vec<f64>> = HashMap::new();
    for &(point, value) in rounds.iter().flatten().filter(|v| v.1 > 0.0) {
        points.entry(point).or_default().push(value);
    }
    let medians: HashMap<usize, f64> =
        points.into_iter().filter_map(|(p, v)| Some((p, median(v)?))).collect();
    let factor = |round: &Vec<(usize, f64)>| {
        let of = |&(p, value): &(usize, f64)| Some(value / medians.get(&p)?).filter(|f| *f > 0.0);
        median(round.iter().filter_map(of).collect())
    };
    let factors: Vec<Option<f64>> = rounds.iter().map(factor).collect();
    let common = median(factors.iter().copied().flatten().collect()).unwrap_or(1.0);
    factors.iter().map(|f| f.map_or(1.0, |f| f / common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_wild_points_are_borne() {
        let row = |factor: f64| (1..=9u8).map(|p| (p.into(), factor * f64::from(p))).collect::<Vec<_>>();
        let mut rounds = [row(1.0), row(1.2), row(0.9), row(1.0), row(2.0)];
        rounds[1].remove(3);
        rounds[0][0].1 = 500.0;
        let found = factors(&rounds);
        for (f, truth) in found.iter().zip([1.0, 1.2, 0.9, 1.0, 2.0]) {
            assert!((f - truth).abs() < 1e-9, "{found:?}");
        }
        assert_eq!(factors(&[]), Vec::<f64>::new());
        assert_eq!(factors(&[vec![], vec![(3, 7.0)]]), [1.0, 1.0]);
    }
}
