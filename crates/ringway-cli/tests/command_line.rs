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
    for name in
        ["pkt-gen", "bridge", "capture", "extcap", "cni", "stats", "exporter", "top", "doctor", "explain"]
    {
        assert!(help.stdout.contains(&format!("  {name} ")), "{name}: {}", help.stdout);
        let own = run(&[name, "--help"]);
        assert_eq!(own.code, Some(0), "{own:?}");
        assert!(own.stdout.contains(&format!("Examples:\n  ringway {name}")), "{}", own.stdout);
    }
    assert_eq!(run(&[]).code, Some(2));
    assert!(run(&["--version"]).stdout.starts_with("ringway "));
}

#[test]
fn many_options_have_headings() {
    for (words, headings) in [
        (
            &["pkt-gen", "--help"][..],
            &["Frames to send", "Frames to receive", "Threads and turns", "Reports"][..],
        ),
        (
            &["rfc2544", "--help"],
            &["Ports and devices", "Frames and flows", "Trials and search", "Single tests", "Reports"],
        ),
        (&["rfc2889", "--help"], &["Ports and devices", "Trials and search", "Addresses", "Reports"]),
    ] {
        let help = run(words).stdout;
        let places: Vec<_> = headings.iter().map(|h| help.find(&format!("\n{h}:\n"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}: {help}");
        let options = |part: &str| part.lines().filter(|line| line.trim_start().starts_with('-')).count();
        let most = help.split("\n\nKeys of").next().unwrap().split(":\n").map(options).max();
        assert!(most <= Some(15), "{words:?}: {most:?} options of one heading");
        assert!(help.lines().all(|line| !line.ends_with(' ')), "{help}");
    }
}

/// A build without the feature `bench` has neither benchmarks nor the demonstration.
fn is_here(words: &str) -> bool {
    cfg!(feature = "bench") || !["bench", "demo"].iter().any(|word| words.starts_with(word))
}

#[test]
fn help_fits_the_terminal() {
    let names = "pkt-gen bridge capture extcap cni run switch router vale route apply export stats exporter top bench fib flows rfc2544 rfc2889 demo doctor explain";
    let below = [
        "",
        "switch add",
        "router add",
        "router run",
        "router show",
        "bench l3",
        "bench flows",
        "bench python",
        "fib load",
        "flows check",
        "flows disasm",
        "flows stories",
        "flows pcap",
        "flows trace",
        "flows run",
        "rfc2889",
        "rfc2544 diff",
    ];
    for words in names.split(' ').chain(below).filter(|words| is_here(words)) {
        for columns in [80, 120] {
            let mut help = command(&words.split_whitespace().chain(["--help"]).collect::<Vec<_>>());
            let said = help.env("COLUMNS", columns.to_string()).stdin(Stdio::null()).output().unwrap().stdout;
            let said = String::from_utf8(said).unwrap();
            let text = said.split("Examples:\n").next().unwrap();
            let long: Vec<_> = text.lines().filter(|line| line.chars().count() > columns).collect();
            assert!(long.is_empty() && text.lines().count() > 5, "{words} at {columns}: {long:#?}");
        }
    }
    let mut stats = command(&["stats", "--help"]);
    let said = String::from_utf8(stats.env("COLUMNS", "80").output().unwrap().stdout).unwrap();
    let hanging = "\n  busy              frames are under way or counters moved, and none is missing\n                    for certain\n";
    assert!(said.contains(hanging), "{said}");
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
fn keys_of_reports_are_in_the_pages_that_the_help_names() {
    let [file, again] = ["one.json", "two.json"].map(|name| support::file(name).display().to_string());
    let pages = [
        ("docs/rfc2544.md", include_str!("../../../docs/rfc2544.md")),
        ("docs/rfc2889.md", include_str!("../../../docs/rfc2889.md")),
    ];
    let sections = pages.map(|(_, page)| {
        let section = page.split("\n## JSON\n").nth(1).unwrap();
        section.split("\n## ").next().unwrap()
    });
    let short = "--virtual-time --link 100M --sizes 64 --seconds 0.01";
    for (words, pages) in [
        (
            format!(
                "rfc2544 {short} --device switch:pps=50k,buffer=9 --test all --search-seconds 0.01 --latency-seconds 0.01 \
                  --latency-repeat 2 --burst-repeat 2 --burst-seconds 0.01 --reset-at 0.005 --save {file} --json"
            ),
            1,
        ),
        (
            format!(
                "rfc2544 {short} --tx loop: --rx loop: --flows 1,2 --modifier broadcast --save {again} --json"
            ),
            1,
        ),
        (format!("rfc2544 {short} --plan --json"), 1),
        (format!("rfc2544 diff {file} {again} --json"), 1),
        (
            format!(
                "rfc2889 {short} --device switch:table=64,learn=20k --test all --pattern pairs --addresses 64 --json"
            ),
            2,
        ),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let known: Vec<&str> =
            sections[..pages].iter().flat_map(|section| section.split('`').skip(1).step_by(2)).collect();
        for key in keys(&run(&words).json()) {
            assert!(known.contains(&key.as_str()), "{words:?}: {key} is in none of the pages");
        }
    }
    for (words, page) in [(&["rfc2544", "--help"][..], pages[0].0), (&["rfc2889", "--help"], pages[1].0)] {
        assert!(
            run(words).stdout.contains(&format!("Keys of --json and --save: {page}, under JSON.")),
            "{page}"
        );
    }
}

/// All keys of an object but for keys of counters.
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
