//! What befalls each frame: a sequence that depends on the seed and the number of the frame alone.

use crate::port::name::FaultOptions;

/// Weyl constant of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Debug, Clone)]
pub(super) struct FaultRng {
    state: u64,
}

/// What befalls one frame. A frame that is dropped suffers nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) drop: bool,
    pub(super) dup: bool,
    pub(super) reorder: bool,
    /// Which bit to flip, modulo the bits of the frame.
    pub(super) corrupt: Option<u64>,
}

impl Fate {
    /// Whether the frame just passes.
    pub(super) fn plain(&self) -> bool {
        !self.drop && !self.dup && !self.reorder && self.corrupt.is_none()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

impl FaultRng {
    /// The numbers of one ring; another ring has others.
    pub(super) fn new(seed: u64, ring: u64) -> Self {
        Self { state: mix(seed.wrapping_add(mix(ring))) }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// True with probability `rate`; never for 0, always for 1.
    fn falls(&mut self, rate: f64) -> bool {
        ((self.next() >> 11) as f64 / (1u64 << 53) as f64) < rate
    }

    /// The fate of the next frame: five throws each, so that one rate does not change what the others befall.
    pub(super) fn roll(&mut self, rates: &FaultOptions) -> Fate {
        let drop = self.falls(rates.drop);
        let dup = self.falls(rates.dup);
        let reorder = self.falls(rates.reorder);
        let corrupt = self.falls(rates.corrupt);
        let bit = self.next();
        Fate { drop, dup, reorder, corrupt: corrupt.then_some(bit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_met_and_faults_are_independent() {
        let rates = FaultOptions { drop: 0.01, dup: 0.5, corrupt: 1.0, ..FaultOptions::default() };
        let mut rng = FaultRng::new(7, 0);
        let fates: Vec<Fate> = (0..100_000).map(|_| rng.roll(&rates)).collect();
        let count = |f: fn(&Fate) -> bool| fates.iter().filter(|x| f(x)).count();
        assert!((900..1100).contains(&count(|f| f.drop)), "{}", count(|f| f.drop));
        assert!((49_000..51_000).contains(&count(|f| f.dup)), "{}", count(|f| f.dup));
        assert_eq!((count(|f| f.reorder), count(|f| f.corrupt.is_some())), (0, 100_000));
        let both = count(|f| f.drop && f.dup);
        assert!((400..600).contains(&both), "{both}");

        let mut rng = FaultRng::new(7, 0);
        let fewer = FaultOptions { drop: 0.01, ..FaultOptions::default() };
        assert!(fates.iter().all(|f| f.drop == rng.roll(&fewer).drop));
        let (mut other, mut ring) = (FaultRng::new(8, 0), FaultRng::new(7, 1));
        assert!(fates.iter().any(|f| f.dup != other.roll(&rates).dup));
        assert!(fates.iter().any(|f| f.dup != ring.roll(&rates).dup));
    }
}
