//! `ringway rfc2889`, end to end: over modelled switches, Ringway's own in lock step, and a bridge of the kernel.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::thread;
use std::time::Duration;

use ringway_lab::{AnyError, Lab, is_root};
use serde_json::Value;
use support::{file, run, start};

fn args(words: &str) -> Vec<&str> {
    ["rfc2889"].into_iter().chain(words.split(' ').filter(|w| !w.is_empty())).collect()
}

/// Runs with `words`, split at spaces.
fn switch(words: &str) -> support::Ended {
    run(&args(words))
}

/// The name that the command had first.
#[test]
fn the_former_name_is_understood() {
    let words = "rfc2544 switch --virtual-time --link 100M --sizes 64 --seconds 0.01";
    let ended = run(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("Forwarding"), "{ended:?}");
    assert!(!run(&["rfc2544", "--help"]).stdout.contains("switch  "));
}

#[test]
fn all_tests_over_a_modelled_switch_with_every_kind_of_report() {
    let (page, json, csv) = (file("s.html"), file("s.json"), file("s.csv.d"));
    let words = format!(
        "--virtual-time --link 100M --device switch:ports=4,table=100,learn=2000,hol,forwards=undersize --test all --pattern all \
         --sizes 64,1518 --seconds 0.02 --addresses 200 --learning-pps 1000 --learning-step 1 --page {} --save {} --csv {}",
        page.display(),
        json.display(),
        csv.display()
    );
    let ended = switch(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in [
        "Forwarding",
        "Congestion control",
        "Address caching",
        "Address learning",
        "Errored",
        "Broadcast",
        "mesh",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let r = &report["results"];
    assert_eq!(r["forwarding"].as_array().unwrap().len(), 12);
    assert_eq!((&r["capacity"][0]["cached"], &r["learning"][0]["fps"]), (&100.into(), &2000.into()));
    assert_eq!(r["congestion"][0]["head_of_line_blocking"], true, "{}", r["congestion"]);
    let right: Vec<bool> = r["errored"].as_array().unwrap().iter().map(|e| e["right"] == true).collect();
    assert_eq!(right, [false, true, true, true, true]);
    let html = fs::read_to_string(&page).unwrap();
    for part in ["frames per second over all ports", "<dt>Date</dt>", "<span>--virtual-time</span>"] {
        assert!(html.contains(part), "{part}");
    }
    for name in ["forwarding", "congestion", "capacity", "learning", "errored", "broadcast", "trials"] {
        assert!(csv.join(name).with_extension("csv").exists(), "{name}");
    }
}

#[test]
fn what_can_not_be_is_refused_before_anything_is_sent() {
    for (words, part) in [
        ("", "there are no ports; name them with --ports"),
        ("--virtual-time --device switch:ports=3 --test congestion", "the congestion test needs 4 ports"),
        ("--virtual-time --device switch:ports=5 --pattern pairs", "an even number of ports"),
        ("--virtual-time --device link", "accepted: switch"),
        ("--virtual-time --device switch:size=9", "a switch has no 'size'"),
        ("--virtual-time --pattern ring", "'ring' is no pattern; accepted: pairs, mesh"),
        ("--virtual-time --test speed", "'speed' is no test; accepted: forwarding, congestion"),
        ("--virtual-time --test capacity --addresses 100k", "forgets the first"),
        ("--virtual-time --slots 9", "--slots is for ports"),
        ("--virtual-time --flush true", "--flush is for ports"),
        ("--virtual-time --sizes none", "there is no size"),
        ("--ports loop:,loop:", "the ports have no speed of their own"),
        ("--ports null:,null: --link 1G", "named twice"),
        ("--dut linux-router", "--dut linux-router is no switch; choose linux-bridge"),
        ("--dut veth --dut-ports 3", "2 ports"),
        ("--dut linux-bridge --virtual-time", "--virtual-time is for --dut ringway-ports"),
    ] {
        let ended = switch(words);
        assert!(ended.code == Some(2) || ended.code == Some(1), "{words}: {ended:?}");
        assert!(ended.stderr.contains(part) && ended.stdout.is_empty(), "{words}: {ended:?}");
    }
}

#[test]
fn a_stopped_run_is_partial() {
    let running = start(&args("--virtual-time --link 1G --sizes rfc --seconds 100 --json"));
    while !catches_interrupts(running.pid()) {
        thread::sleep(Duration::from_millis(10));
    }
    let ended = running.interrupt();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("interrupted: the results are partial"), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
}

/// Whether a process would not be killed by an interrupt.
fn catches_interrupts(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (libc::SIGINT - 1)) != 0
}

/// The address table of Ringway's switch takes as many addresses of a port as its quota allows.
#[test]
fn a_switch_of_ringway_in_lock_step() {
    let Some(room) = support::room::Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0", "--quota", "300"]).code, Some(0));
    let ports =
        "--virtual-time --ports vale0:p1,vale0:p2,vale0:p3,vale0:p4 --link 1G --sizes 64,1518 --seconds 0.02";
    let words = format!("{ports} --test forwarding,errored,broadcast --pattern mesh,pairs,partial");
    let report = room.json(&args(&words));
    for f in report["results"]["forwarding"].as_array().unwrap() {
        let zero = Value::from(0);
        assert_eq!((&f["load"], &f["at_maximum"]["flooded"]), (&Value::from(1_000_000), &zero), "{f}");
        assert_eq!(f["at_maximum"]["lost"], zero, "{f}");
    }
    let errored = report["results"]["errored"].as_array().unwrap();
    for e in &errored[2..] {
        assert!(e["impossible"].as_str().unwrap().contains("no say in the FCS"), "{e}");
    }
    assert_eq!(report["results"]["broadcast"][0]["load"], 1_000_000);
    let flush = format!("{} vale fdb flush vale0", room.path("ringway"));
    let words = "--virtual-time --ports vale0:p1,vale0:p2,vale0:p3 --link 1G --test capacity --addresses 1000 --learning-pps 10k --flush";
    let mut all = args(words);
    all.push(&flush);
    let report = room.json(&all);
    let c = &report["results"]["capacity"][0];
    assert_eq!((&c["learned"], &c["failing"]), (&Value::from(300), &Value::from(301)), "{c}");
}

/// A device by name, which forgets its addresses without being told how.
#[test]
fn a_device_by_name_forgets() {
    if !is_root() {
        eprintln!("SKIP: devices need root; run these tests with sudo");
        return;
    }
    let words = "--dut linux-bridge --dut-ports 3 --dut-backend packet --pps 2000 --wait 0.1 --pause 0 --test capacity --addresses 50 \
                 --learning-pps 1000 --retries 60 --json";
    let report = switch(words).json();
    let c = &report["results"]["capacity"][0];
    assert_eq!((&c["at_least"], &c["learned"]), (&Value::from(true), &Value::from(50)), "{c}");
    assert!(report["settings"]["flush"].as_str().unwrap().contains("fdb_flush"), "{}", report["settings"]);
}

/// A bridge of the kernel in real time: four ports, a mesh, its addresses, and an ageing time that is waited for.
#[test]
fn a_bridge_in_real_time() {
    if !is_root() {
        eprintln!("SKIP: bridges need root; run these tests with sudo");
        return;
    }
    let lab = Lab::new().unwrap();
    lab.ip("link add br0 type bridge ageing_time 100 mcast_snooping 0").unwrap();
    for k in 0..4 {
        lab.veth(&format!("t{k}"), &format!("b{k}")).unwrap();
        lab.ip(&format!("link set b{k} master br0")).unwrap();
    }
    lab.ip("link set br0 up").unwrap();
    let words = "--ports packet:t0,packet:t1,packet:t2,packet:t3 --pps 2000 --sizes 64 --seconds 0.2 --wait 0.2 --pause 0 --slots 4096 \
                 --test forwarding,errored,broadcast --pattern mesh --retries 60 --json";
    let forwarded = lab.run(|| Ok::<_, AnyError>(switch(words))).unwrap().json();
    let f = &forwarded["results"]["forwarding"][0];
    assert_eq!(f["at_maximum"]["flooded"], 0, "{f}");
    assert!(f["fps"].as_f64().unwrap() > 1000.0, "{f}");
    let errored = &forwarded["results"]["errored"];
    assert!(errored[1]["impossible"].as_str().unwrap().contains("longer than its MTU allows"), "{errored}");
    assert!(forwarded["results"]["broadcast"][0]["latency"]["count"].as_u64().unwrap() > 100);
    let words = "--ports packet:t0,packet:t1,packet:t2 --pps 2000 --sizes 64 --wait 0.1 --pause 0 --test capacity --addresses 100 \
                 --learning-pps 1000 --age 1 --retries 60 --json";
    let capacity = lab.run(|| Ok::<_, AnyError>(switch(words))).unwrap().json();
    let c = &capacity["results"]["capacity"][0];
    assert_eq!((&c["at_least"], &c["learned"]), (&Value::from(true), &Value::from(100)), "{capacity}");
}
