//! A switch whose programs are replaced under traffic. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod switch;

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;
use std::time::{Duration, Instant};

use ringway::switch::{Module, PortAccess, SwitchSpec};
use ringway::{ErrorKind, Port};
use switch::{Temporary, dir};

const RELOADS: u32 = 25;
/// Frames that may be under way: far fewer than a ring has.
const WINDOW: u64 = 256;
/// A test that waits longer than this has lost a frame.
const PATIENCE: Duration = Duration::from_secs(60);

fn spec(module: Module) -> SwitchSpec {
    SwitchSpec { module, ..SwitchSpec::default() }
}

/// Frame number `n` from station `from` to station `to`.
fn frame(to: u8, from: u8, n: u64) -> [u8; 60] {
    let mut f = [0; 60];
    f[..6].copy_from_slice(&[2, 0, 0, 0, 0, to]);
    f[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
    f[14..22].copy_from_slice(&n.to_be_bytes());
    f
}

/// What stations sent, and what of it was received in order, by station less 1; 3 sends to 2.
#[derive(Default)]
struct Progress {
    sent: [AtomicU64; 3],
    received: [AtomicU64; 3],
    stop: AtomicBool,
    /// Stations that send no more.
    quiet: AtomicU64,
}

impl Progress {
    fn under_way(&self, station: u8) -> u64 {
        let i = station as usize - 1;
        self.sent[i].load(Relaxed) - self.received[i].load(Relaxed)
    }

    fn count(&self, station: u8) -> u64 {
        self.sent[station as usize - 1].fetch_add(1, Relaxed)
    }

    fn settled(&self) -> bool {
        self.quiet.load(Acquire) == 3 && [1, 2, 3].iter().all(|&s| self.under_way(s) == 0)
    }
}

/// Sends frames to `to` as long as the test runs, and checks that what comes is in order.
fn station(mut port: Port, me: u8, to: u8, progress: &Progress) {
    while !progress.stop.load(Relaxed) {
        let room = WINDOW - progress.under_way(me);
        for _ in 0..room.min(32) {
            assert!(port.tx[0].push(&frame(to, me, progress.count(me))));
        }
        port.tx[0].sync().unwrap();
        take(&mut port, me, progress);
        thread::sleep(Duration::from_micros(50));
    }
    progress.quiet.fetch_add(1, Release);
    let end = Instant::now();
    while !progress.settled() {
        assert!(end.elapsed() < PATIENCE, "{:?} sent, {:?} received", progress.sent, progress.received);
        take(&mut port, me, progress);
        thread::yield_now();
    }
}

fn take(port: &mut Port, me: u8, progress: &Progress) {
    port.rx[0].sync().unwrap();
    for f in port.rx[0].burst(u32::MAX) {
        let bytes = f.bytes();
        let (to, from) = (bytes[5], bytes[11]);
        let n = u64::from_be_bytes(bytes[14..22].try_into().unwrap());
        if to == me {
            let seen = progress.received[from as usize - 1].fetch_add(1, Relaxed);
            assert_eq!(n, seen, "the next frame from {from}");
        }
    }
}

/// Opens port p3 again and again and sends a frame each time.
fn come_and_go(switch: &Temporary, progress: &Progress) {
    while !progress.stop.load(Relaxed) {
        let mut port = switch.port("p3");
        assert!(port.tx[0].push(&frame(2, 3, progress.count(3))));
        port.tx[0].sync().unwrap();
        let start = Instant::now();
        while progress.under_way(3) > 0 {
            assert!(start.elapsed() < PATIENCE, "a frame of a fresh client was lost");
            thread::sleep(Duration::from_micros(50));
        }
    }
    progress.quiet.fetch_add(1, Release);
}

#[test]
fn nothing_is_lost_while_programs_are_replaced() {
    // A hub's programs are verified fastest.
    let Some(switch) = Temporary::new(&spec(Module::Hub)) else { return };
    for p in ["p1", "p2", "p3"] {
        switch.add_port(p, &PortAccess::default()).unwrap();
    }
    let (p1, p2) = (switch.port("p1"), switch.port("p2"));
    let progress = &Progress::default();
    thread::scope(|s| {
        s.spawn(|| station(p1, 1, 2, progress));
        s.spawn(|| station(p2, 2, 1, progress));
        s.spawn(|| come_and_go(&switch, progress));
        let generations: Result<Vec<u32>, _> = (0..RELOADS).map(|_| switch.reload()).collect();
        progress.stop.store(true, Relaxed);
        assert_eq!(generations.unwrap(), (2..RELOADS + 2).collect::<Vec<_>>());
    });
    let sent = progress.sent.each_ref().map(|n| n.load(Relaxed));
    assert_eq!(progress.received.each_ref().map(|n| n.load(Relaxed)), sent);
    assert!(sent.iter().all(|&n| n > u64::from(RELOADS)), "{sent:?}");
    for s in switch.stats() {
        assert_eq!(s.counters.tx.dropped(), 0, "{s:?}");
        assert_eq!(s.counters.tx.frames_out, sent[s.port.number as usize - 1]);
    }
}

#[test]
fn a_reload_that_fails_changes_nothing() {
    let Some(switch) = Temporary::new(&spec(Module::Bridge)) else { return };
    for p in ["p1", "p2"] {
        switch.add_port(p, &PortAccess { mode: 0o640, ..Default::default() }).unwrap();
    }
    let (mut a, mut b) = (switch.port("p1"), switch.port("p2"));
    let mut exchange = |n: u64| {
        assert!(a.tx[0].push(&frame(2, 1, n)));
        a.tx[0].sync().unwrap();
        b.rx[0].sync().unwrap();
        let got: Vec<_> = b.rx[0].burst(u32::MAX).map(|f| f.bytes()[21]).collect();
        assert_eq!(got, [n as u8]);
    };
    let dir = |port: &str| dir(switch.name()).join("port").join(port);
    let files = || ["p1", "p2"].map(|p| std::fs::read_dir(dir(p)).unwrap().count());
    exchange(1);
    let before = files();
    // The second port's new program finds no place.
    let in_the_way = dir("p2").join("~send");
    std::fs::create_dir(&in_the_way).unwrap();
    let e = switch.reload().unwrap_err();
    assert!(e.to_string().contains("p2/send"), "{e}");
    std::fs::remove_dir(&in_the_way).unwrap();
    assert_ne!(e.kind(), ErrorKind::Denied);
    assert_eq!(files(), before);
    exchange(2);
    assert!(switch.reload().is_ok());
    assert_eq!(files(), before);
    let mode = |p: &str| {
        std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(dir(p).join("send")).unwrap().permissions(),
        )
    };
    assert_eq!((mode("p1") & 0o777, mode("p2") & 0o777), (0o640, 0o640));
    exchange(3);
}
