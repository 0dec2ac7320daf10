//! Frame rates as exact fractions: line rates, counts and due times in integers, never in floating point.
//!
//! A frame of size `S`, FCS included, takes `S + 20` byte times of the wire: 8 of preamble, 12 of gap (RFC 2544,
//! appendix B; IEEE 802.3). Times are picoseconds: at 400 Gbit/s a frame of 64 bytes takes 1680 of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Byte times that a frame costs on the wire beyond its size with FCS.
pub const OVERHEAD: u64 = 20;

/// Picoseconds in a second, the unit of time of this module.
pub const SECOND: u64 = 1_000_000_000_000;

/// Picoseconds in a millisecond.
pub const MILLISECOND: u64 = SECOND / 1000;

/// Picoseconds in a microsecond.
pub const MICROSECOND: u64 = MILLISECOND / 1000;

/// Parts of the maximum rate in a whole.
const MILLION: u64 = 1_000_000;

/// A load: millionths of the maximum rate, so that searches compare integers.
///
/// ```
/// use ringway_tester::trial::rate::Load;
/// assert_eq!(Load::percent(12.5).to_string(), "12.5000 %");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Load(pub u32);

impl Load {
    /// All that the link or the given rate allows.
    pub const MAX: Self = Self(MILLION as u32);

    /// A load in percent, rounded to a millionth.
    #[must_use]
    pub fn percent(percent: f64) -> Self {
        Self((percent * 1e4).round() as u32)
    }

    /// In percent.
    #[must_use]
    pub fn as_percent(self) -> f64 {
        f64::from(self.0) / 1e4
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:04} %", self.0 / 10_000, self.0 % 10_000)
    }
}

/// Events per second, a fraction in lowest terms: frames, or bytes where frames differ in size.
///
/// ```
/// use ringway_tester::trial::rate::{Rate, SECOND};
/// let line = Rate::line(1_000_000_000, 64);
/// assert_eq!(line.to_string(), "1488095.24");
/// // The hardware tester's count of a burst of 20 s (PacketUsher, table I).
/// assert_eq!(line.frames_in(20 * SECOND), 29_761_905);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rate {
    num: u64,
    den: u64,
}

impl Rate {
    /// `num / den` a second.
    ///
    /// # Panics
    /// When either is zero.
    #[must_use]
    pub fn new(num: u64, den: u64) -> Self {
        assert!(num > 0 && den > 0, "a rate is positive");
        let divisor = gcd(num, den);
        Self { num: num / divisor, den: den / divisor }
    }

    /// The most frames of `size` bytes with FCS that a link of `bits` per second carries: `L / (8 (S + 20))`.
    #[must_use]
    pub fn line(bits: u64, size: u32) -> Self {
        Self::new(bits, 8 * (u64::from(size) + OVERHEAD))
    }

    /// The same rate times `load`.
    #[must_use]
    pub fn at(self, load: Load) -> Self {
        let load = u64::from(load.0.max(1));
        let (a, b) = (gcd(self.num, MILLION), gcd(load, self.den));
        let (c, d) = (gcd(load / b, MILLION / a), MILLION / a);
        Self::new((self.num / a) * (load / b / c), (self.den / b) * (d / c))
    }

    /// The rate of each of `n` that share this one.
    ///
    /// # Panics
    /// When `n` is zero.
    #[must_use]
    pub fn shared(self, n: u64) -> Self {
        Self::new(self.num, self.den * n)
    }

    /// The load of which `self` is the rate when `max` is the maximum, rounded down.
    #[must_use]
    pub fn of(self, max: Self) -> Load {
        let part = u128::from(self.num) * u128::from(max.den) * u128::from(MILLION);
        let whole = u128::from(self.den) * u128::from(max.num);
        Load(u32::try_from(part / whole).unwrap_or(u32::MAX))
    }

    /// Frames in a time: `ceil(T R)`, the first one at its start.
    #[must_use]
    pub fn frames_in(self, ps: u64) -> u64 {
        let events = u128::from(ps) * u128::from(self.num);
        saturate(events.div_ceil(u128::from(self.den) * u128::from(SECOND)))
    }

    /// When event `n` is due after the start: `floor(n / R)` in picoseconds.
    #[must_use]
    pub fn offset_ps(self, n: u64) -> u64 {
        saturate(u128::from(n) * u128::from(self.den) * u128::from(SECOND) / u128::from(self.num))
    }

    /// Events due within `ps` of the start, that instant included: those with [`offset_ps`](Self::offset_ps) `<= ps`.
    #[must_use]
    pub fn due_by(self, ps: u64) -> u64 {
        self.frames_in(ps.saturating_add(1))
    }

    /// As a number, for showing.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl fmt::Display for Rate {
    /// Two decimals, rounded to nearest; whole numbers without.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (u128::from(self.num) * 200 + u128::from(self.den)) / (2 * u128::from(self.den));
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        if rest == 0 { write!(f, "{whole}") } else { write!(f, "{whole}.{rest:02}") }
    }
}

/// Share of the frames sent that never came, in millionths rounded up: zero only when none is missing.
#[must_use]
pub fn loss_ppm(tx: u64, lost: u64) -> u64 {
    if tx == 0 {
        return 0;
    }
    saturate((u128::from(lost) * u128::from(MILLION)).div_ceil(u128::from(tx)))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn saturate(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const G: u64 = 1_000_000_000;

    #[test]
    fn line_rates_of_the_table() {
        let table = [
            (64, ["1488095.24", "14880952.38", "37202380.95", "59523809.52", "148809523.81"]),
            (128, ["844594.59", "8445945.95", "21114864.86", "33783783.78", "84459459.46"]),
            (256, ["452898.55", "4528985.51", "11322463.77", "18115942.03", "45289855.07"]),
            (512, ["234962.41", "2349624.06", "5874060.15", "9398496.24", "23496240.60"]),
            (1024, ["119731.80", "1197318.01", "2993295.02", "4789272.03", "11973180.08"]),
            (1280, ["96153.85", "961538.46", "2403846.15", "3846153.85", "9615384.62"]),
            (1518, ["81274.38", "812743.82", "2031859.56", "3250975.29", "8127438.23"]),
            (1522, ["81063.55", "810635.54", "2026588.85", "3242542.15", "8106355.38"]),
            (9000, ["13858.09", "138580.93", "346452.33", "554323.73", "1385809.31"]),
        ];
        for (size, rates) in table {
            for (gigabits, text) in [1, 10, 25, 40, 100].into_iter().zip(rates) {
                assert_eq!(Rate::line(gigabits * G, size).to_string(), text, "{size} at {gigabits}G");
            }
        }
        let times = [(64, 67_200), (128, 118_400), (256, 220_800), (512, 425_600), (1024, 835_200)];
        for (size, ps) in times.into_iter().chain([(1280, 1_040_000), (1518, 1_230_400), (9000, 7_216_000)]) {
            assert_eq!(Rate::line(10 * G, size).offset_ps(1), ps, "{size}");
        }
    }

    #[test]
    fn bursts_of_the_hardware_tester() {
        let counts = [29_761_905, 16_891_892, 9_057_972, 4_699_249, 2_394_637, 1_625_488];
        for (size, count) in [64, 128, 256, 512, 1024, 1518].into_iter().zip(counts) {
            assert_eq!(Rate::line(G, size).frames_in(20 * SECOND), count, "{size}");
        }
    }

    #[test]
    fn loss_is_zero_only_without_loss() {
        assert_eq!(
            [(0, 0), (10, 0), (10, 1), (u64::MAX, 1)].map(|(tx, lost)| loss_ppm(tx, lost)),
            [0, 0, 100_000, 1]
        );
        assert_eq!(loss_ppm(u64::MAX, u64::MAX), 1_000_000);
    }

    #[test]
    fn loads() {
        let line = Rate::line(G, 64);
        assert_eq!(line.at(Load::MAX), line);
        assert_eq!(line.at(Load::percent(50.0)), Rate::new(G, 1344));
        assert_eq!(Rate::new(G, 1344).of(line), Load::percent(50.0));
        assert_eq!(Rate::new(3 * G, 1344).of(line), Load(1_500_000));
        assert_eq!((Load(1).to_string(), Load::MAX.to_string()), ("0.0001 %".into(), "100.0000 %".into()));
    }

    proptest! {
        /// Any size, any speed from 10M to 400G, 2 s and 20 s: the count is the ceiling, checked by multiplication.
        #[test]
        fn burst_counts_are_the_ceiling(megabits in 10u64..400_000, size in 64u32..9217, seconds in prop_oneof![Just(2u64), Just(20)]) {
            let bits = megabits * 1_000_000;
            let n = u128::from(Rate::line(bits, size).frames_in(seconds * SECOND));
            let (need, each) = (u128::from(seconds * bits), u128::from(8 * (u64::from(size) + 20)));
            prop_assert!(n * each >= need && (n - 1) * each < need);
        }

        #[test]
        fn due_by_is_the_inverse_of_offset(megabits in 10u64..400_000, size in 64u32..9217, load in 1u32..1_000_001, seconds in 0f64..1e6) {
            let rate = Rate::line(megabits * 1_000_000, size).at(Load(load));
            let n = (rate.as_f64() * seconds) as u64;
            let at = rate.offset_ps(n);
            prop_assert!(rate.due_by(at) > n);
            if at > 0 {
                prop_assert!(rate.due_by(at - 1) <= n);
            }
        }

        #[test]
        fn scaling_is_exact(megabits in 10u64..400_000, size in 64u32..9217, load in 1u32..1_000_001) {
            let line = Rate::line(megabits * 1_000_000, size);
            let part = line.at(Load(load));
            prop_assert_eq!(
                u128::from(part.num) * u128::from(line.den) * 1_000_000,
                u128::from(line.num) * u128::from(part.den) * u128::from(load)
            );
            prop_assert_eq!(part.of(line), Load(load));
        }
    }
}
