//! Lost messages, bursts, flaps.

use std::fmt::Write;
use std::time::Instant;

use ringway_fwd::control::{Check, Options, Pulse, Verdict};

use crate::forward::one;
use crate::{ALONE, Bed};

/// A socket too small for bursts.
const SMALL: Options = Options { buffer: 4096, ..ALONE };

/// `verb` for `n` routes from the `first` on.
pub(crate) fn routes(verb: &str, first: u32, n: u32) -> String {
    (first..first + n).fold(String::new(), |mut text, i| {
        let (b, c) = (i / 256, i % 256);
        writeln!(text, "route {verb} 60.{b}.{c}.0/24 via 10.0.0.{}", 2 + i % 100).unwrap();
        writeln!(text, "route {verb} 2001:db8:{i:x}::/48 via fd00::{:x}", 2 + i % 100).unwrap();
        text
    })
}

#[test]
fn messages_lost_in_a_burst_are_made_up_for() {
    let Some(mut bed) = Bed::new(SMALL) else { return };
    let flaps = |dev| format!("link set {dev} down\nlink set {dev} up\n").repeat(5);
    bed.lab.ip(&(flaps("a0") + "addr add fd00::1/64 dev a0 nodad"));
    bed.lab.ip(&routes("add", 0, 2500));
    bed.lab.ip(&routes("del", 500, 1000));
    bed.lab.ip(&routes("add", 500, 1000));
    bed.lab.ip(&flaps("b0"));
    bed.lab.ip("link del b0\nlink add b0 type veth peer name b1\nlink set b0 up\nlink set b1 up
        addr add 10.1.0.1/24 dev b0\nroute add 61.0.0.0/8 via 10.1.0.2");
    let start = Instant::now();
    bed.settle();
    println!("equal {:.0?} after the burst; reading took {:.0?}", start.elapsed(), bed.health().sync_time);
    bed.equal();
    assert!(bed.health().overruns > 0, "{:?}", bed.health());
    assert!(bed.health().syncs > 1);
}

#[test]
fn neighbours_lost_in_a_burst_are_made_up_for() {
    let Some(mut bed) = Bed::new(SMALL) else { return };
    bed.lab.ip("neigh add 10.0.0.8 lladdr 02:00:00:00:00:08 dev a0");
    bed.settle();
    bed.lab.ip(&routes("add", 0, 1000));
    bed.lab.ip("neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev a0\nneigh del 10.0.0.8 dev a0");
    bed.equal();
    assert!(bed.health().overruns > 0, "{:?}", bed.health());
    let verdicts = ["10.0.0.8", "10.0.0.9"].map(|addr| one(&bed, addr).verdict());
    assert_eq!(verdicts, [Verdict::Incomplete, Verdict::Ready]);
}

#[test]
fn bursts_while_tables_are_read() {
    let Some(bed) = Bed::new(ALONE) else { return };
    bed.lab.ip(&routes("add", 0, 3000));
    let Bed { lab, mut follower, mut resolver, mut tables } = bed;
    std::thread::scope(|scope| {
        let burst = scope.spawn(|| {
            for _ in 0..5 {
                lab.ip(&routes("del", 1000, 1000));
                lab.ip(&routes("add", 1000, 1000));
            }
        });
        let mut found = Vec::new();
        while !burst.is_finished() {
            follower.sync(&mut Pulse::none()).unwrap();
            found.push(follower.check(&mut Pulse::none()).unwrap());
            let changes = follower.poll(Instant::now(), &mut Pulse::none()).unwrap();
            resolver.update(follower.state(), changes, &mut tables).unwrap();
        }
        assert!(!found.contains(&Check::Differs), "{found:?}");
    });
    let mut bed = Bed { lab, follower, resolver, tables };
    bed.equal();
    assert_eq!(bed.health().repairs, 0);
}

#[test]
fn flaps_are_followed_one_by_one() {
    let Some(mut bed) = Bed::new(ALONE) else { return };
    let (add, del) = (routes("add", 0, 1000), routes("del", 0, 1000));
    std::thread::scope(|scope| {
        let Bed { lab, follower, resolver, tables } = &mut bed;
        let (lab, all) = (&*lab, [&add[..], &del].concat().repeat(5));
        let flaps = scope.spawn(move || lab.ip(&all));
        while !flaps.is_finished() {
            let changes = follower.poll(Instant::now(), &mut Pulse::none()).unwrap();
            resolver.update(follower.state(), changes, tables).unwrap();
        }
    });
    bed.lab.ip(&add);
    bed.equal();
    let health = bed.health();
    assert!(health.events >= 22_000, "{health:?}");
    assert_eq!((health.syncs, health.inconsistencies, health.overruns), (1, 0, 0), "{health:?}");
}
