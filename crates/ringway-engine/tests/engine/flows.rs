//! Flows pinned to receivers keep their order, also while receivers come and go.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ringway::Waiter;
use ringway_engine::{Delivery, Engine};
use ringway_sys::fd::Epoll;

use super::{LIMIT, closed, pipe, push};

const FLOWS: u32 = 40;

/// An UDP frame of a flow, in one direction or the other, with its number within the flow.
fn frame(flow: u32, back: bool, number: u32) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&46_u16.to_be_bytes());
    frame[23] = 17;
    let ends = [(0x0a00_0001 + flow, 1000 + flow as u16), (0x0a01_0001, 53)];
    let [src, dst] = if back { [ends[1], ends[0]] } else { ends };
    frame[26..30].copy_from_slice(&src.0.to_be_bytes());
    frame[30..34].copy_from_slice(&dst.0.to_be_bytes());
    frame[34..36].copy_from_slice(&src.1.to_be_bytes());
    frame[36..38].copy_from_slice(&dst.1.to_be_bytes());
    frame[38..40].copy_from_slice(&26_u16.to_be_bytes());
    frame[42..46].copy_from_slice(&flow.to_be_bytes());
    frame[46..50].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Flow and number of a frame.
fn parts(frame: &[u8]) -> (usize, u32) {
    let word = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
    (word(42) as usize, word(46))
}

/// Receives until `all` frames were seen, and for so many bursts; each flow's numbers must be in order over all receivers.
fn receive(engine: &Engine, next: &[Mutex<u32>], seen: &AtomicU64, all: u64, bursts: usize) {
    let mut burst = engine.burst().unwrap();
    for _ in 0..bursts {
        if seen.load(Relaxed) >= all {
            return;
        }
        let count = engine.receive_timeout(&mut burst, Duration::from_millis(5)).unwrap();
        for frame in burst.frames() {
            let (flow, number) = parts(frame.bytes());
            let mut next = next[flow].lock().unwrap();
            assert_eq!(number, *next, "flow {flow}");
            *next += 1;
        }
        seen.fetch_add(count as u64, Relaxed);
    }
}

#[test]
fn order_is_kept_while_receivers_come_and_go() {
    const EACH: u32 = 1000;
    let (name, mut far) = pipe("order");
    let engine = Engine::builder().port(name).delivery(Delivery::Flows).queue(1024).build().unwrap();
    let next: Vec<Mutex<u32>> = (0..FLOWS).map(|_| Mutex::new(0)).collect();
    let seen = AtomicU64::new(0);
    let all = u64::from(FLOWS * EACH);
    std::thread::scope(|scope| {
        let (engine, next, seen) = (&engine, &next, &seen);
        // One that stays, and two that leave and join again after some bursts.
        scope.spawn(move || receive(engine, next, seen, all, usize::MAX));
        for lives in [7, 19] {
            scope.spawn(move || {
                while seen.load(Relaxed) < all {
                    receive(engine, next, seen, all, lives);
                }
            });
        }
        for number in 0..EACH {
            push(&mut far, (0..FLOWS).map(|flow| frame(flow, (flow + number) % 2 == 0, number)));
        }
        while seen.load(Relaxed) < all {
            far.tx[0].sync().unwrap(); // a pipe moves on with its sender
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let counts = closed(&engine);
    assert_eq!((counts.taken, counts.let_go), (all, all));
    assert!(next.iter().all(|next| *next.lock().unwrap() == EACH));
}

#[test]
fn a_flow_has_one_receiver_and_each_receiver_some_flows() {
    let (name, mut far) = pipe("pinned");
    let engine = Engine::builder().port(name).delivery(Delivery::Flows).build().unwrap();
    let mut bursts: Vec<_> = (0..4).map(|_| engine.burst().unwrap()).collect();
    // They join by their first receive.
    bursts.iter_mut().for_each(|burst| assert_eq!(engine.try_receive(burst).unwrap(), 0));
    let mut owner = vec![None; FLOWS as usize];
    for round in 0..10 {
        push(&mut far, (0..FLOWS).map(|flow| frame(flow, round % 2 == 0, round)));
        let mut seen = 0;
        while seen < FLOWS {
            for (at, burst) in bursts.iter_mut().enumerate() {
                engine.receive_timeout(burst, Duration::from_millis(1)).unwrap();
                for frame in burst.frames() {
                    let (flow, number) = parts(frame.bytes());
                    assert_eq!((number, *owner[flow].get_or_insert(at)), (round, at), "flow {flow}");
                    seen += 1;
                }
            }
        }
    }
    assert!((0..4).all(|at| owner.contains(&Some(at))), "{owner:?}");
    drop(bursts);
    assert_eq!(closed(&engine).let_go, u64::from(FLOWS) * 10);
}

/// A burst that was stuck gets other queues. Its poller wakes to join again, and goes on with the descriptor that it has.
#[test]
fn a_poller_of_a_burst_that_was_stuck_goes_on() {
    let (name, mut far) = pipe("poller");
    let builder = Engine::builder().port(name).delivery(Delivery::Flows);
    let engine = builder.patience(Duration::from_millis(20)).build().unwrap();
    let [mut burst, mut other, mut third] = [0; 3].map(|_| engine.burst().unwrap());
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    let mut ready = engine.readable(&mut burst).unwrap();
    push(&mut far, [frame(0, false, 0)]);
    assert!(waiter.wait(&mut [&mut ready], LIMIT).unwrap());
    assert_eq!(engine.try_receive(&mut burst).unwrap(), 1);
    assert_eq!(engine.try_receive(&mut other).unwrap(), 0);
    // It keeps the frame, so its flows go to the other one. A poll of the program's own sleeps until the descriptor rings.
    let poll = Epoll::new().unwrap();
    poll.add(ready.as_fd()).unwrap();
    let start = Instant::now();
    while engine.counts().stuck == 0 {
        assert!(start.elapsed() < LIMIT, "nobody says that it left");
        assert!(ready.arm() || poll.wait(LIMIT.as_millis() as i32).unwrap());
    }
    push(&mut far, [frame(1, false, 0)]);
    assert_eq!(engine.receive(&mut other).unwrap(), 1);
    assert_eq!(engine.try_receive(&mut third).unwrap(), 0, "it has the queues that are free now");
    assert_eq!(engine.try_receive(&mut burst).unwrap(), 0);
    let fd = |burst| engine.readable(burst).unwrap().as_fd().as_raw_fd();
    assert_eq!((fd(&mut burst), fd(&mut third) == fd(&mut other)), (ready.as_fd().as_raw_fd(), false));
    drop((other, third));
    push(&mut far, (0..FLOWS).map(|flow| frame(flow, false, 1)));
    assert!(waiter.wait(&mut [&mut ready], LIMIT).unwrap());
    assert!(engine.receive(&mut burst).unwrap() > 0);
}
