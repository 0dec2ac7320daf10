//! `ringway bench` ends soon after Ctrl-C or SIGTERM, wherever it is, and leaves nothing behind.
//!
//! Objective: a suite is interrupted in a step that does not look for the signal. It ends, says so, prints what it has, and no namespace,
//! router, switch, folder, list of ports or process stays. Most of it needs root, and says so without.

#![cfg(feature = "bench")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use libc::{SIGINT, SIGTERM};
use ringway_lab::{is_root, labs};
use serde_json::Value;
use support::{Ended, LIMIT, Running, command, directory, spawn};

/// Two seconds, on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// How a suite learns that it has to end.
#[derive(Debug, Clone, Copy)]
enum Told {
    Once(i32),
    Twice(i32),
    /// Ctrl-C on a terminal, pressed twice: programs that the suite started hear it too.
    ByTerminal,
}

/// Whether a suite, by its process, is in the step in which it is to be interrupted.
type Phase = fn(&Running) -> bool;

#[test]
fn a_table_that_is_made_and_looked_up() {
    // The time of one measurement: it never ends by itself.
    let args = ["fib", "--case", "ipv4-uniform", "--seconds", "3600"];
    interrupted(&args, |suite| suite.cpu() > Duration::from_secs(1), Told::Once(SIGINT));
}

#[test]
fn a_million_routes_that_are_loaded() {
    let loading: Phase = |suite| children(suite.pid()).iter().any(|words| words.contains("-batch"));
    let router: Phase = |suite| !switches_of(suite.pid()).is_empty();
    let args = ["l3", "--case", "routes-1m", "--only", "ringway-xdp-router"];
    for (phase, told) in [(loading, Told::Twice(SIGINT)), (router, Told::Twice(SIGTERM))] {
        if root("routers") {
            interrupted(&args, phase, told);
        }
    }
}

#[test]
fn a_program_that_runs_for_long() {
    let replays: Phase = |suite| children(suite.pid()).iter().any(|words| words.starts_with("tcpreplay"));
    let args = ["pcap", "--case", "tcpreplay", "--only", "kernel", "--seconds", "3600"];
    for told in [Told::Once(SIGTERM), Told::ByTerminal] {
        if root("links") && installed("tcpreplay") {
            interrupted(&args, replays, told);
        }
    }
}

#[test]
fn what_was_measured_is_printed() {
    if !root("links") || !installed("tcpreplay") {
        return;
    }
    let args =
        ["pcap", "--case", "tcpreplay", "--only", "kernel", "--seconds", "3", "--runs", "1000", "--json"];
    // The folder of the second measurement has the number 1.
    let again: Phase = |suite| Path::new(&format!("/dev/shm/ringway-{}-1", suite.pid())).exists();
    let ended = interrupted(&args, again, Told::Once(SIGINT));
    let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
    assert_eq!(report["interrupted"], true);
    let row = &report["rows"][0];
    assert_eq!((&row["case"], &row["system"]), (&"tcpreplay".into(), &"kernel".into()), "{report}");
    assert!(row["runs"].as_u64().unwrap() >= 1 && row["median"].as_f64().unwrap() > 0.0, "{report}");
    assert!(ended.stderr.contains("tcpreplay"), "the table goes to standard error: {ended:?}");
}

/// Starts a suite on made tables, waits for a phase, tells it to end, and looks at what stays.
fn interrupted(args: &[&str], phase: Phase, told: Told) -> Ended {
    let mut command = command(&[&["bench"], args].concat());
    // Among the switches of all, by the name that holds the process id.
    command.env_remove("RINGWAY_BPFFS").env("RINGWAY_DATA", "/nonexistent").process_group(0);
    let mut suite = spawn(&mut command);
    let (pid, start) = (suite.pid(), Instant::now());
    while !phase(&suite) {
        assert!(suite.running() && start.elapsed() < LIMIT, "{args:?}: {}", suite.said());
        thread::sleep(Duration::from_millis(10));
    }
    let start = Instant::now();
    tell(&suite, told);
    let ended = suite.end();
    assert!(start.elapsed() < SOON, "{args:?}, {told:?}: {:?} after the signal", start.elapsed());
    assert_eq!(ended.code, Some(1), "{args:?}, {told:?}: {ended:?}");
    let last = ended.stderr.lines().last();
    assert_eq!(last, Some("ringway: interrupted: the numbers are incomplete [E0008]"), "{args:?}, {told:?}");
    let left = left_by(pid);
    assert!(left.is_empty(), "{args:?}, {told:?}: {left:?}");
    ended
}

fn tell(suite: &Running, told: Told) {
    // SAFETY: a plain system call; the group is that of the child, which has not been waited for.
    let to_group = || unsafe { libc::kill(-(suite.pid() as i32), SIGINT) };
    match told {
        Told::Once(signal) => suite.signal(signal),
        Told::Twice(signal) => {
            suite.signal(signal);
            thread::sleep(Duration::from_millis(100)); // apart, as from a hand
            suite.signal(signal);
        }
        Told::ByTerminal => {
            to_group();
            thread::sleep(Duration::from_millis(100));
            to_group();
        }
    }
}

/// All that a suite may leave, by the process id in its name. Its programs are in its process group.
fn left_by(pid: u32) -> Vec<String> {
    let mut left: Vec<_> =
        labs().into_iter().filter(|name| name.starts_with(&format!("rwb-{pid}-"))).collect();
    left.extend(switches_of(pid));
    for folder in [std::env::temp_dir(), "/dev/shm".into()] {
        left.extend(names(&folder).into_iter().filter(|name| name.starts_with(&format!("ringway-{pid}-"))));
    }
    left.extend(
        names(&directory().join("ports")).into_iter().filter(|name| name.contains(&format!(".{pid}."))),
    );
    left.extend(processes(|_, group| group == pid));
    left
}

/// Switches and routers of a suite.
fn switches_of(pid: u32) -> Vec<String> {
    let own = ["b", "r"].map(|kind| format!("vale_{kind}{pid:07}-"));
    let all = names(Path::new("/sys/fs/bpf/ringway")).into_iter();
    all.filter(|name| own.iter().any(|own| name.starts_with(own))).collect()
}

/// The command lines of the children of a process.
fn children(pid: u32) -> Vec<String> {
    processes(|parent, _| parent == pid)
}

/// The command lines of processes, picked by their parents and groups.
fn processes(pick: impl Fn(u32, u32) -> bool) -> Vec<String> {
    let picked = |id: &String| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // Behind the name, which may hold anything: state, parent, group.
        let words: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        pick(words.get(1)?.parse().ok()?, words.get(2)?.parse().ok()?).then(|| {
            let line = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.replace('\0', " ")
        })
    };
    let ids = names(Path::new("/proc"));
    ids.iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())).filter_map(picked).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn root(what: &str) -> bool {
    let root = is_root();
    if !root {
        eprintln!("SKIP: {what} need root (namespaces, eBPF); run these tests with sudo");
    }
    root
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !found {
        eprintln!("SKIP: {program} is not installed (scripts/setup --bench)");
    }
    found
}
