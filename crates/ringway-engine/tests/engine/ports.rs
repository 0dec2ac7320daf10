//! Kinds of ports: some share the engine's region, and others copy.

use std::time::Duration;

use ringway::switch::{Switch, SwitchSpec};
use ringway::{OpenOptions, Port, Region, RegionSpec};
use ringway_engine::{Delivery, Engine};
use ringway_lab::{Lab, is_root};
use ringway_wire::pcapfile::{MAX_RECORD, Writer};

use super::{closed, numbered, pipe, pull, push, reflect, until};

#[test]
fn frames_of_null_ports_go_round() {
    go_round_null_ports(true);
    go_round_null_ports(false);
}

fn go_round_null_ports(caches: bool) {
    let engine = Engine::builder().port("null:60").port("null:60").caches(caches).build().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut burst = engine.burst().unwrap();
                for _ in 0..2000 {
                    engine.receive(&mut burst).unwrap();
                    let to = 1 - burst.frames().next().and_then(|frame| frame.port()).unwrap();
                    reflect(&engine, &mut burst, to);
                }
            });
        }
    });
    let counts = closed(&engine);
    assert_eq!(counts.taken, counts.sent);
    assert!(counts.taken > 6000 && counts.lost.dropped() == 0, "{counts}");
}

/// An engine in a region of the program ends with frames everywhere: queues, hands, outboxes, caches.
#[test]
fn a_region_gets_its_buffers_back() {
    let spec = RegionSpec { buffers: 20_000, interfaces: 4, rings: 8, ..RegionSpec::default() };
    let region = Region::memfd(&spec).unwrap();
    let before = region.free_bufs();
    for (delivery, caches) in [(Delivery::Any, true), (Delivery::Flows, true), (Delivery::Any, false)] {
        let (name, far) = pipe(&format!("region-{delivery:?}-{caches}"));
        let engine = Engine::builder()
            .options(OpenOptions::new().region(&region))
            .port("null:")
            .port(name) // nobody reads at its far end
            .queue(64)
            .threads(4)
            .delivery(delivery)
            .caches(caches)
            .gather(Duration::from_millis(1))
            .build()
            .unwrap();
        assert!(region.free_bufs() < before - 1000, "the engine has buffers of the region");
        let (mut burst, mut other) = (engine.burst().unwrap(), engine.burst().unwrap());
        let mut sent = true;
        while sent {
            assert!(engine.receive(&mut burst).unwrap() > 0);
            burst.frames().for_each(|mut frame| frame.send_to(1));
            sent = engine.send_timeout(&mut burst, Duration::from_millis(20)).unwrap();
        }
        other.make(60).unwrap().send_to(1);
        assert!(engine.try_send(&mut other).unwrap(), "it gathers");
        until("I/O threads have frames in hand", || engine.counts().in_io_threads > 0);
        drop((engine, other));
        drop((burst, far));
        assert_eq!(region.free_bufs(), before, "{delivery:?}");
    }
}

#[test]
fn a_capture_ends() {
    let path = std::env::temp_dir().join(format!("engine-{}.pcap", std::process::id()));
    let mut bytes = Vec::new();
    let mut writer = Writer::new("test", &mut bytes, MAX_RECORD).unwrap();
    (0..300).for_each(|n| writer.write(0, 60, &numbered(n, 60)).unwrap());
    writer.finish().unwrap();
    std::fs::write(&path, bytes).unwrap();
    let engine = Engine::builder().port(format!("pcap:{}@top", path.display())).build();
    std::fs::remove_file(path).unwrap();
    let engine = engine.unwrap();
    let mut burst = engine.burst().unwrap();
    let mut seen = 0;
    while engine.receive(&mut burst).unwrap() > 0 {
        for frame in burst.frames() {
            assert_eq!(frame.bytes(), numbered(seen, 60));
            seen += 1;
        }
    }
    assert_eq!(seen, 300);
    closed(&engine);
}

/// Frames go from a far end to the engine's first port, out of its second one, to another far end.
fn through(engine: &Engine, from: &mut Port, to: &mut Port) {
    let count = 500;
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| {
            let mut burst = engine.burst().unwrap();
            let mut seen = 0;
            while seen < count {
                let got = engine.receive_timeout(&mut burst, Duration::from_secs(60)).unwrap();
                assert!(got > 0, "{seen} of {count} frames");
                let first = |frame: &ringway_engine::Frame<'_>| {
                    frame.port() == Some(0) && frame.bytes()[12..14] == [0x88, 0xb5]
                };
                for mut frame in burst.frames() {
                    if first(&frame) {
                        seen += 1;
                        frame.send_to(1);
                    }
                }
                engine.send(&mut burst).unwrap();
            }
        });
        for first in (0..count).step_by(50) {
            push(from, (first..first + 50).map(|n| numbered(n, 60)));
            let mut got = 0;
            while got < 50 {
                for frame in pull(to, 1) {
                    if frame[12..14] == [0x88, 0xb5] {
                        assert_eq!(frame, numbered(first + got, 60));
                        got += 1;
                    }
                }
            }
        }
        turn.join().unwrap();
    });
    closed(engine);
}

#[test]
fn veths_of_one_region() {
    if !is_root() {
        eprintln!("SKIPPED: veths need root");
        return;
    }
    let lab = Lab::new().unwrap();
    for (a, b) in [("a0", "a1"), ("b0", "b1")] {
        lab.veth(a, b).unwrap();
    }
    for kind in ["ebpf", "packet"] {
        let made = lab.run(|| {
            let engine = Engine::builder().port(format!("{kind}:a1")).port(format!("{kind}:b0")).build()?;
            Ok::<_, ringway_lab::AnyError>((engine, Port::open("ebpf:a0")?, Port::open("ebpf:b1")?))
        });
        let (engine, mut from, mut to) = made.unwrap();
        through(&engine, &mut from, &mut to);
    }
}

#[test]
fn ports_of_a_switch() {
    if !is_root() {
        eprintln!("SKIPPED: switches need root");
        return;
    }
    let switches = [TestSwitch::new("a"), TestSwitch::new("b")];
    let [mut from, mut to] = [0, 1].map(|at| Port::open(&format!("{}:far", switches[at].name)).unwrap());
    let [a, b] = [0, 1].map(|at| format!("{}:near", switches[at].name));
    let engine = Engine::builder().port(a).port(b).port("loop:").io_threads(2).build().unwrap();
    through(&engine, &mut from, &mut to);
}

/// A switch that is deleted at the end, also when the test fails.
struct TestSwitch {
    name: String,
    switch: Option<Switch>,
}

impl TestSwitch {
    fn new(tag: &str) -> Self {
        let name = format!("vale-e{tag}{}", std::process::id());
        let switch = Some(Switch::create(&name, &SwitchSpec::default()).unwrap());
        Self { name, switch }
    }
}

impl Drop for TestSwitch {
    fn drop(&mut self) {
        let _ = self.switch.take().map(Switch::delete);
    }
}

#[test]
fn io_threads_stay_on_their_cpus_and_end() {
    let engine = Engine::builder().port("loop:").port("loop:").io_cpus([0]).build().unwrap();
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks.filter(|task| {
            let path = task.as_ref().unwrap().path();
            std::fs::read_to_string(path.join("status")).is_ok_and(|status| {
                status.contains("engine-io-") && status.contains("Cpus_allowed_list:\t0\n")
            })
        })
    };
    until("it is there", || threads().count() >= 1);
    engine.end().unwrap();
    let error = Engine::builder().port("loop:").io_cpus([1023]).build().unwrap_err();
    assert!(error.to_string().starts_with("cpu 1023: "), "{error}");
}
