//! Workers end for each cause of an end, and their ends are reported.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::{Error, ErrorKind, OpenOptions, Port};
use ringway_engine::{Background, Cpus, Progress, Receiver, Sender, Signals, beside, crew, supervise};
use ringway_traffic::template::{FrameSpec, Template};

fn gone() -> Error {
    Error::new(ErrorKind::Gone, "eth0", "it went away")
}

/// Works until the signals stop.
fn steady(signals: &Signals) -> Result<&'static str, Error> {
    signals.rest(Duration::MAX);
    Ok("stopped")
}

fn sender() -> Sender {
    Sender::new(Template::new(&FrameSpec::default()).unwrap())
}

#[test]
fn results_come_in_order_and_ticks_meanwhile() {
    let ticks = AtomicU64::new(0);
    let worker = |n: u64| {
        let ticks = &ticks;
        let work = move || {
            while ticks.load(Relaxed) < n {
                thread::sleep(Duration::from_millis(1));
            }
            Ok::<_, Error>(n)
        };
        (format!("worker {n}"), None, work)
    };
    let (start, signals) = (Instant::now(), Signals::new());
    let count = || _ = ticks.fetch_add(1, Relaxed);
    let results = supervise(&signals, (0..3).rev().map(worker), Duration::from_millis(10), count);
    assert_eq!(results.unwrap(), [2, 1, 0]);
    assert!(!signals.stopped(), "nobody asked for a stop");
    let (ticks, most) = (u128::from(ticks.into_inner()), start.elapsed().as_millis() / 10 + 1);
    assert!((2..=most).contains(&ticks), "{ticks}, at most {most}");
}

#[test]
fn loops_end_by_their_count() {
    let mut port = OpenOptions::new().slots(64).open("loop:").unwrap();
    let (signals, sent, received) = (Signals::new(), Progress::new(), Progress::new());
    let (mut sender, mut receiver) = (sender().with_count(3000), Receiver::new(3000));
    crew(&signals, |crew| {
        let (tx, rx) = (&mut port.tx[0], &mut port.rx);
        let sending = crew.start("sender", None, || sender.run(tx, &sent, &signals));
        let receiving = crew.start("receiver", None, || receiver.run(rx, &received, &signals));
        sending.join().unwrap();
        receiving.join().unwrap();
    });
    assert_eq!((sent.packets(), received.packets(), signals.stopped()), (3000, 3000, false));
}

#[test]
fn loops_end_when_their_time_is_over() {
    let (mut port, progress, signals) = (Port::open("null:").unwrap(), Progress::new(), Signals::new());
    let mut sender = sender();
    let send = || sender.run(&mut port.tx[0], &progress, &signals);
    let start = Instant::now();
    let rest = || {
        while progress.packets() == 0 {
            thread::yield_now();
        }
        signals.rest(Duration::from_millis(20));
    };
    let (sent, ()) = beside(&signals, "sender", None, send, rest);
    assert!(sent.is_ok() && start.elapsed() >= Duration::from_millis(20));
}

#[test]
fn the_failure_of_one_ends_the_rest_and_is_told_by_name() {
    let signals = Signals::new();
    let worker = |n: u32| {
        let signals = &signals;
        let work = move || if n == 2 { Err(gone()) } else { steady(signals) };
        (format!("worker {n}"), None, work)
    };
    let failed = supervise(&signals, (0..4).map(worker), Duration::from_secs(1), || ()).unwrap_err();
    assert_eq!(failed.to_string(), "worker 2: eth0: it went away");
    assert_eq!((failed.error.kind(), signals.stopped()), (ErrorKind::Gone, true));
}

#[test]
fn a_panic_is_an_error_and_ends_the_rest() {
    let signals = Signals::new();
    let ended = crew(&signals, |crew| {
        let good = crew.start("good", None, || steady(&signals));
        let bad = crew.start::<(), Error>("bad", None, || panic!("no frame {}", 7));
        (good.join(), bad.join())
    });
    assert_eq!(ended.0.unwrap(), "stopped");
    assert_eq!(ended.1.unwrap_err().to_string(), "bad: panic: no frame 7");
}

#[test]
fn a_panic_of_the_job_ends_its_workers() {
    let signals = Signals::new();
    let panicking = || {
        let job = || -> () { panic!("the job") };
        beside(&signals, "worker", None, || steady(&signals), job)
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
    let other = Signals::new();
    let panicking = || {
        crew(&other, |crew| {
            crew.start("worker", None, || steady(&other));
            panic!("the job")
        })
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
    assert!(signals.stopped() && other.stopped());
}

#[test]
fn threads_have_their_names_and_their_cpus() {
    let named = || Ok::<_, Error>(thread::current().name().map(str::to_owned));
    let (signals, cpus) = (Signals::new(), Cpus(vec![0]));
    let (name, ()) = beside(&signals, "spin", cpus.of(5), named, || ());
    assert_eq!(name.unwrap().as_deref(), Some("spin"));
    let (refused, ()) = beside(&Signals::new(), "far", Some(1023), named, || ());
    assert!(refused.unwrap_err().to_string().starts_with("far: cpu 1023: "));
}

#[test]
fn a_background_worker_ends_with_its_owner() {
    let ended = AtomicU64::new(0);
    let ended: &'static AtomicU64 = Box::leak(Box::new(ended));
    let work = move |signals: &Signals| {
        let done = steady(signals);
        ended.fetch_add(1, Relaxed);
        done
    };
    assert_eq!(Background::start("kept", None, work).end().unwrap(), "stopped");
    drop(Background::start("dropped", None, work));
    assert_eq!(ended.load(Relaxed), 2);
    let failed = Background::start("bad", None, |_| Err::<(), _>(gone())).end();
    assert_eq!(failed.unwrap_err().to_string(), "bad: eth0: it went away");
}
