//! Times and sizes in words.

use std::time::Duration;

/// Seconds; ages are kept to the ns, in 32 steps.
pub(super) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// Bytes in words.
pub(super) fn bytes(n: usize) -> String {
    format!("{:.1} MiB", n as f64 / f64::from(1 << 20))
}

/// Time as a number with `ms`, `s`, `m` or `h`; without a unit it is in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds = digits.parse::<f64>().unwrap_or(f64::NAN) * unit;
    match plain && (0.0..=MAX_SECONDS).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("accepted: NUMBER[ms|s|m|h] up to 8760h, such as 300s or 5m".into()),
    }
}

/// A year.
const MAX_SECONDS: f64 = 8760.0 * 3600.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, ms) in [
            ("0", 0),
            ("300s", 300_000),
            ("300", 300_000),
            ("32ms", 32),
            ("1.5m", 90_000),
            ("8760h", 31_536_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "s", "-1s", "1d", "1e3", "inf", "NaN", "8761h", "1 s", "+1", "1s1", "é"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
