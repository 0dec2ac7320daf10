//! `ringway prof` on Ringway's own programs, and what it says where it may not do all.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::confined::{deny, without};
use support::room::Room;
use support::schema::Schema;
use support::{Ended, command, file, run, spawn, start};

const CAP_SYS_ADMIN: u64 = 21;
const CAP_SYS_PTRACE: u64 = 19;
const CAP_SYSLOG: u64 = 34;
const CAP_PERFMON: u64 = 38;

/// A shell that works until its parent is gone, and for a minute at most.
const SPIN: &str = "i=0; while [ $i -lt 300000000 ]; do i=$((i+1)); done";

fn name(profile: &Path) -> &str {
    profile.to_str().unwrap()
}

/// Records a program of Ringway that sends frames to nowhere.
fn record(command: &mut Command, program: &str, profile: &str) -> Ended {
    let words = [
        "prof", "record", "-f", "4999", "--json", "-o", profile, "--", program, "pkt-gen", "-i", "null:",
        "-f", "tx", "-n", "5M",
    ];
    spawn(command.args(words)).end()
}

fn is_refused(ended: &Ended) -> bool {
    let refused = ended.code == Some(1) && ended.stderr.contains("sampling is refused");
    if refused {
        eprintln!("SKIP: this machine lets nobody sample: {}", ended.stderr);
    }
    refused
}

/// The one line that says so.
fn line<'a>(ended: &'a Ended, words: &str) -> &'a str {
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains(words)).collect();
    assert!(lines.len() == 1 && lines[0].contains(';'), "{words}: {ended:?}");
    lines[0]
}

#[test]
fn functions_of_ringway_have_names_and_groups() {
    let profile = file("own.prof");
    let ended = record(&mut command(&[]), env!("CARGO_BIN_EXE_ringway"), name(&profile));
    if is_refused(&ended) {
        return;
    }
    assert!(ended.json()["samples"].as_u64().unwrap() > 50, "{ended:?}");
    let found = run(&["prof", "model", name(&profile), "--groups", "ports", "--json"]).json();
    let found = &found["profiles"][0];
    assert_eq!(found["about"]["gaps"]["files"]["ringway"], Value::Null, "{}", found["about"]["gaps"]);
    // The dynamic linker, at the start, keeps no frame pointers.
    let (cut, all) =
        (found["about"]["gaps"]["cut"].as_u64().unwrap(), found["costs"]["samples"].as_u64().unwrap());
    assert!(cut * 20 <= all, "{cut} of {all} chains were cut");
    let groups = found["costs"]["groups"].as_array().unwrap();
    let share = |name: &str| groups.iter().find(|g| g["group"] == name).unwrap()["share"].as_f64().unwrap();
    assert!(share("TX") > 0.3, "{groups:?}");
    let folded = run(&["prof", "flame", "--folded", name(&profile)]).stdout;
    let nameless: Vec<&str> = folded.lines().filter(|line| line.contains("[ringway]")).collect();
    assert!(folded.contains("ringway_engine::sender::") && nameless.is_empty(), "{nameless:#?}");
}

#[test]
fn a_user_without_rights_samples_own_programs() {
    let Some(room) = Room::new() else { return };
    let profile = room.path("nobody/user.prof");
    let ended = record(&mut room.command_of_nobody(&[]), &room.path("ringway"), &profile);
    if is_refused(&ended) {
        return;
    }
    let report = ended.json();
    assert_eq!(
        (report["tier"]["kernel"].as_bool(), report["tier"]["source"].is_string()),
        (Some(false), true)
    );
    assert!(line(&ended, "the kernel's part is not sampled").contains("sysctl kernel.perf_event_paranoid"));
    let text = room.run(&["prof", "model", &profile]).stdout;
    assert!(text.contains("user part only") && text.contains("not sampled"), "{text}");
}

#[test]
fn what_is_refused_is_said_in_one_line() {
    let words =
        |target: &[&'static str]| [&["prof", "record", "-t", "0.1", "-o", "/dev/null"], target].concat();
    let error = |command: &mut Command| spawn(command).end().error(1).to_owned();

    let own = std::process::id().to_string();
    for (code, cure) in [(libc::ENOSYS, "seccomp profile"), (libc::EACCES, "CAP_PERFMON")] {
        let mut denied = command(&words(&["--cpu", "0"]));
        deny(&mut denied, libc::SYS_perf_event_open, code);
        let text = error(&mut denied);
        assert!(text.starts_with("ringway: CPU 0: ") && text.contains(cure), "{text}");
    }
    let text = error(&mut command(&words(&["--pid", "2147483647"])));
    assert!(
        text.contains("process 2147483647: it has ended") && text.contains("name one that runs"),
        "{text}"
    );
    let text = error(command(&words(&["--packets", "absent0", "--pid"])).arg(&own));
    assert!(text.contains("--packets absent0: nobody counts there"), "{text}");
    let text = run(&["prof", "model", "/etc/passwd"]).error(1).to_owned();
    assert!(text.contains("it is no profile; make one with"), "{text}");
    let text = run(&["prof", "record", "--groups", "absent", "-t", "0.1"]).error(2).to_owned();
    assert!(text.contains("linux, router, switch, ports, flows"), "{text}");
    let text = run(&["prof", "record", "--packets", "disk=a"]).error(2).to_owned();
    assert!(text.contains("switch="), "{text}");
}

#[test]
fn root_without_some_rights_gets_the_rest() {
    if !ringway_lab::is_root() {
        return eprintln!("SKIP: dropping rights of root needs root; run these tests with sudo");
    }
    let of = |key: &str| {
        std::fs::read_to_string(format!("/proc/sys/kernel/{key}")).unwrap().trim().parse::<i32>().unwrap()
    };
    let profile = file("less.prof");
    let words = ["prof", "record", "-t", "0.3", "--json", "-o", name(&profile), "--", "sh", "-c", SPIN];
    let with_less = |less: &'static [u64]| {
        let mut less_able = command(&words);
        without(&mut less_able, less);
        spawn(&mut less_able).end()
    };
    if of("perf_event_paranoid") < 2 {
        return eprintln!("SKIP: kernel.perf_event_paranoid lets everybody sample the kernel here");
    }
    let ended = with_less(&[CAP_SYSLOG]);
    assert_eq!(ended.json()["tier"]["kernel"], true, "{ended:?}");
    assert!(line(&ended, "the kernel's functions have no names").contains("kptr_restrict"));
    let ended = with_less(&[CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE]);
    if !is_refused(&ended) {
        assert_eq!(ended.json()["tier"]["kernel"], false, "{ended:?}");
        line(&ended, "the kernel's part is not sampled");
    }
}

#[test]
fn a_stripped_program_is_named() {
    let profile = file("stripped.prof");
    // Debian's shell is stripped.
    let ended = run(&[
        "prof",
        "record",
        "-t",
        "1",
        "-f",
        "4999",
        "--json",
        "-o",
        name(&profile),
        "--",
        "dash",
        "-c",
        SPIN,
    ]);
    if is_refused(&ended) {
        return;
    }
    let said = line(&ended, "functions have no names in");
    assert!(said.contains("dash (") && said.contains("install debug symbols"), "{said}");
    assert!(ended.json()["unknown"].as_u64().unwrap() > 0);
}

#[test]
fn a_target_that_ends_leaves_what_was_sampled() {
    let mut target = Command::new("sh").args(["-c", SPIN]).spawn().unwrap();
    let (profile, pid) = (file("ends.prof"), target.id().to_string());
    let recording =
        start(&["prof", "record", "--pid", &pid, "-t", "600", "-f", "4999", "--json", "-o", name(&profile)]);
    let busy = || std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    let ran = || busy().split(' ').next().unwrap().parse::<u64>().unwrap();
    while !recording.said().contains("prof: tier") && !recording.said().contains("refused") {
        std::thread::yield_now();
    }
    let before = ran();
    while ran() < before + 200_000_000 {
        std::thread::yield_now();
    }
    target.kill().unwrap();
    target.wait().unwrap();
    let ended = recording.end();
    if is_refused(&ended) {
        return;
    }
    let report = ended.json();
    assert!(report["samples"].as_u64().unwrap() > 10, "{report}");
    assert!(report["spent"]["time_ns"].as_u64().unwrap() >= 100_000_000, "{report}");
    let folded = run(&["prof", "flame", "--folded", name(&profile)]).stdout;
    assert!(folded.contains("sh;"), "{folded}");
}

#[test]
fn a_program_is_watched_until_it_ends() {
    let sender = start(&["pkt-gen", "-i", "null:", "-f", "tx", "-R", "1M"]);
    sender.wait_said("null:", 1);
    let pid = sender.pid().to_string();
    let mut watch =
        start(&["prof", "live", "--pid", &pid, "--packets", "port=null:", "--interval", "0.3", "--json"]);
    while watch.running() && watch.said().lines().filter(|line| line.starts_with('{')).count() < 3 {
        std::thread::yield_now();
    }
    drop(sender);
    let ended = watch.end();
    if is_refused(&ended) {
        return;
    }
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains(&format!("process {pid} has ended")), "{ended:?}");
    let intervals: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (at, interval) in intervals.iter().enumerate() {
        Schema::read().check("prof live", interval);
        assert_eq!(interval["interval"], at, "{interval}");
    }
    let costs = intervals.iter().map(|interval| &interval["costs"]);
    let with_packets = costs.filter(|costs| costs["packets"].as_u64() > Some(0));
    assert!(with_packets.filter(|costs| costs["total"].as_f64() > Some(0.0)).count() > 0, "{ended:?}");
}

#[test]
fn lines_of_a_watch_stand_below_their_heads() {
    let sender = start(&["pkt-gen", "-i", "null:", "-f", "tx", "-R", "1M"]);
    sender.wait_said("null:", 1);
    let pid = sender.pid().to_string();
    let words = ["prof", "live", "--pid", &pid, "-n", "2", "--interval", "0.2", "--packets", "port=null:"];
    let ended = run(&words);
    if is_refused(&ended) {
        return;
    }
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let [unit, head, first, second] = lines[..] else { panic!("{ended:?}") };
    assert!(unit.starts_with("ticks (TSC") || unit.starts_with("cycles"), "{unit}");
    assert!(head.contains(" BUSY ") && head.contains(" TX ") && head.ends_with("samples"), "{head}");
    assert_eq!((first.len(), second.len()), (head.len(), head.len()), "{ended:?}");
    let watch = start(&["prof", "live", "--pid", &pid, "--interval", "600"]);
    watch.wait_said("prof: tier", 1);
    let ended = watch.interrupt();
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 3), "{ended:?}");
    let text = run(&["prof", "live", "--pid", &pid, "--packets", "absent0"]).error(1).to_owned();
    assert!(text.contains("--packets absent0: nobody counts there"), "{text}");
    let text = run(&["prof", "live", "-n", "0"]).error(2).to_owned();
    assert!(text.contains("--count"), "{text}");
}
