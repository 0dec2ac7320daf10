//! `ringway pkt-gen` between processes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{pipe, run, start, wait_open};

#[test]
fn every_frame_of_a_count_arrives_once() {
    for (count, burst) in [("100000", "512"), ("100k", "300"), ("7", "512"), ("1537", "512")] {
        let (a, b) = pipe();
        let rx = start(&["pkt-gen", "-i", &b, "-f", "rx", "-n", count, "--json"]);
        wait_open(&b);
        let tx = run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", count, "-b", burst, "--json"]);
        let (tx, rx) = (tx.json(), rx.end().json());
        let n = if count == "100k" { 100_000 } else { count.parse::<u64>().unwrap() };
        for side in [&tx, &rx] {
            assert_eq!((&side["packets"], &side["bytes"]), (&n.into(), &(60 * n).into()), "{side}");
        }
        assert_eq!((&tx["unsent"], &tx["counters"]["tx"]["frames_out"]), (&0.into(), &n.into()), "{tx}");
        let sequence = &rx["sequence"];
        assert_eq!((&sequence["received"], &sequence["unique"]), (&n.into(), &n.into()), "{rx}");
        for bad in ["lost", "duplicated", "reordered", "foreign", "corrupted", "stale"] {
            assert_eq!(sequence[bad], 0, "{rx}");
        }
        assert_eq!(rx["counters"]["rx"]["dropped"], 0, "{rx}");
        for key in
            ["command", "function", "port", "backend", "pps", "bps", "wire_bps", "seconds", "avg_burst"]
        {
            assert!(!tx[key].is_null() && !rx[key].is_null(), "{key}: {tx} {rx}");
        }
    }
}

#[test]
fn frames_are_as_asked_for() {
    let file = support::file("asked.pcap");
    let port = format!("pcap:{}@write", file.display());
    let options = "-n 6 -l 100 -s 10.0.0.1:5-10.0.0.2:6 -d 10.9.0.1:7 -D 02:00:00:00:00:0a-02:00:00:00:00:0b --vlan 7:3";
    let args = ["pkt-gen", "-i", &port, "-f", "tx", "--json"].into_iter().chain(options.split(' '));
    assert_eq!(run(&args.collect::<Vec<_>>()).json()["packets"], 6);
    let mut reader = ringway_wire::pcapfile::Reader::open(&file).unwrap();
    let mut seen = Vec::new();
    while let Some(record) = reader.next() {
        let frame = record.unwrap().data.to_vec();
        assert_eq!((frame.len(), &frame[12..18]), (100, &[0x81, 0, 0x60, 7, 8, 0][..]));
        assert_eq!(frame[34..38], [10, 9, 0, 1]);
        seen.push((frame[5], frame[33], frame[39], frame[41]));
    }
    // Destination MAC, last byte of the source address, source and destination port.
    assert_eq!(
        seen,
        [(10, 1, 5, 7), (11, 1, 6, 7), (10, 2, 5, 7), (11, 2, 6, 7), (10, 1, 5, 7), (11, 1, 6, 7)]
    );
}

#[test]
fn long_frames_ipv6_and_random_ends() {
    for options in ["-l 5000", "-l 1514", "-d 2001:db8::1-2001:db8::ff", "-z -Z --seed 3", "-l 42"] {
        let (a, b) = pipe();
        let rx = start(&["pkt-gen", "-i", &b, "-f", "rx", "-n", "5000", "--json"]);
        wait_open(&b);
        let args = ["pkt-gen", "-i", &a, "-f", "tx", "-n", "5000", "--json"].into_iter();
        let tx = run(&args.chain(options.split(' ')).collect::<Vec<_>>()).json();
        let rx = rx.end().json();
        assert_eq!((&tx["packets"], &rx["bytes"]), (&5000.into(), &tx["bytes"]), "{options}: {tx} {rx}");
        if options == "-l 42" {
            assert!(rx.get("sequence").is_none(), "no tags, no check: {rx}");
        } else {
            assert_eq!(rx["sequence"]["lost"], 0, "{options}: {rx}");
        }
    }
}

#[test]
fn a_rate_is_kept() {
    // it may stand still meanwhile
    let in_time = (0..20).any(|_| {
        let tx = run(&["pkt-gen", "-i", "null:", "-f", "tx", "-n", "5001", "-R", "10k", "--json"]).json();
        let seconds = tx["seconds"].as_f64().unwrap();
        assert!(seconds >= 0.49, "5001 frames at 10k/s in {seconds} s");
        seconds < 0.9
    });
    assert!(in_time, "never in 0.9 s");
}

#[test]
fn each_ping_is_answered() {
    let (a, b) = pipe();
    let pong = start(&["pkt-gen", "-i", &b, "-f", "pong", "--json"]);
    wait_open(&b);
    let ping = run(&["pkt-gen", "-i", &a, "-f", "ping", "-n", "300", "--json"]).json();
    for (key, n) in [("sent", 300), ("received", 300), ("lost", 0), ("duplicated", 0), ("foreign", 0)] {
        assert_eq!(ping[key], n, "{ping}");
    }
    assert_eq!(ping["latency"]["count"], 300, "{ping}");
    assert!(ping["latency"]["p50_ns"].as_u64().unwrap() < 100_000_000, "{ping}");
    let pong = pong.interrupt().json();
    assert_eq!((&pong["packets"], &pong["ignored"]), (&300.into(), &0.into()), "{pong}");
}

#[test]
fn ping_without_pong_ends_and_counts_the_lost() {
    let (a, _) = pipe();
    let ping = run(&["pkt-gen", "-i", &a, "-f", "ping", "-n", "5", "--json"]).json();
    assert_eq!((&ping["sent"], &ping["lost"]), (&5.into(), &5.into()), "{ping}");
}

#[test]
fn ctrl_c_ends_with_averages() {
    for (function, port) in
        [("tx", "null:61"), ("rx", "null:61"), ("tx", "pipe"), ("rx", "pipe"), ("ping", "loop:")]
    {
        let (a, _) = pipe();
        let port = if port == "pipe" { &a } else { port };
        let running = start(&["pkt-gen", "-i", port, "-f", function, "-T", "100"]);
        wait_open(port);
        if port == "null:61" {
            running.wait_said(" avg_burst", 1); // a line of an interval
        }
        let ended = running.interrupt();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("average: "), "{function} {port}: {ended:?}");
    }
}

#[test]
fn sigterm_ends_too_and_frees_the_port() {
    let (a, _) = pipe();
    let running = start(&["pkt-gen", "-i", &a, "-f", "rx"]);
    wait_open(&a);
    running.signal(libc::SIGTERM);
    assert_eq!(running.end().code, Some(0));
    assert!(run(&["stats", &a]).error(1).contains("nobody has this port open"));
}

#[test]
fn an_idle_receiver_uses_no_cpu() {
    for function in ["rx", "pong"] {
        let (_, b) = pipe();
        let running = start(&["pkt-gen", "-i", &b, "-f", function]);
        wait_open(&b);
        running.assert_idle();
        running.interrupt();
    }
}

#[test]
fn a_receiver_ends_with_its_capture_file() {
    let file = support::file("ends.pcap");
    let write = format!("pcap:{}@write", file.display());
    run(&["pkt-gen", "-i", &write, "-f", "tx", "-n", "2500", "--json"]).json();
    let rx = run(&["pkt-gen", "-i", &format!("pcap:{}@top", file.display()), "-f", "rx", "--json"]).json();
    assert_eq!((&rx["packets"], &rx["sequence"]["lost"]), (&2500.into(), &0.into()), "{rx}");
}

#[test]
fn a_sender_that_nobody_reads_says_so() {
    let (a, _) = pipe();
    let ended = run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "1500", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("frames could not be sent"), "{ended:?}");
    let tx: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(tx["packets"].as_u64().unwrap() + tx["unsent"].as_u64().unwrap(), 1500, "{tx}");
}
