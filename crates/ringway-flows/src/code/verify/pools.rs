//! Checks of pools: ranges, ports, and that they lie where a laboratory may send.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Refusal;
use crate::code::{Bundle, Choice, Pool, Range};

/// What is set aside for tests, for private use and for documentation, as first address and prefix length.
const LABORATORY_V4: [(Ipv4Addr, u32); 7] = [
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
];
const LABORATORY_V6: [(Ipv6Addr, u32); 3] = [
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
/// Largest exponent of a Zipf distribution, in millionths.
pub(super) const MAX_EXPONENT: u64 = 10_000_000;

/// Whether all addresses of a range lie in one block that is set aside for laboratories.
///
/// The blocks: 198.18.0.0/15, 2001:2::/48, the private ones of RFC 1918, and those for documentation.
#[must_use]
pub fn is_laboratory(range: &Range) -> bool {
    match (range.first, range.last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => LABORATORY_V4.iter().any(|(net, len)| {
            [first, last].iter().all(|a| (u32::from(*a) ^ u32::from(*net)) >> (32 - len) == 0)
        }),
        (IpAddr::V6(first), IpAddr::V6(last)) => LABORATORY_V6.iter().any(|(net, len)| {
            [first, last].iter().all(|a| (u128::from(*a) ^ u128::from(*net)) >> (128 - len) == 0)
        }),
        _ => false,
    }
}

/// Looks at all pools.
pub(super) fn check(bundle: &Bundle) -> Result<(), Refusal> {
    for (index, pool) in bundle.pools.iter().enumerate() {
        let refuse = |what: &str| Err(Refusal::of_table("pool", index, what));
        if pool.name as usize >= bundle.names.len() {
            return refuse("its name does not exist");
        }
        if let Err(what) = check_ranges(pool) {
            return refuse(what);
        }
        if bundle.lab.is_empty() && !pool.ranges.iter().all(is_laboratory) {
            return refuse("it has addresses outside the ranges for laboratories");
        }
        if let Err(what) = check_rest(pool) {
            return refuse(what);
        }
    }
    Ok(())
}

/// Its ranges are of one family, in order, and do not overlap.
fn check_ranges(pool: &Pool) -> Result<(), &'static str> {
    if pool.ranges.is_empty() {
        return Err("it has no addresses");
    }
    let mut sorted = pool.ranges.clone();
    sorted.sort_unstable_by_key(|r| r.first);
    for range in &sorted {
        if range.first.is_ipv4() != range.last.is_ipv4() || range.first.is_ipv4() != pool.is_ipv4() {
            return Err("its addresses are not of one family");
        }
        if range.first > range.last {
            return Err("a range ends before it begins");
        }
    }
    if sorted.windows(2).any(|pair| pair[0].last >= pair[1].first) {
        return Err("two of its ranges overlap");
    }
    Ok(())
}

/// Its ports, choices, hardware addresses and VLANs.
fn check_rest(pool: &Pool) -> Result<(), &'static str> {
    if pool.first_port == 0 || pool.first_port > pool.last_port {
        return Err("its ports are no range from 1 on");
    }
    let wild = |choice| matches!(choice, Choice::Zipf { exponent } if exponent > MAX_EXPONENT);
    if wild(pool.choice) || wild(pool.port_choice) {
        return Err("the exponent of a choice is greater than 10");
    }
    if pool.macs.is_some_and(|macs| macs.count == 0 || macs.first[0] & 1 == 1) {
        return Err("its hardware addresses are none, or multicast");
    }
    if pool.vlans.is_some_and(|v| v.first == 0 || v.first > v.last || v.last > 4094) {
        return Err("its VLANs are no range of 1 to 4094");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: &str, last: &str) -> Range {
        Range { first: first.parse().unwrap(), last: last.parse().unwrap() }
    }

    #[test]
    fn ranges_for_laboratories_end_where_they_end() {
        assert!(is_laboratory(&range("198.18.0.0", "198.19.255.255")));
        assert!(!is_laboratory(&range("198.18.0.0", "198.20.0.0")));
        assert!(!is_laboratory(&range("198.17.255.255", "198.18.0.0")));
        assert!(is_laboratory(&range("172.16.0.0", "172.31.255.255")));
        assert!(!is_laboratory(&range("172.32.0.0", "172.32.0.0")));
        assert!(is_laboratory(&range("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff")));
        assert!(!is_laboratory(&range("2001:2:1::", "2001:2:1::")));
        assert!(!is_laboratory(&range("8.8.8.8", "8.8.8.8")));
    }
}
