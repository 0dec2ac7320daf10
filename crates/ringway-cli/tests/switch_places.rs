//! Where switches are, and who sees them: directories, network and mount namespaces. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::process::{Child, Command};

use serde_json::json;
use support::room::Room;
use support::spawn;

#[test]
fn that_there_is_none_is_said_where_it_can_be_known() {
    let Some(room) = Room::new() else { return };
    let other = format!("{}/other", room.mount_bpf("other", 0o755));
    for words in ["switch list", "switch list --json", "vale stats", "router list", "router show"] {
        let words: Vec<&str> = words.split(' ').collect();
        for (dir, said) in [
            ("/etc/passwd", "/etc/passwd: listing the directory of switches failed: Not a directory"),
            ("/tmp", "/tmp: it is not in a BPF file system; mount one"),
            (
                "/nowhere/ringway",
                "/nowhere/ringway: there is no such directory of switches; name a directory",
            ),
        ] {
            let ended = room.run(&[&words[..], &["--bpffs", dir]].concat());
            assert!(ended.error(1).contains(said), "{words:?}: {ended:?}");
        }
    }
    let ended = room.run(&["switch", "list", "--bpffs", &other]);
    assert_eq!((ended.code, ended.stdout), (Some(0), format!("there is no switch in {other}\n")));
    for args in [&["stats"][..], &["stats", "--check"], &["top", "--once"]] {
        let ended = room.as_nobody(args);
        let said = "you have no port open; ports of other users are hidden: run as root to see them";
        assert_eq!((ended.code, ended.stdout.trim_end()), (Some(0), said), "{args:?}");
    }
    let ended = room.as_nobody(&["stats", "null:"]);
    assert!(
        ended.error(1).contains("null:: you do not have this port open; ports of other users"),
        "{ended:?}"
    );
}

/// As under `ip netns exec`: a mount namespace without a BPF file system, which ends with the command.
#[test]
fn no_switch_is_made_where_nobody_else_sees_it() {
    let Some(_room) = Room::new() else { return };
    for (args, words) in [
        (&["switch", "add", "valehidden"][..], "mount namespace"),
        (&["switch", "add", "valehidden:eth0"], "no such switch"),
        (&["switch", "list"], "mount namespace"),
        (&["switch", "list", "--json"], "mount namespace"),
        (&["switch", "stats"], "mount namespace"),
        (&["router", "show"], "mount namespace"),
    ] {
        let hidden = Command::new("unshare")
            .args(["--mount", "sh", "-c", "umount -l /sys/fs/bpf 2>/dev/null; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_ringway"))
            .args(args)
            .env_remove("RINGWAY_BPFFS")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&hidden.stderr).into_owned();
        assert!(hidden.status.code() == Some(1) && error.contains(words), "{error}");
        assert!(error.contains("in place of `ip netns exec NAME`"), "{error}");
    }
}

/// A process in a network namespace of its own, which has the veth a0-b0 and is known to `ip netns` by a name.
struct Container {
    process: Child,
    name: String,
}

impl Container {
    fn new() -> Self {
        let process = Command::new("unshare").args(["--net", "sleep", "1000"]).spawn().unwrap();
        let name = format!("rwc-{}", process.id());
        let container = Self { process, name };
        let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).unwrap();
        while namespace(&container.pid()) == namespace("self") {
            std::thread::yield_now();
        }
        run("ip", &["netns", "attach", &container.name, &container.pid()]);
        let inside = |args: &[&str]| run("ip", &[&["-n", &container.name, "link"], args].concat());
        inside(&["add", "a0", "up", "type", "veth", "peer", "name", "b0"]);
        inside(&["set", "b0", "up"]);
        container
    }

    fn pid(&self) -> String {
        self.process.id().to_string()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(program: &str, args: &[&str]) {
    let ended = Command::new(program).args(args).output().unwrap();
    assert!(ended.status.success(), "{program} {args:?}: {ended:?}");
}

#[test]
fn an_interface_of_another_namespace_is_found() {
    let Some(room) = Room::new() else { return };
    let container = Container::new();
    room.json(&["switch", "add", "vale0"]);
    for namespace in [container.name.clone(), container.pid(), format!("/proc/{}/ns/net", container.pid())] {
        let added = room.run(&["switch", "add", "vale0:a0", "--netns", &namespace]);
        assert_eq!(added.code, Some(0), "{added:?}");
        assert_eq!(room.switch("vale0")["ports"][0]["name"], "a0");
        assert_eq!(room.run(&["switch", "port", "del", "vale0:a0"]).code, Some(0));
    }
    let sent = room.run(&["--netns", &container.name, "pkt-gen", "-i", "packet:a0", "-f", "tx", "-n", "10"]);
    assert!(sent.stdout.contains("10 packets"), "{sent:?}");
    let none = room.run(&["switch", "list", "--netns", "no-such"]);
    assert!(none.error(1).contains("namespace no-such: there is none; `ip netns list`"), "{none:?}");
    let other = room.run(&["switch", "list", "--netns", "/dev/null"]);
    assert!(other.error(1).contains("stands for something else; name one as /proc/PID/ns/net"), "{other:?}");
    room.json(&["switch", "del", "vale0"]);
}

/// Runs `ringway` on the system's own switches.
fn ringway(program: &[&str], args: &[&str]) {
    let words = [program, &[env!("CARGO_BIN_EXE_ringway")], args].concat();
    let ended = Command::new(words[0]).args(&words[1..]).env_remove("RINGWAY_BPFFS").output().unwrap();
    assert!(ended.status.success(), "{words:?}: {ended:?}");
}

/// A switch among the switches of the system.
struct Public(String);

impl Drop for Public {
    fn drop(&mut self) {
        let _ = Command::new(env!("CARGO_BIN_EXE_ringway")).args(["switch", "del", &self.0]).output();
    }
}

/// As under `ip netns exec`, whose mounts end with the command: what keeps the interface's programs attached stays.
#[test]
fn an_interface_outlives_the_mounts_of_its_command() {
    if !ringway_lab::is_root() {
        eprintln!("SKIP: switches need root (eBPF, mounts); run these tests with sudo");
        return;
    }
    let container = Container::new();
    let switch = Public(format!("valem{}", std::process::id()));
    let kept = || {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.contains(&format!("/ringway/{}/port/a0/keep ", switch.0))
    };
    ringway(&[], &["switch", "add", &switch.0]);
    let port = format!("{}:a0", switch.0);
    for _ in 0..2 {
        ringway(&["unshare", "--mount"], &["switch", "add", &port, "--netns", &container.name]);
        assert!(kept(), "{port}");
        ringway(&["unshare", "--mount"], &["switch", "port", "del", &port]);
        assert!(!kept(), "{port}");
    }
}

#[test]
fn switches_of_other_directories_are_apart() {
    let Some(room) = Room::new() else { return };
    let closed = room.mount_bpf("closed", 0o700);
    let there = format!("{closed}/switches");
    assert_eq!(room.run(&["switch", "add", "vale0", "--bpffs", &there]).code, Some(0));
    assert!(fs::exists(format!("{there}/vale0")).unwrap());
    assert_eq!(room.json(&["switch", "list"]), json!({ "switches": [] }));
    assert_eq!(room.json(&["switch", "list", "--bpffs", &there])["switches"][0]["name"], "vale0");

    // Another user can't get there, which is said with the cure; the cure cures.
    let add = ["switch", "--bpffs", &there, "port", "add", "vale0:p1", "--owner", "nobody"];
    let warned = room.run(&add);
    assert_eq!((warned.code, warned.stderr.lines().count()), (Some(0), 1), "{warned:?}");
    let says = format!(
        "ringway: vale0:p1: nobody can't reach the port: {closed} may not be searched; `chmod o+x {closed}`"
    );
    assert!(warned.stderr.starts_with(&says), "{warned:?}");
    let mut open = room.command_of_nobody(&["pkt-gen", "-i", "vale0:p1", "-f", "tx", "-n", "1"]);
    open.env("RINGWAY_BPFFS", &there);
    assert_eq!(spawn(&mut open).end().code, Some(1));
    fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o701)).unwrap();
    assert_eq!(spawn(&mut open).end().code, Some(0));
    let set = ["switch", "--bpffs", &there, "port", "set", "vale0:p1", "--owner", "nobody"];
    assert_eq!(room.run(&set).stderr, "");
}
