//! Curves through measurements: lines, curves that only rise, and what they predict for points that they have not seen.
//!
//! | module | holds |
//! | --- | --- |
//! | [`mod@line`] | lines by relative error, and lines that bear wild points |
//! | [`monotone`] | curves that never fall |
//! | [`errors`] | predicted against measured |
//! | [`blocks`] | what all points of a round have in common, taken out |

#![forbid(unsafe_code)]

pub mod blocks;
pub mod errors;
pub mod line;
pub mod monotone;

/// The median; the mean of the two in the middle. `None` without values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(values[n / 2]),
        _ => Some(values[n / 2 - 1] / 2.0 + values[n / 2] / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_middle() {
        assert_eq!([vec![], vec![3.0, 1.0, 2.0], vec![4.0, 1.0]].map(median), [None, Some(2.0), Some(2.5)]);
    }
}
