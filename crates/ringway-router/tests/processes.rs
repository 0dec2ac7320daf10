//! Processes that come and go: a router outlives its makers, and is taken over without a gap.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway::switch::{Switch, SwitchSpec};
use ringway_fwd::control::Pulse;
use ringway_router::follow::{Engine, Options};
use ringway_router::kernel::{Interface, Outcome, Path, Router, Spec};
use support::{Bed, LIMIT, Way, fill, join, mac, root, total};

/// Has the child below make a router.
const CHILD: &str = "RINGWAY_TEST_ROUTER";

/// Not a test of its own: the process that is killed.
#[test]
fn child() {
    let Ok(all) = std::env::var(CHILD) else { return };
    let (name, way) = enter(&all);
    let router = Router::create(name, &Spec::default()).unwrap();
    let mut control = router.take_control().unwrap();
    fill(&mut control);
    control.publish(&mut Pulse::none()).unwrap();
    ["r0", "r1", "r2"].iter().for_each(|link| _ = join(&router, link, way));
    control.heartbeat(true).unwrap();
    println!("ready");
    loop {
        control.heartbeat(true).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Nor this one: it changes a router without end, and begins with whatever another one left.
#[test]
fn restless_child() {
    let Ok(all) = std::env::var(CHILD) else { return };
    let (name, way) = enter(&all);
    let router = Router::open(name).unwrap();
    println!("ready");
    loop {
        let mut control = router.take_control().unwrap();
        fill(&mut control);
        control.publish(&mut Pulse::none()).unwrap();
        for link in ["r0", "r1", "r2"] {
            let _ = router.remove_member(link);
            join(&router, link, way);
        }
    }
}

/// Enters the namespace that the parent named behind the router, whose name it returns, and the way of its members.
fn enter(all: &str) -> (&str, Way) {
    let [name, netns, way]: [&str; 3] = all.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let way = Way::ALL.into_iter().find(|w| format!("{w:?}") == way).unwrap();
    let netns = std::fs::File::open(format!("/run/netns/{netns}")).unwrap();
    nix::sched::setns(netns, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
    (name, way)
}

/// Ends the child with the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(test: &str, bed: &Bed) -> Killed {
    let me = std::env::current_exe().unwrap();
    let mut child = Killed(
        Command::new(me)
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, format!("{} {} {:?}", bed.name, bed.r.name(), bed.way))
            .env("RINGWAY_BPFFS", root())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("ready")), "the child failed");
    child
}

all_ways! {
    a_router_outlives_its_process_and_is_taken_over_without_a_gap
    whoever_is_killed_leaves_a_router_that_goes_on
    tables_are_exchanged_under_traffic_without_loss
}

fn a_router_outlives_its_process_and_is_taken_over_without_a_gap(way: Way) {
    let Some(bed) = Bed::by("vale1", way) else { return };
    let (router, killed, before) = loop {
        let child = start("child", &bed);
        let (router, begun) = (Router::open(&bed.name).unwrap(), Instant::now());
        while !router.health().ready {
            assert!(begun.elapsed() < LIMIT);
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(bed.answers("10.0.1.2"));
        assert_eq!(router.take_control().unwrap_err().kind(), ErrorKind::Busy);
        drop(child);
        let (killed, before) = (Instant::now(), bed.kernel_forwarded());
        assert!(bed.answers("10.0.1.2") && bed.answers("fd00:b::2"));
        let after = bed.kernel_forwarded();
        // Else the machine stood still, and nothing is known.
        if router.health().ready {
            assert_eq!(after, before, "the fast path goes on");
            break (router, killed, before);
        }
        router.delete().unwrap();
    };
    assert!(router.health().controller.is_none());
    while router.health().ready {
        assert!(killed.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(50)); // steps of the kernel's clock
    assert!(bed.answers("10.0.1.2") && bed.answers("fd00:b::2"));
    assert_eq!(bed.kernel_forwarded(), before + 12, "the kernel does");
    assert!(total(&router.stats(), Outcome::NotReady) >= 12);

    let control = bed.control(&router);
    let answered = || assert!(bed.answers("10.0.1.2") && bed.answers("fd00:b::2"));
    assert_eq!(bed.by_kernel(&control, answered), 0);
    drop(control);
}

/// At any instruction: the next one finds nothing that it can't go on from.
fn whoever_is_killed_leaves_a_router_that_goes_on(way: Way) {
    const ROUNDS: u64 = 20;
    let Some(bed) = Bed::by("vale6", way) else { return };
    let router = bed.inside(|| Router::create(&bed.name, &Spec::default())).unwrap();
    for round in 0..ROUNDS {
        let child = start("restless_child", &bed);
        std::thread::sleep(Duration::from_millis(3 + round * 37 % 150));
        drop(child);
    }
    let control = bed.control(&router);
    bed.inside(|| {
        for link in ["r0", "r1", "r2"] {
            let _ = router.remove_member(link);
            join(&router, link, way);
        }
    });
    let answered = || assert!(bed.answers("10.0.1.2") && bed.answers("fd00:b::2"));
    assert_eq!(bed.by_kernel(&control, answered), 0);
    assert_eq!(router.members().len(), 3);
    drop(control);
    router.delete().unwrap();
    let left = |link: &str| ringway::probe::interface(link).unwrap().programs.len();
    assert_eq!(bed.inside(|| ["r0", "r1", "r2"].map(left)), [0; 3]);
    let names = std::fs::read_dir(root()).unwrap().map(|e| e.unwrap().file_name());
    let halves: Vec<_> = names.filter(|n| n.to_string_lossy().contains(&bed.name)).collect();
    assert!(halves.is_empty(), "{halves:?}");
}

/// Its process died when one of three interfaces was a member, and a second one was noted only.
#[test]
fn a_router_that_was_not_made_to_its_end_is_completed() {
    let Some(bed) = Bed::new("vale7") else { return };
    let names = |router: &Router| router.members().into_iter().map(|m| m.name).collect::<Vec<_>>();
    let wanted = ["r0", "r1", "r2"].map(String::from);
    bed.inside(|| {
        let router = Router::create_for("vale7", &Spec::default(), &wanted).unwrap();
        let mut control = router.take_control().unwrap();
        fill(&mut control);
        control.publish(&mut Pulse::none()).unwrap();
        join(&router, "r1", Way::Xdp);
        drop(control);
        let router = Router::open("vale7").unwrap();
        assert_eq!(
            (router.intended_members().names().as_slice(), router.intended_members().is_complete()),
            (&wanted[..], false)
        );

        let (engine, warnings) = Engine::take_over("vale7", &Options::default()).unwrap();
        let mut found = names(engine.router());
        found.sort();
        assert_eq!((found.as_slice(), warnings.len()), (&wanted[..], 0));
        assert!(engine.router().intended_members().is_complete());
        engine.router().intended_members().cancel("r2");
        engine.router().remove_member("r2").unwrap();
        drop(engine);
        let (engine, _) = Engine::take_over("vale7", &Options::default()).unwrap();
        assert_eq!(names(engine.router()).len(), 2, "what was taken out later stays out");
        engine.delete().unwrap();

        let router = Router::create_for("vale7", &Spec::default(), &wanted).unwrap();
        router.intended_members().cancel("r0");
        let (engine, _) = Engine::take_over("vale7", &Options::default()).unwrap();
        assert_eq!(names(engine.router()), ["r1", "r2"], "and what was before, too");
        engine.delete().unwrap();
    });
}

/// Sends numbered datagrams from a to b: how many arrived. No more are under way than sockets and rings hold, even if a process stands still.
fn stream(bed: &Bed, packets: u32) -> u32 {
    const WINDOW: u32 = 32;
    let (sender, receiver) = (Bed::udp(&bed.a, "10.0.0.2:20000"), Bed::udp(&bed.b, "10.0.1.2:9000"));
    let arrived = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..packets {
                while i.saturating_sub(arrived.load(Relaxed)) > WINDOW {
                    std::thread::sleep(Duration::from_micros(300));
                }
                sender.send_to(&i.to_ne_bytes(), "10.0.1.2:9000").unwrap();
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let mut got = std::collections::BTreeSet::new();
        let mut bytes = [0; 4];
        while got.len() < packets as usize && receiver.recv(&mut bytes).is_ok() {
            got.insert(u32::from_ne_bytes(bytes));
            arrived.store(got.len() as u32, Relaxed);
        }
        arrived.store(u32::MAX, Relaxed); // the sender ends, too
        got.len() as u32
    })
}

fn tables_are_exchanged_under_traffic_without_loss(way: Way) {
    const PACKETS: u32 = 4000;
    let Some(bed) = Bed::by("vale2", way) else { return };
    let (router, first) = bed.start();
    let (mut next, begun) = (Some(first), Instant::now());
    loop {
        let (before, mut turns, mut slowest, mut beat) =
            (bed.kernel_forwarded(), 0, Duration::ZERO, Instant::now());
        next.as_ref().unwrap().heartbeat(true).unwrap();
        let got = std::thread::scope(|scope| {
            let streaming = scope.spawn(|| stream(&bed, PACKETS));
            while turns < 5 || !streaming.is_finished() {
                drop(next.take());
                next = Some(bed.control(&router));
                std::thread::sleep(Duration::from_millis(100));
                next.as_ref().unwrap().heartbeat(true).unwrap();
                slowest = slowest.max(beat.elapsed());
                (beat, turns) = (Instant::now(), turns + 1);
            }
            streaming.join().unwrap()
        });
        assert_eq!(got, PACKETS);
        // Else tables ran out of trust because the machine stood still.
        if slowest < Duration::from_millis(2900) {
            assert_eq!(bed.kernel_forwarded(), before, "all by the fast path");
            break;
        }
        assert!(begun.elapsed() < 4 * LIMIT, "too slow to tell");
    }
    drop(next);
}

#[test]
fn what_can_not_be_is_refused_with_a_cure() {
    let Some(bed) = Bed::new("vale3") else { return };
    let refused = |found: Result<(), ringway::Error>, kind, word: &str| {
        let e = found.unwrap_err();
        assert!(e.kind() == kind && e.to_string().contains(word), "{:?} {e}", e.kind());
    };
    let router = bed.inside(|| Router::create("vale3", &Spec::default())).unwrap();
    let again = Router::create("vale3", &Spec::default());
    refused(again.map(drop), ErrorKind::Busy, "there is a switch or router of that name");
    refused(Switch::open("vale3").map(drop), ErrorKind::Unfit, "vale3 is a router");
    assert!(!ringway::switch::switches().contains(&"vale3".into()) && ringway::pinned::is_router("vale3"));
    refused(Router::open("vale9").map(drop), ErrorKind::NotFound, "no such switch or router");
    refused(Router::create("0eth", &Spec::default()).map(drop), ErrorKind::BadName, "not the name");

    let switch = Switch::create("vale4", &SwitchSpec::default()).unwrap();
    refused(Router::open("vale4").map(drop), ErrorKind::Unfit, "it is no router");
    let taken = Router::create("vale4", &Spec::default());
    refused(taken.map(drop), ErrorKind::Busy, "there is a switch");
    switch.delete().unwrap();

    let to = Interface { mac: mac("r0"), ..Interface::default() };
    let add = |link: &str| bed.inside(|| router.add_member(link, &to).map(drop));
    refused(add("r0"), ErrorKind::Unfit, "no tables yet");
    let control = bed.control(&router);
    refused(add("nothing"), ErrorKind::NotFound, "no such interface");
    refused(add("lo"), ErrorKind::Unsupported, "the driver of lo has no native XDP");
    refused(router.take_control().map(drop), ErrorKind::Busy, "controls the router");
    refused(
        bed.b.run(|| Ok::<_, support::Any>(router.add_member("b0", &to).map(drop))).unwrap(),
        ErrorKind::Unfit,
        "namespace",
    );
    add("r0").unwrap();
    refused(add("r0"), ErrorKind::Busy, "r0 is a member");
    refused(router.remove_member("r1"), ErrorKind::NotFound, "r1 is no member");
    refused(router.set_interface(7, &to), ErrorKind::NotFound, "no member 7");
    let other = bed.inside(|| Router::create("vale5", &Spec::default())).unwrap();
    let control_of_other = bed.control(&other);
    let busy = bed.inside(|| other.add_member("r0", &to).map(drop));
    refused(
        busy,
        ErrorKind::Busy,
        "another XDP program (router) is attached to r0: it is a member of router vale",
    );
    let by_tc = |link: &str| bed.inside(|| other.add_member_by(link, &to, Path::Tc).map(drop));
    refused(by_tc("r0"), ErrorKind::Busy, "it is a member of router vale");
    by_tc("r1").unwrap();
    refused(add("r1"), ErrorKind::Busy, "it is a member of router vale");
    other.remove_member("r1").unwrap();
    let switch = Switch::create("vale8", &SwitchSpec::default()).unwrap();
    bed.inside(|| switch.add_nic("r2")).unwrap();
    let said = by_tc("r2");
    switch.delete().unwrap();
    refused(said, ErrorKind::Busy, "it is a port of a switch");
    assert!(other.members().is_empty(), "nothing half made stays");
    drop(control_of_other);
    other.delete().unwrap();
    drop(control);
}
