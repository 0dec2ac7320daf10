//! Time of day as capture tools print it.

use std::fmt::{self, Display, Formatter};

/// The time of day of a frame, in UTC and microseconds; holds nanoseconds since 1970. A precision chooses the digits.
///
/// # Examples
///
/// ```
/// use ringway_wire::TimeOfDay;
/// let time = TimeOfDay(1_700_000_000_123_456_789);
/// assert_eq!(time.to_string(), "22:13:20.123456");
/// assert_eq!(format!("{time:.9}"), "22:13:20.123456789");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay(pub u64);

impl Display for TimeOfDay {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (s, ns) = (self.0 / 1_000_000_000 % 86_400, self.0 % 1_000_000_000);
        let digits = f.precision().unwrap_or(6).clamp(1, 9);
        let fraction = ns / 10_u64.pow(9 - digits as u32);
        write!(f, "{:02}:{:02}:{:02}.{fraction:0digits$}", s / 3600, s / 60 % 60, s % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::TimeOfDay;

    #[test]
    fn ends_of_the_day() {
        assert_eq!(TimeOfDay(0).to_string(), "00:00:00.000000");
        assert_eq!(TimeOfDay(86_400_000_000_000 - 1).to_string(), "23:59:59.999999");
        assert_eq!(TimeOfDay(86_400_000_000_000).to_string(), "00:00:00.000000");
    }

    #[test]
    fn precision_is_the_number_of_digits() {
        let time = TimeOfDay(1_020_304_056);
        let texts = [format!("{time:.9}"), format!("{time:.3}"), format!("{time:.0}"), format!("{time:.20}")];
        assert_eq!(texts, ["00:00:01.020304056", "00:00:01.020", "00:00:01.0", "00:00:01.020304056"]);
    }
}
