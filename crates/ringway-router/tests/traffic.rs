//! Hosts that talk through a router: the fast path forwards, the kernel does the rest.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::{Duration, Instant};

use ringway_fib::NextHop;
use ringway_router::kernel::Outcome;
use support::{B4, Bed, C4, LIMIT, Way, add, fill_for, join, total, trusted};

all_ways! {
    hosts_talk_over_the_fast_path_alone
    deleting_gives_all_back
    flows_to_a_group_take_all_its_ways
    a_member_comes_and_goes
}

fn hosts_talk_over_the_fast_path_alone(way: Way) {
    let Some(bed) = Bed::by("vale1", way) else { return };
    assert!(bed.answers("10.0.1.2") && bed.answers("fd00:b::2"), "without a router");
    let (router, control) = bed.start();
    for to in ["10.0.1.2", "fd00:b::2"] {
        assert_eq!(bed.by_kernel(&control, || assert!(bed.answers(to))), 0, "the kernel forwarded");
        assert_eq!(bed.by_kernel(&control, || bed.tcp(to, 3 << 20)), 0, "the kernel forwarded");
    }
    let (begun, mut stats) = (Instant::now(), router.stats());
    // The last packets may be on another processor.
    while total(&stats, Outcome::Forwarded) != total(&stats, Outcome::Sent) && begun.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(5));
        stats = router.stats();
    }
    let [r0, r1] = [0, 1].map(|i| &stats[i].counts);
    assert!(r0.get(Outcome::Forwarded) > 1000 && r1.get(Outcome::Forwarded) > 20, "{stats:?}");
    assert_eq!(total(&stats, Outcome::Forwarded), total(&stats, Outcome::Sent), "{stats:?}");
    let (packets, bytes) = control.counters(NextHop::new(B4).unwrap());
    assert!(packets > 500 && bytes > 3 << 20, "{packets} {bytes}");
    // What is for the router itself is answered by its kernel.
    assert!(Bed::echo(&bed.a, &bed.r, "10.0.0.1") && Bed::echo(&bed.a, &bed.r, "fd00:a::1"));
    assert!(router.stats()[0].counts.get(Outcome::Local) >= 6);
    control.heartbeat(true).unwrap();
    assert!(router.health().ready);
}

/// Far ends cut nothing, and neither does the router: b0 gets fewer frames than are counted.
#[test]
fn super_frames_go_whole() {
    for mtu in [1500, 9000] {
        let Some(bed) = Bed::by("vale6", Way::Tc) else { return };
        for (lab, link) in [(&bed.a, "a0"), (&bed.r, "r0"), (&bed.r, "r1"), (&bed.b, "b0")] {
            lab.ip(&format!("link set {link} mtu {mtu}")).unwrap();
        }
        let (router, mut control) = bed.start();
        bed.inside(|| fill_for(&mut control, mtu));
        for to in ["10.0.1.2", "fd00:b::2"] {
            let (sent, got) = trusted(&control, || {
                let read = || (router.stats()[1].counts.get(Outcome::Sent), bed.received("b0"));
                let before = read();
                assert_eq!(bed.by_kernel(&control, || bed.tcp(to, 3 << 20)), 0, "the kernel forwarded");
                let after = read();
                (after.0 - before.0, after.1 - before.1)
            });
            let least = (3 << 20) / u64::from(mtu);
            assert!(sent >= least && got < sent / 2, "{sent} frames, in {got}, MTU {mtu}");
        }
        let stats = router.stats();
        assert_eq!(total(&stats, Outcome::Forwarded), total(&stats, Outcome::Sent), "{stats:?}");
        let offloads =
            bed.a.run(|| Ok::<_, support::Any>(ringway::probe::interface("a0")?.offloads)).unwrap();
        assert!(offloads.iter().any(|o| o == "tx-tcp-segmentation"), "{offloads:?}");
    }
}

fn deleting_gives_all_back(way: Way) {
    let Some(bed) = Bed::by("vale2", way) else { return };
    let (router, control) = bed.start();
    assert!(bed.answers("10.0.1.2"));
    let programs =
        |link: &'static str| bed.inside(|| ringway::probe::interface(link).unwrap().programs.len());
    let wanted = ["r0", "r1", "r2"].map(|link| way.programs(link));
    assert_eq!([programs("r0"), programs("r1"), programs("r2")], wanted);
    assert!(router.delete().is_err(), "a process controls it");
    drop(control);
    ringway_router::kernel::Router::open(&bed.name).unwrap().delete().unwrap();
    assert_eq!([programs("r0"), programs("r1"), programs("r2")], [0; 3]);
    assert!(!ringway_router::kernel::routers().contains(&bed.name));
    let before = bed.kernel_forwarded();
    assert!(bed.answers("10.0.1.2") && bed.answers("fd00:b::2"));
    assert!(bed.kernel_forwarded() >= before + 12, "the kernel forwards");
}

fn flows_to_a_group_take_all_its_ways(way: Way) {
    let Some(bed) = Bed::by("vale3", way) else { return };
    let (router, control) = bed.start();
    assert!(bed.answers("10.0.1.2"));
    let count = || {
        let stats = router.stats();
        let ways = [B4, C4].map(|number| control.counters(NextHop::new(number).unwrap()).0);
        (ways, [1, 2].map(|member: usize| stats[member].counts.get(Outcome::Sent)))
    };
    let flows = || {
        let receiver = Bed::udp(&bed.b, "10.9.9.9:9000");
        let mut from = std::collections::BTreeMap::new();
        for port in 20_000..20_064 {
            let sender = Bed::udp(&bed.a, &format!("10.0.0.2:{port}"));
            for _ in 0..4 {
                sender.send_to(b"x", "10.9.9.9:9000").unwrap();
                let (_, sender) = receiver.recv_from(&mut [0; 9]).unwrap();
                *from.entry(sender.port()).or_insert(0) += 1;
            }
        }
        from
    };
    let (from, before, after) = trusted(&control, || {
        let before = count();
        (flows(), before, count())
    });
    assert!(from.len() == 64 && from.values().all(|n| *n == 4), "{from:?}");
    let ways = [0, 1].map(|i| after.0[i] - before.0[i]);
    assert!(ways.iter().all(|n| *n > 40 && n % 4 == 0) && ways.iter().sum::<u64>() == 256, "{ways:?}");
    assert_eq!([0, 1].map(|i| after.1[i] - before.1[i]), ways);
}

#[test]
fn what_an_egress_does_not_take_is_counted_there() {
    let Some(bed) = Bed::new("vale4") else { return };
    let (router, control) = bed.start();
    // Without NAPI at its far end a veth takes no frame.
    bed.b.exec("ethtool", &["-K", "b0", "gro", "off"]).unwrap();
    let sender = Bed::udp(&bed.a, "10.0.0.2:20000");
    let send = |frames: u64| {
        for _ in 0..frames {
            control.heartbeat(true).unwrap();
            sender.send_to(b"x", "10.0.1.2:9").unwrap();
        }
    };
    let wait_for = |wanted: u64| {
        let start = Instant::now();
        loop {
            let counts = router.stats()[1].counts;
            let [refused, full] = [Outcome::DeviceRefused, Outcome::DeviceFull].map(|o| counts.get(o));
            if refused == wanted {
                return;
            }
            assert!(start.elapsed() < LIMIT, "refused {refused} of {wanted}, full {full}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    send(20);
    wait_for(20);
    bed.r.ip("link set r1 down").unwrap();
    send(7);
    wait_for(27);
    let stats = router.stats();
    assert_eq!(stats[0].counts.get(Outcome::Forwarded), 27 + stats[0].counts.get(Outcome::Sent));
}

fn a_member_comes_and_goes(way: Way) {
    let Some(bed) = Bed::by("vale5", way) else { return };
    let (router, control) = bed.start();
    router.remove_member("r1").unwrap();
    // What leads out of it is the kernel's now.
    assert_eq!(bed.by_kernel(&control, || assert!(bed.answers("10.0.1.2"))), 6);
    assert!(router.stats()[0].counts.get(Outcome::KernelRoute) >= 3);
    assert_eq!(bed.inside(|| join(&router, "r1", way)), 1);
    let forwarded = || router.stats()[1].counts.get(Outcome::Forwarded);
    assert_eq!(forwarded(), 0, "counters begin at 0");
    let answers = trusted(&control, || {
        let before = (bed.kernel_forwarded(), forwarded());
        assert!(bed.answers("10.0.1.2"));
        (bed.kernel_forwarded() - before.0, forwarded() - before.1)
    });
    assert_eq!(answers, (0, 3));
    // One whose interface is deleted stays in the list until it is removed.
    bed.b.ip("link del b1").unwrap();
    let gone: Vec<bool> = router.members().iter().map(|m| m.gone).collect();
    assert_eq!(gone, [false, false, true]);
    // Another one may get its index, and keeps it.
    let index = router.members()[2].interface.index;
    let far = format!("b1 address 02:00:00:00:00:05 netns {}", bed.b.name());
    bed.r.ip(&format!("link add r3 index {index} type veth peer name {far}")).unwrap();
    bed.b.ip("link set b1 up").unwrap();
    bed.r.ip("link set r3 up").unwrap();
    bed.b.run_napi("b1").unwrap();
    assert_eq!(bed.inside(|| add(&router, "r3", &router.members()[0].interface, way)).unwrap(), 3);
    assert_eq!(router.members()[2].interface.index, router.members()[3].interface.index);
    router.remove_member("r2").unwrap();
    let names: Vec<String> = router.members().into_iter().map(|m| m.name).collect();
    assert_eq!(names, ["r0", "r1", "r3"]);
    let receiver = Bed::udp(&bed.b, "10.9.9.9:9000");
    for port in 20_000..20_016 {
        control.heartbeat(true).unwrap();
        Bed::udp(&bed.a, &format!("10.0.0.2:{port}")).send_to(b"x", "10.9.9.9:9000").unwrap();
        receiver.recv_from(&mut [0; 9]).unwrap();
    }
    assert!(router.stats()[2].counts.get(Outcome::Sent) > 0, "{:?}", router.stats());
}
