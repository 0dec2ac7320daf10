//! Waiting or dropping, blocking or not, at once or gathered.

use std::os::fd::AsFd;
use std::time::Duration;

use ringway::{DropReason, Waiter};
use ringway_engine::{Burst, Engine, WhenFull};
use ringway_sys::fd::Epoll;

use super::{LIMIT, closed, fill, numbered, pipe, pull, push, reflect, until};

#[test]
fn a_slow_receiver_holds_the_port_back() {
    let (name, mut far) = pipe("slow");
    let engine = Engine::builder().port(name).queue(64).build().unwrap();
    let mut burst = engine.burst().unwrap();
    // More than the queue, the I/O thread and the rings hold: the sender can't get rid of all of them.
    let mut pushed = 0;
    let mut refused = 0;
    while refused < 1000 {
        if far.tx[0].push(&numbered(pushed, 60)) {
            pushed += 1;
            refused = 0;
        } else {
            refused += 1;
            far.tx[0].sync().unwrap();
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    far.tx[0].sync().unwrap();
    let mut next = 0;
    while next < pushed {
        engine.receive(&mut burst).unwrap();
        for frame in burst.frames() {
            assert_eq!(frame.bytes(), numbered(next, 60));
            next += 1;
        }
        far.tx[0].sync().unwrap();
    }
    burst.clear();
    let counts = closed(&engine);
    assert_eq!(
        (counts.taken, counts.let_go, counts.ports[0].rx.dropped()),
        (pushed.into(), pushed.into(), 0)
    );
}

#[test]
fn a_slow_receiver_may_lose_frames_by_name() {
    const FRAMES: u32 = 20_000;
    let (name, mut far) = pipe("drop");
    let engine = Engine::builder().port(name).queue(64).slow_receiver(WhenFull::Drop).build().unwrap();
    push(&mut far, (0..FRAMES).map(|n| numbered(n, 60)));
    let start = std::time::Instant::now();
    while engine.counts().ports[0].rx.frames_in < FRAMES.into() {
        assert!(start.elapsed() < LIMIT, "{}", engine.counts());
        far.tx[0].sync().unwrap(); // a pipe moves on with its sender
    }
    let counts = closed(&engine);
    let lost = counts.ports[0].rx.drops(DropReason::QueueFull);
    assert!(lost > 10_000, "{counts}");
    let mut burst = engine.burst().unwrap();
    let mut seen = 0;
    while seen < u64::from(FRAMES) - lost {
        seen += engine.receive(&mut burst).unwrap() as u64;
    }
    assert_eq!(engine.try_receive(&mut burst).unwrap(), 0);
    closed(&engine);
}

#[test]
fn a_slow_port_holds_the_sender_back_or_loses_frames_by_name() {
    for when_full in [WhenFull::Wait, WhenFull::Drop] {
        let (name, mut far) = pipe(&format!("full-{when_full:?}"));
        let engine = Engine::builder().port(name).queue(64).slow_port(when_full).build().unwrap();
        let mut burst = engine.burst().unwrap();
        let mut sent = 0_u32;
        // Nobody reads at the far end.
        loop {
            while let Some(mut frame) = burst.make(60) {
                frame.bytes_mut().copy_from_slice(&numbered(sent, 60));
                frame.send_to(0);
                sent += 1;
            }
            let done = engine.send_timeout(&mut burst, Duration::from_millis(100)).unwrap();
            if !done || engine.counts().lost.drops(DropReason::QueueFull) > 0 {
                break;
            }
        }
        assert_eq!(burst.is_empty(), when_full == WhenFull::Drop);
        let lost = engine.counts().lost.drops(DropReason::QueueFull) as u32;
        let there = sent - lost;
        std::thread::scope(|scope| {
            // It waits for room, which the far end makes.
            scope.spawn(|| engine.send(&mut burst).unwrap());
            for (at, frame) in pull(&mut far, there as usize).into_iter().enumerate() {
                assert!(lost > 0 || frame == numbered(at as u32, 60), "{at}");
            }
        });
        // The I/O thread counts them after the far end sees them.
        until("all are counted", || engine.counts().ports[0].tx.frames_out >= there.into());
        let counts = closed(&engine);
        assert_eq!((counts.sent, counts.ports[0].tx.frames_out), (there.into(), there.into()));
    }
}

/// The state of each thread of this process by name, as the kernel has it.
fn sleeps(name: &str) -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let mut stats = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")).ok());
    stats.any(|stat| {
        let (_, rest) = stat.split_once('(').unwrap();
        let (thread, rest) = rest.rsplit_once(')').unwrap();
        thread == name && rest.trim_start().starts_with('S')
    })
}

#[test]
fn sleepers_wake_for_each_frame() {
    let (name, mut far) = pipe("sleep");
    let engine = Engine::builder().port(name).build().unwrap();
    std::thread::scope(|scope| {
        let sleeper = |name: &'static str| {
            let engine = &engine;
            let work = move || {
                let mut burst = engine.burst().unwrap();
                for _ in 0..10 {
                    assert!(engine.receive(&mut burst).unwrap() > 0);
                    reflect(engine, &mut burst, 0);
                }
            };
            std::thread::Builder::new().name(name.into()).spawn_scoped(scope, work).unwrap()
        };
        let threads = ["sleeper-one", "sleeper-two"].map(sleeper);
        for number in 0..20 {
            let alive = threads.iter().filter(|thread| !thread.is_finished()).count();
            if alive == 2 {
                until("both sleep", || {
                    (sleeps("sleeper-one") && sleeps("sleeper-two"))
                        || threads.iter().any(|t| t.is_finished())
                });
            }
            push(&mut far, [numbered(number, 60)]);
            assert_eq!(pull(&mut far, 1), [numbered(number, 60)]);
        }
    });
    closed(&engine);
}

#[test]
fn an_eventfd_polls() {
    let (name, mut far) = pipe("poll");
    let engine = Engine::builder().port(name).build().unwrap();
    let mut burst = engine.burst().unwrap();
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    for number in 0..50 {
        assert!(
            !waiter.wait(&mut [&mut engine.readable(&mut burst).unwrap()], Duration::from_millis(1)).unwrap()
        );
        push(&mut far, [numbered(number, 60)]);
        assert!(
            waiter.wait(&mut [&mut engine.readable(&mut burst).unwrap()], Duration::from_secs(60)).unwrap()
        );
        assert_eq!(engine.try_receive(&mut burst).unwrap(), 1);
    }
    assert!(waiter.wait(&mut [&mut engine.writable(0)], Duration::from_secs(60)).unwrap());
}

#[test]
fn few_frames_a_call_gather() {
    let (name, mut far) = pipe("gather");
    let engine = Engine::builder().port(name).gather(Duration::from_millis(5)).build().unwrap();
    let mut burst = engine.burst().unwrap();
    let mut send = |number| {
        let mut frame = burst.make(60).unwrap();
        frame.bytes_mut().copy_from_slice(&numbered(number, 60));
        frame.send_to(0);
        engine.send(&mut burst).unwrap();
    };
    (0..1000).for_each(&mut send);
    // The last ones leave by the clock: no call follows.
    let frames = pull(&mut far, 1000);
    assert!(frames.into_iter().enumerate().all(|(at, frame)| frame == numbered(at as u32, 60)));
    send(1000);
    assert!(engine.flush(&mut burst).unwrap());
    assert_eq!(pull(&mut far, 1), [numbered(1000, 60)]);
    let mut frame = burst.make(60).unwrap();
    frame.send_to(0);
    engine.send(&mut burst).unwrap();
    drop(burst); // what gathered leaves with it
    pull(&mut far, 1);
    assert_eq!(closed(&engine).sent, 1002);
}

/// A burst is dropped while what it gathered finds no room: it leaves later.
#[test]
fn frames_of_a_dropped_burst_wait_for_room() {
    let (name, mut far) = pipe("dropped");
    let engine = Engine::builder().port(name).queue(64).gather(Duration::from_millis(1)).build().unwrap();
    let mut burst = engine.burst().unwrap();
    let number = fill(&engine, &mut burst, 0);
    drop(burst); // the last frame is in it, and never left
    let frames = pull(&mut far, number as usize - 1);
    assert!(frames.into_iter().enumerate().all(|(at, frame)| frame == numbered(at as u32, 60)));
    let counts = closed(&engine);
    assert_eq!((counts.let_go, counts.lost.dropped()), (1, 0), "{counts}");
}

/// `writable` says nothing while the queue is full, and rings when there is room.
#[test]
fn a_full_queue_becomes_writable() {
    let (name, mut far) = pipe("writable");
    let engine = Engine::builder().port(name).queue(64).build().unwrap();
    let mut burst = engine.burst().unwrap();
    let number = fill(&engine, &mut burst, 0);
    let ready = engine.writable(0);
    let poll = Epoll::new().unwrap();
    poll.add(ready.as_fd()).unwrap();
    assert!(!ready.arm() && !poll.wait(0).unwrap(), "it is full");
    std::thread::scope(|scope| {
        let frames = scope.spawn(|| pull(&mut far, number as usize));
        assert!(poll.wait(LIMIT.as_millis() as i32).unwrap(), "nobody rings");
        assert!(ready.arm());
        assert!(engine.try_send(&mut burst).unwrap());
        let frames = frames.join().unwrap().into_iter().enumerate();
        frames.for_each(|(at, frame)| assert_eq!(frame, numbered(at as u32, 60)));
    });
}

/// Frames that gathered for a port that is full hold frames for that port back, and for no other.
#[test]
fn a_full_port_holds_no_other_back() {
    let ((a, mut full), (b, mut free)) = (pipe("full-a"), pipe("free-b"));
    let engine =
        Engine::builder().port(a).port(b).queue(64).gather(Duration::from_millis(1)).build().unwrap();
    let mut burst = engine.burst().unwrap();
    let add = |burst: &mut Burst, number: u32, to: usize| {
        let mut frame = burst.make(60).unwrap();
        frame.bytes_mut().copy_from_slice(&numbered(number, 60));
        frame.send_to(to);
    };
    let sent = fill(&engine, &mut burst, 0);
    // Two bursts that wait for the full port: one with frames for the other port beside, and one with such frames alone.
    (sent..sent + 10).for_each(|number| add(&mut burst, number, number as usize % 2));
    assert!(!engine.send_timeout(&mut burst, Duration::from_millis(50)).unwrap());
    assert!(burst.len() == 6 && burst.frames().all(|frame| frame.destination() == Some(0)));
    let even = |number: u32| number.is_multiple_of(2);
    let odd: Vec<_> = (sent..sent + 10).filter(|&n| !even(n)).map(|n| numbered(n, 60)).collect();
    assert_eq!(pull(&mut free, 5), odd);
    std::thread::scope(|scope| {
        scope.spawn(|| engine.send(&mut burst).unwrap());
        let evens = (sent..sent + 10).filter(|&n| even(n));
        for number in (0..sent).chain(evens) {
            assert_eq!(pull(&mut full, 1), [numbered(number, 60)], "in order");
        }
    });
    fill(&engine, &mut burst, 0);
    burst.frames().for_each(|mut frame| frame.send_to(1));
    assert!(engine.send_timeout(&mut burst, Duration::from_secs(10)).unwrap());
    pull(&mut free, 1);
}

#[test]
fn calls_that_do_not_wait_return_at_once() {
    let (name, _far) = pipe("now");
    let engine = Engine::builder().port(name).build().unwrap();
    let mut burst = engine.burst().unwrap();
    assert_eq!(engine.try_receive(&mut burst).unwrap(), 0);
    assert_eq!(engine.receive_timeout(&mut burst, Duration::from_millis(2)).unwrap(), 0);
    assert!(engine.try_send(&mut burst).unwrap());
}
