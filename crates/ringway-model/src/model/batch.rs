//! The cost of a poll and of a wake-up, spread over the packets of the poll.

use serde::{Deserialize, Serialize};

/// C_total(b) = C_packet + C_batch / b, with b packets a poll.
///
/// ```
/// use ringway_model::model::BatchCost;
/// let cost = BatchCost { packet: 1000.0, batch: 3200.0 };
/// assert_eq!([cost.at(1.0), cost.at(64.0)], [4200.0, 1050.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BatchCost {
    /// Ticks of each packet.
    pub packet: f64,
    /// Ticks of each poll or wake-up.
    pub batch: f64,
}

impl BatchCost {
    /// Ticks a packet at `b` packets a poll; of less than one it is one.
    #[must_use]
    pub fn at(self, b: f64) -> f64 {
        self.packet + self.batch / b.max(1.0)
    }

    /// The cost that fits pairs of (packets a poll, ticks a packet) best, relative errors squared; neither part is negative.
    /// `None` without two different polls.
    #[must_use]
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let points = points.iter().filter(|p| p.0 > 0.0 && p.1 > 0.0);
        let points: Vec<(f64, f64)> = points.map(|&(b, ticks)| (1.0 / b.max(1.0), ticks)).collect();
        let line = crate::fit::line::weighted(&points)?;
        if line.slope >= 0.0 && line.base >= 0.0 {
            return Some(Self { packet: line.base, batch: line.slope });
        }
        // A poll that costs nothing, or a packet that does.
        let (flat, steep) = (crate::fit::line::flat(&points), crate::fit::line::through_zero(&points));
        Some(if line.slope < 0.0 {
            Self { packet: flat, batch: 0.0 }
        } else {
            Self { packet: 0.0, batch: steep }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_truth_is_found(packet in 1.0..5000.0f64, batch in 0.0..50_000.0f64) {
            let truth = BatchCost { packet, batch };
            let points: Vec<_> = [1.0, 2.0, 7.0, 64.0, 300.0].map(|b| (b, truth.at(b))).into();
            let found = BatchCost::fit(&points).unwrap();
            prop_assert!((found.packet - packet).abs() < 1e-3 * packet + 1e-3);
            prop_assert!((found.batch - batch).abs() < 1e-3 * batch + 1e-3);
        }
    }

    #[test]
    fn neither_part_is_negative() {
        let found = BatchCost::fit(&[(1.0, 100.0), (64.0, 120.0)]).unwrap();
        assert_eq!(found.batch, 0.0);
        assert!((100.0..120.0).contains(&found.packet));
        let found = BatchCost::fit(&[(1.0, 1000.0), (10.0, 10.0)]).unwrap();
        assert_eq!(found.packet, 0.0);
        assert_eq!(BatchCost::fit(&[(5.0, 1.0), (5.0, 2.0)]), None);
        assert_eq!(BatchCost::fit(&[]), None);
    }
}
