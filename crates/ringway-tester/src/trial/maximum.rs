//! The rate that loads are shares of, and the usual frame sizes.

use serde::{Deserialize, Serialize};

use super::mix::Mix;
use super::rate::Rate;

/// The rate that loads are shares of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Maximum {
    /// Line rate of a link of so many bits a second.
    Link(u64),
    /// Frames a second, for ports without a speed.
    Pps(u64),
}

impl Maximum {
    /// Units of the mix a second.
    #[must_use]
    pub fn rate(self, mix: &Mix) -> Rate {
        match self {
            Self::Link(bits) => mix.line(bits),
            Self::Pps(pps) => mix.pps(pps),
        }
    }

    /// Frames a second.
    #[must_use]
    pub fn fps(self, mix: &Mix) -> f64 {
        self.rate(mix).as_f64() / mix.units_per_frame()
    }

    /// Speed of the link, if there is one.
    #[must_use]
    pub fn bits(self) -> Option<u64> {
        match self {
            Self::Link(bits) => Some(bits),
            Self::Pps(_) => None,
        }
    }
}

/// Frame sizes of RFC 2544, 9.1.
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
