//! `ringway prof live --stages` and `ringway top --stages`: a path counts while somebody watches, also when the watcher is killed.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::Once;
use std::thread;
use std::time::Instant;

use ringway::switch::Switch;
use ringway_watch::stages::LEASE;
use serde_json::Value;
use support::Running;
use support::room::Room;
use support::schema::Schema;

/// A room with a switch, a sender and a receiver on it.
struct Busy {
    _sender: Running,
    _receiver: Running,
    room: Room,
}

impl Busy {
    fn new() -> Option<Self> {
        let room = Room::new()?;
        assert_eq!(room.run(&["switch", "add", "vale0"]).code, Some(0));
        assert_eq!(room.run(&["switch", "port", "add", "vale0:a", "vale0:b"]).code, Some(0));
        let receiver = room.start(&["pkt-gen", "-i", "vale0:b", "-f", "rx"]);
        room.wait_open("vale0", "b");
        let sender = room.start(&["pkt-gen", "-i", "vale0:a", "-f", "tx", "-R", "100k"]);
        room.wait_open("vale0", "a");
        Some(Self { _sender: sender, _receiver: receiver, room })
    }

    /// Ports of the switch that count.
    fn watched_ports(&self) -> usize {
        // All rooms have their switches at the same place, and a process names it once.
        static SET: Once = Once::new();
        SET.call_once(|| ringway::pinned::set_root(self.room.path("bpf/ringway")).unwrap());
        Switch::open("vale0").unwrap().watched_ports()
    }
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn stages_of_a_switch_are_watched() {
    let Some(busy) = Busy::new() else { return };
    let words = ["prof", "live", "--stages", "switch=vale0", "-n", "3", "--interval", "0.3"];
    let ended = busy.room.run(&[&words[..], &["--json"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("tier C, counters of switch=vale0"), "{ended:?}");
    let intervals = objects(&ended.stdout);
    assert_eq!(intervals.len(), 3, "{ended:?}");
    for interval in &intervals {
        Schema::read().check("prof live with --stages", interval);
        let names: Vec<_> = interval["stages"].as_array().unwrap().iter().map(|s| &s["stage"]).collect();
        assert_eq!(names, ["decide", "deliver"]);
    }
    let counted = intervals.iter().find(|i| i["packets"].as_u64() > Some(0)).expect("packets pass");
    assert!(counted["total"].as_f64() > Some(0.0) && counted["batch"].as_f64() >= Some(1.0), "{counted}");
    let text = busy.room.run(&words).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("of a packet") && lines[1].contains(" BUSY decide deliver "), "{text}");
    assert!(lines.len() == 5 && lines[2..].iter().all(|line| line.len() == lines[1].len()), "{text}");
}

#[test]
fn a_killed_watcher_leaves_nothing_switched_on() {
    let Some(busy) = Busy::new() else { return };
    let watch = busy.room.start(&["prof", "live", "--stages", "switch=vale0", "--interval", "0.2", "--json"]);
    watch.wait_said("\"batches\"", 2);
    watch.signal(libc::SIGKILL);
    assert_eq!(watch.end().code, None);
    // A port finds out with its next burst. Port b sends none.
    busy.room.until(|| busy.watched_ports() == 1);
}

/// What `ringway top` says of stages, once packets were counted.
fn top_with_packets(busy: &Busy) -> Value {
    let end = Instant::now() + support::LIMIT;
    loop {
        let top = busy.room.json(&["top", "--once", "--stages", "--interval", "300"]);
        let paths = top["stages"].as_array().expect("paths with stages");
        if paths.iter().any(|path| path["packets"].as_u64() > Some(0)) {
            return top;
        }
        assert!(Instant::now() < end, "no packet is counted: {top}");
    }
}

#[test]
fn top_shows_the_stages_of_a_switch_once() {
    let Some(busy) = Busy::new() else { return };
    let top = top_with_packets(&busy);
    Schema::read().check("top", &top);
    assert_eq!(top["stages"].as_array().unwrap().len(), 1, "two ports have one switch: {top}");
    let path = &top["stages"][0];
    assert_eq!((&path["target"], &path["stages"][1]["stage"]), (&"switch=vale0".into(), &"deliver".into()));
    assert!(path["total"].as_f64() > Some(0.0) && path["batch"].as_f64() >= Some(1.0), "{path}");
    let text = busy.room.run(&["top", "--once", "--stages", "--interval", "300"]).stdout;
    assert!(text.contains("\n\nstages of switch=vale0, ") && text.contains("\ndeliver "), "{text}");
    let without = busy.room.json(&["top", "--once", "--interval", "20"]);
    assert!(without.get("stages").is_none(), "{without}");
}

#[test]
fn a_killed_top_leaves_nothing_switched_on() {
    let Some(busy) = Busy::new() else { return };
    assert_eq!(busy.watched_ports(), 0);
    let top = busy.room.start(&["top", "--once", "--stages", "--interval", "600000"]);
    busy.room.until(|| busy.watched_ports() == 2);
    // Longer than a lease: port a, which sends, would have found out.
    thread::sleep(LEASE + LEASE / 2);
    assert_eq!(busy.watched_ports(), 2);
    top.signal(libc::SIGKILL);
    assert_eq!(top.end().code, None);
    busy.room.until(|| busy.watched_ports() == 1);
}

#[test]
fn a_switch_that_goes_away_ends_the_watch() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0"]).code, Some(0));
    let watch = room.start(&["prof", "live", "--stages", "switch=vale0", "--interval", "600"]);
    watch.wait_said("tier C", 1);
    assert_eq!(room.run(&["switch", "del", "vale0"]).code, Some(0));
    let ended = watch.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("switch=vale0 has ended"), "{ended:?}");
}

#[test]
fn what_has_no_stages_is_refused() {
    for (args, code, says) in [
        (&["--stages", "eth0"][..], 2, "accepted: switch=NAME, interfaces=NAME, router=NAME, pid=PID"),
        (&["--stages", "switch=vale9"], 1, "vale9"),
        (&["--stages", "interfaces=vale9"], 1, "vale9"),
        (&["--stages", "router=r9"], 1, "r9"),
        (&["--stages", "pid=1"], 1, "pid=1: it has no stages that you may watch"),
        (&["--stages", "switch=vale0", "--cpu", "0"], 2, "--cpu"),
        (&["--stages", "switch=vale0", "--packets", "eth0"], 2, "--packets"),
    ] {
        let ended = support::run(&[&["prof", "live"], args].concat());
        assert!(ended.error(code).contains(says), "{ended:?}");
    }
}
