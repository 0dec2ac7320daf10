//! The real tables and the real trace of updates, with longer prefixes mixed in. Skips, loudly, without the data.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

use std::path::PathBuf;

use ringway_fib::generate::Random;
use ringway_fib::{Fib, Isa, Limits, NextHop, Prefix, Reference, Walk, text};

/// Updates between two comparisons.
const BATCH: usize = 2000;

/// Bytes of a whole table at most: the second cache of a processor.
const SIZE: usize = 2 << 20;

/// Addresses compared each time.
const PROBES: usize = 20_000;

fn folder() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("RINGWAY_DATA").map_or(beside, PathBuf::from).join("fib");
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("SKIP: NO TABLES IN {}; SET RINGWAY_DATA TO THE FOLDER THAT HOLDS fib/", folder.display());
    None
}

fn compare<A: Walk>(fib: &Fib<A>, reference: &Reference<A>, probes: &[A]) {
    let expected: Vec<u16> = probes.iter().map(|&a| reference.lookup(a).map_or(0, NextHop::get)).collect();
    for isa in Isa::available() {
        let mut found = vec![0; probes.len()];
        fib.reader().unwrap().with_isa(isa).view().lookup_burst(probes, &mut found);
        let wrong = (0..probes.len()).find(|&k| found[k] != expected[k]);
        let detail = |k: usize| {
            let single = fib.lookup(probes[k]).map_or(0, NextHop::get);
            let (found, expected) = (found[k], expected[k]);
            format!("{isa}: {} leads to {expected}, not {found} (alone: {single})", probes[k].text())
        };
        assert!(wrong.is_none(), "{}", wrong.map(detail).unwrap_or_default());
    }
}

fn follows_the_real_trace<A: Walk>(table: &str) {
    let Some(folder) = folder() else { return };
    let routes = text::table::<A>(&text::read(&folder.join(table)).unwrap()).unwrap();
    let updates = text::read(&folder.join("updates-2019-01-01.txt.xz")).unwrap();
    let updates = text::updates::<A>(&updates).unwrap();
    let mut random = Random::new(9);
    let mut host = |prefix: Prefix<A>| {
        let hosts = u128::MAX.checked_shr(prefix.len().into()).unwrap_or(0);
        A::of_key(prefix.addr().key() | random.next_u128() & hosts)
    };
    let mut probes: Vec<A> = (0..PROBES).map(|k| host(routes[k * 7919 % routes.len()].0)).collect();
    probes.extend(updates.iter().map(|u| host(u.0)));
    let mut random = Random::new(10);
    let longer: Vec<_> = (0..20_000u16)
        .map(|k| {
            let len = A::BITS - random.below(usize::from(A::BITS) / 4) as u8;
            (
                Prefix::new(probes[random.below(probes.len())], len).unwrap(),
                NextHop::new(200 + k % 700).unwrap(),
            )
        })
        .collect();
    probes.extend(longer.iter().map(|r| r.0.addr()));
    let sample: Vec<A> = (0..PROBES).map(|_| probes[random.below(probes.len())]).collect();

    let mut fib = Fib::build(Limits::default(), routes.iter().copied()).unwrap();
    let usage = fib.usage();
    assert!(usage.bytes <= SIZE && usage.spread <= SIZE, "{usage:?}");
    let mut reference = Reference::new();
    reference.extend(routes.iter().copied());
    compare(&fib, &reference, &probes);
    let announced = longer.iter().map(|&(p, n)| (p, Some(n)));
    let changes = updates.into_iter().chain(announced).chain(longer.iter().map(|r| (r.0, None)));
    for (number, batch) in changes.collect::<Vec<_>>().chunks(BATCH).enumerate() {
        for &(prefix, next_hop) in batch {
            let (before, expected) = match next_hop {
                Some(n) => (fib.insert(prefix, n).unwrap(), reference.insert(prefix, n)),
                None => (fib.withdraw(prefix).unwrap(), reference.withdraw(prefix)),
            };
            assert_eq!(before, expected, "{prefix}");
        }
        eprintln!("batch {number}");
        compare(&fib, &reference, &sample);
    }
    compare(&fib, &reference, &probes);
    assert_eq!(fib.len(), reference.len());
    let rebuilt = Fib::build(Limits::default(), fib.routes()).unwrap();
    compare(&rebuilt, &reference, &probes);
}

#[test]
fn ipv4_follows_the_real_trace() {
    follows_the_real_trace::<u32>("v4-2026-06-19.txt.xz");
}

#[test]
fn ipv6_follows_the_real_trace() {
    follows_the_real_trace::<u128>("v6-2026-06-19.txt.xz");
}
