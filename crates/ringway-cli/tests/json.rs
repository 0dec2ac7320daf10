//! What commands print with `--json` is what docs/json.md says. Commands of switches and routers are checked where they are tested.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use support::schema::Schema;
use support::{file, pipe, run, start, wait_open};

/// Commands below `command`, by its help.
fn below(help: &str) -> Vec<String> {
    let list = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Each command that has `--json`, and has no commands below it.
fn with_json(words: &[String], found: &mut Vec<String>) {
    let help: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let help = run(&help).stdout;
    let commands = below(&help);
    for name in commands.iter().filter(|name| *name != "help") {
        with_json(&[words, std::slice::from_ref(name)].concat(), found);
    }
    if help.contains("--json") && (commands.is_empty() || help.contains("[COMMAND]")) {
        found.push(words.join(" "));
    }
}

#[test]
fn each_command_with_json_has_a_section() {
    let (schema, mut found) = (Schema::read(), Vec::new());
    with_json(&[], &mut found);
    assert!(found.len() > 30, "{found:?}");
    for command in found {
        // Suites of a benchmark print alike.
        let suite = command.starts_with("bench ") || command == "fib bench";
        let name = if suite { "bench" } else { &command };
        assert!(schema.has(name), "docs/json.md has no section of ringway {command}");
    }
}

#[test]
fn keys_and_types_are_those_of_the_page() {
    let schema = Schema::read();
    let (a, b) = pipe();
    let receiving = start(&["pkt-gen", "-i", &b, "-f", "rx", "--json"]);
    wait_open(&b);
    let routes = file("routes.txt");
    std::fs::write(&routes, "10.0.0.0/8 7\n2001:db8::/32 9\n").unwrap();
    let routes = routes.to_str().unwrap();
    let capture = file("frames.pcap");
    let capture = capture.to_str().unwrap();
    run(&["pkt-gen", "-i", &format!("pcap:{capture}@write"), "-f", "tx", "-n", "5", "--json"]).json();
    for (command, words) in [
        ("pkt-gen", format!("pkt-gen -i {a} -f tx -n 1000 --json")),
        ("pkt-gen", "pkt-gen -i null: -f rx -n 10 --check --json".into()),
        ("capture", format!("capture -i null: -c 3 -w {capture}.copy --json")),
        ("bridge", format!("bridge -i pcap:{capture}@top -i null: --one-way --json")),
        ("capture", format!("capture -r {capture} --json")),
        ("stats", "stats --json".into()),
        ("stats --check", "stats --check --json".into()),
        ("top", "top --once --interval 20 --json".into()),
        ("fib lookup", format!("fib lookup --json {routes} 10.1.1.1 192.0.2.1")),
        ("fib load", format!("fib load --json {routes}")),
        ("doctor", "doctor lo --json".into()),
        ("explain", "explain E0102 --json".into()),
        ("explain", "explain --json".into()),
        ("bench", "bench io --case pipe --only ringway-pipe --runs 1 --seconds 0.02 --json".into()),
        ("bench", "bench flows --case dns --only ringway-memory --runs 2 --seconds 0.3 --json".into()),
    ] {
        if command == "bench" && run(&["bench", "io", "--help"]).code != Some(0) {
            continue; // a build may leave benchmarks out
        }
        let words: Vec<&str> = words.split_whitespace().collect();
        let ended = run(&words);
        let object: Value =
            serde_json::from_str(ended.stdout.trim()).unwrap_or_else(|e| panic!("{words:?}: {e}: {ended:?}"));
        schema.check(command, &object);
    }
    let watching = start(&["stats", "-w", "0.05", "--json"]);
    watching.wait_said("rates", 2);
    let watched = watching.interrupt();
    watched.stdout.lines().for_each(|line| schema.check("stats", &serde_json::from_str(line).unwrap()));
    schema.check("pkt-gen", &receiving.interrupt().json());

    let (a, b) = pipe();
    let answering = start(&["pkt-gen", "-i", &b, "-f", "pong", "--json"]);
    wait_open(&b);
    schema.check("pkt-gen", &run(&["pkt-gen", "-i", &a, "-f", "ping", "-n", "3", "--json"]).json());
    schema.check("pkt-gen", &answering.interrupt().json());

    let serving = start(&["exporter", "-l", "127.0.0.1:0", "--json"]);
    serving.wait_said("url", 1);
    schema.check("exporter", &serving.interrupt().json());
}
