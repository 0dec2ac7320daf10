//! The loops and the engine allocate when they start and end, never for a frame: a run of a million frames makes as many
//! allocations as one of a thousand.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::thread;

use ringway::{OpenOptions, Port};
use ringway_engine::{Bridge, Check, Delivery, Engine, Progress, Receiver, Sender, Signals};
use ringway_lab::counting::{CountingAllocator, of_all_threads};
use ringway_lab::{AnyError, Lab};
use ringway_traffic::template::{FrameSpec, Template};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const SHORT: u64 = 1_000;
const LONG: u64 = 1_000_000;

/// A long run may make a few more allocations than a short one, but none per frame or burst.
fn same_for_any_length(mut run: impl FnMut(u64)) {
    run(SHORT); // what is made once per process
    let mut count = |frames| {
        let before = of_all_threads();
        run(frames);
        of_all_threads() - before
    };
    let (short, long) = (count(SHORT), count(LONG));
    // The first wait of a loop notes the ring's descriptor; a short run may do without one.
    assert!(long <= short + 8, "{short} allocations for {SHORT} frames, {long} for {LONG}");
}

/// One test for all, for the count is of the whole process.
#[test]
fn no_loop_allocates_per_frame() {
    sender_to_null();
    receiver_from_null();
    engine_of_null_ports();
    sender_and_receiver_of_a_pipe();
    bridge_of_two_pipes();
    bridge_from_null_to_null();
    sender_and_receiver_of_packet_ports();
}

fn sender(count: u64) -> Sender {
    let dst = "10.1.0.1:1-10.1.0.255:99".parse().unwrap();
    Sender::new(Template::new(&FrameSpec { dst, ..FrameSpec::default() }).unwrap()).with_count(count)
}

fn pipe(tag: &str) -> [Port; 2] {
    let id = std::process::id();
    [format!("pipe:{tag}-{id}{{"), format!("pipe:{tag}-{id}}}")].map(|name| Port::open(&name).unwrap())
}

/// An engine's threads too: neither its I/O thread nor the thread that turns frames round.
fn engine_of_null_ports() {
    for delivery in [Delivery::Any, Delivery::Flows] {
        let engine = Engine::builder().port("null:").port("null:").delivery(delivery).build().unwrap();
        let mut burst = engine.burst().unwrap();
        same_for_any_length(|count| {
            let mut seen = 0;
            while seen < count {
                seen += engine.receive(&mut burst).unwrap() as u64;
                for mut frame in burst.frames() {
                    let to = 1 - frame.port().unwrap();
                    frame.send_to(to);
                }
                engine.send(&mut burst).unwrap();
            }
        });
    }
}

fn sender_to_null() {
    let mut port = Port::open("null:").unwrap();
    let (progress, signals) = (Progress::new(), Signals::new());
    same_for_any_length(|count| {
        sender(count).run(&mut port.tx[0], &progress, &signals).unwrap();
    });
}

fn receiver_from_null() {
    let mut port = Port::open("null:").unwrap();
    let (progress, signals) = (Progress::new(), Signals::new());
    same_for_any_length(|count| {
        let mut receiver = Receiver::new(count).with_check(Check::Always);
        receiver.run(&mut port.rx, &progress, &signals).unwrap();
    });
}

fn sender_and_receiver_of_a_pipe() {
    let [mut a, mut b] = pipe("alloc");
    let (progress, signals) = ([Progress::new(), Progress::new()], Signals::new());
    same_for_any_length(|count| {
        thread::scope(|scope| {
            scope.spawn(|| sender(count).run(&mut a.tx[0], &progress[0], &signals).unwrap());
            let counts = Receiver::new(count).run(&mut b.rx, &progress[1], &signals).unwrap().unwrap();
            assert_eq!((counts.received, counts.lost), (count, 0));
        });
    });
}

fn sender_and_receiver_of_packet_ports() {
    if !ringway_lab::is_root() {
        eprintln!("SKIP: packet: ports need root (namespaces); run these tests with sudo");
        return;
    }
    let lab = Lab::new().unwrap();
    lab.veth("a0", "a1").unwrap();
    let names = ["packet:a0", "packet:a1"];
    let [mut a, mut b] = lab.run(|| Ok::<_, AnyError>(OpenOptions::new().open_all(names)?)).unwrap();
    same_for_any_length(|count| {
        let (frame, count) = ([7; 60], count / 10);
        for _ in 0..count / 100 {
            (0..100).for_each(|_| assert!(a.tx[0].push(&frame)));
            a.tx[0].sync().unwrap();
            let mut received = 0;
            while received < 100 {
                b.rx[0].sync().unwrap();
                received += b.rx[0].burst(u32::MAX).count();
            }
        }
    });
}

fn bridge_of_two_pipes() {
    let ([mut source, a], [b, mut sink]) = (pipe("from"), pipe("to"));
    let mut bridge = Bridge::new(a, b);
    let progress = [Progress::new(), Progress::new()];
    same_for_any_length(|count| {
        let (ends, bridging) = (Signals::new(), Signals::new());
        thread::scope(|scope| {
            scope.spawn(|| bridge.run(&bridging).unwrap());
            scope.spawn(|| sender(count).run(&mut source.tx[0], &progress[0], &ends).unwrap());
            Receiver::new(count).run(&mut sink.rx, &progress[1], &ends).unwrap();
            bridging.stop();
        });
    });
}

fn bridge_from_null_to_null() {
    let [a, b] = OpenOptions::new().open_all(["null:", "null:"]).unwrap();
    let watch = b.watch();
    let mut bridge = Bridge::new(a, b).with_one_way(true);
    same_for_any_length(|count| {
        let signals = Signals::new();
        let end = watch.counters().tx.frames_out + count;
        thread::scope(|scope| {
            scope.spawn(|| bridge.run(&signals).unwrap());
            while watch.counters().tx.frames_out < end {
                std::hint::spin_loop();
            }
            signals.stop();
        });
    });
}
