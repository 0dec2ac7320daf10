//! What a link carries.

use serde::{Deserialize, Serialize};

/// Bytes around each frame: preamble and start 8, gap 12.
const AROUND: f64 = 20.0;

/// A link of Ethernet.
///
/// ```
/// use ringway_model::model::Link;
/// let ten = Link { bits: 10e9 };
/// assert_eq!(ten.line_rate(64).round(), 14_880_952.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Bits a second.
    pub bits: f64,
}

impl Link {
    /// Frames a second of `size` bytes **with** FCS.
    #[must_use]
    pub fn line_rate(self, size: u32) -> f64 {
        self.bits / (8.0 * (f64::from(size) + AROUND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_rates_of_ten_gigabits() {
        let link = Link { bits: 10e9 };
        for (size, mpps) in [(1024, 1.197), (1500, 0.822), (1518, 0.813)] {
            assert!((link.line_rate(size) / 1e6 - mpps).abs() < 0.0005, "{size}: {}", link.line_rate(size));
        }
    }
}
