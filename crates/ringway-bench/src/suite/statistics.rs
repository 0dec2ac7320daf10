//! Median and spread.

/// The middle of the values, the mean of the two in the middle for an even number; `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The smallest and the largest value; `None` of none.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(low, high), &v| (low.min(v), high.max(v))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_sets() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(range(&[]), None);
        assert_eq!(range(&[9.0, 1.0, 5.0]), Some((1.0, 9.0)));
    }

    proptest! {
        #[test]
        fn half_lies_on_either_side(values in prop::collection::vec(-1e9..1e9f64, 1..50)) {
            let m = median(&values).unwrap();
            let (low, high) = range(&values).unwrap();
            prop_assert!(low <= m && m <= high);
            let below = values.iter().filter(|v| **v < m).count();
            let above = values.iter().filter(|v| **v > m).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }
    }
}
