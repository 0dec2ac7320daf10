//! Numbers and times as users write and read them.

use std::time::{SystemTime, UNIX_EPOCH};

/// A number of frames: digits with an optional `k`, `M` or `G` (decimal, either case), such as `10k` or `1.5M`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let bad = || "accepted: NUMBER[k|M|G] such as 1000, 10k or 1.5M".to_owned();
    let (digits, factor) = match text.as_bytes().last().map(u8::to_ascii_lowercase) {
        Some(b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'm') => (&text[..text.len() - 1], 1_000_000),
        Some(b'g') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.len() + fraction.len() == 0)
        || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
    {
        return Err(bad());
    }
    let unit = 10u64.checked_pow(fraction.len() as u32).filter(|unit| factor % unit == 0).ok_or_else(bad)?;
    let number = format!("{whole}{fraction}").parse::<u64>().map_err(|_| bad())?;
    number.checked_mul(factor / unit).ok_or_else(bad)
}

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

/// Bits a second, as tc and iperf3 write them: a number as of [`count`], alone or with `bit`, `bit/s` or `bps`.
pub(crate) fn bits(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let unit = ["bit/s", "bits", "bit", "bps"].into_iter().find_map(|unit| lower.strip_suffix(unit));
    count(unit.unwrap_or(&lower)).map_err(|_| "accepted: bits a second such as 1G, 10Gbit or 100mbit".into())
}

/// Frames a second: a number as of [`count`], alone or with `pps`.
pub(crate) fn frames(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    count(lower.strip_suffix("pps").unwrap_or(&lower))
        .map_err(|_| "accepted: frames a second such as 1000, 10k or 1.5Mpps".into())
}

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

/// Names may come from files of any name: control characters do not reach the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use proptest::prelude::*;

    use ringway_bench::traffic::report::many;

    use super::{bits, count, frames, printable, short, utc};

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

    #[test]
    fn control_characters_are_hidden() {
        assert_eq!(printable("a\x1b[2Jb\n\u{9b}é"), "a?[2Jb??é");
    }

    #[test]
    fn rates_have_the_units_of_other_tools() {
        for (text, n) in [
            ("10G", 10_000_000_000),
            ("10Gbit", 10_000_000_000),
            ("100mbit", 100_000_000),
            ("2.5Gbps", 2_500_000_000),
            ("1gbit/s", 1_000_000_000),
            ("64kbits", 64_000),
            ("800bit", 800),
        ] {
            assert_eq!(bits(text), Ok(n), "{text}");
        }
        for (text, n) in [("10k", 10_000), ("1.5Mpps", 1_500_000), ("7PPS", 7)] {
            assert_eq!(frames(text), Ok(n), "{text}");
        }
        for bad in ["", "bit", "10GB", "10Gbyte", "1Gpps", "1e9", "-1bit"] {
            assert!(bits(bad).is_err(), "{bad}");
        }
        for bad in ["", "pps", "10Gbit", "1 kpps"] {
            assert!(frames(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts() {
        for (text, n) in [
            ("0", 0),
            ("42", 42),
            ("10k", 10_000),
            ("10K", 10_000),
            ("1M", 1_000_000),
            ("1.5M", 1_500_000),
            (".25k", 250),
            ("2g", 2_000_000_000),
        ] {
            assert_eq!(count(text), Ok(n), "{text}");
        }
        for bad in ["", "k", ".", "-1", "1.5", "0.0001k", "1kk", "1e3", "ten", "99999999999G", "é"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }
}
