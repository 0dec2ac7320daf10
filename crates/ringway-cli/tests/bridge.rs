//! `ringway bridge` between files and pipes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};

use ringway_wire::pcapfile::Reader;
use support::{pipe, run, start, wait_open};

/// The frames of a capture, and whether it could be read to its end.
fn frames(path: &Path) -> (Vec<Vec<u8>>, bool) {
    let Ok(mut reader) = Reader::open(path) else { return (Vec::new(), false) };
    let mut frames = Vec::new();
    while let Some(record) = reader.next() {
        match record {
            Ok(record) => frames.push(record.data.to_vec()),
            Err(_) => return (frames, false),
        }
    }
    (frames, true)
}

/// The captures of a folder of the shared data; none, and a message, when it is absent.
fn captures(folder: &str) -> Vec<PathBuf> {
    let data = std::env::var_os("RINGWAY_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let folder = data.join("pcap").join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: no captures in {}; set RINGWAY_DATA", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "pcap"));
    paths.sort();
    paths
}

/// Copies a capture through the bridge and compares.
fn copy(path: &Path) {
    let (expected, whole) = frames(path);
    let out = support::file(&format!("copy-{}", path.file_name().unwrap().to_string_lossy()));
    let (from, to) = (format!("pcap:{}@top", path.display()), format!("pcap:{}@write", out.display()));
    let ended = run(&["bridge", "-i", &from, "-i", &to, "--json"]);
    let name = path.display();
    if whole {
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
    } else {
        assert_eq!(ended.code, Some(1), "{name}: {ended:?}");
        assert!(ended.stderr.lines().last().unwrap().starts_with("ringway: pcap:"), "{name}: {ended:?}");
    }
    if !ended.stdout.is_empty() {
        let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let [source, sink] = [0, 1].map(|k| &result["ports"][k]);
        let n = |value: &serde_json::Value| value.as_u64().unwrap();
        let dropped = n(&source["rx"]["dropped"]) + n(&sink["tx"]["dropped"]);
        assert_eq!(n(&source["rx"]["frames_in"]), expected.len() as u64, "{name}: {result}");
        assert_eq!(n(&sink["tx"]["frames_out"]) + dropped, expected.len() as u64, "{name}: {result}");
        assert_eq!((dropped, &result["directions"][0]["held_slots"]), (0, &0.into()), "{name}: {result}");
        assert!(frames(&out).0 == expected, "{name}: frames differ");
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn real_captures_arrive_as_they_are() {
    captures("real").iter().for_each(|path| copy(path));
}

#[test]
fn hostile_captures_are_accounted_for() {
    captures("hostile").iter().for_each(|path| copy(path));
}

#[test]
fn one_region_or_two() {
    let file = support::file("region.pcap");
    let write = format!("pcap:{}@write", file.display());
    run(&["pkt-gen", "-i", &write, "-f", "tx", "-n", "10", "--json"]).json();
    let read = format!("pcap:{}@top", file.display());
    let ended = run(&["bridge", "-i", &read, "-i", "null:"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let first = ended.stdout.lines().next().unwrap();
    assert!(first.starts_with(&format!("{read} -> null:: zero copy: one region [pcap: ")), "{first}");
    assert!(ended.stdout.contains("10 in, 10 out"), "{ended:?}");

    let (a, _) = pipe();
    let ended = run(&["bridge", "-i", &read, "-i", &a, "-v"]);
    assert!(ended.stdout.lines().next().unwrap().contains(": copy: two regions ["), "{ended:?}");
}

#[test]
fn two_pipes_become_one() {
    let ((a, b), (c, d)) = (pipe(), pipe());
    let bridge = start(&["bridge", "-i", &b, "-i", &c, "--json"]);
    wait_open(&c);
    for (from, to) in [(&a, &d), (&d, &a)] {
        let rx = start(&["pkt-gen", "-i", to, "-f", "rx", "-n", "50000", "--json"]);
        wait_open(to);
        let tx = run(&["pkt-gen", "-i", from, "-f", "tx", "-n", "50000", "--json"]);
        let (tx, rx) = (tx.json(), rx.end().json());
        assert_eq!((&tx["packets"], &rx["packets"]), (&50_000.into(), &50_000.into()));
        assert_eq!((&rx["sequence"]["lost"], &rx["sequence"]["reordered"]), (&0.into(), &0.into()), "{rx}");
    }
    let result = bridge.interrupt().json();
    for way in [0, 1] {
        let way = &result["directions"][way];
        assert_eq!((&way["frames"], &way["held_slots"]), (&50_000.into(), &0.into()), "{result}");
        assert_eq!((&way["copy"], &way["unsent_slots"]), (&true.into(), &0.into()), "{result}");
    }
}

#[test]
fn an_idle_bridge_uses_no_cpu() {
    let ((_, b), (c, _)) = (pipe(), pipe());
    let bridge = start(&["bridge", "-i", &b, "-i", &c]);
    wait_open(&c);
    bridge.assert_idle();
    let ended = bridge.interrupt();
    assert!(ended.stdout.contains("0 in, 0 out"), "{ended:?}");
}

#[test]
fn what_a_deaf_port_does_not_take_is_reported() {
    let file = support::file("deaf.pcap");
    let write = format!("pcap:{}@write", file.display());
    run(&["pkt-gen", "-i", &write, "-f", "tx", "-n", "5000", "--json"]).json();
    let (a, _) = pipe();
    let bridge = start(&["bridge", "-i", &format!("pcap:{}@top", file.display()), "-i", &a, "--json"]);
    wait_open(&a);
    let begin = std::time::Instant::now();
    loop {
        let all = run(&["stats", &a, "--json"]).json();
        if all["ports"][0]["tx"]["frames_out"].as_u64() > Some(0) {
            break;
        }
        assert!(begin.elapsed() < support::LIMIT, "{all}");
    }
    bridge.assert_idle();
    let result = bridge.interrupt().json();
    let n = |value: &serde_json::Value| value.as_u64().unwrap();
    let way = &result["directions"][0];
    let received = n(&result["ports"][0]["rx"]["frames_out"]);
    assert_eq!(n(&way["frames"]) + n(&way["held_slots"]) + n(&way["unsent_slots"]), received, "{result}");
    assert!(n(&way["frames"]) > 0 && n(&way["unsent_slots"]) > 0, "{result}");
}
