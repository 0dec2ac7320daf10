//! Which member of a class a tuple belongs to.
//!
//! The first packet of a flow says no story. Stories with the same protocol and server port form a class. The client takes
//! a port with which the hash of the tuple names its story, and the server computes the same hash.

use crate::base::hash::TableKey;

/// The member, below `members`, to which a tuple belongs. Both ends have the key from the file's seed. Each member has
/// the same share of tuples, so a client finds a port after `members` attempts on average.
///
/// `tuple` has addresses, ports and protocol packed into words, alike at both ends.
///
/// ```
/// use ringway_flows::base::hash::{PeerKey, TableKey};
/// use ringway_flows::pools::{pairs::{Pairs, Ports}, steer::member_of};
///
/// let key = TableKey::from(PeerKey::new(42, 3));
/// let tuple = |port: u16| [0xc612_0001_c613_0001, u64::from(port) << 16 | 80];
/// let mut pairs = Pairs::new(1, Ports::new(10_000, 60_999).unwrap())?;
/// let port = pairs.take(0, |port| member_of(&key, tuple(port), 5) == 2)?;
/// assert_eq!(member_of(&key, tuple(port), 5), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn member_of<const N: usize>(key: &TableKey, tuple: [u64; N], members: u32) -> u32 {
    if members <= 1 {
        return 0;
    }
    ((u128::from(key.hash(tuple)) * u128::from(members)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hash::PeerKey;

    #[test]
    fn members_have_equal_shares() {
        let key = TableKey::from(PeerKey::new(1, 2));
        for members in [2, 3, 7, 64] {
            let mut seen = vec![0u32; members as usize];
            for port in 0..50_000u64 {
                seen[member_of(&key, [7, port << 16 | 80], members) as usize] += 1;
            }
            let mean = 50_000 / members;
            assert!(seen.iter().all(|n| n.abs_diff(mean) < 5 * mean.isqrt()), "{members}: {seen:?}");
        }
        assert_eq!((member_of(&key, [1], 0), member_of(&key, [1], 1)), (0, 0));
    }

    /// From a second implementation, in Python.
    #[test]
    fn golden_members() {
        let key = TableKey::from(PeerKey::new(42, 3));
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|port| member_of(&key, [port], 10)),
            [0, 3, 7, 4, 6, 4, 5, 8]
        );
    }
}
