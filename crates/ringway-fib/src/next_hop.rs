//! What a lookup finds.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use super::FibError;

/// Number of an adjacency, 1 to 65535. 0 stands for no route where a plain number is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHop(NonZeroU16);

impl NextHop {
    /// `None` for 0.
    pub const fn new(number: u16) -> Option<Self> {
        match NonZeroU16::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for NextHop {
    type Err = FibError;

    fn from_str(text: &str) -> Result<Self, FibError> {
        text.parse().map(Self).map_err(|_| FibError::NextHop { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_from_1_to_65535() {
        assert_eq!("65535".parse::<NextHop>().unwrap().get(), 65535);
        assert_eq!(NextHop::new(7).unwrap().to_string(), "7");
        assert_eq!(NextHop::new(0), None);
        for text in ["0", "65536", "x"] {
            let e = text.parse::<NextHop>().unwrap_err().to_string();
            assert!(e.starts_with(text), "{e}");
        }
    }
}
