//! `ringway stats --openmetrics` and `ringway stats --check`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use support::openmetrics::parse;
use support::{Ended, LIMIT, directory, file, pipe, run, start, wait_open};

/// Waits until `port` has received `frames`.
fn wait_received(port: &str, frames: u64) {
    let begin = Instant::now();
    while run(&["stats", port, "--json"]).json()["ports"][0]["rx"]["frames_out"] != frames {
        assert!(begin.elapsed() < LIMIT, "{port} never received {frames} frames");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_port_and_its_rings_are_told_by_the_rules() {
    let (a, b) = pipe();
    let running = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-l", "60", "-n", "321", "--json"]).json();
    wait_received(&b, 321);
    let ended = run(&["stats", "--openmetrics", &b]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let all = parse(&ended.stdout);
    let pid = running.pid().to_string();
    let port = [("port", b.as_str()), ("pid", pid.as_str()), ("nr", "0")];
    let value = |family: &str, labels: &[(&str, &str)]| all[family].value(&[&port, labels].concat());
    for (scope, part) in [("port", ("side", "rx")), ("ring", ("ring", "rx0"))] {
        for dir in ["in", "out"] {
            assert_eq!(value(&format!("ringway_{scope}_frames"), &[part, ("dir", dir)]), 321.0);
        }
        assert_eq!(value(&format!("ringway_{scope}_bytes"), &[part, ("dir", "out")]), 321.0 * 60.0);
        assert_eq!(value(&format!("ringway_{scope}_drops"), &[part, ("reason", "ring_full")]), 0.0);
        assert_eq!(all[&format!("ringway_{scope}_bytes")].unit, "bytes");
    }
    assert_eq!(value("ringway_ring_slots", &[("ring", "tx0")]), 1024.0);
    assert!(value("ringway_ring_fill", &[("ring", "rx0")]) < 1024.0);
    let syncs = value("ringway_ring_syncs", &[("ring", "rx0")]);
    assert!((1.0..=syncs).contains(&value("ringway_ring_busy_syncs", &[("ring", "rx0")])));
    assert_eq!(value("ringway_ring_resets", &[("ring", "rx0")]), 0.0);
    assert_eq!(value("ringway_port", &[("backend", "pipe"), ("interface", "")]), 1.0);
    assert!(value("ringway_port_opened_timestamp_seconds", &[]) > 1.6e9);
    let kinds = ["ringway_port", "ringway_ring_wakeups", "ringway_ring_fill"].map(|f| all[f].kind.as_str());
    assert_eq!(kinds, ["info", "counter", "gauge"]);
    assert_eq!(all["ringway_build"].value(&[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
    running.interrupt();
}

/// Names of files may hold anything, and a process may open a port twice.
#[test]
fn odd_names_are_escaped_and_equal_ones_told_apart() {
    let odd = format!("pcap:{}@write", file("a \"b\" \\ {c},\nd.pcap").display());
    let writing = start(&["pkt-gen", "-i", &odd, "-f", "tx", "-R", "10"]);
    let twice = start(&["bridge", "-i", "null:77", "-i", "null:77", "--one-way"]);
    wait_open(&odd);
    wait_open("null:77");
    let begin = Instant::now();
    let all = loop {
        let all = parse(&run(&["stats", "--openmetrics"]).stdout);
        let count = all["ringway_port"].samples.iter().filter(|(l, _)| l["port"] == "null:77").count();
        if count == 2 {
            break all;
        }
        assert!(begin.elapsed() < LIMIT, "{count} ports");
    };
    let info = &all["ringway_port"];
    assert_eq!(info.value(&[("port", &odd), ("pid", &writing.pid().to_string()), ("backend", "pcap")]), 1.0);
    for nr in ["0", "1"] {
        let labels = [("port", "null:77"), ("pid", &twice.pid().to_string()), ("nr", nr)];
        assert_eq!(info.value(&labels), 1.0);
    }
    writing.interrupt();
    twice.interrupt();
}

/// Of all ports, one test at a time has accounts that do not close.
static ACCOUNTS: Mutex<()> = Mutex::new(());

/// Runs a command until it ends as wanted: a port may stand still between two looks, or just count.
fn until(args: &[&str], wanted: impl Fn(&Ended) -> bool) -> Ended {
    let begin = Instant::now();
    loop {
        let ended = run(args);
        if wanted(&ended) {
            return ended;
        }
        assert!(begin.elapsed() < LIMIT, "{ended:?}");
    }
}

#[test]
fn a_port_that_rests_is_ok_and_one_that_works_is_busy() {
    let _alone = ACCOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let (a, b) = pipe();
    let resting = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    let working = start(&["pkt-gen", "-i", "null:99", "-f", "tx"]);
    wait_open("null:99");
    wait_open(&b);
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "50", "--json"]).json();
    wait_received(&b, 50);
    let ended = run(&["stats", "--check", &b]);
    assert_eq!((ended.code, ended.stdout), (Some(0), format!("{b} (pid {}): ok\n", resting.pid())));
    let start = format!("null:99 (pid {}): busy, ", working.pid());
    let busy = |ended: &Ended| ended.code == Some(0) && ended.stdout.starts_with(&start);
    let ended = until(&["stats", "--check", "-v", "null:99"], busy);
    assert!(ended.stdout.contains("\n  rx0 0 in, 0 out, 0 dropped: ok\n  tx0 "), "{ended:?}");
    until(&["stats", "--check", "--json"], |ended| {
        let all: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let ports = all["ports"].as_array().unwrap();
        let state = |name: &str| ports.iter().find(|p| p["name"] == name).unwrap()["state"].clone();
        (ended.code, state(&b), state("null:99"), &all["open"])
            == (Some(0), "ok".into(), "busy".into(), &0.into())
    });
    for process in [resting, working] {
        process.interrupt();
    }
    assert!(run(&["stats", "--check", &b]).error(1).contains("nobody has this port open"));
}

/// Adds to the frames that entered the first ring of the port of process `pid`, as if that many had vanished.
fn lose(pid: u32, frames: u64) {
    let part = format!(".{pid}.0");
    let files = std::fs::read_dir(directory().join("ports")).unwrap().flatten();
    let path = files.map(|f| f.path()).find(|p| p.to_string_lossy().ends_with(&part)).unwrap();
    let file = File::options().read(true).write(true).open(path).unwrap();
    // Counters follow a header of 2048 bytes, and start with the frames in.
    let mut word = [0; 8];
    file.read_exact_at(&mut word, 2048).unwrap();
    file.write_all_at(&(u64::from_ne_bytes(word) + frames).to_ne_bytes(), 2048).unwrap();
}

#[test]
fn frames_that_nobody_counted_open_an_account() {
    let _alone = ACCOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let (a, _) = pipe();
    let resting = start(&["pkt-gen", "-i", &a, "-f", "rx"]);
    wait_open(&a);
    assert_eq!(run(&["stats", "--check", &a]).code, Some(0));
    lose(resting.pid(), 5);
    let ended = run(&["stats", "--check", &a, "-v"]);
    let expected = format!(
        "{a} (pid {}): open by 5 frames\n  rx0 0 in, 0 out, 0 dropped: ok\n  \
         tx0 5 in, 0 out, 0 dropped: open by 5 frames\n",
        resting.pid()
    );
    assert_eq!(ended.stdout, expected);
    assert!(ended.error(1).contains("1 of 1 ports lost frames without a name"), "{ended:?}");
    let ended = run(&["stats", "--check", &a, "--json"]);
    let all: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let (port, account) = (&all["ports"][0], &all["ports"][0]["accounts"][1]);
    assert_eq!((ended.code, &all["open"], &port["state"]), (Some(1), &1.into(), &"open".into()), "{all}");
    assert_eq!((&port["open_by"], &account["gap"], &account["name"]), (&5.into(), &5.into(), &"tx0".into()));
    resting.interrupt();
}

#[test]
fn frames_that_a_fault_port_keeps_are_under_way() {
    let name = "fault:delay=10s,port=loop:";
    let three = file("three.pcap");
    run(&["pkt-gen", "-i", &format!("pcap:{}@write", three.display()), "-f", "tx", "-n", "3", "--json"])
        .json();
    // a bridge keeps the port as long as frames are in it
    let running = start(&["bridge", "-i", &format!("pcap:{}@top", three.display()), "-i", name, "--one-way"]);
    wait_open(name);
    let begin = Instant::now();
    loop {
        let ended = run(&["stats", "--check", name]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        if ended.stdout.contains(": busy, 3 frames under way of at most ") {
            break;
        }
        assert!(begin.elapsed() < LIMIT, "{ended:?}");
    }
    running.interrupt();
}

#[test]
fn formats_do_not_mix() {
    for args in [
        &["stats", "--openmetrics", "--json"][..],
        &["stats", "--openmetrics", "--check"],
        &["stats", "--openmetrics", "-w", "1"],
        &["stats", "--openmetrics", "-v"],
        &["stats", "--check", "-w", "1"],
    ] {
        assert!(run(args).error(2).contains("cannot be used with"), "{args:?}");
    }
    assert!(run(&["stats", "--openmetrics", "null:63"]).error(1).contains("nobody has this port open"));
}
