//! Time of day as capture tools print it.

use std::fmt::{self, Display, Formatter};

/// The time of day of a frame, in UTC and microseconds; holds nanoseconds since 1970.
///
/// # Examples
///
/// ```
/// use ringway::wire::TimeOfDay;
/// assert_eq!(TimeOfDay(1_700_000_000_123_456_789).to_string(), "22:13:20.123456");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay(pub u64);

impl Display for TimeOfDay {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (s, us) = (self.0 / 1_000_000_000 % 86_400, self.0 % 1_000_000_000 / 1000);
        write!(f, "{:02}:{:02}:{:02}.{us:06}", s / 3600, s / 60 % 60, s % 60)
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
}
