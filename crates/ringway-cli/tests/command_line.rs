//! Help, errors, exit codes and `ringway stats`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::{command, pipe, run, start, wait_open};

#[test]
fn help_names_every_command_and_has_examples() {
    let help = run(&["--help"]);
    assert_eq!(help.code, Some(0), "{help:?}");
    for name in ["pkt-gen", "bridge", "capture", "stats", "exporter", "top", "doctor"] {
        assert!(help.stdout.contains(&format!("  {name} ")), "{name}: {}", help.stdout);
        let own = run(&[name, "--help"]);
        assert_eq!(own.code, Some(0), "{own:?}");
        assert!(own.stdout.contains(&format!("Examples:\n  ringway {name}")), "{}", own.stdout);
    }
    assert_eq!(run(&[]).code, Some(2));
    assert!(run(&["--version"]).stdout.starts_with("ringway "));
}

#[test]
fn wrong_command_lines_are_refused_on_one_line() {
    for (args, what) in [
        (&["pkt-gen", "-f", "tx"][..], "-i <PORT>"),
        (&["bridge"], "-i <PORT>"),
        (&["bridge", "-i", "null:"], "second -i"),
        (&["bridge", "-i", "null:", "-i", "null:", "-i", "null:"], "3 times"),
        (&["pkt-gen", "-i", "null:", "-R", "10x"], "bad rate '10x'; accepted: "),
        (&["pkt-gen", "-i", "null:", "-d", "10.0.0"], "bad address '10.0.0'"),
        (&["pkt-gen", "-i", "null:", "-D", "1:2"], "bad MAC address"),
        (&["pkt-gen", "-i", "null:", "-n", "many"], "NUMBER[k|M|G]"),
        (&["pkt-gen", "-i", "null:", "-f", "fly"], "'fly'"),
        (&["pkt-gen", "-i", "null:", "-b", "0"], "'-b"),
        (&["pkt-gen", "-i", "loop:", "-f", "ping", "-R", "max"], "requests per second"),
        (&["pkt-gen", "-i", "null:", "--take", "udp prt 7"], "--take: filter `udp prt 7`: "),
        (&["bridge", "-i", "null:", "-i", "loop:", "--take", "inbound"], "SKF_AD_PKTTYPE"),
        (&["capture", "-i", "null:", "-s", "96"], "-w <FILE>"),
        (&["capture", "-i", "null:", "-w", "x", "-s", "300000"], "'--snaplen"),
        (&["capture"], "no input is named; type -i PORT, or -r FILE for a capture file"),
        (&["capture", "-c", "1", "udp"], "no input is named; type -i PORT, or -r FILE"),
        (&["capture", "a.pcap", "udp"], "to read this capture file, type -r a.pcap"),
        (&["capture", "/etc/passwd"], "to read this capture file, type -r /etc/passwd"),
        (&["capture", "lo"], "to receive on this port, type -i lo"),
        (&["capture", "vale0:p1"], "to receive on this port, type -i vale0:p1"),
        (&["capture", "-i", "null:", "-w", "-", "--json"], "name a file after -w"),
        (&["capture", "-i", "null:", "-c", "x"], "NUMBER[k|M|G]"),
        (&["capture", "-i", "null:", "-n", "10"], "the number of frames is -c 10"),
        (&["capture", "-i", "null:", "-r", "x"], "'-i <PORT>' cannot be used with '-r <FILE>'"),
        (&["capture", "-i", "null:", "-f", "udp", "tcp"], "'--filter <EXPR>' cannot be used with"),
        (&["capture", "-r", "/dev/null", "-w", "/dev/null"], "/dev/null: this file is read"),
        (&["dance"], "'dance'"),
    ] {
        let ended = run(args);
        assert!(ended.error(2).contains(what), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}

#[test]
fn failures_are_told_on_one_line_with_the_cure() {
    for (args, what) in [
        (&["pkt-gen", "-i", "foo:bar"][..], "foo:bar: not a port name; port names start with"),
        (&["pkt-gen", "-i", "pipe:x"], "a pipe has two ends"),
        (&["pkt-gen", "-i", "pcap:/nowhere/x.pcap"], "/nowhere/x.pcap"),
        (&["bridge", "-i", "null:", "-i", "pcap:/nowhere/x.pcap"], "/nowhere/x.pcap"),
        (&["bridge", "-i", "bad name:", "-i", "null:"], "not a port name"),
        (&["pkt-gen", "-i", "null:", "-f", "tx", "-p", "2"], "2 threads, but 1 tx rings; use -p 1"),
        (&["pkt-gen", "-i", "null:", "-f", "tx", "-l", "30"], "minimum 42"),
        (&["pkt-gen", "-i", "null:", "-f", "tx", "-l", "70000"], "above the maximum"),
        (&["pkt-gen", "-i", "null:", "-f", "tx", "-s", "::1", "-d", "10.0.0.1"], "not of one IP version"),
        (&["pkt-gen", "-i", "loop:", "-f", "ping", "-l", "50"], "ping needs at least 60 bytes"),
        (&["pkt-gen", "-i", "null:", "--copy"], "only ports of interfaces can take some frames"),
        (
            &["bridge", "-i", "null:", "-i", "loop:", "--take", "arp"],
            "only ports of interfaces can take some frames",
        ),
        (&["capture", "-i", "null:", "-f", "tcp prt 1"], "tcp prt 1"),
        (&["capture", "-i", "tap:port=null:"], "name the file, e.g. tap:file=out.pcap,port=eth0"),
        (&["capture", "-i", "fault:drop=2,port=null:"], "rates are 0 to 1, or 0% to 100%"),
        (&["capture", "-i", "null:", "-w", "/nowhere/x", "-c", "1"], "/nowhere/x: cannot create"),
        (&["capture", "-i", "trace:file=/nowhere/x,port=null:"], "cannot create /nowhere/x"),
        (&["capture", "-r", "/nowhere/x.pcap"], "/nowhere/x.pcap: cannot open"),
        (
            &["capture", "-i", "x.pcap"],
            "no interface x.pcap in this network namespace; a capture file is the port pcap:x.pcap",
        ),
        (
            &["capture", "-i", "/a/x.pcapng"],
            "/a/x.pcapng: not a port name; a capture file is the port pcap:/a/x.pcapng",
        ),
        (&["bridge", "-i", "null:", "-i", "/etc/passwd"], "a capture file is the port pcap:/etc/passwd"),
        (&["capture", "-i", ""], "ringway: '': not a port name; expected an interface name"),
        (&["stats", "null:63"], "null:63: nobody has this port open"),
        (
            &["bridge", "-i", "lo", "-i", "lo"],
            "lo: the port is named twice, and is opened once; name two ports",
        ),
        (
            &["bridge", "-i", "lo", "-i", "xdp:lo"],
            "xdp:lo: auto:lo takes the same frames, and is named before",
        ),
        (&["bridge", "-i", "pipe:x{1", "-i", "pipe:x{1"], "pipe:x{1: the port is named twice"),
    ] {
        let ended = run(args);
        assert!(ended.error(1).contains(what), "{args:?}: {}", ended.stderr);
    }
    let ended = run(&["pkt-gen", "-i", "null:", "-f", "tx", "-n", "1", "-a", "1023"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cpu 1023: the thread can't run there"), "{ended:?}");
}

#[test]
fn an_end_in_use_is_refused() {
    let (a, _) = pipe();
    let running = start(&["pkt-gen", "-i", &a, "-f", "rx"]);
    wait_open(&a);
    let ended = run(&["pkt-gen", "-i", &a, "-f", "rx"]);
    assert!(
        ended.error(1).contains("this end of the pipe is in use; open the other end"),
        "{}",
        ended.stderr
    );
    running.interrupt();
}

#[test]
fn ports_that_go_one_way_are_not_bridged_backwards() {
    let (x, y) = (support::file("x.pcap"), support::file("y.pcap"));
    let (x, y) = (format!("pcap:{}@write", x.display()), format!("pcap:{}@write", y.display()));
    let ended = run(&["bridge", "-i", &x, "-i", &y]);
    assert!(ended.error(1).contains("nothing to forward"), "{}", ended.stderr);
    let ended = run(&["pkt-gen", "-i", &x, "-f", "rx"]);
    assert!(ended.error(1).contains("nothing can be received"), "{}", ended.stderr);
}

#[test]
fn a_closed_output_ends_quietly() {
    let args = ["pkt-gen", "-i", "null:", "-f", "tx", "-T", "10"];
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("tx: null: ["), "{line}");
    drop(out);
    let end = child.wait_with_output().unwrap();
    assert_eq!((end.status.code(), String::from_utf8_lossy(&end.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn stats_lists_open_ports_with_their_counters() {
    let (a, b) = pipe();
    let running = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "123", "--json"]).json();
    let begin = std::time::Instant::now();
    let ended = loop {
        let ended = run(&["stats", &b, "--json"]).json();
        if ended["ports"][0]["rx"]["frames_out"] == 123 || begin.elapsed() > support::LIMIT {
            break ended;
        }
    };
    let port = &ended["ports"][0];
    assert_eq!(ended["ports"].as_array().unwrap().len(), 1, "{ended}");
    assert_eq!((&port["name"], &port["pid"]), (&b.as_str().into(), &running.pid().into()), "{ended}");
    assert_eq!((&port["rx"]["frames_in"], &port["rx"]["frames_out"]), (&123.into(), &123.into()), "{ended}");
    assert_eq!((&port["rx"]["dropped"], &port["rx"]["drops"]["ring_full"]), (&0.into(), &0.into()));
    let all = run(&["stats", "-v"]);
    assert!(
        all.stdout.contains(&format!("{b} (pid {})\n  rx 123 in, 123 out\n  tx 0 in", running.pid())),
        "{all:?}"
    );
    let watching = start(&["stats", &b, "-w", "0.05"]);
    watching.wait_said("rx 123 in", 3);
    assert_eq!(watching.interrupt().code, Some(0));
    running.interrupt();
}
