//! Readers beside a writer: each answer is that of before or after a change, on memory that is used again all the time.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use ringway_fib::generate::{self, Random};
use ringway_fib::{Fib, Isa, Limits, NextHop, Prefix, Reference, Walk};

/// Withdraws and announces routes one after the other while a reader for each kind of lookup compares all that it finds.
fn readers_see_old_or_new<A: Walk>(changes: usize, limits: impl Fn(&Fib<A>) -> Limits) {
    let mut routes = generate::table::<A>(3000, 5);
    let mut random = Random::new(6);
    for k in 0..600 {
        // More next hops than 8 bits can tell apart, and prefixes down to single hosts.
        let base = routes[random.below(routes.len())].0;
        let hosts = u128::MAX.checked_shr(base.len().into()).unwrap_or(0);
        let addr = A::of_key(base.addr().key() | random.next_u128() & hosts);
        let len = base.len() + random.below(usize::from(A::BITS - base.len()) + 1) as u8;
        routes.push((Prefix::new(addr, len).unwrap(), NextHop::new(250 + k).unwrap()));
    }
    routes.sort_unstable_by_key(|r| r.0);
    routes.dedup_by_key(|r| r.0);
    let mut reference = Reference::new();
    reference.extend(routes.iter().copied());
    let keys: Vec<A> = (0..4096)
        .map(|_| {
            let prefix = routes[random.below(routes.len())].0;
            let hosts = u128::MAX.checked_shr(prefix.len().into()).unwrap_or(0);
            A::of_key(prefix.addr().key() | random.next_u128() & hosts)
        })
        .collect();
    let number = |n: Option<NextHop>| n.map_or(0, NextHop::get);
    let first: Vec<u16> = keys.iter().map(|&k| number(reference.lookup(k))).collect();
    let second: Vec<u16> = keys.iter().map(|&k| number(reference.second(k))).collect();

    let roomy = Fib::build(Limits::default(), routes.iter().copied()).unwrap();
    // Hardly more room than is needed: what is given back is used at once.
    let mut fib = Fib::build(limits(&roomy), routes.iter().copied()).unwrap();
    let (stop, bursts) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let start = |isa: Isa| {
            let mut reader = fib.reader().unwrap().with_isa(isa);
            let (keys, first, second, stop, bursts) = (&keys, &first, &second, &stop, &bursts);
            scope.spawn(move || {
                let mut found = [0; 64];
                while !stop.load(Relaxed) {
                    for (at, keys) in (0..).step_by(64).zip(keys.chunks(64)) {
                        reader.view().lookup_burst(keys, &mut found);
                        for (k, &answer) in (at..).zip(&found) {
                            let right = answer == first[k] || answer == second[k];
                            assert!(right, "{isa}: {answer}, not {} or {}", first[k], second[k]);
                        }
                        bursts.fetch_add(1, Relaxed);
                    }
                }
            })
        };
        let readers: Vec<_> = Isa::available().into_iter().map(start).collect();
        for _ in 0..changes {
            let (prefix, next_hop) = routes[random.below(routes.len())];
            // A table this full may refuse: then nothing has changed.
            if fib.withdraw(prefix).is_ok() {
                while fib.insert(prefix, next_hop).is_err() {
                    thread::yield_now(); // until readers have left what was retired
                }
            }
        }
        // One that ended has found something wrong, and says so when it is joined.
        while bursts.load(Relaxed) < 1000 && !readers.iter().any(|r| r.is_finished()) {
            thread::yield_now();
        }
        stop.store(true, Relaxed);
    });
    let found: Vec<u16> = keys.iter().map(|&k| number(fib.lookup(k))).collect();
    assert_eq!(found, first);
}

#[test]
fn ipv4_readers_see_old_or_new() {
    readers_see_old_or_new::<u32>(4_000, |fib| Limits { words: fib.usage().words + 600 });
}

#[test]
fn ipv6_readers_see_old_or_new() {
    readers_see_old_or_new::<u128>(4_000, |fib| Limits { words: fib.usage().words + 600 });
}

/// Memory that a reader may still look at is not used again, however many changes come.
#[test]
fn a_long_view_keeps_what_it_may_see() {
    let mut fib = Fib::<u32>::new(Limits { words: 64 }).unwrap();
    let prefix = |n: u32| Prefix::new(0x0a00_0000 + n * 256, 24).unwrap();
    let mut reader = fib.reader().unwrap();
    fib.insert(prefix(1), NextHop::new(1).unwrap()).unwrap();
    let view = reader.view();
    let refused =
        (2..200).filter(|&n| fib.insert(prefix(n), NextHop::new(n as u16).unwrap()).is_err()).count();
    assert!(refused > 0, "64 words are not enough for all versions of the node");
    assert_eq!(view.lookup(0x0a00_0101), NextHop::new(1));
    let waiting = fib.usage().waiting;
    assert!(waiting > 0);
    drop(view);
    fib.insert(prefix(250), NextHop::new(9).unwrap()).unwrap();
    assert!(fib.usage().waiting < waiting);
}

/// Those who are not registered are waited for by marks.
#[test]
fn held_memory_waits_for_its_release() {
    let mut fib = Fib::<u32>::new(Limits { words: 64 }).unwrap();
    fib.hold();
    let flip = |fib: &mut Fib<u32>, n: u16| {
        let prefix = Prefix::new(0x0a00_0000 + u32::from(n % 2) * 256, 24).unwrap();
        if n % 4 < 2 { fib.insert(prefix, NextHop::new(1).unwrap()) } else { fib.withdraw(prefix) }
    };
    let refused = (0..200).find(|&n| flip(&mut fib, n).is_err()).expect("nothing is used again");
    let mark = fib.mark();
    assert!(flip(&mut fib, refused).is_err());
    fib.release(mark);
    flip(&mut fib, refused).unwrap();
}
