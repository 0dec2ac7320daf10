//! Which worker owns a connection.
//!
//! A frame names its connection by addresses and ports, and each worker computes the same owner from them, at both ends and both ways. A worker
//! takes only ports with which it owns the connection. So both ends of all connections of a flow are one worker's.

use std::net::IpAddr;

use crate::base::hash::{PeerKey, TableKey};

use super::steer::member_of;

/// What keys of owners are for: other keys have smaller numbers, or larger ones.
const PURPOSE: u64 = 7;

/// One end of a connection: its address and port.
pub type At = (IpAddr, u16);

/// The owners of all connections.
///
/// ```
/// use ringway_flows::pools::owners::Owners;
///
/// let owners = Owners::new(42, 3);
/// let [one, other] = [("198.18.0.1".parse()?, 40_000), ("198.19.0.1".parse()?, 80)];
/// assert!(owners.of(one, other) < 3);
/// assert_eq!(owners.of(one, other), owners.of(other, one));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Owners {
    key: TableKey,
    workers: u32,
}

impl Owners {
    /// For so many workers. Processes that share a seed, and have as many workers, agree.
    pub fn new(seed: u64, workers: u32) -> Self {
        Self { key: TableKey::from(PeerKey::new(seed, PURPOSE)), workers }
    }

    /// The worker, from 0, that owns the connection between two ends. Their order does not matter.
    #[inline]
    pub fn of(&self, one: At, other: At) -> u32 {
        let [one, other] = [one, other].map(|(address, port)| self.key.hash(words(address, port)));
        member_of(&self.key, [one.wrapping_add(other)], self.workers)
    }
}

/// An address and a port as words.
#[inline]
fn words(address: IpAddr, port: u16) -> [u64; 3] {
    let bits = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    [(bits >> 64) as u64, bits as u64, port.into()]
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_have_one_owner(a: u32, b: u128, p: u16, q: u16, workers in 1u32..9) {
            let owners = Owners::new(5, workers);
            let [one, other] = [(IpAddr::V4(a.into()), p), (IpAddr::V6(b.into()), q)];
            prop_assert_eq!(owners.of(one, other), owners.of(other, one));
            prop_assert!(owners.of(one, other) < workers);
        }
    }

    #[test]
    fn owners_have_equal_shares() {
        let owners = Owners::new(1, 3);
        let server = (IpAddr::V4(Ipv4Addr::new(198, 19, 0, 1)), 80);
        let mut seen = [0u32; 3];
        for port in 0..30_000 {
            seen[owners.of((IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)), port), server) as usize] += 1;
        }
        assert!(seen.iter().all(|count| count.abs_diff(10_000) < 500), "{seen:?}");
    }
}
