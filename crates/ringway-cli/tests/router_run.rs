//! `ringway router run` in a namespace, to its end by Ctrl-C. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_lab::{AnyError, Lab};
use serde_json::Value;
use support::schema::Schema;
use support::{run, spawn};

/// A frame from behind a1 that R's routes lead out of b0.
fn frame() -> Vec<u8> {
    let mut frame =
        vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 253, 0, 0];
    frame.extend([10, 0, 0, 2, 192, 0, 2, 1]);
    frame.resize(60, 7);
    let sum = ringway_wire::checksum::of(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// R: a0 and b0, whose far ends a1 and b1 are in the same namespace without addresses.
fn lab() -> Option<Lab> {
    if !ringway_lab::is_root() {
        eprintln!("SKIP: routing needs root (namespaces, XDP); run these tests with sudo");
        return None;
    }
    let lab = Lab::new().unwrap();
    for (a, b) in [("a0", "a1"), ("b0", "b1")] {
        lab.veth(a, b).unwrap();
        lab.run_napi(b).unwrap();
    }
    for command in [
        "link set a0 address 02:00:00:00:00:01",
        "link set b0 address 02:00:00:00:00:02",
        "addr add 10.0.0.1/24 dev a0",
        "addr add 10.1.0.1/24 dev b0",
        "neigh add 10.1.0.2 lladdr 06:00:00:00:00:02 dev b0",
        "route add 192.0.2.0/24 via 10.1.0.2",
    ] {
        lab.ip(command).unwrap();
    }
    lab.exec("sysctl", &["-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0"]).unwrap();
    Some(lab)
}

/// `ringway ARGS` inside the namespace.
fn inside(lab: &Lab, args: &[&str]) -> Command {
    let outside = support::command(args);
    let mut command = Command::new("ip");
    command.args(["netns", "exec", lab.name()]).arg(outside.get_program()).args(args);
    outside.get_envs().for_each(|(name, value)| _ = command.env(name, value.unwrap_or_default()));
    command.stdin(Stdio::null());
    command
}

#[test]
fn routes_until_interrupted_and_leaves_nothing() {
    let Some(lab) = lab() else { return };
    let (sender, mut receiver) =
        (RawSender::open(&lab, "a1").unwrap(), RawReceiver::open(&lab, "b1").unwrap());
    let router = spawn(&mut inside(
        &lab,
        &["router", "run", "-p", "a0", "-p", "b0=ebpf:b0,ebpf:b0^", "-w", "1", "--json"],
    ));
    let end = Instant::now() + support::LIMIT;
    let is_there = || {
        lab.run(|| {
            let links = Command::new("ip").args(["-d", "link"]).output().unwrap();
            Ok::<_, AnyError>(String::from_utf8(links.stdout).unwrap().contains("prog/xdp"))
        })
    };
    while !is_there().unwrap() {
        assert!(Instant::now() < end, "the router does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    router.wait_said(", as in the kernel", 1); // tables are filled
    for _ in 0..10 {
        sender.send(&frame()).unwrap();
    }
    for _ in 0..10 {
        let got = receiver.next(support::LIMIT).unwrap().expect("a frame comes through");
        assert_eq!((&got[..12], got[22]), (&[6, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 2][..], 63));
    }
    let result = router.interrupt().json();
    assert_eq!(
        (&result["command"], &result["trouble"], &result["pending"]),
        (&"router run".into(), &().into(), &0.into())
    );
    let a0 = &result["interfaces"][0];
    assert_eq!(
        (&a0["interface"], &a0["port"], &a0["host_port"]),
        (&"a0".into(), &"ebpf:a0".into(), &"ebpf:a0^".into())
    );
    assert_eq!((&a0["counts"]["forwarded"], &a0["zero_copy"]), (&10.into(), &true.into()), "{result}");
    assert_eq!(result["interfaces"][1]["wire"]["tx"]["frames_out"], 10, "{result}");
    while is_there().unwrap() {
        assert!(Instant::now() < end, "something stays attached");
        std::thread::sleep(Duration::from_millis(20));
    }
    sender.send(&frame()).unwrap();
    assert!(receiver.next(support::LIMIT).unwrap().is_some(), "the kernel forwards again");
}

#[test]
fn stages_of_a_router_are_watched() {
    let Some(lab) = lab() else { return };
    let sender = RawSender::open(&lab, "a1").unwrap();
    let router = spawn(&mut inside(&lab, &["router", "run", "-p", "a0", "-p", "b0"]));
    router.wait_said(", as in the kernel", 1);
    let target = format!("pid={}", router.pid());
    let watch =
        spawn(&mut inside(&lab, &["prof", "live", "--stages", &target, "--interval", "0.2", "--json"]));
    let intervals = || -> Vec<Value> {
        let said = watch.said();
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let end = Instant::now() + support::LIMIT;
    let counted = loop {
        assert!(Instant::now() < end, "no packet is counted: {}", watch.said());
        (0..100).for_each(|_| sender.send(&frame()).unwrap());
        if let Some(found) = intervals().into_iter().find(|found| found["packets"].as_u64() > Some(0)) {
            break found;
        }
    };
    Schema::read().check("prof live with --stages", &counted);
    let stage = |n: usize| (&counted["stages"][n]["stage"], counted["stages"][n]["ticks"].as_f64());
    for (n, name) in ["RX", "prerouting", "routing", "postrouting", "TX"].into_iter().enumerate() {
        assert!(stage(n).0 == name && stage(n).1 > Some(0.0), "{counted}");
    }
    let words = ["top", "--once", "--stages", "--interval", "50", "--json"];
    let top = spawn(&mut inside(&lab, &words)).end().json();
    Schema::read().check("top", &top);
    let paths: Vec<_> = top["stages"].as_array().unwrap().iter().filter(|p| p["target"] == *target).collect();
    assert!(paths.len() == 1 && paths[0]["stages"][2]["stage"] == "routing", "two ports, one process: {top}");
    router.interrupt();
    let ended = watch.end();
    assert!(ended.code == Some(0) && ended.stderr.contains(&format!("{target} has ended")), "{ended:?}");
}

#[test]
fn refusals_are_one_line() {
    for (args, code, says) in [
        (&["router", "run"][..], 2, "--port"),
        (&["router", "run", "-p", "eth0=pipe:"], 2, "pipe:"),
        (&["router", "run", "-p", "absent"], 1, "absent: there is no such interface"),
    ] {
        let ended = run(args);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.contains(says) && ended.stderr.trim_end().lines().count() == 1, "{ended:?}");
    }
}

/// Beside generic XDP there are no host rings: frames for the host would go round.
#[test]
fn a_driver_that_refuses_programs_is_refused_at_once() {
    if !ringway_lab::is_root() {
        return eprintln!("SKIP: attaching programs needs root; run these tests with sudo");
    }
    let lab = Lab::new().unwrap();
    // The far end has more queues to send from than b0 has to receive by.
    lab.ip("link add b0 numrxqueues 1 numtxqueues 1 type veth peer name b1 numrxqueues 2 numtxqueues 2")
        .unwrap();
    lab.ip("link set b0 up").unwrap();
    for args in [&["router", "run", "-p", "b0"][..], &["bridge", "-i", "b0", "-i", "b0^"]] {
        let ended = inside(&lab, args).output().unwrap();
        let says = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{args:?}: {says}");
        assert_eq!(says.trim_end().lines().count(), 1, "{args:?}: {says}");
        for part in ["ebpf:b0^: ", "driver veth", "generic hook", "leave b0 to the kernel"] {
            assert!(says.contains(part), "{args:?}: {says}");
        }
    }
}
