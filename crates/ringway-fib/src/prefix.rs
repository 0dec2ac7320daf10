//! Prefixes of both families.

use std::fmt;
use std::hash::Hash;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::FibError;

/// An address as a number in host order: `u32` for IPv4, `u128` for IPv6.
pub trait Address: Copy + Eq + Ord + Hash + fmt::Debug + Send + Sync + 'static {
    /// Bits of an address.
    const BITS: u8;
    /// The address as text.
    fn text(self) -> String;
    /// The reverse of [`text`](Self::text).
    fn parse(text: &str) -> Option<Self>;
    /// The address as the topmost bits of a key.
    fn key(self) -> u128;
    /// The reverse of [`key`](Self::key); the other bits are left out.
    fn of_key(key: u128) -> Self;
}

impl Address for u32 {
    const BITS: u8 = 32;

    fn text(self) -> String {
        Ipv4Addr::from(self).to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse::<Ipv4Addr>().ok().map(Self::from)
    }

    fn key(self) -> u128 {
        u128::from(self) << 96
    }

    fn of_key(key: u128) -> Self {
        (key >> 96) as Self
    }
}

impl Address for u128 {
    const BITS: u8 = 128;

    fn text(self) -> String {
        Ipv6Addr::from(self).to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse::<Ipv6Addr>().ok().map(Self::from)
    }

    fn key(self) -> u128 {
        self
    }

    fn of_key(key: u128) -> Self {
        key
    }
}

/// The addresses that share their first `len` bits.
///
/// ```
/// use ringway_fib::Prefix;
/// let p: Prefix<u32> = "10.1.0.0/16".parse()?;
/// assert_eq!((p.addr(), p.len()), (0x0a01_0000, 16));
/// assert!(p.covers(0x0a01_0203));
/// # Ok::<(), ringway_fib::FibError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix<A> {
    addr: A,
    len: u8,
}

/// A prefix of IPv4 addresses.
pub type Prefix4 = Prefix<u32>;

/// A prefix of IPv6 addresses.
pub type Prefix6 = Prefix<u128>;

impl<A: Address> Prefix<A> {
    /// The prefix of `len` bits that holds `addr`; bits behind them are cleared.
    ///
    /// # Errors
    /// [`FibError::Prefix`] if an address has fewer bits than `len`.
    pub fn new(addr: A, len: u8) -> Result<Self, FibError> {
        if len > A::BITS {
            return Err(FibError::Prefix { text: format!("{}/{len}", addr.text()), bits: A::BITS });
        }
        Ok(Self { addr: A::of_key(addr.key() & mask(len)), len })
    }

    /// Its first address.
    pub fn addr(self) -> A {
        self.addr
    }

    /// Its length in bits.
    #[allow(clippy::len_without_is_empty, reason = "a length in bits, not a number of elements")]
    pub fn len(self) -> u8 {
        self.len
    }

    /// Whether the address is one of its own.
    pub fn covers(self, addr: A) -> bool {
        (addr.key() ^ self.addr.key()) & mask(self.len) == 0
    }
}

/// The `len` topmost bits.
pub(crate) fn mask(len: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}

impl<A: Address> fmt::Display for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr.text(), self.len)
    }
}

impl<A: Address> FromStr for Prefix<A> {
    type Err = FibError;

    /// Reads `addr/len`, or `default`; bits of the address behind the length must be 0.
    fn from_str(text: &str) -> Result<Self, FibError> {
        if text == "default" {
            return Self::new(A::of_key(0), 0);
        }
        let bad = || FibError::Prefix { text: text.to_owned(), bits: A::BITS };
        let (addr, len) = text.split_once('/').ok_or_else(bad)?;
        let (addr, len) = (A::parse(addr).ok_or_else(bad)?, len.parse().map_err(|_| bad())?);
        let prefix = Self::new(addr, len)?;
        if prefix.addr != addr {
            return Err(FibError::HostBits { text: text.to_owned(), meant: prefix.to_string() });
        }
        Ok(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways() {
        for text in ["0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32"] {
            assert_eq!(text.parse::<Prefix4>().unwrap().to_string(), text);
        }
        for text in ["::/0", "2001:db8::/32", "2001:db8::1/128"] {
            assert_eq!(text.parse::<Prefix6>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn all_addresses_have_a_name() {
        assert_eq!("default".parse::<Prefix4>().unwrap().to_string(), "0.0.0.0/0");
        assert_eq!("default".parse::<Prefix6>().unwrap().to_string(), "::/0");
    }

    #[test]
    fn bits_behind_the_length_are_told() {
        let e = |text: &str| text.parse::<Prefix4>().unwrap_err().to_string();
        assert!(e("10.9.2.1/24").ends_with("did you mean 10.9.2.0/24?"), "{}", e("10.9.2.1/24"));
        let e = "2001:db8::1/64".parse::<Prefix6>().unwrap_err().to_string();
        assert!(e.ends_with("did you mean 2001:db8::/64?"), "{e}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.1/24", "x/8", "10.0.0.0/-1", "::/0"] {
            let e = text.parse::<Prefix4>().unwrap_err().to_string();
            assert!(e.contains(text), "{e}");
        }
        assert!("2001:db8::/129".parse::<Prefix6>().is_err());
    }

    #[test]
    fn hosts_are_cut_off() {
        let p = Prefix4::new(0x0a01_02ff, 24).unwrap();
        assert_eq!(p.to_string(), "10.1.2.0/24");
        assert!(p.covers(0x0a01_0200) && !p.covers(0x0a01_0300));
        assert!(Prefix4::new(7, 0).unwrap().covers(u32::MAX));
    }
}
