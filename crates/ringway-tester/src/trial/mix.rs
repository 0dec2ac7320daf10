//! Sizes of the frames of a trial: one, or a mix in fixed proportions (RFC 6985).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rate::{OVERHEAD, Rate};

/// Millionths, the unit of loads.
const MILLION: u64 = 1_000_000;

/// Longest cycle of a mix, in frames.
const MOST_FRAMES: u64 = 1000;

/// Sizes in the order in which frames are sent, over and over. Sizes count the FCS.
///
/// A place in a mix is measured in units: frames when there is one size, else byte times on the wire, so that each frame
/// gets the time it takes.
///
/// ```
/// use ringway_tester::trial::mix::Mix;
/// let imix: Mix = "7x64,4x570,1x1518".parse()?;
/// assert_eq!(imix.line(10_000_000_000).as_f64() / imix.units_per_frame(), 10e9 / (8.0 * (4246.0 / 12.0 + 20.0)));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Mix {
    parts: Arc<[(u32, u32)]>,
    /// Size of each frame of a cycle.
    sizes: Arc<[u32]>,
    /// Units before each frame of a cycle.
    before: Arc<[u64]>,
    /// Units of a cycle.
    total: u64,
}

impl Mix {
    /// Frames of one size.
    #[must_use]
    pub fn fixed(size: u32) -> Self {
        Self { parts: [(1, size)].into(), sizes: [size].into(), before: [0].into(), total: 1 }
    }

    /// The simple IMIX: 7 of 64, 4 of 570 and 1 of 1518 bytes.
    #[must_use]
    pub fn imix() -> Self {
        Self::of(&[(7, 64), (4, 570), (1, 1518)])
    }

    /// So many frames of each size, spread evenly over a cycle.
    fn of(parts: &[(u32, u32)]) -> Self {
        if let [(_, size)] = parts {
            return Self::fixed(*size);
        }
        let whole: u32 = parts.iter().map(|(weight, _)| weight).sum();
        // The frame that is most behind its share comes next.
        let mut given = vec![0u32; parts.len()];
        let sizes: Vec<u32> = (0..whole)
            .map(|n| {
                let behind = |k: usize| {
                    i64::from(parts[k].0) * i64::from(n + 1) - i64::from(given[k]) * i64::from(whole)
                };
                let next = (0..parts.len()).max_by_key(|&k| (behind(k), parts.len() - k)).unwrap_or(0);
                given[next] += 1;
                parts[next].1
            })
            .collect();
        let mut total = 0;
        let before = sizes.iter().map(|&size| {
            total += u64::from(size) + OVERHEAD;
            total - u64::from(size) - OVERHEAD
        });
        let before: Arc<[u64]> = before.collect();
        Self { parts: parts.into(), sizes: sizes.into(), before, total }
    }

    /// Whether all frames have one size.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.sizes.len() == 1
    }

    /// Frames after which sizes repeat.
    #[must_use]
    pub fn cycle(&self) -> usize {
        self.sizes.len()
    }

    /// Size of frame `n`, bytes with FCS.
    #[must_use]
    pub fn size(&self, n: u64) -> u32 {
        self.sizes[(n % self.sizes.len() as u64) as usize]
    }

    /// The smallest and the largest size.
    #[must_use]
    pub fn range(&self) -> (u32, u32) {
        let sizes = || self.sizes.iter().copied();
        (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
    }

    /// Mean size, bytes with FCS.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sizes.iter().map(|&size| f64::from(size)).sum::<f64>() / self.sizes.len() as f64
    }

    /// Bytes with FCS of the first `n` frames.
    #[must_use]
    pub fn bytes(&self, n: u64) -> u64 {
        let len = self.sizes.len() as u64;
        let cycle: u64 = self.sizes.iter().map(|&size| u64::from(size)).sum();
        let rest: u64 = self.sizes[..(n % len) as usize].iter().map(|&size| u64::from(size)).sum();
        n / len * cycle + rest
    }

    /// Units before frame `n`.
    #[must_use]
    pub fn position(&self, n: u64) -> u64 {
        let len = self.before.len() as u64;
        n / len * self.total + self.before[(n % len) as usize]
    }

    /// Frames that start before unit `units`.
    #[must_use]
    pub fn frames_below(&self, units: u64) -> u64 {
        let rest = units % self.total;
        units / self.total * self.before.len() as u64 + self.before.partition_point(|&at| at < rest) as u64
    }

    /// Units of a frame in the mean.
    #[must_use]
    pub fn units_per_frame(&self) -> f64 {
        self.total as f64 / self.sizes.len() as f64
    }

    /// Units a second of a link of `bits` per second that is always busy.
    #[must_use]
    pub fn line(&self, bits: u64) -> Rate {
        if self.is_fixed() { Rate::line(bits, self.sizes[0]) } else { Rate::new(bits, 8) }
    }

    /// Most frames a second, so that all rates derived from them are exact in 64 bits.
    #[must_use]
    pub fn max_pps(&self) -> u64 {
        u64::MAX / MILLION / self.total
    }

    /// Units a second of `pps` frames a second, [`max_pps`](Self::max_pps) at most.
    #[must_use]
    pub fn pps(&self, pps: u64) -> Rate {
        Rate::new(pps * self.total, self.sizes.len() as u64)
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(_, size)] = &*self.parts {
            return write!(f, "{size}");
        }
        for (k, (weight, size)) in self.parts.iter().enumerate() {
            write!(f, "{}{weight}x{size}", if k > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        mix.to_string()
    }
}

impl TryFrom<String> for Mix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("bad mix '{text}'; accepted: WEIGHTxSIZE,... such as 7x64,4x570,1x1518");
        if let Ok(size) = text.parse() {
            return Ok(Self::fixed(size));
        }
        let part = |part: &str| {
            let (weight, size) = part.trim().split_once('x')?;
            Some((weight.parse::<u32>().ok().filter(|&w| w > 0)?, size.parse::<u32>().ok()?))
        };
        let parts = text.split(',').map(part).collect::<Option<Vec<_>>>().ok_or_else(bad)?;
        if parts.iter().map(|(weight, _)| u64::from(*weight)).sum::<u64>() > MOST_FRAMES {
            return Err(format!(
                "mix '{text}' has a cycle of more than {MOST_FRAMES} frames; use smaller weights"
            ));
        }
        Ok(Self::of(&parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn simple_imix() {
        let mix = Mix::imix();
        assert_eq!((format!("{:.2}", mix.mean()), mix.range()), ("353.83".into(), (64, 1518)));
        let line = mix.line(1_000_000_000).as_f64() / mix.units_per_frame();
        assert_eq!(format!("{line:.2}"), "334373.61");
        assert_eq!(mix.to_string().parse::<Mix>().unwrap(), mix);
        let mut sizes: Vec<u32> = (0..12).map(|n| mix.size(n)).collect();
        assert_ne!(sizes[..7], [64; 7], "sizes are spread");
        sizes.sort_unstable();
        assert_eq!(sizes, [&[64; 7][..], &[570; 4], &[1518]].concat());
        assert!((mix.pps(100).as_f64() / mix.units_per_frame() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn bad_mixes_are_named() {
        for bad in ["", "x", "0x64", "7x", "7x64,", "-1x64", "64,128"] {
            assert!(bad.parse::<Mix>().unwrap_err().contains("accepted: WEIGHTxSIZE"), "{bad}");
        }
        assert!("4000000000x64,4000000000x128".parse::<Mix>().unwrap_err().contains("cycle"));
        assert!("64".parse::<Mix>().unwrap().is_fixed());
    }

    proptest! {
        #[test]
        fn places_and_counts_are_inverse(parts in proptest::collection::vec((1u32..9, 64u32..1519), 1..5), n in 0u64..1 << 40) {
            let mix = Mix::of(&parts);
            let at = mix.position(n);
            prop_assert_eq!((mix.frames_below(at), mix.frames_below(at + 1)), (n, n + 1));
            let few = n % 5000;
            let bytes: u64 = (0..few).map(|k| u64::from(mix.size(k))).sum();
            prop_assert_eq!(mix.bytes(few), bytes);
            if !mix.is_fixed() {
                prop_assert_eq!(mix.position(few), bytes + 20 * few);
            }
        }
    }
}
