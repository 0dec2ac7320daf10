//! Lost messages, bursts, flaps.

use std::fmt::Write;
use std::time::Instant;

use ringway_fwd::control::{Check, Follower, Options};

use crate::lab::Lab;
use crate::{ALONE, settle};

/// A socket too small for bursts.
const SMALL: Options = Options { buffer: 4096, ..ALONE };

/// `verb` for `n` routes from the `first` on.
fn routes(verb: &str, first: u32, n: u32) -> String {
    (first..first + n).fold(String::new(), |mut text, i| {
        let (b, c) = (i / 256, i % 256);
        writeln!(text, "route {verb} 60.{b}.{c}.0/24 via 10.0.0.{}", 2 + i % 100).unwrap();
        writeln!(text, "route {verb} 2001:db8:{i:x}::/48 via fd00::{:x}", 2 + i % 100).unwrap();
        text
    })
}

/// Equal to a dump, whatever was lost.
fn equal(lab: &Lab, follower: &mut Follower) {
    settle(lab, follower);
    let found = (0..100).map(|_| follower.check().unwrap()).find(|c| *c != Check::Busy);
    assert_eq!(found, Some(Check::Equal));
    assert!(follower.health().in_sync);
}

#[test]
fn messages_lost_in_a_burst_are_made_up_for() {
    let Some(lab) = Lab::enter() else { return };
    let mut follower = Follower::open(SMALL).unwrap();
    lab.ip(&routes("add", 0, 2500));
    lab.ip(&routes("del", 500, 1000));
    lab.ip(&routes("add", 500, 1000));
    let flap = "link set a0 down\nlink set a0 up\naddr add fd00::1/64 dev a0 nodad\n";
    lab.ip(&flap.repeat(5));
    lab.ip(&routes("add", 0, 100));
    lab.ip("link del b0\nlink add b0 type veth peer name b1\nlink set b0 up\nlink set b1 up
        addr add 10.1.0.1/24 dev b0\nroute add 61.0.0.0/8 via 10.1.0.2");
    equal(&lab, &mut follower);
    assert!(follower.health().overruns > 0, "{:?}", follower.health());
    assert!(follower.health().syncs > 1);
}

#[test]
fn bursts_while_tables_are_read() {
    let Some(lab) = Lab::enter() else { return };
    lab.ip(&routes("add", 0, 3000));
    let mut follower = Follower::open(ALONE).unwrap();
    std::thread::scope(|scope| {
        let burst = scope.spawn(|| {
            for _ in 0..5 {
                lab.ip(&routes("del", 1000, 1000));
                lab.ip(&routes("add", 1000, 1000));
            }
        });
        let mut found = Vec::new();
        while !burst.is_finished() {
            follower.sync().unwrap();
            found.push(follower.check().unwrap());
            follower.poll(Instant::now()).unwrap();
        }
        assert!(!found.contains(&Check::Differs), "{found:?}");
    });
    equal(&lab, &mut follower);
    assert_eq!(follower.health().repairs, 0);
}

#[test]
fn flaps_are_followed_one_by_one() {
    let Some(lab) = Lab::enter() else { return };
    let mut follower = Follower::open(ALONE).unwrap();
    let (add, del) = (routes("add", 0, 1000), routes("del", 0, 1000));
    std::thread::scope(|scope| {
        let flaps = scope.spawn(|| lab.ip(&[&add[..], &del].concat().repeat(5)));
        while !flaps.is_finished() {
            follower.poll(Instant::now()).unwrap();
        }
    });
    lab.ip(&add);
    equal(&lab, &mut follower);
    let health = follower.health();
    assert!(health.events >= 22_000, "{health:?}");
    assert_eq!((health.syncs, health.doubts, health.overruns), (1, 0, 0), "{health:?}");
}
