//! The cost of a lookup in a structure that may be larger than the caches.
//!
//! Addresses are drawn from the whole structure. Of a structure of `W` bytes a cache of `S` bytes holds the part `S / W`. That part
//! of the accesses ends there, and the rest at a level further out.

use serde::{Deserialize, Serialize};

/// A cache, or memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// `L1`, `L2`, `L3`, `memory`.
    pub name: String,
    /// Bytes; infinite for memory, which JSON writes as null.
    #[serde(with = "endless")]
    pub bytes: f64,
    /// Ticks of an access that ends here.
    pub latency: f64,
}

/// The levels of a machine, the nearest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Caches {
    levels: Vec<Level>,
}

/// Levels that do not grow from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoLevels;

impl Caches {
    /// Levels in any order.
    ///
    /// # Errors
    /// [`NoLevels`] when there are none, or one has no size or a negative latency.
    pub fn new(mut levels: Vec<Level>) -> Result<Self, NoLevels> {
        levels.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let sound = |l: &Level| l.bytes > 0.0 && l.latency >= 0.0 && l.latency.is_finite();
        if levels.is_empty() || !levels.iter().all(sound) {
            return Err(NoLevels);
        }
        Ok(Self { levels })
    }

    /// Data caches of these sizes in bytes, with ticks that are usual for them: 4, 14, 50, and 250 for memory.
    ///
    /// # Errors
    /// [`NoLevels`] without sizes.
    pub fn usual(sizes: &[f64]) -> Result<Self, NoLevels> {
        let latencies = [4.0, 14.0, 50.0];
        let mut levels: Vec<Level> = sizes
            .iter()
            .zip(latencies)
            .enumerate()
            .map(|(k, (&bytes, latency))| Level { name: format!("L{}", k + 1), bytes, latency })
            .collect();
        if levels.is_empty() {
            return Err(NoLevels);
        }
        levels.push(Level { name: "memory".into(), bytes: f64::INFINITY, latency: 250.0 });
        Self::new(levels)
    }

    /// The same levels with latencies in another unit.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        self.levels.iter_mut().for_each(|level| level.latency *= factor);
        self
    }

    /// The levels, the nearest first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Parts of the accesses to a structure of `bytes` that end at each level; together 1.
    #[must_use]
    pub fn parts(&self, bytes: f64) -> Vec<f64> {
        let held = |level: &Level| if bytes <= level.bytes { 1.0 } else { level.bytes / bytes };
        let mut before = 0.0;
        let last = self.levels.len() - 1;
        let part = |(k, level): (usize, &Level)| {
            let now = if k == last { 1.0 } else { held(level) };
            let part = now - before;
            before = now;
            part
        };
        self.levels.iter().enumerate().map(part).collect()
    }

    /// Ticks of an access to a structure of `bytes`, on average.
    ///
    /// ```
    /// use ringway_model::model::Caches;
    /// let caches = Caches::usual(&[32e3, 1e6, 32e6])?;
    /// assert_eq!(caches.latency(1000.0), 4.0);
    /// assert_eq!(caches.latency(64e3), 0.5 * 4.0 + 0.5 * 14.0);
    /// # Ok::<(), ringway_model::model::cache::NoLevels>(())
    /// ```
    #[must_use]
    pub fn latency(&self, bytes: f64) -> f64 {
        self.parts(bytes).iter().zip(&self.levels).map(|(part, level)| part * level.latency).sum()
    }

    /// Sizes at which the cost of a lookup begins to grow faster.
    pub fn knees(&self) -> impl Iterator<Item = (&str, f64)> {
        self.levels.iter().filter(|l| l.bytes.is_finite()).map(|l| (l.name.as_str(), l.bytes))
    }
}

/// Ticks of one lookup: C(W) = base + accesses x latency(W).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookup {
    /// Ticks that do not depend on the caches.
    pub base: f64,
    /// Dependent accesses of one lookup.
    pub accesses: f64,
    /// Bytes of an entry with its part of inner nodes.
    pub entry: f64,
}

/// Bytes an entry may take, in powers of two around a cache line.
const ENTRIES: std::ops::RangeInclusive<i32> = 2..=10;

impl Lookup {
    /// Ticks of a lookup among `entries`.
    #[must_use]
    pub fn at(&self, caches: &Caches, entries: f64) -> f64 {
        self.base + self.accesses * caches.latency(entries * self.entry)
    }

    /// The lookup that fits pairs of (entries, ticks) best. `None` with fewer than three.
    #[must_use]
    pub fn fit(caches: &Caches, points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3 {
            return None;
        }
        let halves = ENTRIES.clone().flat_map(|p| [f64::from(p), f64::from(p) + 0.5]);
        let tried = halves.filter_map(|power| Self::with_entry(caches, points, 2f64.powf(power)));
        tried.min_by(|a, b| a.1.total_cmp(&b.1)).map(|best| best.0)
    }

    /// The best lookup with entries of this size, and the sum of its squared relative errors.
    fn with_entry(caches: &Caches, points: &[(f64, f64)], entry: f64) -> Option<(Self, f64)> {
        let at: Vec<(f64, f64)> =
            points.iter().map(|&(n, ticks)| (caches.latency(n * entry), ticks)).collect();
        let line = crate::fit::line::weighted(&at).filter(|l| l.slope >= 0.0);
        let found = match line {
            Some(line) => Self { base: line.base, accesses: line.slope, entry },
            None => Self { base: crate::fit::line::flat(&at), accesses: 0.0, entry },
        };
        let error = |&(n, ticks): &(f64, f64)| (found.at(caches, n) / ticks - 1.0).powi(2);
        let errors: f64 = points.iter().map(error).sum();
        errors.is_finite().then_some((found, errors))
    }
}

/// Infinity as null.
mod endless {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &f64, to: S) -> Result<S::Ok, S::Error> {
        bytes.is_finite().then_some(*bytes).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn caches() -> Caches {
        Caches::usual(&[32_768.0, 1_048_576.0, 33_554_432.0]).unwrap()
    }

    #[test]
    fn levels_that_make_no_sense_are_refused() {
        assert_eq!(Caches::usual(&[]), Err(NoLevels));
        let level = |bytes, latency| Level { name: "x".into(), bytes, latency };
        for wrong in [level(0.0, 1.0), level(1.0, -1.0), level(1.0, f64::NAN)] {
            assert_eq!(Caches::new(vec![wrong]), Err(NoLevels));
        }
        assert_eq!(caches().knees().map(|k| k.0).collect::<Vec<_>>(), ["L1", "L2", "L3"]);
        let text = serde_json::to_string(&caches()).unwrap();
        assert_eq!(serde_json::from_str::<Caches>(&text).unwrap(), caches());
    }

    #[test]
    fn a_lookup_that_does_not_grow_has_no_accesses() {
        let flat = Lookup::fit(&caches(), &[(1.0, 50.0), (1e3, 50.0), (1e6, 50.0)]).unwrap();
        assert!((flat.at(&caches(), 1e5) - 50.0).abs() < 1e-6, "{flat:?}");
        assert_eq!(Lookup::fit(&caches(), &[(1.0, 1.0); 2]), None);
    }

    proptest! {
        #[test]
        fn parts_add_up_and_latency_grows(bytes in 1.0..1e10f64, more in 1.0..100.0f64) {
            let caches = caches();
            prop_assert!((caches.parts(bytes).iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(caches.parts(bytes).iter().all(|p| *p >= -1e-12));
            prop_assert!(caches.latency(bytes * more) >= caches.latency(bytes) - 1e-9);
        }

        #[test]
        fn a_known_lookup_is_found(base in 50.0..500.0f64, accesses in 0.5..8.0f64, power in 4i32..8) {
            let (caches, entry) = (caches(), 2f64.powi(power));
            let truth = Lookup { base, accesses, entry };
            let points: Vec<_> = [1.0, 256.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0]
                .map(|n| (n, truth.at(&caches, n))).into();
            let found = Lookup::fit(&caches, &points).unwrap();
            for (n, ticks) in points {
                prop_assert!((found.at(&caches, n) / ticks - 1.0).abs() < 0.01);
            }
        }
    }
}
