//! Messages of NTP (RFC 5905) without extensions.

use super::parse::Parse;
use super::state::fields;
use super::{Match, Verdict};

/// The mode that a message must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode(pub(super) u8);

fields! {
    /// A message. Captures its transmit time stamp.
    struct Ntp {
        taken: u8,
        /// The last 8 bytes.
        stamp: u64,
    }
}

/// Bytes of a message, whose last 8 are the transmit time stamp.
const LEN: u8 = 48;

impl Parse<Mode> for Ntp {
    fn feed(&mut self, mode: &Mode, bytes: &[u8]) -> Match {
        let byte = bytes[0];
        let (version, own) = (byte >> 3 & 7, byte & 7);
        if self.taken == 0 && (own != mode.0 || !(1..=4).contains(&version)) {
            return Match::mismatch(0);
        }
        self.taken += 1;
        self.stamp = self.stamp << 8 | u64::from(byte);
        Match::byte(if self.taken == LEN { Verdict::Done } else { Verdict::More })
    }

    fn captures(&self) -> [u64; 2] {
        [self.stamp, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    #[test]
    fn the_transmit_time_stamp() {
        let mut bytes = [0; 50];
        bytes[0] = 0x23;
        bytes[40..48].copy_from_slice(&0xdead_beef_0102_0304u64.to_be_bytes());
        assert_eq!(parse::<_, Ntp>(&Mode(3), &bytes, false), Some((48, [0xdead_beef_0102_0304, 0])));
        assert_eq!(parse::<_, Ntp>(&Mode(4), &bytes, false), None);
        assert_eq!(parse::<_, Ntp>(&Mode(3), &bytes[..47], true), None);
        bytes[0] = 0x2b;
        assert_eq!(parse::<_, Ntp>(&Mode(3), &bytes, false), None, "version 5");
    }
}
