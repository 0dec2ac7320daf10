//! `ringway demo` and `ringway bench`, end to end. As root: over veth pairs; nothing here depends on speed.

#![cfg(feature = "bench")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;
use std::time::Duration;

use ringway_lab::{is_root, labs};
use serde_json::Value;
use support::schema::Schema;
use support::{command, start};

#[test]
fn the_demo_passes_every_frame_on_and_leaves_nothing() {
    if !is_root() {
        eprintln!("SKIP: the demo over links needs root (namespaces, eBPF); run these tests with sudo");
        return;
    }
    let page = page("links");
    let (output, pid) =
        run(&["demo", "--seconds", "1", "--runs", "4", "--json", "--out", page.to_str().unwrap()]);
    let whole = success(&output);
    Schema::read().check("demo", &whole);
    let result = &whole["result"];
    let passages = result["integrity"].as_array().unwrap();
    assert!(passages.iter().any(|p| p["system"] == "ringway-ebpf"), "{passages:?}");
    for p in passages {
        assert_eq!((&p["missing"], &p["foreign"]), (&Value::from(0), &Value::from(0)), "{p}");
        assert!(p["sent"].as_u64().unwrap() > 0 && p["intact"] == p["sent"], "{p}");
    }
    let flood = result["flood"].as_array().unwrap();
    assert!(flood.iter().any(|r| r["system"] == "ringway-ebpf" && r["median"].as_f64().unwrap() > 0.0));
    // A run through which nothing came, as on a busy machine, has no figure.
    let runs: Vec<_> = flood.iter().filter_map(|r| r["runs"].as_u64()).collect();
    assert_eq!(runs.iter().max(), Some(&4), "{flood:?}");
    assert_eq!((&result["over"], &result["ok"]), (&Value::from("veth"), &Value::from(true)));
    let html = fs::read_to_string(&page).unwrap();
    for part in ["ringway-ebpf", "<dt>Date</dt>", "<span>--runs</span> <span>4</span>"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(labs_of(pid).is_empty(), "{:?}", labs_of(pid));
}

#[test]
fn a_signal_ends_the_demo_and_leaves_nothing() {
    if !is_root() {
        eprintln!("SKIP: the demo over links needs root (namespaces, eBPF); run these tests with sudo");
        return;
    }
    let page = page("signal");
    let running = start(&["demo", "--seconds", "1", "--out", page.to_str().unwrap()]);
    let pid = running.pid();
    while labs_of(pid).is_empty() {
        thread::sleep(Duration::from_millis(10));
    }
    running.signal(libc::SIGINT);
    let ended = running.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("interrupted"), "{ended:?}");
    assert!(labs_of(pid).is_empty(), "{:?}", labs_of(pid));
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_run() {
    for path in ["/nowhere/page.html", "/"] {
        let (output, _) = run(&["demo", "--out", path]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{error}");
        assert!(error.contains(path) && error.contains("--out"), "{error}");
    }
}

#[test]
fn a_benchmark_without_links_keeps_its_contract() {
    let file = page("bench").with_extension("json");
    let args = ["bench", "io", "--case", "pipe", "--runs", "2", "--seconds", "0.05", "--json"];
    let (output, _) = run(&[&args[..], &[file.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("ringway-pipe-touch"));
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(report["suite"], "io");
    for key in ["host", "kernel", "cpu", "date"] {
        assert!(report[key].is_string(), "{key}");
    }
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert_eq!((&row["case"], &row["unit"], &row["runs"]), (&"pipe".into(), &"Mpps".into(), &2.into()));
        for key in ["frame", "burst", "cores", "median", "min", "max"] {
            assert!(row[key].is_number(), "{key} in {row}");
        }
    }
}

#[test]
fn a_benchmark_of_switches_keeps_the_contract() {
    let args =
        ["bench", "vale", "--case", "size", "--only", "ringway-pipe", "--runs", "2", "--seconds", "0.02"];
    let (output, _) = run(&[&args[..], &["--json"]].concat());
    let report = success(&output);
    assert_eq!(report["suite"], "vale");
    let rows = report["rows"].as_array().unwrap();
    let sizes: Vec<_> = rows.iter().map(|row| row["frame"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [64, 128, 256, 512, 1024, 1518, 9000]);
    for row in rows {
        let (mpps, gbit) = (row["median"].as_f64().unwrap(), row["gbit"].as_f64().unwrap());
        let expected = mpps * 8.0 * row["frame"].as_f64().unwrap() / 1e3;
        assert!(gbit > 0.0 && (gbit / expected - 1.0).abs() < 1e-3, "{row}");
    }
    let (output, _) = run(&["bench", "vale", "--case", "tx"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("no case tx; there are unicast, burst, size, fdb, broadcast, nic, neighbours, ports"),
        "{error}"
    );
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    for (args, words) in [
        (["--case", "none"], "no case none; there are tx, rx,"),
        (
            ["--only", "none"],
            "no system none; there are ringway-ebpf, ringway-xdp, ringway-packet, ringway-auto, libpcap,",
        ),
    ] {
        let (output, _) = run(&[&["bench", "io"], &args[..]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(words), "{error}");
    }
}

/// Runs to the end, however long that takes on a busy machine; with the process id that it had.
fn run(args: &[&str]) -> (Output, u32) {
    let mut command = command(args);
    command.env("RINGWAY_DATA", "/nonexistent").stdout(std::process::Stdio::piped());
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    (child.wait_with_output().unwrap(), pid)
}

fn success(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn page(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo");
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.html"))
}

/// Namespaces that process `pid` made.
fn labs_of(pid: u32) -> Vec<String> {
    labs().into_iter().filter(|name| name.starts_with(&format!("rwb-{pid}-"))).collect()
}
