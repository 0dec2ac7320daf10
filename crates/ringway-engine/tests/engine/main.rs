//! The engine from outside: threads that share ports, come and go, sleep, die; and books that close.
#![allow(clippy::unwrap_used, reason = "a test")]

mod choices;
mod faults;
mod flows;
mod ports;

use std::time::{Duration, Instant};

use ringway::{Port, Waiter};
use ringway_engine::{Burst, Counts, Engine};

/// No single wait may take longer.
const LIMIT: Duration = Duration::from_secs(20);

/// Waits until something is so.
#[track_caller]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until the engine rests and its books close; returns them.
#[track_caller]
fn closed(engine: &Engine) -> Counts {
    let start = Instant::now();
    loop {
        let (counts, error) = (engine.counts(), engine.counts().check());
        let Err(error) = error else { return counts };
        assert!(start.elapsed() < LIMIT, "{error}\n{counts}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A pipe of which the engine has one end: its name there, and the other end.
fn pipe(tag: &str) -> (String, Port) {
    let id = format!("engine-{tag}-{}", std::process::id());
    (format!("pipe:{id}{{"), Port::open(&format!("pipe:{id}}}")).unwrap())
}

/// Puts frames into a port's tx ring, all of them.
fn push(port: &mut Port, frames: impl IntoIterator<Item = Vec<u8>>) {
    for frame in frames {
        let start = Instant::now();
        while !port.tx[0].push(&frame) {
            assert!(start.elapsed() < LIMIT, "nobody reads");
            port.tx[0].sync().unwrap();
        }
    }
    port.tx[0].sync().unwrap();
}

/// The next frames of a port, so many.
fn pull(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    let mut waiter = Waiter::new(Duration::from_micros(20)).unwrap();
    let (start, mut frames) = (Instant::now(), Vec::new());
    while frames.len() < count {
        assert!(start.elapsed() < LIMIT, "{} of {count} frames", frames.len());
        waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(10)).unwrap();
        let left = (count - frames.len()) as u32;
        for frame in port.rx[0].burst(left) {
            let mut bytes = vec![0; frame.len()];
            frame.copy_to(&mut bytes);
            frames.push(bytes);
        }
    }
    frames
}

/// Makes and sends numbered frames to a port at whose far end nobody reads, until there is no room; returns how many were made. The
/// last one stays in the burst.
fn fill(engine: &Engine, burst: &mut Burst, port: usize) -> u32 {
    for number in 0.. {
        let mut frame = burst.make(60).unwrap();
        frame.bytes_mut().copy_from_slice(&numbered(number, 60));
        frame.send_to(port);
        // The I/O thread may be late, but not each time.
        let mut tries = 0..5;
        if tries.all(|_| !engine.send_timeout(burst, Duration::from_millis(50)).unwrap()) {
            return number + 1;
        }
    }
    unreachable!("queues and rings have bounds")
}

/// A frame with a number in it.
fn numbered(number: u32, len: usize) -> Vec<u8> {
    let mut frame = vec![number as u8; len];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Sends all frames of a burst to one port.
fn reflect(engine: &Engine, burst: &mut Burst, port: usize) {
    burst.frames().for_each(|mut frame| frame.send_to(port));
    engine.send(burst).unwrap();
}

#[test]
fn three_calls() {
    let (name, mut far) = pipe("calls");
    let engine = Engine::builder().port(&name).build().unwrap();
    let mut burst = engine.burst().unwrap();
    push(&mut far, (0..10).map(|n| numbered(n, 60)));
    let mut seen = 0;
    while seen < 10 {
        seen += engine.receive(&mut burst).unwrap();
        reflect(&engine, &mut burst, 0);
    }
    assert_eq!(pull(&mut far, 10), (0..10).map(|n| numbered(n, 60)).collect::<Vec<_>>());
    let counts = closed(&engine);
    assert_eq!((counts.taken, counts.sent, counts.held), (10, 10, 0));
    drop(burst);
    engine.end().unwrap();
}

#[test]
fn many_threads_share_ports_and_nothing_is_lost() {
    const FRAMES: u32 = 20_000;
    let ((a, mut left), (b, mut right)) = (pipe("share-a"), pipe("share-b"));
    let engine = Engine::builder().port(a).port(b).io_threads(2).queue(256).build().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| cross(&engine, 2 * u64::from(FRAMES)));
        }
        let mut seen = [vec![false; FRAMES as usize], vec![false; FRAMES as usize]];
        for first in (0..FRAMES).step_by(500) {
            let frames = || (first..first + 500).map(|n| numbered(n, 60 + n as usize % 1000));
            push(&mut left, frames());
            push(&mut right, frames());
            for (port, seen) in [&mut left, &mut right].into_iter().zip(&mut seen) {
                for frame in pull(port, 500) {
                    let number = u32::from_be_bytes(frame[14..18].try_into().unwrap());
                    assert!(!std::mem::replace(&mut seen[number as usize], true), "{number} came twice");
                    assert_eq!(frame, numbered(number, 60 + number as usize % 1000));
                }
            }
        }
        assert!(seen.iter().flatten().all(|&seen| seen));
    });
    let counts = closed(&engine);
    assert_eq!((counts.taken, counts.sent), (2 * u64::from(FRAMES), 2 * u64::from(FRAMES)));
    assert_eq!(counts.ports.iter().map(|port| port.tx.frames_out).sum::<u64>(), counts.sent);
}

/// Sends each frame on by the other port, until so many were taken. Bursts come and go.
fn cross(engine: &Engine, all: u64) {
    let mut burst = engine.burst().unwrap();
    for turn in 0.. {
        if engine.receive_timeout(&mut burst, Duration::from_millis(20)).unwrap() == 0
            && engine.counts().taken >= all
        {
            return;
        }
        for mut frame in burst.frames() {
            let to = 1 - frame.port().unwrap();
            frame.send_to(to);
        }
        engine.send(&mut burst).unwrap();
        if turn % 100 == 99 {
            drop(std::mem::replace(&mut burst, engine.burst().unwrap()));
        }
    }
}

#[test]
fn a_burst_goes_to_several_ports_in_order() {
    let ((a, mut first), (b, mut second)) = (pipe("two-a"), pipe("two-b"));
    let engine = Engine::builder().port(a).port(b).build().unwrap();
    let mut burst = engine.burst().unwrap();
    for number in 0..60 {
        let mut frame = burst.make(60).unwrap();
        frame.bytes_mut().copy_from_slice(&numbered(number, 60));
        match number % 3 {
            2 => assert_eq!(frame.port(), None), // it goes nowhere
            to => frame.send_to(to as usize),
        }
    }
    engine.send(&mut burst).unwrap();
    assert!(burst.is_empty());
    for (port, rest) in [(&mut first, 0), (&mut second, 1)] {
        let want: Vec<_> = (0..60).filter(|n| n % 3 == rest).map(|n| numbered(n, 60)).collect();
        assert_eq!(pull(port, 20), want);
    }
    let counts = closed(&engine);
    assert_eq!((counts.made, counts.sent, counts.let_go), (60, 40, 20));
}

#[test]
fn long_frames_come_and_go_whole() {
    let (name, mut far) = pipe("long");
    let engine = Engine::builder().port(name).build().unwrap();
    let mut burst = engine.burst().unwrap();
    push(&mut far, [60, 2048, 2049, 9000, 60].map(|len| numbered(len as u32, len)));
    let mut lens = Vec::new();
    while lens.len() < 5 {
        engine.receive(&mut burst).unwrap();
        for mut frame in burst.frames() {
            lens.push(frame.len());
            assert_eq!(frame.bytes(), numbered(frame.len() as u32, frame.len()));
            let longer = frame.len() + 3000;
            frame.resize(longer);
            assert!(frame.bytes()[longer - 3000..].iter().all(|&byte| byte == 0));
            frame.send_to(0);
        }
        engine.send(&mut burst).unwrap();
    }
    let back: Vec<_> = pull(&mut far, 5).iter().map(Vec::len).collect();
    assert_eq!(lens, [60, 2048, 2049, 9000, 60]);
    assert_eq!(back, [3060, 5048, 5049, 12000, 3060]);
    closed(&engine);
}

#[test]
fn frames_get_shorter_and_stay_in_their_room() {
    let engine = Engine::builder().port("loop:").build().unwrap();
    let mut burst = engine.burst().unwrap();
    let mut frame = burst.make(100).unwrap();
    frame.bytes_mut().fill(7);
    frame.set_len(20);
    frame.resize(40);
    assert_eq!((&frame.bytes()[..20], &frame.bytes()[20..]), (&[7; 20][..], &[0; 20][..]));
    let room = frame.room();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| frame.set_len(room + 1))).is_err());
    assert!(burst.make(ringway_engine::engine::LONGEST + 1).is_none());
    let other = Engine::builder().port("loop:").build().unwrap();
    assert!(other.receive(&mut burst).is_err(), "a burst of another engine");
}
