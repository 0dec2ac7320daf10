//! Help, errors, exit codes and `ringway stats`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;
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
fn examples_of_the_help_paste_as_they_are() {
    for (words, example) in [
        (&["rfc2544", "--help"][..], "  ringway rfc2544 "),
        (
            &["pkt-gen", "--help"],
            "  ringway pkt-gen -i 'pipe:x}1' -f pong & ringway pkt-gen -i 'pipe:x{1' -f ping -n 1k",
        ),
        (&["stats", "--help"], ".ring, .fill, .drops.ring_full] | @tsv'"),
    ] {
        let help = run(words).stdout;
        let at = help.find("\nExamples:\n").unwrap();
        assert!(help[at..].contains(example), "{help}");
        // What follows is a line of its own, never the rest of one.
        let whole = |line: &str| line.trim_start().starts_with(['r', 's', 'i']) || line.trim().is_empty();
        assert!(help[at + 11..].lines().all(whole), "{help}");
        assert!(!help.contains('\u{a0}'), "{help}");
    }
}

#[test]
fn keys_of_json_are_in_the_help() {
    let file = support::file("keys.pcap").display().to_string();
    let read = format!("pcap:{file}@top");
    for words in [
        &["pkt-gen", "-i", "null:", "-f", "tx", "-n", "10", "--json"][..],
        &["pkt-gen", "-i", "null:", "-f", "rx", "-n", "10", "--check", "--json"],
        &["pkt-gen", "-i", "loop:", "-f", "ping", "-n", "3", "--json"],
        &["capture", "-i", "null:", "-c", "3", "-w", &file, "--json"],
        &["bridge", "-i", &read, "-i", "null:", "--one-way", "--json"],
    ] {
        let ended = run(words);
        let help = run(&[words[0], "--help"]).stdout;
        let known: Vec<&str> = help.split(|c: char| c != '_' && !c.is_alphanumeric()).collect();
        for key in keys(&ended.json()) {
            assert!(known.contains(&key.as_str()), "{words:?}: {key} is not in the help: {help}");
        }
    }
}

/// All keys of an object but those of counters, which the help of `stats` has.
fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(object) => object
            .iter()
            .flat_map(|(key, inner)| {
                let counters = matches!(key.as_str(), "rx" | "tx");
                let inner = if counters { Vec::new() } else { keys(inner) };
                std::iter::once(key.clone()).chain(inner)
            })
            .collect(),
        Value::Array(list) => list.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_cpu_that_is_not_there_is_told() {
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
    assert!(ended.error(2).contains("nothing to forward"), "{}", ended.stderr);
    let ended = run(&["pkt-gen", "-i", &x, "-f", "rx"]);
    assert!(ended.error(2).contains("nothing can be received"), "{}", ended.stderr);
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
    watching.wait_said("rx 123 in, 123 out; 0 pps, 0 bit/s, 0 drops/s", 2);
    assert_eq!(watching.interrupt().code, Some(0));
    running.interrupt();
}
