//! Doorbells: one that holds senders up is rung no more, and its receiver still gets all. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod switch;

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use ringway::switch::SwitchSpec;
use ringway::{Port, Waiter};

use switch::{Temporary, assert_closed, frame, receive, send};

/// For what comes sooner or later.
const PATIENCE: Duration = Duration::from_secs(120);

/// Epolls on one bell, 0.1 us each: a ring that wakes so many is dear on any machine.
const CROWD: u64 = 4000;

fn check(ret: i32) -> i32 {
    assert!(ret >= 0, "{}", io::Error::last_os_error());
    ret
}

/// As many epolls on a bell as the process may have, up to [`CROWD`].
fn crowd(bell: RawFd) -> Vec<OwnedFd> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the record lives across the call.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) });
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) });
    let count = CROWD.min(limit.rlim_max / 4);
    (0..count).map(|_| watch(bell)).collect()
}

fn watch(bell: RawFd) -> OwnedFd {
    // SAFETY: a plain system call; the descriptor is nobody else's.
    let epoll = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))) };
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    // SAFETY: the record lives across the call.
    check(unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, bell, &raw mut event) });
    epoll
}

/// The receiver leaves its wish, and then a frame comes. Returns whether the bell may be rung, as the receiver knows.
fn wish_and_send(from: &mut Port, to: &mut Port) -> bool {
    let sleeps = !to.rx[0].arm().unwrap();
    send(from, &[frame(2, 1, 60, 0)]);
    assert_eq!(receive(to).len(), 1);
    sleeps
}

fn rings(port: &Port) -> [u64; 2] {
    let rx = port.counters().rx;
    [rx.wakeups, rx.wakeups_withheld]
}

/// Two ports of which the second one is known to the table.
fn pair() -> Option<(Temporary, Port, Port)> {
    let switch = Temporary::new(&SwitchSpec::default())?;
    let [mut a, mut b] = switch.ports();
    send(&mut b, &[frame(0, 2, 60, 0)]);
    receive(&mut a);
    Some((switch, a, b))
}

#[test]
fn a_bell_that_holds_senders_up_is_withheld_until_it_does_not() {
    let Some((switch, mut a, mut b)) = pair() else { return };
    let crowd = crowd(b.rx[0].as_fd().as_raw_fd());
    let wishes = 500;
    let asleep = (0..wishes).filter(|_| wish_and_send(&mut a, &mut b)).count();
    let [rung, withheld] = rings(&b);
    assert_eq!(rung + withheld, wishes, "each wish is answered or counted");
    assert!(rung >= 4 && withheld > wishes / 2, "{rung} rung, {withheld} withheld");
    assert!(asleep < wishes as usize / 2, "the receiver is told: it was to sleep {asleep} times");
    drop(crowd);
    let begin = Instant::now();
    while !wish_and_send(&mut a, &mut b) {
        assert!(begin.elapsed() < PATIENCE, "the bell is quiet for ever: {:?}", rings(&b));
    }
    // The ring for the wish of that turn is in it.
    let now = rings(&b);
    assert!(now[0] > rung, "{now:?}");
    assert_closed(&switch);
}

/// Whoever opens the port next knows that its bell is quiet, or would sleep for ever.
#[test]
fn the_next_user_of_a_port_is_told_too() {
    let Some((switch, mut a, _)) = pair() else { return };
    switch.add_port("b", &Default::default()).unwrap();
    let mut b = switch.port("b");
    send(&mut b, &[frame(0, 2, 60, 0)]);
    receive(&mut a);
    let crowd = crowd(b.rx[0].as_fd().as_raw_fd());
    let begin = Instant::now();
    while rings(&b)[1] == 0 {
        assert!(begin.elapsed() < PATIENCE);
        wish_and_send(&mut a, &mut b);
    }
    drop(b);
    let mut b = switch.port("b");
    assert!(b.rx[0].arm().unwrap(), "it would sleep without limit");
    drop(crowd);
    while !wish_and_send(&mut a, &mut b) {
        assert!(begin.elapsed() < PATIENCE, "the bell is quiet for ever: {:?}", rings(&b));
    }
    drop(b);
    assert!(!switch.port("b").rx[0].arm().unwrap(), "its bell is rung again");
}

/// It sleeps before each frame, and is sent the next one when it has that.
#[test]
fn a_receiver_whose_bell_is_withheld_wakes_for_each_frame() {
    const FRAMES: u64 = 500;
    let Some((switch, mut a, mut b)) = pair() else { return };
    let crowd = crowd(b.rx[0].as_fd().as_raw_fd());
    let got = &AtomicU64::new(0);
    let b = thread::scope(|s| {
        let receiver = s.spawn(move || {
            let mut waiter = Waiter::new(Duration::ZERO).unwrap();
            while got.load(SeqCst) < FRAMES {
                let begin = Instant::now();
                waiter.wait(&mut [&mut b.rx[0]], 2 * PATIENCE).unwrap();
                assert!(begin.elapsed() < PATIENCE, "a wake-up was lost: {:?}", rings(&b));
                got.fetch_add(receive(&mut b).len() as u64, SeqCst);
            }
            b
        });
        for n in 0..FRAMES {
            while got.load(SeqCst) < n {
                assert!(!receiver.is_finished());
                thread::yield_now();
            }
            send(&mut a, &[frame(2, 1, 60, 0)]);
        }
        receiver.join().unwrap()
    });
    assert!(rings(&b)[1] > 0, "{:?}", rings(&b));
    drop(crowd);
    assert_closed(&switch);
}

/// Interrupts, or others on the machine, make an honest ring look dear now and then: that is forgiven. Of a dear bell nearly all
/// rings are withheld.
#[test]
fn a_bell_of_one_waiter_is_rung() {
    let Some((_switch, mut a, mut b)) = pair() else { return };
    let _epoll = watch(b.rx[0].as_fd().as_raw_fd());
    let wishes = 20_000;
    (0..wishes).for_each(|_| _ = wish_and_send(&mut a, &mut b));
    let [rung, withheld] = rings(&b);
    assert_eq!(rung + withheld, wishes);
    assert!(withheld < wishes / 2, "{rung} rung, {withheld} withheld");
}
