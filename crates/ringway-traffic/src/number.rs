//! Numbers and rates as users write them, the same for all commands.
//!
//! ```
//! use ringway_traffic::number::{bits, count, frames};
//!
//! assert_eq!(count("1.5M"), Ok(1_500_000));
//! assert_eq!(bits("10Gbit"), Ok(10_000_000_000));
//! assert_eq!(frames("10 kpps"), Ok(10_000));
//! ```

/// How tc, iperf3 and netmap's pkt-gen end a number of bits a second; the longest first.
const BITS: [&str; 4] = ["bit/s", "bits", "bit", "bps"];

/// A whole number: digits with an optional `k`, `M` or `G` (decimal, either case), such as `10k` or `1.5M`.
///
/// # Errors
/// What is accepted, when it is no such number, has a fraction that the prefix leaves over, or is too large.
pub fn count(text: &str) -> Result<u64, String> {
    exact(text).ok_or_else(|| "accepted: NUMBER[k|M|G] such as 1000, 10k or 1.5M".into())
}

/// Bits a second, as tc and iperf3 write them: a number as of [`count`], alone or with `bit`, `bit/s` or `bps`.
///
/// # Errors
/// What is accepted, when it is no such rate.
pub fn bits(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    exact(without_bits(&lower).unwrap_or(&lower))
        .ok_or_else(|| "accepted: bits a second such as 1G, 10Gbit or 100mbit".into())
}

/// Frames a second: a number as of [`count`], alone or with `pps`.
///
/// # Errors
/// What is accepted, when it is no such rate.
pub fn frames(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    exact(without_frames(&lower).unwrap_or(&lower))
        .ok_or_else(|| "accepted: frames a second such as 1000, 10k or 1.5Mpps".into())
}

/// A number as of [`count`], rounded where it is not whole.
pub(super) fn real(text: &str) -> Option<f64> {
    let (digits, factor) = split(text)?;
    Some(digits.parse::<f64>().ok()? * factor as f64)
}

/// What stands before the unit of a rate in bits, in small letters; `None` without such a unit.
pub(super) fn without_bits(lower: &str) -> Option<&str> {
    BITS.into_iter().find_map(|unit| lower.strip_suffix(unit))
}

/// What stands before the unit of a rate in frames, in small letters; `None` without that unit.
pub(super) fn without_frames(lower: &str) -> Option<&str> {
    lower.strip_suffix("pps")
}

fn exact(text: &str) -> Option<u64> {
    let (digits, factor) = split(text)?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unit = 10u64.checked_pow(fraction.len() as u32).filter(|unit| factor % unit == 0)?;
    format!("{whole}{fraction}").parse::<u64>().ok()?.checked_mul(factor / unit)
}

/// The digits, with one point at most, and what the prefix behind them stands for.
fn split(text: &str) -> Option<(&str, u64)> {
    let text = text.trim_end();
    let factor = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => 1_000,
        b'm' => 1_000_000,
        b'g' => 1_000_000_000,
        _ => 1,
    };
    let digits = if factor > 1 { text[..text.len() - 1].trim_end() } else { text };
    let points = digits.bytes().filter(|&b| b == b'.').count();
    let number = digits.len() > points && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (number && points <= 1).then_some((digits, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (text, n) in [
            ("0", 0),
            ("42", 42),
            ("10k", 10_000),
            ("10 K", 10_000),
            ("1M", 1_000_000),
            ("1.5M", 1_500_000),
            (".25k", 250),
            ("2g", 2_000_000_000),
        ] {
            assert_eq!(count(text), Ok(n), "{text}");
        }
        for bad in ["", "k", ".", "-1", "1.5", "0.0001k", "1kk", "1e3", "ten", "1.2.3k", "99999999999G", "é"]
        {
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_have_the_units_of_other_tools() {
        for (text, n) in [
            ("10G", 10_000_000_000),
            ("10Gbit", 10_000_000_000),
            ("100mbit", 100_000_000),
            ("2.5Gbps", 2_500_000_000),
            ("9.410 Gbit/s", 9_410_000_000),
            ("64kbits", 64_000),
            ("800bit", 800),
        ] {
            assert_eq!(bits(text), Ok(n), "{text}");
        }
        for (text, n) in [("10k", 10_000), ("1.5Mpps", 1_500_000), ("7PPS", 7), ("10 kpps", 10_000)] {
            assert_eq!(frames(text), Ok(n), "{text}");
        }
        for bad in ["", "bit", "10GB", "10Gbyte", "1Gpps", "1e9", "-1bit"] {
            assert!(bits(bad).is_err(), "{bad}");
        }
        for bad in ["", "pps", "10Gbit", "kpps"] {
            assert!(frames(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_may_have_a_fraction() {
        for (text, n) in
            [("0.5", Some(0.5)), ("1.5 k", Some(1500.0)), (".", None), ("1e6", None), ("inf", None)]
        {
            assert_eq!(real(text), n, "{text}");
        }
    }
}
