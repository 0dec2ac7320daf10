//! Numbers and times in the descriptions of modelled devices.

use super::rate::{MICROSECOND, MILLISECOND, SECOND};

/// A number above 0 that a model can work with, read by `read`.
pub(crate) fn positive(text: &str, read: impl Fn(&str) -> Result<u64, String>) -> Result<u64, String> {
    let n = read(text).map_err(|accepted| format!("'{text}' is no number; {accepted}"))?;
    if (1..=MOST).contains(&n) { Ok(n) } else { Err(format!("'{text}' is not between 1 and 1000G")) }
}

/// Largest number in the description of a model.
const MOST: u64 = 1_000_000_000_000;

/// A time with its unit, in picoseconds: `5us`, `1.5ms`, `20s`.
///
/// # Errors
/// When it is no number with a unit, or longer than a day.
pub(crate) fn time(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let unit = match &text[at..] {
        "ns" => 1000,
        "us" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        _ => 0,
    };
    match text[..at].parse::<f64>() {
        Ok(n) if unit > 0 && (0.0..=86_400.0 * SECOND as f64).contains(&(n * unit as f64)) => {
            Ok((n * unit as f64).round() as u64)
        }
        _ => Err(format!("'{text}' is no time; accepted: NUMBER and ns, us, ms or s")),
    }
}
