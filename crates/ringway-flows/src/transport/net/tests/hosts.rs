//! Numbers of hosts, against a list of all addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::slice;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::hosts::{HostId, Hosts, TooManyHosts};
use super::{ip, pool};
use crate::code::{Macs, Pool, Range, Vlans};

/// Each address once, with its pool and its place in the pool: the first pool that has it counts.
fn slow(pools: &[Pool]) -> Vec<(IpAddr, u32, u32)> {
    let mut all: Vec<(IpAddr, u32, u32)> = Vec::new();
    for (number, pool) in (0..).zip(pools) {
        let mut member = 0;
        for range in &pool.ranges {
            let mut next = range.first;
            loop {
                if !all.iter().any(|&(address, ..)| address == next) {
                    all.push((next, number, member));
                }
                member += 1;
                if next == range.last {
                    break;
                }
                next = match next {
                    IpAddr::V4(address) => Ipv4Addr::from(u32::from(address) + 1).into(),
                    IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) + 1).into(),
                };
            }
        }
    }
    all
}

/// A pool of ranges in the first or last 64 addresses of a family, without overlap.
fn small_pool() -> impl Strategy<Value = Pool> {
    let ranges = vec((0..64u32, 1..9u32), 1..4);
    (ranges, any::<bool>(), any::<bool>(), 1..7u32, 1..5u16).prop_map(
        |(mut parts, is_v4, at_end, macs, vlans)| {
            parts.sort_unstable();
            let mut next = 0;
            let mut made = pool("10.0.0.0", "10.0.0.0");
            made.ranges = Vec::new();
            for (start, len) in parts {
                let (first, last) = (start.max(next), start.max(next) + len - 1);
                next = last + 1;
                let address = |place: u32| match (is_v4, at_end) {
                    (true, false) => Ipv4Addr::from(place).into(),
                    (true, true) => Ipv4Addr::from(u32::MAX - 96 + place).into(),
                    (false, false) => Ipv6Addr::from(u128::from(place)).into(),
                    (false, true) => Ipv6Addr::from(u128::MAX - 96 + u128::from(place)).into(),
                };
                made.ranges.push(Range { first: address(first), last: address(last) });
            }
            made.macs = Some(Macs { first: [2, 0, 0, 0, 0, 0xfe], count: macs });
            made.vlans = Some(Vlans { first: 10, last: 9 + vlans });
            made
        },
    )
}

proptest! {
    #[test]
    fn as_the_list_has_it(pools in vec(small_pool(), 1..14)) {
        let (hosts, all) = (Hosts::new(&pools).unwrap(), slow(&pools));
        prop_assert_eq!(hosts.len() as usize, all.len());
        for (number, &(address, pool, member)) in (0..).zip(&all) {
            let id = HostId(number);
            prop_assert_eq!(hosts.find(address), Some(id));
            prop_assert_eq!((hosts.address(id), hosts.pool(id), hosts.is_v4(id)), (address, pool, address.is_ipv4()));
            let host = hosts.host(id);
            let (macs, vlans) = (pools[pool as usize].macs.unwrap(), pools[pool as usize].vlans.unwrap());
            let low = 0xfe + member % macs.count;
            prop_assert_eq!(host.mac([9; 6]), [2, 0, 0, 0, (low >> 8) as u8, low as u8]);
            prop_assert_eq!(u32::from(host.vlan()), 10 + member % u32::from(vlans.last - 9));
        }
        for place in 0..100 {
            for address in [place, u32::MAX - place] {
                let address = IpAddr::from(Ipv4Addr::from(address));
                prop_assert_eq!(hosts.find(address).is_some(), all.iter().any(|&(other, ..)| other == address));
            }
        }
    }
}

#[test]
fn pools_without_macs_and_vlans_have_those_of_the_port() {
    let hosts = Hosts::new(&[pool("10.0.0.0", "10.0.0.9")]).unwrap();
    let host = hosts.host(HostId(3));
    assert_eq!((host.mac([9; 6]), host.vlan()), ([9; 6], 0));
}

#[test]
fn more_addresses_than_numbers_are_refused() {
    let small = pool("10.0.0.0", "10.0.0.0");
    let whole = pool("0.0.0.0", "255.255.255.255");
    let wide = pool("2001:2::", "2001:2:0:0:ffff:ffff:ffff:ffff");
    let all = pool("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    for large in [&whole, &wide, &all] {
        let refused = Hosts::new(&[small.clone(), large.clone()]);
        assert_eq!(refused.err(), Some(TooManyHosts { pool: 1 }));
    }
    let text = TooManyHosts { pool: 1 }.to_string();
    assert_eq!(text, "pool 1: with it, all pools have more than 4294967295 addresses; give it fewer");
    let most = pool("0.0.0.0", "255.255.255.253");
    let hosts = Hosts::new(slice::from_ref(&most)).unwrap();
    assert_eq!(hosts.address(hosts.find(ip("255.255.255.253")).unwrap()), ip("255.255.255.253"));
    assert_eq!(hosts.find(ip("255.255.255.254")), None);
    assert!(Hosts::new(&[most, pool("2001:2::", "2001:2::1")]).is_err());
}
