//! `router add` and `router del` are killed at any moment: the next command goes on, and what is removed leaves nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bed::Bed;
use crate::support::room::Room;

const NAME: &str = "vale0";
const ADD: [&str; 3] = ["router", "add", NAME];

/// Interfaces of the router: enough that a process is often killed between two of them.
const ALL: [&str; 6] = ["m0", "m1", "m2", "m3", "ra", "rb"];

/// Moments at which a command is killed; `RINGWAY_KILLS` is another number.
fn kills() -> u32 {
    std::env::var("RINGWAY_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

/// A bed with more interfaces.
fn wide() -> Option<Bed> {
    let bed = Bed::new()?;
    for n in 0..4 {
        bed.a.veth_to(&format!("f{n}"), &bed.r, &format!("m{n}")).unwrap();
        bed.a.run_napi(&format!("f{n}")).unwrap();
    }
    Some(bed)
}

/// Names in a directory, sorted.
fn names(dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Nothing of a router is there: no pin, no program on an interface, no process, no file but its log.
fn nothing_is_left(bed: &Bed, pid: Option<u64>) {
    assert_eq!(names(&bed.room.path("bpf/ringway")), ["lock"]);
    assert_eq!(ALL.map(|name| bed.has_program(name)), [false; ALL.len()]);
    assert!(names(&bed.room.path("run")).iter().all(|name| name == "vale0.log"));
    let stat = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    assert!(stat.is_none_or(|stat| stat.contains(") Z ")), "process {pid:?} runs on");
}

/// Runs a command and kills it after a while.
fn killed(room: &Room, args: &[&str], after: Duration) {
    let running = room.start(args);
    std::thread::sleep(after);
    running.signal(libc::SIGKILL);
    running.end();
}

/// The moments: spread over a time, in no order.
fn moments(within: Duration) -> impl Iterator<Item = Duration> {
    let count = kills();
    (0..count).map(move |n| within * (n * 5 % count) / count)
}

fn make(bed: &Bed) -> (Value, Duration) {
    let begun = Instant::now();
    let made = bed.room.json(&ADD);
    (made, begun.elapsed())
}

fn members(made: &Value) -> Vec<&str> {
    let mut names: Vec<_> = made["members"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_router_that_is_being_made() {
    let Some(bed) = wide() else { return };
    let (made, takes) = make(&bed);
    assert_eq!(members(&made), ALL);
    bed.room.json(&["router", "del", NAME]);
    nothing_is_left(&bed, made["pid"].as_u64());
    let mut partly = 0;
    for (round, after) in moments(takes).enumerate() {
        killed(&bed.room, &[&ADD[..], &["--foreground", "--rpf6", "strict"]].concat(), after);
        let there = ALL.iter().filter(|name| bed.has_program(name)).count();
        partly += usize::from(there > 0 && there < ALL.len());
        let mut pid = None;
        if round % 3 < 2 {
            let begun = bed.room.path("bpf/ringway/vale0");
            let begun = Path::new(&begun).exists();
            let (made, _) = make(&bed);
            pid = made["pid"].as_u64();
            assert_eq!(
                (members(&made), &made["taken_over"]),
                (ALL.to_vec(), &begun.into()),
                "killed after {after:?}"
            );
            assert_eq!(ALL.map(|name| bed.has_program(name)), [true; ALL.len()]);
            if begun {
                let spoofed = ["router", "get", "fd00:2::2", "from", "fd00:2::9", "iif", "ra"];
                assert_eq!(bed.room.json(&spoofed)["reason"], "reverse_path", "made as it was to be");
            }
        }
        // where it was killed very early there is nothing to remove
        let removed = bed.room.run(&["router", "del", NAME]);
        assert!(
            removed.code == Some(0) || pid.is_none() && there == 0,
            "killed after {after:?}: {removed:?}"
        );
        nothing_is_left(&bed, pid);
    }
    eprintln!("{partly} of {} were killed between two members", kills());
}

/// A member that is away when the process dies is one again when it returns.
#[test]
fn a_member_that_is_away_is_not_forgotten() {
    let Some(bed) = Bed::new() else { return };
    let (made, _) = make(&bed);
    assert_eq!(members(&made), ["ra", "rb"]);
    bed.ip(&format!("link set rb netns {}", bed.a.name()));
    let now = || bed.router(NAME)["members"].as_array().unwrap().len();
    bed.room.until(|| now() == 1);
    let pid = nix::unistd::Pid::from_raw(bed.pid(NAME).unwrap() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL).unwrap();
    bed.room.until(|| bed.pid(NAME).is_none());
    let (made, _) = make(&bed);
    assert_eq!((members(&made), &made["taken_over"]), (vec!["ra"], &true.into()));
    bed.a.ip(&format!("link set rb netns {}", bed.r.name())).unwrap();
    bed.ip("link set rb up");
    bed.room.until(|| now() == 2);
    bed.room.json(&["router", "del", NAME]);
}

#[test]
fn a_router_that_is_being_removed() {
    let Some(bed) = wide() else { return };
    make(&bed);
    let begun = Instant::now();
    bed.room.json(&["router", "del", NAME]);
    for (round, after) in moments(begun.elapsed()).enumerate() {
        let (made, _) = make(&bed);
        killed(&bed.room, &["router", "del", NAME], after);
        if round % 2 == 0 {
            let router = bed.room.path("bpf/ringway/vale0");
            // unless it goes on as it was; its process may be about to end
            bed.room.until(|| {
                bed.room.run(&ADD).code == Some(0) || Path::new(&router).exists() && bed.pid(NAME).is_some()
            });
        }
        let removed = bed.room.run(&["router", "del", NAME]);
        assert!(removed.code == Some(0) || round % 2 == 1, "killed after {after:?}: {removed:?}");
        nothing_is_left(&bed, made["pid"].as_u64());
    }
}
