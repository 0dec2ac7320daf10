//! What the kernel takes for ports of a switch is what `ringway switch add` says. Needs root and control groups for memory; says so and
//! passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use support::room::Room;
use support::spawn;

/// A control group that counts memory. It is removed at the end.
struct Group(PathBuf);

impl Group {
    /// In the hierarchy of version 1 or 2, whichever this machine has.
    fn new() -> Option<Self> {
        let root = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(PathBuf::from).into_iter().find(|root| {
            root.join("memory.usage_in_bytes").exists()
                || fs::read_to_string(root.join("cgroup.subtree_control"))
                    .is_ok_and(|on| on.contains("memory"))
        });
        let made = root.map(|root| Self(root.join(format!("ringway-{}", std::process::id()))));
        let made = made.filter(|group| fs::create_dir(&group.0).is_ok());
        if made.is_none() {
            eprintln!("SKIPPED: control groups for memory can't be made here");
        }
        made
    }

    /// Bytes in use.
    fn bytes(&self) -> u64 {
        let read = |name| fs::read_to_string(self.0.join(name));
        let text = read("memory.usage_in_bytes").or_else(|_| read("memory.current")).unwrap();
        text.trim().parse().unwrap()
    }

    /// Runs a command in it.
    fn run(&self, command: &Command) {
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            inside.env(name, value.unwrap_or_default());
        }
        assert_eq!(spawn(&mut inside).end().code, Some(0), "{inside:?}");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// So many that what control groups count for a CPU in advance, up to 256 KiB, makes little difference for one.
const PORTS: u64 = 64;

#[test]
fn a_port_takes_what_is_said() {
    let Some(room) = Room::new() else { return };
    let Some(group) = Group::new() else { return };
    for (name, sizes) in [("vale1", &["--slots", "64", "--buffers", "256"][..]), ("vale2", &[])] {
        let made = room.json(&[&["switch", "add", name], sizes].concat());
        let said = made["port_memory"].as_u64().unwrap();
        let before = group.bytes();
        let ports: Vec<String> = (0..PORTS).map(|n| format!("{name}:p{n}")).collect();
        let add: Vec<&str> =
            ["switch", "port", "add"].into_iter().chain(ports.iter().map(|p| &p[..])).collect();
        group.run(&room.command(&add));
        // What the verifier used goes later than the command.
        let taken = || group.bytes().saturating_sub(before) / PORTS;
        room.until(|| taken() < said + said / 8);
        assert!(taken() > said * 3 / 4, "{name}: {} a port, {said} were said", taken());
        assert_eq!(memory(&room.switch(name)), memory(&made) + PORTS * said);
        assert!(room.run(&["switch", "del", name]).code == Some(0));
    }
}

#[test]
fn as_many_small_ports_as_a_switch_has_fit_into_100_mib() {
    let Some(room) = Room::new() else { return };
    let made = room.json(&["switch", "add", "vale0", "--slots", "64", "--buffers", "256"]);
    let all = memory(&made) + 254 * made["port_memory"].as_u64().unwrap();
    assert!(all < 100 << 20, "{all} bytes");
}

fn memory(switch: &Value) -> u64 {
    switch["memory"].as_u64().unwrap()
}
