//! Pools: the addresses, ports, hardware addresses and VLANs that flows may use.

use std::net::IpAddr;

/// In which order the members of a pool are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One after the other.
    Sequential,
    /// Each alike.
    Random,
    /// Member k with weight `1 / k^exponent`.
    Zipf {
        /// The exponent, in millionths.
        exponent: u64,
    },
}

/// Addresses from `first` to `last`, both of the same family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first address.
    pub first: IpAddr,
    /// The last address, not below the first.
    pub last: IpAddr,
}

/// Hardware addresses: member i of the pool has `first + i modulo count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macs {
    /// The first one.
    pub first: [u8; 6],
    /// How many there are, at least 1.
    pub count: u32,
}

/// VLANs: member i of the pool has `first + i modulo (last - first + 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlans {
    /// The first one, 1..=4094.
    pub first: u16,
    /// The last one.
    pub last: u16,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its name: an index into the names.
    pub name: u32,
    /// Its addresses: at least one range, all of one family. They do not overlap.
    pub ranges: Vec<Range>,
    /// First port that a client may use.
    pub first_port: u16,
    /// Last port that a client may use.
    pub last_port: u16,
    /// In which order addresses are used.
    pub choice: Choice,
    /// In which order ports are used.
    pub port_choice: Choice,
    /// Hardware addresses. `None`: the port's own.
    pub macs: Option<Macs>,
    /// VLANs. `None`: untagged.
    pub vlans: Option<Vlans>,
}

impl Range {
    /// Whether an address lies in the range.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && self.first <= address && address <= self.last
    }
}

impl Pool {
    /// Whether an address lies in the pool.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.ranges.iter().any(|range| range.contains(address))
    }

    /// Whether its addresses are IPv4. A pool has one family.
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        self.ranges.first().is_some_and(|range| range.first.is_ipv4())
    }
}
