//! Numbers as every command prints them.

/// A number with a decimal prefix and three digits after the point: `14.880 Mpps`. Below 1000 there is no
/// prefix, and whole numbers have no point.
///
/// ```
/// use ringway_traffic::units::scaled;
///
/// assert_eq!(scaled(14_880_952.0, "pps"), "14.881 Mpps");
/// assert_eq!(scaled(7.0, "pkts"), "7 pkts");
/// ```
pub fn scaled(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 5] = ["", "k", "M", "G", "T"];
    let mut value = value;
    let mut prefix = 0;
    // What would print as 1000.000 belongs to the next prefix.
    while value.abs() >= 999.9995 && prefix + 1 < PREFIXES.len() {
        value /= 1000.0;
        prefix += 1;
    }
    let digits = if prefix == 0 && value.fract() == 0.0 { 0 } else { 3 };
    format!("{value:.digits$} {}{unit}", PREFIXES[prefix])
}

/// Bits a second as every command prints what it measured: `9.410 Gbit/s`.
///
/// ```
/// assert_eq!(ringway_traffic::units::bit_rate(9.41e9), "9.410 Gbit/s");
/// ```
pub fn bit_rate(bps: f64) -> String {
    scaled(bps, "bit/s")
}

/// The speed of a link, to the bit: `10 Gbit/s`, `2.5 Gbit/s`, `100 Mbit/s`.
///
/// ```
/// assert_eq!(ringway_traffic::units::link_speed(2_500_000_000), "2.5 Gbit/s");
/// ```
pub fn link_speed(bits: u64) -> String {
    let (divisor, unit) = if bits < 1_000_000_000 { (1e6, "Mbit/s") } else { (1e9, "Gbit/s") };
    format!("{} {unit}", bits as f64 / divisor)
}

/// A duration with a fitting unit: `950 ns`, `1.234 us`, `2.500 ms`, `12.000 s`.
///
/// ```
/// assert_eq!(ringway_traffic::units::duration(1_234), "1.234 us");
/// ```
pub fn duration(ns: u64) -> String {
    let (divisor, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{:.3} {unit}", ns as f64 / divisor)
}

/// `n` things, of which one has no `s`.
pub fn many(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(scaled(0.0, "pps"), "0 pps");
        assert_eq!(scaled(0.5, "pps"), "0.500 pps");
        assert_eq!(scaled(999.0, "pps"), "999 pps");
        assert_eq!(scaled(999.9999, "pps"), "1.000 kpps");
        assert_eq!(scaled(1000.0, "pps"), "1.000 kpps");
        assert_eq!(bit_rate(999_999_999.0), "1.000 Gbit/s");
        assert_eq!(bit_rate(1e16), "10000.000 Tbit/s");
        assert_eq!(
            [10_000_000_000, 1_000_000_000, 100_000_000].map(link_speed),
            ["10 Gbit/s", "1 Gbit/s", "100 Mbit/s"]
        );
        assert_eq!((duration(0), duration(999)), ("0 ns".into(), "999 ns".into()));
        assert_eq!((duration(2_500_000), duration(60_000_000_000)), ("2.500 ms".into(), "60.000 s".into()));
    }
}
