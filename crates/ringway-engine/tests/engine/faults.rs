//! Threads that die, that never come back, and ports that go away.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringway::{DropReason, ErrorKind, OpenOptions, Port};
use ringway_engine::{Delivery, Engine};
use ringway_lab::{Lab, is_root};

use super::{closed, numbered, pipe, pull, push, reflect, until};

#[test]
fn a_panic_gives_everything_back() {
    for delivery in [Delivery::Any, Delivery::Flows] {
        let (name, mut far) = pipe(&format!("panic-{delivery:?}"));
        let engine = Engine::builder().port(name).delivery(delivery).build().unwrap();
        for turn in 0..20 {
            let died = std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    let mut burst = engine.burst().unwrap();
                    while engine.receive(&mut burst).unwrap() < 1 {}
                    burst.make(60);
                    std::panic::resume_unwind(Box::new("it dies with frames in its hands"));
                });
                push(&mut far, (0..5).map(|n| numbered(turn * 5 + n, 60)));
                thread.join()
            });
            assert!(died.is_err());
            let counts = closed(&engine);
            assert_eq!(counts.held, 0);
        }
        // Another thread goes on with what is left.
        let mut burst = engine.burst().unwrap();
        until("all is taken", || {
            engine.try_receive(&mut engine.burst().unwrap()).unwrap();
            let counts = engine.counts();
            counts.taken == 100
        });
        push(&mut far, [numbered(7, 60)]);
        assert_eq!(engine.receive(&mut burst).unwrap(), 1);
        reflect(&engine, &mut burst, 0);
        assert_eq!(pull(&mut far, 1), [numbered(7, 60)]);
    }
}

#[test]
fn a_thread_that_never_comes_back_is_named_and_stops_nobody() {
    for delivery in [Delivery::Any, Delivery::Flows] {
        let (name, mut far) = pipe(&format!("stuck-{delivery:?}"));
        let warned: Arc<Mutex<Vec<String>>> = Arc::default();
        let hook = warned.clone();
        let engine = Engine::builder()
            .port(name)
            .delivery(delivery)
            .queue(64)
            .patience(Duration::from_millis(20))
            .warn(move |holder| hook.lock().unwrap().push(holder.thread.clone()))
            .build()
            .unwrap();
        push(&mut far, (0..3).map(|n| numbered(n, 60)));
        std::thread::scope(|scope| {
            let stuck = || {
                let mut burst = engine.burst().unwrap();
                assert!(engine.receive(&mut burst).unwrap() > 0);
                std::mem::forget(burst);
            };
            std::thread::Builder::new().name("forgetful".into()).spawn_scoped(scope, stuck).unwrap();
        });
        let [holder] = engine.holders().try_into().unwrap();
        assert!(holder.thread == "forgetful" && holder.frames > 0, "{holder:?}");
        until("it is named", || *warned.lock().unwrap() == ["forgetful"]);
        assert_eq!(engine.counts().stuck, 1);
        let taken = u64::from(holder.frames);
        // Far more frames than its queue would hold come to another thread.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut burst = engine.burst().unwrap();
                while engine.counts().taken < 2003 {
                    engine.receive_timeout(&mut burst, Duration::from_millis(10)).unwrap();
                }
            });
            push(&mut far, (0..2000).map(|n| numbered(n, 60)));
            until("the rest comes", || {
                far.tx[0].sync().unwrap(); // a pipe moves on with its sender
                engine.counts().taken >= 2003
            });
        });
        let counts = closed(&engine);
        assert_eq!((counts.held, counts.taken), (taken, 2003));
    }
}

#[test]
fn a_busy_engine_names_the_stuck_as_well() {
    let engine = Engine::builder().port("null:").patience(Duration::from_millis(20)).build().unwrap();
    let mut stuck = engine.burst().unwrap();
    engine.receive(&mut stuck).unwrap();
    let mut burst = engine.burst().unwrap();
    until("it is named", || {
        for _ in 0..100 {
            engine.receive(&mut burst).unwrap();
        }
        engine.counts().stuck > 0
    });
    assert!(engine.receive(&mut stuck).unwrap() > 0, "it may go on");
}

#[test]
fn a_hook_that_panics_ends_no_port() {
    let (name, mut far) = pipe("hook");
    let engine = Engine::builder()
        .port(name)
        .delivery(Delivery::Flows)
        .patience(Duration::from_millis(20))
        .warn(|_| std::panic::resume_unwind(Box::new("the hook panics")))
        .build()
        .unwrap();
    let mut stuck = engine.burst().unwrap();
    push(&mut far, [numbered(0, 60)]);
    assert_eq!(engine.receive(&mut stuck).unwrap(), 1);
    until("it is named", || engine.counts().stuck == 1);
    let mut burst = engine.burst().unwrap();
    push(&mut far, [numbered(1, 60)]);
    assert_eq!(engine.receive(&mut burst).unwrap(), 1);
    assert!(engine.port_error(0).is_none());
}

#[test]
fn bursts_are_bounded_and_the_refusal_has_a_cure() {
    let engine = Engine::builder().port("loop:").threads(2).build().unwrap();
    let bursts = [engine.burst().unwrap(), engine.burst().unwrap()];
    let error = engine.burst().unwrap_err();
    assert!(error.kind() == ErrorKind::Busy && error.remedy().unwrap().contains("threads("), "{error}");
    drop(bursts);
    assert!(engine.burst().is_ok());
    for builder in [
        Engine::builder(),
        Engine::builder().port("loop:").threads(0),
        Engine::builder().port("loop:").queue(1),
        Engine::builder().port("loop:").options(OpenOptions::new().extra_bufs(5)),
        Engine::builder().port("loop:").io_cpus([0, 1]),
        Engine::builder().port("loop:").port("loop:").io_cpus([0, 1]).io_threads(1),
    ] {
        assert_eq!(builder.build().unwrap_err().kind(), ErrorKind::Invalid);
    }
    for (delivery, caches) in [(Delivery::Flows, true), (Delivery::Any, false)] {
        let builder = (0..4).fold(Engine::builder(), |builder, _| builder.port("null:"));
        let large = builder.threads(4096).queue(1 << 20).delivery(delivery).caches(caches).build();
        let error = large.unwrap_err();
        assert!(error.remedy().unwrap().contains("threads("), "{error}");
    }
    assert!(Engine::builder().port("nothing:").build().is_err());
}

/// The process of this test has no memory for the stack of a thread.
#[test]
fn an_engine_whose_threads_can_not_start_is_an_error() {
    const MARK: &str = "RINGWAY_ENGINE_NO_STACK";
    if std::env::var_os(MARK).is_some() {
        let error = Engine::builder().port("loop:").port("loop:").io_threads(2).build().unwrap_err();
        assert!(error.to_string().starts_with("thread: starting it failed: "), "{error}");
        assert!(error.remedy().unwrap().contains("fewer threads"), "{error}");
        return;
    }
    let name = "faults::an_engine_whose_threads_can_not_start_is_an_error";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--test-threads=1"]) // which runs it in the main thread
        .envs([(MARK, "1"), ("RUST_MIN_STACK", "4611686018427387904")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_port_that_goes_away_harms_no_other() {
    if !is_root() {
        eprintln!("SKIPPED: veths need root");
        return;
    }
    let lab = Lab::new().unwrap();
    lab.veth("e0", "e1").unwrap();
    let (name, mut far) = pipe("other");
    let engine = lab
        .run(|| Ok::<_, ringway_lab::AnyError>(Engine::builder().port("ebpf:e0").port(name).build()?))
        .unwrap();
    let mut burst = engine.burst().unwrap();
    lab.ip("link del e0").unwrap();
    until("its failure is seen", || engine.port_error(0).is_some_and(|e| e.kind() == ErrorKind::Gone));
    assert!(engine.counts().ports[0].failures > 0 && engine.port_error(1).is_none());
    push(&mut far, (0..100).map(|n| numbered(n, 60)));
    let seen = AtomicU32::new(0);
    while seen.load(Relaxed) < 100 {
        seen.fetch_add(engine.receive(&mut burst).unwrap() as u32, Relaxed);
        reflect(&engine, &mut burst, 1);
    }
    pull(&mut far, 100);
    let mut frame = burst.make(60).unwrap();
    frame.send_to(0);
    engine.send(&mut burst).unwrap();
    let counts = closed(&engine);
    let lost = counts.lost.drops(DropReason::PortFailed) + counts.ports[0].tx.drops(DropReason::PortFailed);
    assert_eq!(lost, 1, "{counts}");
}

#[test]
fn what_a_port_received_before_it_went_away_reaches_threads() {
    if !is_root() {
        eprintln!("SKIPPED: veths need root");
        return;
    }
    for delivery in [Delivery::Any, Delivery::Flows] {
        let lab = Lab::new().unwrap();
        lab.veth("e0", "e1").unwrap();
        let builder = Engine::builder().port("ebpf:e0").queue(64).delivery(delivery);
        let made = lab.run(|| Ok::<_, ringway_lab::AnyError>((builder.build()?, Port::open("ebpf:e1")?)));
        let (engine, mut far) = made.unwrap();
        let mut burst = engine.burst().unwrap();
        assert_eq!(engine.try_receive(&mut burst).unwrap(), 0);
        until("the queue is full", || {
            (0..64).for_each(|n| _ = far.tx[0].push(&numbered(n, 60)));
            far.tx[0].sync().unwrap();
            engine.counts().in_io_threads > 0
        });
        lab.ip("link del e0").unwrap();
        until("its failure is seen", || {
            burst.make(60).unwrap().send_to(0); // its thread does not look at rx rings now
            engine.send(&mut burst).unwrap();
            engine.port_error(0).is_some_and(|e| e.kind() == ErrorKind::Gone)
        });
        assert!(!engine.has_ended(), "{}", engine.counts());
        while engine.receive(&mut burst).unwrap() > 0 {}
        assert!(engine.has_ended());
        let counts = closed(&engine);
        assert_eq!((counts.taken, counts.in_io_threads), (counts.ports[0].rx.frames_in, 0), "{counts}");
    }
}
