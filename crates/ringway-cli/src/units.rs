//! Numbers and times as people read them.

use std::time::{SystemTime, UNIX_EPOCH};

/// A number in 5 characters at most: `999`, `1.23k`, `45.6M`, `789G`; below 10 with a decimal unless it is whole.
pub(crate) fn short(n: f64) -> String {
    let mut scaled = if n.is_finite() { n.max(0.0) } else { 0.0 };
    let mut unit = 0;
    // 999.5 would be written as 1000.
    while scaled >= 999.5 && unit < UNITS.len() - 1 {
        scaled /= 1000.0;
        unit += 1;
    }
    let digits = match scaled {
        s if unit == 0 && (s >= 9.95 || s.fract() < 0.05) => 0,
        _ if unit == 0 => 1,
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        _ => 2,
    };
    format!("{:.digits$}{}", scaled.min(9999.0), UNITS[unit])
}

const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// The time of day and the date in UTC, as RFC 3339 has them: `2026-11-22T18:05:09Z`.
pub(crate) fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// The date so many days after 1970-01-01. Years are counted from March, so that a leap day is a year's last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // since 0000-03-01
    let (era, day) = (days / 146_097, days % 146_097); // of 400 years
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // from March
    let (next, calendar) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    (era * 400 + year + next, calendar, day - (153 * month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use proptest::prelude::*;
    use ringway_traffic::units::many;

    use super::{short, utc};

    #[test]
    fn times_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_795_370_709, "2026-11-22T18:05:09Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn one_thing_has_no_s() {
        assert_eq!([0, 1, 2].map(|n| many(n, "route")), ["0 routes", "1 route", "2 routes"]);
    }

    #[test]
    fn short_numbers() {
        for (n, text) in [
            (0.0, "0"),
            (0.01, "0"),
            (0.3, "0.3"),
            (9.94, "9.9"),
            (9.96, "10"),
            (3.0, "3"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (1234.0, "1.23k"),
            (9_996.0, "10.0k"),
            (99_960.0, "100k"),
            (14_880_952.0, "14.9M"),
            (9.99e9, "9.99G"),
            (u64::MAX as f64, "18.4E"),
            (-5.0, "0"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
        ] {
            assert_eq!(short(n), text, "{n}");
        }
    }

    proptest! {
        #[test]
        fn short_numbers_are_short_and_close(n in 0.0f64..1e21) {
            let text = short(n);
            prop_assert!(text.len() <= 5, "{n}: {text}");
            let unit = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
            let power = "kMGTPE".find(&text[unit..]).filter(|_| unit < text.len()).map_or(0, |at| at + 1);
            let value = text[..unit].parse::<f64>().unwrap() * 1000f64.powi(power as i32);
            prop_assert!((value - n).abs() <= 0.0051 * n + 0.06 * f64::from(u8::from(n < 10.0)), "{n}: {text}");
        }
    }
}
