//! Curves that never fall.

/// A curve through points that never falls, straight between them on the axis that the caller chose (log2 of a working set, say).
#[derive(Debug, Clone, PartialEq)]
pub struct Rising {
    /// Places in order, and heights that never fall.
    points: Vec<(f64, f64)>,
}

impl Rising {
    /// The curve nearest to the points: neighbours that fall are pooled into their mean, weighted by relative error. Points of one place
    /// count as their mean. Its time is that of sorting. `None` without points.
    #[must_use]
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let mut sorted: Vec<(f64, f64)> =
            points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut blocks: Vec<Block> = Vec::with_capacity(sorted.len());
        for (place, height) in merged(&sorted) {
            blocks.push(Block { sum: height, count: 1, places: vec![place] });
            pool(&mut blocks);
        }
        let points: Vec<(f64, f64)> =
            blocks.iter().flat_map(|b| b.places.iter().map(|&place| (place, b.mean()))).collect();
        (!points.is_empty()).then_some(Self { points })
    }

    /// The height there; beyond the ends the curve goes on as it rises there, by as much as it is long at most.
    #[must_use]
    pub fn beyond(&self, place: f64) -> f64 {
        let (first, last) = match &self.points[..] {
            [first, second, ..] if place < first.0 => (first, second),
            [.., before, last] if place > last.0 => (last, before),
            _ => return self.at(place),
        };
        let length = self.points.last().map_or(0.0, |p| p.0) - self.points.first().map_or(0.0, |p| p.0);
        let slope = (last.1 - first.1) / (last.0 - first.0);
        first.1 + slope * (place - first.0).clamp(-length, length)
    }

    /// The height there; beyond the ends that of the end.
    #[must_use]
    pub fn at(&self, place: f64) -> f64 {
        let after = self.points.partition_point(|p| p.0 < place);
        let ends = (after.checked_sub(1).and_then(|k| self.points.get(k)), self.points.get(after));
        match ends {
            (Some(&(x0, y0)), Some(&(x1, y1))) if x1 > x0 => y0 + (y1 - y0) * (place - x0) / (x1 - x0),
            (_, Some(next)) => next.1,
            (Some(last), None) => last.1,
            (None, None) => 0.0,
        }
    }
}

/// Points that the curve has at one height.
struct Block {
    sum: f64,
    count: u32,
    places: Vec<f64>,
}

impl Block {
    fn mean(&self) -> f64 {
        self.sum / f64::from(self.count)
    }
}

/// Pools the last blocks while they fall.
fn pool(blocks: &mut Vec<Block>) {
    while let [.., before, last] = &blocks[..]
        && before.mean() > last.mean()
    {
        let Some(last) = blocks.pop() else { return };
        let Some(before) = blocks.last_mut() else { return };
        before.sum += last.sum;
        before.count += last.count;
        before.places.extend(last.places);
    }
}

/// One point for each place.
fn merged(sorted: &[(f64, f64)]) -> Vec<(f64, f64)> {
    sorted
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| (same[0].0, same.iter().map(|p| p.1).sum::<f64>() / same.len() as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rising_points_stay_and_falling_ones_are_pooled() {
        let curve = Rising::fit(&[(2.0, 30.0), (0.0, 10.0), (1.0, 20.0)]).unwrap();
        assert_eq!(
            [-1.0, 0.0, 0.5, 1.5, 2.0, 9.0].map(|x| curve.at(x)),
            [10.0, 10.0, 15.0, 25.0, 30.0, 30.0]
        );
        let curve = Rising::fit(&[(0.0, 10.0), (1.0, 30.0), (2.0, 20.0), (3.0, 40.0)]).unwrap();
        assert_eq!([1.0, 1.5, 2.0].map(|x| curve.at(x)), [25.0; 3]);
        assert_eq!(Rising::fit(&[(1.0, 2.0), (1.0, 4.0)]).unwrap().at(1.0), 3.0);
        assert_eq!(Rising::fit(&[]), None);
        let curve = Rising::fit(&[(0.0, 10.0), (1.0, 20.0), (3.0, 30.0)]).unwrap();
        assert_eq!([-1.0, 0.5, 5.0, 99.0].map(|x| curve.beyond(x)), [0.0, 15.0, 40.0, 45.0]);
    }

    proptest! {
        #[test]
        fn it_never_falls_and_stays_within(points in proptest::collection::vec((0.0..20.0f64, 1.0..1e3f64), 1..40)) {
            let curve = Rising::fit(&points).unwrap();
            let heights: Vec<f64> = (-5..50).map(|k| curve.at(f64::from(k) / 2.0)).collect();
            prop_assert!(heights.windows(2).all(|w| w[0] <= w[1] + 1e-9));
            let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p.1), h.max(p.1)));
            prop_assert!(heights.iter().all(|h| (low - 1e-9..=high + 1e-9).contains(h)));
        }
    }
}
