//! Addresses as text that come byte by byte: numbers with a separator, and IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::parse::Number;
use super::state::fields;

fields! {
    /// An address, or another list of numbers, as far as it is known.
    struct Address {
        number: Number,
        /// Numbers that are complete.
        parts: u8,
        /// Groups of IPv6 in front of `::`, plus 1. 0: there is no `::`.
        gap: u8,
        /// Colons since the last digit.
        colons: u8,
        bits: u128,
    }
}

/// Most decimal digits of a byte.
const BYTE_DIGITS: u8 = 3;
/// Groups of an IPv6 address, and most digits of each.
const GROUPS: u8 = 8;
const GROUP_DIGITS: u8 = 4;

impl Address {
    /// Takes a byte of `count` numbers below 256 with a separator in between. False if `byte` can't follow.
    pub(super) fn list(&mut self, byte: u8, separator: u8, count: u8) -> bool {
        if byte == separator {
            let follows = self.number.digits > 0 && self.parts + 1 < count;
            return follows && self.push(8);
        }
        self.number.digits < BYTE_DIGITS && self.number.decimal(byte, 255)
    }

    /// The numbers, each in 8 bits, if there are `count` of them.
    pub(super) fn list_end(&mut self, count: u8) -> Option<u64> {
        let complete = self.number.digits > 0 && self.parts + 1 == count;
        (complete && self.push(8)).then_some(self.bits as u64)
    }

    /// The IPv4 address, if it is complete.
    pub(super) fn v4_end(&mut self) -> Option<IpAddr> {
        self.list_end(4).map(|bits| Ipv4Addr::from_bits(bits as u32).into())
    }

    /// Takes a byte of an IPv6 address in hexadecimal. False if `byte` can't follow.
    pub(super) fn v6(&mut self, byte: u8) -> bool {
        if byte != b':' {
            let starts = self.parts == 0 && self.gap == 0;
            let after_one_colon = std::mem::take(&mut self.colons) == 1;
            return !(starts && after_one_colon)
                && self.number.digits < GROUP_DIGITS
                && self.number.hex(byte, 0xffff);
        }
        self.colons += 1;
        if self.number.digits > 0 {
            return self.parts + 1 < GROUPS && self.push(16);
        }
        if self.colons == 2 && self.gap == 0 {
            self.gap = self.parts + 1;
            return true;
        }
        self.colons == 1 && self.parts == 0 && self.gap == 0
    }

    /// The IPv6 address, if it is complete.
    pub(super) fn v6_end(&mut self) -> Option<IpAddr> {
        if self.number.digits > 0 {
            self.push(16);
        } else if self.colons != 2 {
            return None;
        }
        let bits = match (self.parts, self.gap) {
            (GROUPS, 0) => self.bits,
            (0..GROUPS, 1..) => {
                let behind = 16 * u32::from(self.parts + 1 - self.gap);
                let front = self.bits >> behind << behind;
                let low = self.bits ^ front;
                front.checked_shl(16 * u32::from(GROUPS - self.parts)).unwrap_or(0) | low
            }
            _ => return None,
        };
        Some(Ipv6Addr::from_bits(bits).into())
    }

    /// Ends a number. Always true.
    fn push(&mut self, bits: u32) -> bool {
        self.bits = self.bits << bits | u128::from(self.number.finish());
        self.parts += 1;
        true
    }
}

/// Numbers of a host and a port as FTP writes them.
pub(super) const HOST_PORT: u8 = 6;

/// The host and the port in the numbers of `h1,h2,h3,h4,p1,p2`.
pub(super) fn host_port(bits: u64) -> (IpAddr, u16) {
    (Ipv4Addr::from_bits((bits >> 16) as u32).into(), bits as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn v6(text: &str) -> Option<IpAddr> {
        let mut address = Address::default();
        text.bytes().all(|byte| address.v6(byte)).then(|| address.v6_end()).flatten()
    }

    fn v4(text: &str) -> Option<IpAddr> {
        let mut address = Address::default();
        text.bytes().all(|byte| address.list(byte, b'.', 4)).then(|| address.v4_end()).flatten()
    }

    #[test]
    fn numbers_have_few_digits() {
        assert!(v6("::0001").is_some() && v4("1.2.3.004").is_some());
        assert_eq!((v6("::00001"), v4("1.2.3.0004")), (None, None));
    }

    #[test]
    fn host_and_port() {
        let mut address = Address::default();
        assert!(b"198,19,0,7,200,10".iter().all(|&byte| address.list(byte, b',', HOST_PORT)));
        let numbers = address.list_end(HOST_PORT).map(host_port);
        assert_eq!(numbers, Some((Ipv4Addr::new(198, 19, 0, 7).into(), 51_210)));
    }

    proptest! {
        #[test]
        fn reads_what_the_standard_library_writes(bits: [u16; 8], zeros in 0u8..) {
            let groups: [u16; 8] = std::array::from_fn(|i| if zeros >> i & 1 == 1 { 0 } else { bits[i] });
            let address = Ipv6Addr::from(groups);
            prop_assume!(address.to_ipv4_mapped().is_none());
            prop_assert_eq!(v6(&address.to_string()), Some(address.into()));
            let long = groups.map(|group| format!("{group:04X}")).join(":");
            prop_assert_eq!(v6(&long), Some(address.into()));
        }

        #[test]
        fn agrees_with_the_standard_library(text in "(::?|[0-9a-f]{1,5}:?){0,9}") {
            let parsed = text.parse::<Ipv6Addr>().ok().map(IpAddr::from);
            // Eight groups with a `::` for none is what only some readers take.
            prop_assert_eq!(v6(&text), parsed, "{}", text);
        }

        #[test]
        fn v4_agrees_with_the_standard_library(text in "[0-9]{1,4}([.]?[0-9]{0,3}){0,4}") {
            let parsed = text.parse::<Ipv4Addr>().ok().map(IpAddr::from);
            let zeros = text.split('.').any(|part| part.len() > 1 && part.starts_with('0'));
            prop_assert!(zeros || v4(&text) == parsed, "{}", text);
        }
    }
}
