//! Numbers as users write them.

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

#[cfg(test)]
mod tests {
    use super::count;

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
