//! The forwarding table under senders who choose their addresses. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod switch;

use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use ringway::Port;
use ringway::switch::{FdbEntry, Switch, SwitchSpec};
use ringway_wire::MacAddr;

use switch::{Temporary, assert_closed, receive, send};

const ALL: [u8; 6] = [0xff; 6];
/// Places of a bucket that one port may have.
const SHARE: usize = 6;
/// Where the secrets of the table are in its map.
const SECRETS: usize = 131_072 * 8 + 16 + 256 * 4;

/// Key and factor of the table, as root reads them.
fn keyed(switch: &Switch) -> [u64; 2] {
    let fdb = MapHandle::from_pinned_path(switch::dir(switch.name()).join("fdb")).unwrap();
    let value = fdb.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
    [0, 8].map(|at| u64::from_ne_bytes(value[SECRETS + at..SECRETS + at + 8].try_into().unwrap()))
}

/// The numbers of a table without secrets.
const UNKEYED: [u64; 2] = [0, 0x9E37_79B9_7F4A_7C15];

/// Addresses that share one bucket of the table: as many as wanted, by the steps of `mix` in bpf/switch/fdb.h.
fn of_one_bucket(count: usize, [key, factor]: [u64; 2]) -> Vec<[u8; 6]> {
    const MASK: u64 = (1 << 60) - 1;
    let bucket = |address: u64| {
        let k = (address ^ key).wrapping_mul(factor) & MASK;
        ((k ^ k >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93) & MASK) >> 46
    };
    let address = |n: u64| 2 | n << 8;
    (0..)
        .map(address)
        .filter(|&k| bucket(k) == 77)
        .take(count)
        .map(|k| k.to_le_bytes()[..6].try_into().unwrap())
        .collect()
}

fn from_mac(to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
    [&to[..], &from, &[0; 48]].concat()
}

/// Sends frames to all from these addresses.
fn speak(port: &mut Port, macs: &[[u8; 6]]) {
    send(port, &macs.iter().map(|&m| from_mac(ALL, m)).collect::<Vec<_>>());
}

/// Addresses that were learned of a port.
fn learned(switch: &Switch, port: u32) -> usize {
    let all = switch.fdb();
    let n = all.iter().filter(|e| e.port == Some(port) && e.age.is_some()).count();
    assert_eq!(switch.stats()[port as usize - 1].addresses as usize, n, "the count of port {port}");
    n
}

fn is_on(switch: &Switch, mac: [u8; 6], port: u32) -> bool {
    switch.fdb().iter().any(|e| e.mac.0 == mac && e.port == Some(port))
}

/// A sender does not know which addresses share a bucket: he can't keep a station from being learned.
#[test]
fn who_does_not_know_the_key_fills_no_bucket() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut bad, mut victim, mut sender] = switch.ports();
    let macs = of_one_bucket(9, UNKEYED);
    speak(&mut bad, &macs[..8]);
    speak(&mut victim, &macs[8..]);
    assert_eq!([learned(&switch, 1), learned(&switch, 2)], [8, 1]);
    assert_eq!(switch.stats()[1].unlearned, 0);
    [&mut bad, &mut victim].into_iter().for_each(|p| _ = receive(p));
    send(&mut sender, &[from_mac(macs[8], [2, 0, 0, 0, 0, 3])]);
    assert_eq!([receive(&mut bad).len(), receive(&mut victim).len()], [0, 1]);
    assert_closed(&switch);
}

#[test]
fn keys_are_secret_stay_and_differ() {
    let spec = SwitchSpec::default();
    let (Some(one), Some(two)) = (Temporary::new(&spec), Temporary::new(&spec)) else { return };
    let [mut a, mut b, mut c] = one.ports();
    let key = keyed(&one);
    assert!(key[0] != 0 && key[1] & 1 == 1 && key != keyed(&two));
    let mode = std::fs::metadata(switch::dir(one.name()).join("fdb")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let macs = of_one_bucket(2, key);
    speak(&mut b, &macs[..1]);
    receive(&mut c);
    one.reload().unwrap();
    assert_eq!(keyed(&one), key);
    send(&mut a, &[from_mac(macs[0], macs[1])]);
    assert_eq!([receive(&mut b).len(), receive(&mut c).len()], [1, 0], "known over a reload");
    assert!(is_on(&one, macs[0], 2) && is_on(&one, macs[1], 1));
}

#[test]
fn a_port_has_six_places_of_a_bucket() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b, mut c] = switch.ports();
    let macs = of_one_bucket(20, keyed(&switch));
    speak(&mut a, &macs[..10]);
    assert_eq!(learned(&switch, 1), SHARE);
    assert!(is_on(&switch, macs[9], 1), "it displaces one of its own");
    speak(&mut b, &macs[10..11]);
    speak(&mut c, &macs[11..12]);
    assert!(is_on(&switch, macs[10], 2) && is_on(&switch, macs[11], 3), "others find places");
    // Now all eight are taken: each port displaces one of its own.
    speak(&mut b, &macs[12..13]);
    assert_eq!([1, 2, 3].map(|p| learned(&switch, p)), [SHARE, 1, 1]);
    assert!(is_on(&switch, macs[12], 2));
    assert_eq!(switch.stats().iter().map(|s| s.unlearned).sum::<u64>(), 0);
    assert_closed(&switch);
}

/// Stations that move bring a port no more than its share either.
#[test]
fn addresses_that_move_count() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b, mut c] = switch.ports();
    let macs = of_one_bucket(12, keyed(&switch));
    speak(&mut a, &macs[..6]);
    speak(&mut b, &macs[6..8]);
    speak(&mut a, &macs[6..8]);
    assert_eq!([learned(&switch, 1), learned(&switch, 2)], [SHARE, 0]);
    assert!(is_on(&switch, macs[6], 1) && is_on(&switch, macs[7], 1));
    speak(&mut c, &macs[8..9]);
    assert!(is_on(&switch, macs[8], 3));
}

/// Nor do addresses that come again after they were old.
#[test]
fn addresses_that_come_again_count() {
    let spec = SwitchSpec { ageing: Duration::from_millis(200), ..SwitchSpec::default() };
    let Some(switch) = Temporary::new(&spec) else { return };
    let [mut a] = switch.ports();
    let macs = of_one_bucket(12, keyed(&switch));
    speak(&mut a, &macs[..6]);
    let start = Instant::now();
    while !switch.fdb().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(1));
    }
    // One burst, so that no time passes: the old ones, which nobody cleared yet, are taken for free places.
    speak(&mut a, &[&macs[6..], &macs[..6]].concat());
    assert!(switch.fdb().len() <= SHARE, "{:?}", switch.fdb());
}

#[test]
fn addresses_set_by_hand_do_not_count() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b, mut c] = switch.ports();
    let macs = of_one_bucket(20, keyed(&switch));
    for m in &macs[..2] {
        switch.fdb_set(MacAddr(*m), 0, Some("p1")).unwrap();
    }
    speak(&mut a, &macs[2..8]);
    assert_eq!(switch.fdb().len(), 8, "one bucket has eight places");
    // Another port finds no place, and displaces nobody.
    speak(&mut b, &macs[8..12]);
    assert_eq!((learned(&switch, 1), learned(&switch, 2), switch.stats()[1].unlearned), (6, 0, 4));
    // By hand learned ones are displaced, those set by hand are not.
    for m in &macs[..8] {
        switch.fdb_set(MacAddr(*m), 0, Some("p3")).unwrap();
    }
    assert!(switch.fdb_set(MacAddr(macs[13]), 0, Some("p3")).is_err());
    assert_eq!(switch.stats()[0].addresses, 0);
    [&mut a, &mut b, &mut c].into_iter().for_each(|p| _ = receive(p));
    send(&mut a, &[from_mac(macs[3], macs[13])]);
    assert_eq!([receive(&mut b).len(), receive(&mut c).len()], [0, 1]);
    assert_closed(&switch);
}

/// Two senders and root put the same addresses into one bucket at the same time, over and over.
#[test]
fn an_address_is_never_in_two_places() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut ports: [Port; 2] = switch.ports();
    let macs = of_one_bucket(12, keyed(&switch));
    let until = Instant::now() + Duration::from_secs(3);
    let doubled = |all: &[FdbEntry]| all.windows(2).any(|w| w[0].mac == w[1].mac);
    thread::scope(|s| {
        for (k, p) in ports.iter_mut().enumerate() {
            let (macs, until) = (&macs, until);
            s.spawn(move || {
                let mut i = k;
                while Instant::now() < until {
                    for _ in 0..100 {
                        i = (i * 5 + 3) % 1_000_003;
                        assert!(p.tx[0].push(&from_mac([2, 9, 9, 9, 9, 9], macs[i % 12])));
                    }
                    p.tx[0].sync().unwrap();
                    p.rx[0].sync().unwrap();
                    p.rx[0].burst(u32::MAX).for_each(drop);
                }
            });
        }
        while Instant::now() < until {
            for m in &macs[..4] {
                switch.fdb_set(MacAddr(*m), 0, Some("p1")).unwrap();
                switch.fdb_del(MacAddr(*m), 0);
            }
        }
    });
    let all = switch.fdb();
    assert!(!all.is_empty() && !doubled(&all), "{all:?}");
    let stats = switch.stats();
    for (s, n) in stats.iter().zip([1, 2]) {
        let of_port = all.iter().filter(|e| e.port == Some(n) && e.age.is_some()).count();
        assert_eq!(s.addresses as usize, of_port, "the count of port {n}");
        assert!(of_port <= SHARE, "port {n} has {of_port} of 8 places");
    }
}
