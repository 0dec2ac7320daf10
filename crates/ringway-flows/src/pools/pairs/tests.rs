use std::collections::{HashSet, VecDeque};

use proptest::prelude::*;

use super::*;

fn ports(first: u16, last: u16) -> Ports {
    Ports::new(first, last).unwrap()
}

proptest! {
    #[test]
    fn each_pair_once_at_a_time_and_none_forgotten(
        first in 1u16..60_000, count in 1u16..200, addresses in 1u32..5,
        steps in proptest::collection::vec((any::<bool>(), any::<u32>(), 0u16..4), 1..800),
    ) {
        let range = ports(first, first + count - 1);
        let mut pairs = Pairs::new(addresses, range).unwrap();
        let mut used: HashSet<(u32, u16)> = HashSet::new();
        for (take, pick, odd) in steps {
            let address = pick % addresses;
            if take {
                let accept = |port: u16| odd == 0 || port % 4 != odd;
                let free = |port: &u16| !used.contains(&(address, *port));
                let any_free = (range.first..=range.last).any(|port| free(&port));
                let any_fits = (range.first..=range.last).filter(free).any(accept);
                match pairs.take(address, accept) {
                    Ok(port) => {
                        prop_assert!((range.first..=range.last).contains(&port) && accept(port));
                        prop_assert!(used.insert((address, port)), "{address} {port} is used");
                    }
                    Err(NoPort::Exhausted) => prop_assert!(!any_free),
                    Err(NoPort::Refused) => prop_assert!(any_free && !any_fits),
                }
            } else if let Some(&(address, port)) = used.iter().nth(pick as usize % used.len().max(1)) {
                used.remove(&(address, port));
                prop_assert!(pairs.give(address, port));
                prop_assert!(!pairs.give(address, port), "given back twice");
            }
            prop_assert_eq!(pairs.used(), used.len() as u64);
        }
    }

    #[test]
    fn a_pair_is_used_again_after_all_others(count in 2u16..200, live in 1u16..200) {
        let live = live.min(count - 1);
        let mut pairs = Pairs::new(1, ports(1000, 1000 + count - 1)).unwrap();
        let mut flows = VecDeque::new();
        for turn in 0..3 * count {
            if flows.len() == usize::from(live) {
                pairs.give(0, flows.pop_front().unwrap());
            }
            let port = pairs.take(0, |_| true).unwrap();
            prop_assert_eq!(port, 1000 + turn % count);
            flows.push_back(port);
        }
    }
}

#[test]
fn every_pair_is_found_before_the_pool_is_exhausted() {
    for range in [ports(1, 65_535), ports(10_000, 10_063), ports(10_000, 10_064), ports(65_535, 65_535)] {
        let mut pairs = Pairs::new(3, range).unwrap();
        let mut seen = HashSet::new();
        while let Ok(pair) = pairs.take_near(1, |_, _| true) {
            assert!(seen.insert(pair));
        }
        assert_eq!((seen.len() as u64, pairs.used()), (pairs.pairs(), pairs.pairs()));
        assert_eq!(pairs.take_near(2, |_, _| true), Err(NoPort::Exhausted));
        assert!(pairs.give(2, range.last));
        assert_eq!(pairs.take_near(0, |_, _| true), Ok((2, range.last)));
    }
}

#[test]
fn refusals_are_bounded() {
    let mut pairs = Pairs::new(1, ports(1, 65_535)).unwrap();
    let mut asked = 0;
    let refused = pairs.take(0, |_| {
        asked += 1;
        false
    });
    assert_eq!((refused, asked), (Err(NoPort::Refused), TRIES));

    let mut few = Pairs::new(1, ports(1, 100)).unwrap();
    (1..=70).for_each(|port| assert_eq!(few.take(0, |_| true), Ok(port)));
    few.give(0, 3);
    let mut asked = Vec::new();
    let refused = few.take(0, |port| {
        asked.push(port);
        false
    });
    assert_eq!(refused, Err(NoPort::Refused));
    assert_eq!(asked, (71..=100).chain([3]).collect::<Vec<_>>(), "each free port once, in turn");
    assert_eq!(pairs.take(0, |_| true), Ok(1), "a refused port stays free");
}

#[test]
fn wrong_ports_and_pairs_are_refused() {
    assert_eq!((Ports::new(0, 5), Ports::new(6, 5)), (None, None));
    let mut pairs = Pairs::new(1, ports(100, 200)).unwrap();
    assert!(!pairs.give(0, 99) && !pairs.give(0, 201) && !pairs.give(0, 150));
    assert_eq!(Pairs::bytes(16_382, ports(10_000, 60_999)), 16_382 * (797 * 8 + 4));
}
