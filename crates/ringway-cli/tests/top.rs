//! `ringway top` on a terminal of its own, and as text.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use ringway::switch::Switch;
use support::room::Room;
use support::top::Top;
use support::{LIMIT, pipe, run, start, wait_open};

#[test]
fn q_quits_and_gives_the_terminal_back() {
    let (_, b) = pipe();
    let running = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    let mut top = Top::start(80, 24, &["--interval", "100"]);
    top.wait_for(&b);
    top.press("?");
    top.wait_for("COLUMNS");
    // Only what changes is drawn: of the list that comes back, perhaps no name as a whole.
    top.press("\x1b");
    top.press("q");
    assert_eq!(top.end(), Some(0));
    running.interrupt();
}

#[test]
fn ctrl_c_and_sigterm_give_the_terminal_back() {
    let mut top = Top::start(80, 24, &[]);
    top.wait_for("DROP/s");
    top.press("\x03");
    assert_eq!(top.end(), Some(0));
    for signal in ["-TERM", "-INT"] {
        let mut top = Top::start(80, 24, &["-i", "60000"]);
        top.wait_for("DROP/s");
        top.press("p");
        top.wait_for("PAUSED");
        top.signal(signal);
        assert_eq!(top.end(), Some(0), "{signal}");
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    for (prefix, interval) in [(&[][..], "60000"), (&["env", "--ignore-signal=HUP"][..], "200")] {
        let mut top = Top::start_under(prefix, 80, 24, &["-i", interval]);
        top.wait_for("DROP/s");
        top.unplug();
        let status = top.wait();
        assert!(status.signal() == Some(libc::SIGHUP) || status.code() == Some(1), "{status:?}");
    }
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    let running = start(&["pkt-gen", "-i", "null:", "-f", "tx", "-R", "1k", "-T", "100"]);
    wait_open("null:");
    let mut top = Top::start(40, 10, &["--interval", "100"]);
    top.wait_for("null:");
    assert!(!top.shown().contains("RXwire"), "{:?}", top.shown());
    top.resize(120, 30);
    top.wait_for("RXwire");
    top.wait_for("TXwire");
    for (columns, rows) in [(1, 1), (300, 2), (5, 80), (0, 0)] {
        top.resize(columns, rows);
        thread::sleep(Duration::from_millis(150));
    }
    top.resize(80, 24);
    top.wait_for("RXwire");
    top.press("q");
    assert_eq!(top.end(), Some(0));
    running.interrupt();
}

#[test]
fn a_killed_owner_disappears() {
    let (_, b) = pipe();
    let running = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    let mut top = Top::start(80, 24, &["--interval", "100"]);
    top.wait_for(&b);
    running.signal(libc::SIGKILL);
    running.end();
    top.wait_for("closed:");
    top.press("q");
    assert_eq!(top.end(), Some(0));
    assert!(!run(&["stats"]).stdout.contains(&b));
}

#[test]
fn a_key_switches_stages_on_and_off() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0"]).code, Some(0));
    assert_eq!(room.run(&["switch", "port", "add", "vale0:a"]).code, Some(0));
    let _sender = room.start(&["pkt-gen", "-i", "vale0:a", "-f", "tx", "-R", "10k"]);
    room.wait_open("vale0", "a");
    ringway::pinned::set_root(room.path("bpf/ringway")).unwrap();
    let watched = || Switch::open("vale0").unwrap().watched_ports();
    let mut top = Top::start_in(&room, &["--interval", "100"]);
    top.wait_for("vale0:a");
    assert_eq!(watched(), 0);
    top.press("c");
    for text in ["switch=vale0", "STAGE", "decide", "deliver", "share"] {
        top.wait_for(text);
    }
    assert_eq!(watched(), 1);
    top.press("c");
    room.until(|| watched() == 0);
    top.press("c");
    room.until(|| watched() == 1);
    top.press("q");
    assert_eq!(top.end(), Some(0));
    room.until(|| watched() == 0);
}

#[test]
fn once_prints_rates_rings_and_drops() {
    let running = start(&["pkt-gen", "-i", "null:77", "-f", "tx", "-R", "10k", "-T", "100"]);
    wait_open("null:77");
    let begin = Instant::now();
    let ended = loop {
        let ended = run(&["top", "--once", "--interval", "500"]);
        let row = ended.stdout.lines().find(|l| l.starts_with("null:77 "));
        let fast = row.and_then(|r| r.split_whitespace().nth(5)).is_some_and(|cell| cell.ends_with('k'));
        // the sender may have stood still
        if fast || begin.elapsed() > LIMIT {
            break ended;
        }
    };
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let row = ended.stdout.lines().find(|l| l.starts_with("null:77 ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells.len(), cells[1], cells[2]), (13, running.pid().to_string().as_str(), "0"), "{row}");
    assert!(cells[5].ends_with('k'), "about 10k frames a second: {row}");
    assert!(ended.stdout.contains("\nrx0 ") && ended.stdout.contains("\ntx0 "), "{ended:?}");
    assert!(!ended.stdout.contains('\x1b'), "{ended:?}");
    running.interrupt();
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let ended = run(&["top"]);
    assert!(ended.error(1).contains("top needs a terminal; use ringway top --once"), "{}", ended.stderr);
    assert!(run(&["top", "--interval", "5"]).error(2).contains("'--interval"));
}
