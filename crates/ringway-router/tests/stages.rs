//! Members go over to programs that time their stages, and back, while hosts talk: no packet is lost.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway_count::{StageCounts, TIMED_ONE_IN};
use ringway_fwd::control::Pulse;
use ringway_router::kernel::{Control, Router, Stages};
use support::{Bed, LIMIT, Way, join, trusted};

all_ways! {
    programs_are_exchanged_while_hosts_talk
    members_that_join_are_timed_like_the_others
}

/// Datagrams under way at once.
const WINDOW: u8 = 8;
/// How often the programs of all members are exchanged.
const EXCHANGES: usize = 6;

/// Has the programs of members be as they are wanted, with something done before each step. Returns how many steps that took.
fn follow(control: &mut Control, before: &dyn Fn()) -> usize {
    for steps in 1.. {
        before();
        control.heartbeat(true).unwrap();
        if !control.follow_stages().unwrap() {
            return steps;
        }
    }
    unreachable!("steps have no end")
}

/// Follows while tables are trusted, until something holds.
fn until(control: &mut Control, before: &dyn Fn(), holds: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "it never came to pass");
        follow(control, before);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends datagrams and receives them, again and again: each arrives, or receiving fails after a while.
fn talk(near: &UdpSocket, far: &UdpSocket, to: &str, (end, sent): (&AtomicBool, &AtomicU64)) {
    let mut bytes = [0; 9];
    while !end.load(Relaxed) {
        (0..WINDOW).for_each(|n| _ = near.send_to(&[n], (to, 7777)).unwrap());
        let mut missing: BTreeSet<u8> = (0..WINDOW).collect();
        while !missing.is_empty() {
            far.recv(&mut bytes).unwrap_or_else(|e| panic!("{missing:?} of {WINDOW} to {to}: {e}"));
            missing.remove(&bytes[0]); // those of two CPUs overtake each other
        }
        sent.fetch_add(WINDOW.into(), Relaxed);
    }
}

fn programs_are_exchanged_while_hosts_talk(way: Way) {
    let Some(bed) = Bed::by("vale7", way) else { return };
    let (router, mut control) = bed.start();
    assert!(bed.answers("10.0.1.2") && bed.answers("fd00:b::2"));
    let stages = router.stages().unwrap();
    let sockets = [("0.0.0.0:0", "10.0.1.2"), ("[::]:0", "fd00:b::2")];
    let sockets = sockets.map(|(any, to)| {
        let far = if to.contains(':') { format!("[{to}]:7777") } else { format!("{to}:7777") };
        (Bed::udp(&bed.a, any), Bed::udp(&bed.b, &far), to)
    });
    let (end, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let counts = std::thread::scope(|scope| {
        for (near, far, to) in &sockets {
            scope.spawn(|| talk(near, far, to, (&end, &sent)));
        }
        // Talkers end also when this fails.
        let exchanged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            exchange_again_and_again(&mut control, &stages, &sent)
        }));
        end.store(true, Relaxed);
        exchanged.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    assert!(counts.packets > 0 && counts.time[..3].iter().all(|ns| *ns > 0), "{counts:?}");
}

/// Waits for packets between two exchanges. Returns what was counted.
fn exchange_again_and_again(control: &mut Control, stages: &Stages, sent: &AtomicU64) -> StageCounts {
    for _ in 0..EXCHANGES {
        let before = stages.counts();
        let lease = || stages.watch(Duration::from_secs(2));
        until(control, &lease, &|| stages.counts().packets > before.packets);
        until(control, &|| (), &|| !stages.are_timed());
        follow(control, &|| ());
        control.settle().unwrap(); // programs that run still may count
        let (counted, arrived) = (stages.counts(), sent.load(Relaxed));
        until(control, &|| (), &|| sent.load(Relaxed) > arrived + 10 * u64::from(WINDOW));
        assert_eq!(stages.counts(), counted, "nobody watches");
    }
    stages.counts()
}

/// Whether packets that come in by r1 alone are counted.
fn r1_counts(bed: &Bed, control: &Control, stages: &Stages) -> bool {
    let (near, far) = (Bed::udp(&bed.b, "10.0.1.2:0"), Bed::udp(&bed.a, "10.0.0.2:7777"));
    let before = stages.counts().packets;
    for _ in 0..20 * TIMED_ONE_IN {
        control.heartbeat(true).unwrap();
        near.send_to(b"x", "10.0.0.2:7777").unwrap();
        far.recv(&mut [0; 9]).unwrap();
    }
    stages.counts().packets > before
}

fn members_that_join_are_timed_like_the_others(way: Way) {
    let Some(bed) = Bed::by("vale8", way) else { return };
    let (router, mut control) = bed.start();
    assert!(trusted(&control, || bed.answers("10.0.1.2")));
    let stages = router.stages().unwrap();
    assert!(!r1_counts(&bed, &control, &stages));
    router.remove_member("r1").unwrap();
    stages.watch(10 * LIMIT);
    assert!(!stages.are_timed() && stages.are_exchanged());
    assert!(control.follow_stages().unwrap() && stages.are_timed() && !stages.are_exchanged());
    assert_eq!(follow(&mut control, &|| ()), 1, "a step for each member");
    assert!(stages.are_exchanged());
    bed.inside(|| join(&router, "r1", way));
    assert!(r1_counts(&bed, &control, &stages), "it joined as one that is timed");
    // Another control process has programs as they are wanted, too.
    drop(control);
    let mut control = bed.control(&router);
    assert!(r1_counts(&bed, &control, &stages));
    assert_eq!(follow(&mut control, &|| ()), 1);
    assert!(trusted(&control, || bed.answers("10.0.1.2")));
}

#[test]
fn programs_of_tables_that_were_not_published_are_not_exchanged() {
    let Some(bed) = Bed::new("vale9") else { return };
    let (router, control) = bed.start();
    drop(control);
    let mut control = router.take_control().unwrap();
    let stages = router.stages().unwrap();
    stages.watch(LIMIT);
    assert!(!control.follow_stages().unwrap() && !stages.are_timed());
    control.heartbeat(true).unwrap();
    control.publish(&mut Pulse::none()).unwrap();
    assert!(stages.are_timed() && stages.are_exchanged());
}

#[test]
fn who_can_not_be_watched_says_how() {
    let Some(bed) = Bed::new("vale10") else { return };
    let router = bed.inside(|| Router::create(&bed.name, &Default::default())).unwrap();
    let refused = |says: &str| {
        let e = router.stages().unwrap_err();
        let cure = format!("`ringway router sync {}` starts one", bed.name);
        assert_eq!(e.kind(), ErrorKind::Unfit);
        assert!(e.to_string().contains(says) && e.to_string().contains(&cure), "{e}");
    };
    refused("no control process");
    let control = bed.control(&router);
    let map = support::root().join(&bed.name).join("stages");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&map).unwrap().permissions());
    assert_eq!((router.stages().is_ok(), mode & 0o777), (true, 0o600));
    // A control process of an earlier version makes none.
    std::fs::remove_file(&map).unwrap();
    refused(&format!("`kill {}`", std::process::id()));
    drop(control);
    let control = bed.control(&router);
    assert!(trusted(&control, || router.stages().is_ok()), "another one makes it");
}
