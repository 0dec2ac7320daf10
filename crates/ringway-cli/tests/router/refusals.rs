//! What would not be right is refused, and leaves nothing.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use crate::bed::{B4, Bed};
use crate::support::Ended;

/// Tries to make a router; what is said, and that nothing is left.
fn refused(bed: &Bed, more: &[&str]) -> String {
    let tried = bed.room.run(&[&["router", "add", "vale0"], more].concat());
    let said = tried.error(1).to_owned();
    let pinned = fs::read_dir(bed.room.path("bpf/ringway")).into_iter().flatten().flatten();
    let pinned: Vec<_> = pinned.map(|e| e.file_name()).filter(|name| name != "lock").collect();
    assert!(pinned.is_empty(), "{said}: {pinned:?}");
    assert!(!bed.has_program("ra") && !bed.has_program("rb"), "{said}");
    let left: Vec<_> = fs::read_dir(bed.room.path("run")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.is_empty(), "{said}: {left:?}");
    said
}

/// The error of a command that may have waited, and said so.
fn last_line(ended: &Ended) -> &str {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.stderr.split_inclusive('\n').next_back().unwrap()
}

#[test]
fn what_packets_would_go_around_is_refused() {
    let Some(bed) = Bed::new() else { return };
    bed.ip("rule add from 10.9.0.0/16 lookup 100 priority 500");
    let said = refused(&bed, &[]);
    assert!(said.contains("rule at priority 500") && said.contains("--bypass rules"), "{said}");
    let program = ringway::Port::open("ebpf:rb^").unwrap();
    let said = refused(&bed, &["--bypass", "rules", "--path", "xdp"]);
    assert!(said.contains("(tcx) on rb") && said.contains("--bypass tc"), "{said}");
    drop(program);
    bed.r.exec("tc", &["qdisc", "add", "dev", "ra", "clsact"]).unwrap();
    let said = refused(&bed, &["--bypass", "rules"]);
    assert!(said.contains("ingress of ra") && said.contains("--bypass tc"), "{said}");
    bed.ip("xfrm policy add src 10.0.1.0/24 dst 10.0.2.0/24 dir fwd");
    let said = refused(&bed, &["--bypass", "rules,tc"]);
    assert!(said.contains("1 IPsec policies") && said.contains("--bypass xfrm"), "{said}");
    let made = bed.room.json(&["router", "add", "vale0", "--bypass", "rules,tc,xfrm"]);
    assert_eq!(made["taken_over"], false);
}

/// Packets pass programs at the egress of members by traffic control; filters behind the router's program are gone around.
#[test]
fn programs_of_others_keep_their_places() {
    let Some(bed) = Bed::new() else { return };
    let first = ringway::Port::open("ebpf:rb^").unwrap();
    let programs = |nic: &str| ringway::probe::interface(nic).unwrap().programs;
    let before = programs("rb");
    bed.make("vale0");
    let ready = |wanted: bool| bed.room.until(|| bed.router("vale0")["ready"] == wanted);
    ready(true);
    let after = programs("rb");
    assert!(before.iter().all(|p| after.contains(p)) && after.len() == before.len() + 1, "{after:?}");
    bed.r.exec("tc", &["qdisc", "add", "dev", "ra", "clsact"]).unwrap();
    ready(false);
    assert!(bed.room.run(&["router", "list"]).stdout.contains("filters at the ingress of ra"));
    bed.r.exec("tc", &["qdisc", "del", "dev", "ra", "clsact"]).unwrap();
    ready(true);
    bed.room.json(&["router", "del", "vale0"]);
    assert_eq!(programs("rb"), before);
    drop(first);
    assert_eq!(bed.exchange(B4, 20, Duration::from_millis(1)), 0, "the kernel forwards");
}

#[test]
fn interfaces_that_can_not_be_members() {
    let Some(bed) = Bed::new() else { return };
    // no NAPI at the far end: it would take no packet
    bed.b.exec("ethtool", &["-K", "b0", "gro", "off"]).unwrap();
    let said = refused(&bed, &["ra", "rb", "--path", "xdp"]);
    assert!(said.contains("vale0:rb") && said.contains("gro on"), "{said}");
    assert!(said.ends_with("[E0105]\n"), "{said}");
    let said = refused(&bed, &["absent"]);
    assert!(said.contains("absent") && said.ends_with("[E0102]\n"), "{said}");
    bed.ip("link add x0 type veth peer name x1\nlink set x0 up\nlink set x1 up");

    let made = bed.room.json(&["router", "add", "vale0", "--path", "xdp"]);
    assert_eq!(made["members"], serde_json::json!(["ra"]), "the others stay with the kernel");
    assert_eq!(made["warnings"].as_array().unwrap().len(), 3, "{made}");
    let twice = bed.room.run(&["router", "add", "vale0"]);
    assert!(twice.error(1).contains("there is a") && twice.stderr.ends_with("[E0103]\n"), "{twice:?}");
}

/// The process of a router starts as it was started the time before: words that its command does not know end it at once.
#[test]
fn a_process_that_ends_without_a_word_is_said_with_its_log() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    let pid = bed.pid("vale0").unwrap();
    Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    bed.room.until(|| bed.router("vale0")["pid"].is_null());
    fs::write(bed.room.path("run/vale0.json"), "{\"arguments\":[\"router\",\"no-such-word\"]}\n").unwrap();
    let tried = bed.room.run(&["router", "add", "vale0"]);
    let log = bed.room.path("run/vale0.log");
    let said = last_line(&tried);
    assert!(said.contains(&log) && said.ends_with("[E0305]\n"), "{said}");
    assert!(fs::read_to_string(&log).unwrap().contains("no-such-word"));
}

/// A signal ends the process of a router while it waits to make it: the command says so, and nothing stays.
#[test]
fn a_process_that_a_signal_ends_is_said_so() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    bed.room.json(&["router", "del", "vale0"]);
    let lock = File::open(bed.room.path("bpf/ringway/lock")).unwrap();
    lock.lock().unwrap();
    let meta = lock.metadata().unwrap();
    let (major, minor) = (libc::major(meta.dev()), libc::minor(meta.dev()));
    let at = format!(" {major:02x}:{minor:02x}:{} ", meta.ino());
    let adding = bed.room.start(&["router", "add", "vale0"]);
    // A line of the kernel's list (proc_locks(5)): N: -> FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE START END
    let waiting = || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let line = locks.lines().find(|line| line.contains(" -> ") && line.contains(&at))?.to_owned();
        line.split_whitespace().nth(5)?.parse::<u32>().ok()
    };
    bed.room.until(|| waiting().is_some_and(|pid| pid != adding.pid()));
    let pid = waiting().unwrap();
    Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap();
    drop(lock);
    let ended = adding.end();
    let said = last_line(&ended);
    assert!(said.contains("vale0: interrupted") && said.ends_with("[E0008]\n"), "{said}");
    assert!(!bed.has_program("ra") && !bed.has_program("rb"), "{said}");
    let left: Vec<_> = fs::read_dir(bed.room.path("run")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Names are part of paths: of what is none nothing is made, neither beside the run directory nor in it.
#[test]
fn names_that_lead_elsewhere() {
    let Some(bed) = Bed::new() else { return };
    fs::create_dir(bed.room.path("other")).unwrap();
    for name in ["../other/esc", "0eth", "vale0/x", "vale0.x"] {
        let said = bed.room.run(&["router", "add", name]);
        assert!(said.error(2).contains("not the name of a router"), "{name}: {said:?}");
        for dir in ["other", "run"] {
            assert_eq!(fs::read_dir(bed.room.path(dir)).unwrap().count(), 0, "{name} in {dir}");
        }
    }
}

#[test]
fn nothing_forwards() {
    let Some(bed) = Bed::new() else { return };
    bed.r.exec("sysctl", &["-qw", "net.ipv4.ip_forward=0", "net.ipv6.conf.all.forwarding=0"]).unwrap();
    let said = refused(&bed, &[]);
    assert!(said.contains("net.ipv4.ip_forward=1") && said.ends_with("[E0102]\n"), "{said}");
}

#[test]
fn options_of_routers_and_switches_do_not_mix() {
    for args in [
        &["switch", "add", "vale0", "--nic", "ra"][..],
        &["router", "add", "vale0", "--slots", "128"],
        &["vale", "add", "vale0", "--module", "router", "--slots", "128"],
        &["vale", "add", "vale0", "--module", "router", "--nic", "ra", "--nic", "ra"],
        &["router", "add", "vale0", "--rpf6", "maybe"],
        &["router", "add", "vale0", "--bypass", "all"],
        &["router", "add", "vale0", "--path", "raw"],
        &["switch", "add", "vale0", "--path", "tc"],
        &["router", "add", "vale0", "ra", "ra"],
        &["router", "add", "vale0", "--check", "0"],
        &["router", "stats", "-w", "0"],
        &["router", "stats", "-w", "0"],
        &["stats", "-w", "0"],
        &["router", "run", "-p", "ra", "-w", "0"],
    ] {
        crate::support::run(args).error(2);
    }
}

/// Lines that are no questions, and clients that say nothing, hold nothing up.
#[test]
fn questions_are_bounded() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    let socket = bed.room.path("run/vale0.sock");
    let open = || {
        let stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    };
    let hear = |stream: UnixStream| {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).map(|_| line)
    };
    let mut wrong = open();
    wrong.write_all(b"{\"ask\":\"nonsense\"}\n").unwrap();
    assert!(hear(wrong).unwrap().contains("that is no question"));
    let mut long = open();
    let sent = (0..3).try_for_each(|_| long.write_all(&[b'x'; 4096]));
    let closed = |e: &std::io::Error| matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
    let end = sent.and_then(|()| hear(long));
    assert!(end.as_ref().map_or_else(closed, String::is_empty), "a line without end: {end:?}");
    let silent: Vec<_> = (0..16).map(|_| open()).collect();
    let waiting = bed.room.start(&["router", "sync", "--json"]);
    let nobody = bed
        .room
        .command_of_nobody(&["router", "show", "-r", "vale0"])
        .env("RINGWAY_DIR", bed.room.path("run"))
        .output();
    assert!(!nobody.unwrap().status.success());
    assert_eq!(bed.exchange(B4, 200, Duration::from_millis(1)), 0);
    drop(silent);
    assert_eq!(waiting.end().json()["fib_in_sync"], true, "it was answered when there was room");
}
