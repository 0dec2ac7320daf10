//! Tables against the slow and obvious match, after every batch of changes.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

use proptest::prelude::*;
use ringway_fib::{
    Address, Fib, Fib4, Fib6, FibError, Foreign, Isa, Layout, Limits, NextHop, Prefix, Reference, Walk,
    generate,
};

/// A change: which prefix, of which length, to which next hop; 0 withdraws.
type Change = (u64, u8, u16);

/// Few different bits at each place, so that prefixes nest, touch and repeat.
fn addr<A: Address>(seed: u64) -> A {
    let pick = |k: u64, choices: &[u128]| choices[(seed >> k) as usize % choices.len()];
    let parts = [
        pick(0, &[0x2001, 0x2001, 0x2a00, 0x0a00, 0]) << 112,
        pick(3, &[0x00, 0x01, 0x80, 0xff]) << 104,
        pick(5, &[0x00, 0x40, 0x41, 0xff]) << 96,
        pick(7, &[0x00, 0x01, 0x10, 0x80, 0xc0, 0xff]) << 88 | u128::from(seed >> 40 & 0xff) << 80,
        pick(11, &[0, 1, 0xffff, 0x8000]) << 64,
        pick(13, &[0, 1, u128::from(u64::MAX), u128::from(seed)]),
    ];
    A::of_key(parts.iter().fold(0, |a, b| a | b))
}

fn prefix<A: Address>(seed: u64, len: u8) -> Prefix<A> {
    Prefix::new(addr::<A>(seed), len.min(A::BITS)).unwrap()
}

/// Next hops of all widths of leaves.
fn next_hop(n: u16) -> Option<NextHop> {
    NextHop::new(if n.is_multiple_of(7) { n.wrapping_mul(9301) } else { n % 11 })
}

fn batches(max_len: u8) -> impl Strategy<Value = Vec<Vec<Change>>> {
    let change = (any::<u64>(), 0..=max_len, prop_oneof![Just(0), 1..2000u16]);
    prop::collection::vec(prop::collection::vec(change, 1..60), 1..8)
}

/// The edges of every prefix, and addresses around the places that prefixes come from.
fn probes<A: Walk>(batches: &[Vec<Change>]) -> Vec<A> {
    let mut out = vec![A::of_key(0), A::of_key(u128::MAX)];
    for &(seed, len, _) in batches.iter().flatten() {
        let first = prefix::<A>(seed, len).addr().key();
        let bits = u32::from(len.min(A::BITS));
        let last = first | u128::MAX.checked_shr(bits).unwrap_or(0);
        let keys = [first, last, first.wrapping_sub(1), last.wrapping_add(1), addr::<A>(seed ^ 0xabc).key()];
        out.extend(keys.map(A::of_key));
        let step = 1u128 << (128 - u32::from(A::BITS));
        out.extend([first.wrapping_sub(step), last.wrapping_add(step)].map(A::of_key));
    }
    out
}

fn check<A: Walk>(fib: &Fib<A>, model: &Reference<A>, probes: &[A]) {
    assert_eq!(fib.len(), model.len());
    let expected: Vec<u16> = probes.iter().map(|&a| model.lookup(a).map_or(0, NextHop::get)).collect();
    for (&probe, &expected) in probes.iter().zip(&expected) {
        assert_eq!(fib.lookup(probe).map_or(0, NextHop::get), expected, "{}", probe.text());
    }
    for isa in Isa::available() {
        let mut reader = fib.reader().unwrap().with_isa(isa);
        let mut found = vec![0; probes.len()];
        for (probes, found) in probes.chunks(77).zip(found.chunks_mut(77)) {
            reader.view().lookup_burst(probes, found);
        }
        assert_eq!(found, expected, "{isa}");
    }
}

/// Single changes and batches, on a table that grows and shrinks.
fn follow<A: Walk>(batches: &[Vec<Change>]) {
    let mut fib = Fib::<A>::new(Limits::default()).unwrap();
    let mut model = Reference::new();
    let probes = probes(batches);
    for (k, batch) in batches.iter().enumerate() {
        let changes: Vec<_> =
            batch.iter().map(|&(seed, len, n)| (prefix::<A>(seed, len), next_hop(n))).collect();
        if k % 3 == 2 {
            fib.apply(changes.iter().copied()).unwrap();
        }
        for &(prefix, next_hop) in &changes {
            let expected = match next_hop {
                Some(n) => model.insert(prefix, n),
                None => model.withdraw(prefix),
            };
            if k % 3 != 2 {
                let before = match next_hop {
                    Some(n) => fib.insert(prefix, n),
                    None => fib.withdraw(prefix),
                };
                assert_eq!(before.unwrap(), expected, "{prefix}");
            }
        }
        assert!(changes.iter().all(|(prefix, _)| fib.get(*prefix) == model.get(*prefix)));
        check(&fib, &model, &probes);
    }
    let built = Fib::build(Limits::default(), fib.routes()).unwrap();
    check(&built, &model, &probes);
    assert_eq!(built.routes(), fib.routes());
    for (prefix, _) in fib.routes() {
        fib.withdraw(prefix).unwrap();
    }
    check(&fib, &Reference::new(), &probes);
    fib.release(fib.mark());
    let empty = Fib::<A>::new(Limits::default()).unwrap().usage();
    assert_eq!((fib.usage().nodes, fib.usage().words), (empty.nodes, empty.words), "nothing is left in use");
}

/// Changes that do not fit leave the table as it was.
fn overflow<A: Walk>(batches: &[Vec<Change>], limits: Limits) -> usize {
    let mut fib = Fib::<A>::new(limits).unwrap();
    let mut model = Reference::new();
    let probes = probes(batches);
    let mut refused = 0;
    for batch in batches {
        for &(seed, len, n) in batch {
            let (prefix, next_hop) = (prefix::<A>(seed, len), next_hop(n));
            let done = match next_hop {
                Some(n) => fib.insert(prefix, n),
                None => fib.withdraw(prefix),
            };
            match done {
                Ok(_) => drop(match next_hop {
                    Some(n) => model.insert(prefix, n),
                    None => model.withdraw(prefix),
                }),
                Err(FibError::Full { .. }) => refused += 1,
                Err(e) => panic!("{e}"),
            }
        }
        check(&fib, &model, &probes);
        let changes = batch.iter().map(|&(seed, len, n)| (prefix::<A>(seed ^ 0x77, len), next_hop(n)));
        let changes: Vec<_> = changes.collect();
        if fib.apply(changes.iter().copied()).is_ok() {
            for (prefix, next_hop) in changes {
                match next_hop {
                    Some(n) => drop(model.insert(prefix, n)),
                    None => drop(model.withdraw(prefix)),
                }
            }
        } else {
            refused += 1;
        }
        check(&fib, &model, &probes);
    }
    refused
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn ipv4_follows_the_model(batches in batches(32)) {
        follow::<u32>(&batches);
    }

    #[test]
    fn ipv6_follows_the_model(batches in batches(128)) {
        follow::<u128>(&batches);
    }

    #[test]
    fn full_ipv4_tables_stay_as_they_are(batches in batches(32), words in 10..400u32) {
        overflow::<u32>(&batches, Limits { words });
    }

    #[test]
    fn full_ipv6_tables_stay_as_they_are(batches in batches(128), words in 0..600u32) {
        overflow::<u128>(&batches, Limits { words });
    }
}

/// 16 bits with more runs than a bucket has room for, and back.
#[test]
fn buckets_become_nodes_and_nodes_buckets() {
    let mut fib = Fib6::new(Limits::default()).unwrap();
    let mut model = Reference::new();
    let route = |k: u128| Prefix::new(0x2001_0db8 << 96 | k << 80, 48).unwrap();
    let probes: Vec<u128> = (0..400u128).map(|k| 0x2001_0db8 << 96 | k << 79).collect();
    let order = (0..150u128).chain((0..150).rev()).map(|k| k * 37 % 150);
    for (n, k) in order.enumerate() {
        let prefix = route(k);
        if n < 150 {
            let next_hop = NextHop::new(n as u16 * 5 + 1).unwrap();
            fib.insert(prefix, next_hop).unwrap();
            model.insert(prefix, next_hop);
        } else {
            fib.withdraw(prefix).unwrap();
            model.withdraw(prefix);
        }
        check(&fib, &model, &probes);
        fib.release(fib.mark()); // takes back what went out of sight
        match n {
            9 | 289 => assert_eq!(fib.usage().nodes, 0, "ten routes are a bucket"),
            149 => assert!(fib.usage().nodes > 0, "150 routes are nodes"),
            _ => {}
        }
    }
    assert!(fib.is_empty());
}

/// A route that goes and comes back is stored in place: nothing goes out of sight.
#[test]
fn flapping_routes_make_nothing_anew() {
    fn flap<A: Walk>(routes: &[&str], flapping: &str) {
        let flapping: Prefix<A> = flapping.parse().unwrap();
        let routes = routes
            .iter()
            .enumerate()
            .map(|(k, text)| (text.parse().unwrap(), NextHop::new(1 + k as u16).unwrap()));
        let mut model = Reference::new();
        model.extend(routes.clone());
        let mut fib = Fib::<A>::build(Limits::default(), routes).unwrap();
        let key = flapping.addr().key();
        let probes: Vec<A> = (0..128).map(|bit| A::of_key(key ^ 1 << bit)).collect();
        let next_hop = NextHop::new(99).unwrap();
        fib.insert(flapping, next_hop).unwrap();
        let waiting = fib.usage().waiting;
        for _ in 0..50 {
            fib.withdraw(flapping).unwrap();
            check(&fib, &model, &probes);
            fib.insert(flapping, next_hop).unwrap();
            assert_eq!(fib.lookup(flapping.addr()), Some(next_hop));
        }
        assert_eq!(fib.usage().waiting, waiting);
    }
    flap::<u32>(&["10.1.0.0/16", "10.1.7.0/24", "10.1.200.0/22"], "10.1.80.0/21");
    flap::<u32>(&["10.1.2.0/24", "10.1.2.16/28"], "10.1.2.64/27");
    flap::<u128>(&["2001:db8::/32", "2001:db8:7::/48"], "2001:db8:8000::/40");
    flap::<u128>(&["2001:db8::/32", "2001:db8:7::/48"], "2001:db8:8040::/44");
    let dense: Vec<String> = (0..100).map(|k| format!("2001:db8:{k:x}00::/42")).collect();
    flap::<u128>(&dense.iter().map(String::as_str).collect::<Vec<_>>(), "2001:db8:1080::/45");
}

/// 16 bits with about as many runs as a bucket has room for: whether they fit is only known once all are counted.
#[test]
fn longer_prefixes_below_steps_that_nearly_fit() {
    for dense in 12..24u128 {
        let mut fib = Fib6::new(Limits::default()).unwrap();
        let mut model = Reference::new();
        let put = |fib: &mut Fib6, model: &mut Reference<u128>, addr: u128, len: u8, n: u16| {
            let (prefix, next_hop) = (Prefix::new(addr, len).unwrap(), NextHop::new(n).unwrap());
            fib.insert(prefix, next_hop).unwrap();
            model.insert(prefix, next_hop);
        };
        let base = 0x2409_8750u128 << 96;
        put(&mut fib, &mut model, base, 32, 110);
        let after = 0x8c; // the slot of the longer prefixes: they are made before the count is over
        (0..dense)
            .for_each(|k| put(&mut fib, &mut model, base | (after + 2 * k) << 88, 40, 1 + k as u16 % 7));
        let host = base | 0x8a79_b8ca_10d2_bf9e_5965_34cd;
        for len in [128, 96, 80, 73, 64, 57, 49] {
            put(&mut fib, &mut model, host, len, u16::from(len) * 3);
            let probes: Vec<u128> = (0..128).map(|bit| host ^ 1 << bit).collect();
            check(&fib, &model, &probes);
        }
    }
}

#[test]
fn every_next_hop_can_be_told_apart() {
    let mut fib = Fib4::new(Limits::default()).unwrap();
    let routes = (1..=u16::MAX).map(|n| {
        let prefix = Prefix::new(0x0a00_0000 + u32::from(n) * 256, 24).unwrap();
        (prefix, NextHop::new(n))
    });
    fib.apply(routes.clone()).unwrap();
    assert_eq!(fib.len(), 65535);
    for (prefix, next_hop) in routes {
        assert_eq!(fib.lookup(prefix.addr() + 255), next_hop);
    }
}

#[test]
fn a_full_table_says_which_part_is_full() {
    let mut fib = Fib4::new(Limits { words: 44 }).unwrap();
    let insert = |fib: &mut Fib4, text: &str| fib.insert(text.parse().unwrap(), NextHop::new(1).unwrap());
    insert(&mut fib, "10.0.0.1/32").unwrap();
    let used = |fib: &Fib4| (fib.usage().nodes, fib.usage().words);
    let before = used(&fib);
    let e = insert(&mut fib, "10.0.1.1/32").unwrap_err().to_string();
    assert_eq!(e, "table full: no room in 44 words; make it with larger Limits::words");
    assert_eq!((fib.len(), used(&fib)), (1, before));
    assert_eq!(fib.lookup(0x0a00_0101), None);
    assert_eq!(fib.lookup(0x0a00_0001), NextHop::new(1));
    insert(&mut fib, "10.0.0.0/8").unwrap();
    assert_eq!(fib.lookup(0x0a00_0101), NextHop::new(1));
    fib.withdraw("10.0.0.0/8".parse().unwrap()).unwrap();
    assert_eq!(fib.lookup(0x0a00_0101), None);
}

/// Routes that share nothing need the most memory.
#[test]
fn limits_for_routes_hold_scattered_hosts() {
    fn fill<A: Walk>(count: usize) {
        let mut random = generate::Random::new(11);
        let mut host = || {
            let key = random.next_u128();
            let next_hop = NextHop::new(1 + (key >> 100) as u16 % 5000).unwrap(); // the same for one that comes twice
            (Prefix::new(A::of_key(key), A::BITS).unwrap(), next_hop)
        };
        let routes: Vec<_> = (0..count).map(|_| host()).collect();
        let fib = Fib::build(Limits::for_routes(count), routes.iter().copied()).unwrap();
        assert!(fib.usage().words > Limits::default().words);
        assert!(routes.iter().all(|(prefix, next_hop)| fib.lookup(prefix.addr()) == Some(*next_hop)));
    }
    fill::<u32>(120_000);
    fill::<u128>(100_000);
}

/// The same bytes in memory of somebody else's, and in a copy at another address.
#[test]
fn tables_can_lie_anywhere() {
    let limits = Limits { words: 4000 };
    let size = Fib4::layout(limits).size;
    let mut memory = vec![0u64; size / 8];
    let base = std::ptr::NonNull::new(memory.as_mut_ptr().cast()).unwrap();
    // SAFETY: `memory` outlives the table, and nobody else touches it meanwhile.
    let mut fib = Fib4::in_memory(unsafe { Foreign::new(base, size) }, limits).unwrap();
    fib.insert("10.1.0.0/17".parse().unwrap(), NextHop::new(3).unwrap()).unwrap();
    fib.insert("10.1.2.3/32".parse().unwrap(), NextHop::new(4000).unwrap()).unwrap();
    assert_eq!(fib.lookup(0x0a01_0203), NextHop::new(4000));
    let layout = Fib4::layout(limits);
    let bytes = fib.bytes();
    drop(fib);
    assert_eq!(walk(&bytes, &layout, 0x0a01_0203), 4000);
    assert_eq!(walk(&bytes, &layout, 0x0a01_0204), 3);
    assert_eq!(walk(&bytes, &layout, 0x0a01_8000), 0);
}

/// The walk of IPv4 as another reader would write it, from the documented layout alone.
fn walk(bytes: &[u8], layout: &Layout, addr: u32) -> u32 {
    let number = |at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b)) // little-endian
    };
    let leaf = |handle: u64, slot: u64| {
        let node = layout.words_at + (handle & 0x7fff_fff8) as usize;
        let quarter = (slot / 64) as usize;
        let bits = number(node + 8 * quarter, 8) << (63 - slot % 64);
        let run = number(node + 32 + quarter, 1) as usize + bits.count_ones() as usize;
        let width = 1 << (handle & 3);
        number(node + 36 + run * width, width)
    };
    let top = number((addr >> 16) as usize * 4, 4);
    let found = leaf(top, u64::from(addr >> 8 & 0xff));
    (if found >> 31 == 0 { found } else { leaf(found, u64::from(addr & 0xff)) }) as u32
}
